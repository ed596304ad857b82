// SPDX-License-Identifier: GPL-2.0
//! Reports at intervals, as the tools of sysstat take them: `[interval [count]]`.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, Context};

/// When to report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Between two reports, in s; without it there is one report.
    pub interval: Option<u64>,
    /// How many reports; without it there is no end.
    pub count: Option<u64>,
}

impl Times {
    /// Takes up to two numbers from the end of `words`; what is left are names.
    ///
    /// # Errors
    ///
    /// An interval or a count of zero.
    pub fn take_from(words: &mut Vec<String>) -> anyhow::Result<Self> {
        let mut numbers = Vec::new();
        while numbers.len() < 2 {
            let Some(number) = words.last().and_then(|word| word.parse::<u64>().ok()) else {
                break;
            };
            words.pop();
            if number == 0 {
                bail!("interval and count are at least 1");
            }
            numbers.push(number);
        }
        let mut numbers = numbers.into_iter().rev();
        Ok(Times {
            interval: numbers.next(),
            count: numbers.next(),
        })
    }

    /// Calls `report` at each of the times. They keep to the first: no delay adds up.
    ///
    /// # Errors
    ///
    /// The first of `report`; an interval that does not end in this clock.
    pub fn repeat(self, mut report: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<()> {
        let mut next = Instant::now();
        let mut done = 0;
        loop {
            report()?;
            done += 1;
            let Some(interval) = self.interval.filter(|_| Some(done) != self.count) else {
                return Ok(());
            };
            next = next
                .checked_add(Duration::from_secs(interval))
                .context("the interval is too long")?;
            thread::sleep(next.saturating_duration_since(Instant::now()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> (Vec<String>, Times) {
        let mut words = text.split_whitespace().map(str::to_owned).collect();
        let times = Times::take_from(&mut words).unwrap();
        (words, times)
    }

    #[test]
    fn numbers_at_the_end_are_times() {
        let times = |interval, count| Times { interval, count };
        assert_eq!(split(""), (vec![], times(None, None)));
        assert_eq!(
            split("sda sdb"),
            (vec!["sda".into(), "sdb".into()], times(None, None))
        );
        assert_eq!(
            split("sda 2 5"),
            (vec!["sda".into()], times(Some(2), Some(5)))
        );
        assert_eq!(split("7"), (vec![], times(Some(7), None)));
        assert!(Times::take_from(&mut vec!["0".to_owned()]).is_err());
    }

    #[test]
    fn an_interval_beyond_the_clock_is_an_error() {
        let times = Times {
            interval: Some(u64::MAX),
            count: None,
        };
        assert!(times.repeat(|| Ok(())).is_err());
    }

    #[test]
    fn one_report_without_an_interval_and_count_reports_with_one() {
        for (interval, count, reports) in [
            (None, None, 1),
            (Some(1), Some(1), 1),
            (Some(1), Some(2), 2),
        ] {
            let mut seen = 0;
            let report = || {
                seen += 1;
                Ok(())
            };
            Times { interval, count }.repeat(report).unwrap();
            assert_eq!(seen, reports);
        }
    }
}
