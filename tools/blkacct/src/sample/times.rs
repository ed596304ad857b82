// SPDX-License-Identifier: GPL-2.0
//! Reports at intervals, as the tools of sysstat take them: `[interval [count]]`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, Context};

/// The shortest interval: what is read costs time itself.
const SHORTEST: Duration = Duration::from_millis(10);

/// How often one that waits looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(50);

/// When to report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Between two reports; without it there is one report.
    pub interval: Option<Duration>,
    /// How many reports; without it there is no end.
    pub count: Option<u64>,
}

impl Times {
    /// Takes up to two numbers from the end of `words`; what is left are names.
    ///
    /// # Errors
    ///
    /// An interval below 10 ms or a count of zero, or one that is no whole number.
    pub fn take_from(words: &mut Vec<String>) -> anyhow::Result<Self> {
        let is_number = |word: &String| seconds(word).is_some();
        let numbers = words
            .iter()
            .rev()
            .take(2)
            .take_while(|word| is_number(word));
        let numbers = words.split_off(words.len() - numbers.count());
        let mut times = Times::default();
        if let Some(word) = numbers.first() {
            times.interval = Some(interval(word).map_err(anyhow::Error::msg)?);
        }
        if let Some(word) = numbers.get(1) {
            match word.parse() {
                Ok(count) if count > 0 => times.count = Some(count),
                _ => bail!("{word}: the count is a whole number, at least 1"),
            }
        }
        Ok(times)
    }
}

/// Reads an interval in seconds: `5`, `0.1`.
///
/// # Errors
///
/// What is no decimal number, or too short.
pub fn interval(text: &str) -> Result<Duration, String> {
    match seconds(text) {
        Some(interval) if interval >= SHORTEST => Ok(interval),
        Some(_) => Err(format!("{text}: the interval is at least 0.01 seconds")),
        None => Err(format!("{text}: no number of seconds, such as 5 or 0.1")),
    }
}

/// Reads a decimal number of seconds, exactly.
fn seconds(text: &str) -> Option<Duration> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(rest) || rest.len() > 9 {
        return None;
    }
    let nanos = format!("{rest:0<9}").parse().ok()?;
    Some(Duration::new(whole.parse().ok()?, nanos))
}

/// Waits for one report after the other.
#[derive(Debug)]
pub struct Pace {
    times: Times,
    next: Instant,
    done: u64,
    stop: Option<Arc<AtomicBool>>,
}

impl Pace {
    /// A first report is due at once.
    pub fn new(times: Times, now: Instant) -> Self {
        Pace {
            times,
            next: now,
            done: 0,
            stop: None,
        }
    }

    /// Waits until the next report is due; false if there is none. They keep to the first: no delay
    /// adds up.
    ///
    /// # Errors
    ///
    /// An interval that does not end in this clock.
    pub fn wait(&mut self) -> anyhow::Result<bool> {
        let Some(due) = self.due(Instant::now())? else {
            return Ok(false);
        };
        let Some(stop) = &self.stop else {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            return Ok(true);
        };
        while !stop.load(Ordering::Relaxed) {
            let rest = due.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return Ok(true);
            }
            thread::sleep(rest.min(LOOK));
        }
        Ok(false)
    }

    /// Ends the reports, even while waiting for one, when `stop` is set.
    pub fn until(&mut self, stop: Arc<AtomicBool>) {
        self.stop = Some(stop);
    }

    /// Returns when the next report is due. Those that were missed are left out.
    ///
    /// # Errors
    ///
    /// As [`Pace::wait`].
    pub fn due(&mut self, now: Instant) -> anyhow::Result<Option<Instant>> {
        if self.done > 0 {
            let Some(interval) = self
                .times
                .interval
                .filter(|_| Some(self.done) != self.times.count)
            else {
                return Ok(None);
            };
            let late = now.saturating_duration_since(self.next).as_nanos();
            let missed = u32::try_from(late / interval.as_nanos()).unwrap_or(u32::MAX);
            self.next = interval
                .checked_mul(missed.max(1))
                .and_then(|step| self.next.checked_add(step))
                .context("the interval is too long")?;
        }
        self.done += 1;
        Ok(Some(self.next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> anyhow::Result<(Vec<String>, Times)> {
        let mut words = text.split_whitespace().map(str::to_owned).collect();
        let times = Times::take_from(&mut words)?;
        Ok((words, times))
    }

    #[test]
    fn numbers_at_the_end_are_times() {
        for (text, names, interval, count) in [
            ("", "", None, None),
            ("sda sdb", "sda sdb", None, None),
            ("sda 2 5", "sda", Some(2000), Some(5)),
            ("7", "", Some(7000), None),
            ("sda 0.1", "sda", Some(100), None),
            ("8:0 1.25 3", "8:0", Some(1250), Some(3)),
        ] {
            let interval = interval.map(Duration::from_millis);
            let names = names.split_whitespace().map(str::to_owned).collect();
            assert_eq!(
                split(text).unwrap(),
                (names, Times { interval, count }),
                "{text}"
            );
        }
        for text in ["0", "0.001", "1 0", "1 0.5", "0.0000000001"] {
            let read = split(text);
            assert!(read.is_err() || text == "0.0000000001", "{text}: {read:?}");
        }
    }

    #[test]
    fn an_interval_beyond_the_clock_is_an_error() {
        let now = Instant::now();
        let times = Times {
            interval: Some(Duration::from_secs(u64::MAX)),
            count: None,
        };
        let mut pace = Pace::new(times, now);
        assert_eq!(pace.due(now).unwrap(), Some(now));
        assert!(pace.due(now).is_err());
    }

    #[test]
    fn reports_keep_to_the_first_and_leave_out_what_was_missed() {
        let now = Instant::now();
        let after = |ms| now + Duration::from_millis(ms);
        let times = Times {
            interval: Some(Duration::from_millis(100)),
            count: Some(4),
        };
        let mut pace = Pace::new(times, now);
        let mut due = |ms| pace.due(after(ms)).unwrap();
        assert_eq!(due(3), Some(now));
        assert_eq!(due(30), Some(after(100)));
        assert_eq!(due(199), Some(after(200)));
        assert_eq!(due(555), Some(after(500)));
        assert_eq!(due(555), None);
    }

    #[test]
    fn without_an_interval_there_is_one_report() {
        let now = Instant::now();
        let mut pace = Pace::new(Times::default(), now);
        assert_eq!(pace.due(now).unwrap(), Some(now));
        assert_eq!(pace.due(now).unwrap(), None);
    }
}
