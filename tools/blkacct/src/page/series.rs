// SPDX-License-Identifier: GPL-2.0
//! A device over time: steps, thinned out so that there are never too many.
//!
//! A step is what is known of one window, or of several that follow each other. It has the sums,
//! of which every mean is made, and the least and the most that each quantity was in one window.
//! Between two steps that do not touch nothing is known, and nothing is drawn.

use acct::hist::Counts;

use super::quantity::Quantity;
use super::sums::Sums;
use crate::figures::histogram;

/// The steps are halved when there are more than twice as many.
const FEW: usize = 150;

/// What is known of some time.
#[derive(Clone, Debug)]
pub struct Step {
    /// When it begins, in ns of the page's clock.
    pub begin: u64,
    /// When it ends.
    pub end: u64,
    /// Whether it goes on where the one before ended.
    pub joined: bool,
    /// Whether there is a gap within: two of many, which are all gaps, had to become one.
    pub broken: bool,
    /// The sums.
    pub sums: Sums,
    /// The least and the most of each quantity, by its place.
    pub range: [Option<(u64, u64)>; Quantity::COUNT],
    /// The latencies of reads and of writes; none if there was none.
    pub latencies: [Option<Box<Counts>>; 2],
    /// Of how many windows it is.
    windows: u64,
}

impl Step {
    /// A step of one window.
    pub fn new(begin: u64, end: u64, sums: Sums, latencies: [Option<Box<Counts>>; 2]) -> Self {
        let value = |what: Quantity| what.of(&sums).map(|value| (value, value));
        Step {
            begin,
            end,
            joined: false,
            broken: false,
            range: Quantity::ALL.map(value),
            sums,
            latencies,
            windows: 1,
        }
    }

    /// Returns the least and the most of a quantity.
    pub fn range(&self, what: Quantity) -> Option<(u64, u64)> {
        self.range[what as usize]
    }

    /// Takes in the one that comes after.
    pub fn take(&mut self, next: Step) {
        self.broken |= next.broken || !next.joined;
        self.end = next.end;
        self.windows += next.windows;
        self.sums.add(&next.sums);
        for (range, more) in self.range.iter_mut().zip(next.range) {
            *range = match (*range, more) {
                (Some((low, high)), Some((l, h))) => Some((low.min(l), high.max(h))),
                (one, other) => one.or(other),
            };
        }
        for (counts, more) in self.latencies.iter_mut().zip(next.latencies) {
            *counts = match (counts.take(), more) {
                (Some(a), Some(b)) => Some(Box::new(histogram::sum([&*a, &*b].into_iter()))),
                (one, other) => one.or(other),
            };
        }
    }
}

/// The steps of a device.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// In the order of time.
    pub steps: Vec<Step>,
    /// Of how many windows a step is to be, as a power of two: the same from begin to end.
    grain: u32,
}

impl Series {
    /// Appends a step. `joined` says that it goes on where the last ended.
    pub fn push(&mut self, step: Step, joined: bool) {
        let step = Step { joined, ..step };
        match self.steps.last_mut() {
            Some(last) if joined && last.windows >> self.grain == 0 => last.take(step),
            _ => self.steps.push(step),
        }
        if self.steps.len() > 2 * FEW {
            self.grain = (self.grain + 1).min(u64::BITS - 1);
            self.steps = halved(std::mem::take(&mut self.steps), false);
        }
        // So many gaps that they cannot all be kept apart.
        if self.steps.len() > 2 * FEW {
            self.steps = halved(std::mem::take(&mut self.steps), true);
        }
    }

    /// Returns at most so many steps.
    pub fn at_most(&self, most: usize) -> Vec<Step> {
        let mut steps = self.steps.clone();
        while steps.len() > most.max(1) {
            let before = steps.len();
            steps = halved(steps, false);
            if steps.len() == before {
                steps = halved(steps, true);
            }
        }
        steps
    }

    /// Returns all of it as one.
    pub fn whole(&self) -> Option<Sums> {
        let (first, rest) = self.steps.split_first()?;
        let mut all = first.sums;
        rest.iter().for_each(|step| all.add(&step.sums));
        Some(all)
    }
}

/// Makes one step of each two. Those with a gap between them stay two, unless `all` are joined.
fn halved(steps: Vec<Step>, all: bool) -> Vec<Step> {
    let mut halved: Vec<Step> = Vec::with_capacity(steps.len() / 2 + 1);
    let mut is_open = false;
    for step in steps {
        match halved.last_mut() {
            Some(last) if is_open && (step.joined || all) => {
                last.take(step);
                is_open = false;
            }
            _ => {
                halved.push(step);
                is_open = true;
            }
        }
    }
    halved
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(n: u64, busy: u64) -> Step {
        let sums = Sums {
            interval_ns: 1000,
            busy_ns: busy,
            ..Sums::default()
        };
        Step::new(n * 1000, (n + 1) * 1000, sums, [None, None])
    }

    #[test]
    fn thinning_keeps_sums_and_the_least_and_the_most() {
        let mut series = Series::default();
        for n in 0..5000 {
            let busy = if n == 3333 { 1000 } else { n % 7 };
            series.push(step(n, busy), n > 0);
        }
        assert!(series.steps.len() <= 2 * FEW, "{}", series.steps.len());
        let whole = series.whole().unwrap();
        assert_eq!(whole.interval_ns, 5_000_000);
        let all = (0..5000).map(|n| n % 7).sum::<u64>();
        assert_eq!(whole.busy_ns, all + 1000 - 3333 % 7);
        let most = series.steps.iter().filter_map(|s| s.range(Quantity::Util));
        assert_eq!(most.map(|(_, high)| high).max(), Some(10_000));
        let least = series.steps.iter().filter_map(|s| s.range(Quantity::Util));
        assert_eq!(least.map(|(low, _)| low).min(), Some(0));
        // They still follow each other without a gap.
        assert!(series
            .steps
            .windows(2)
            .all(|two| two[0].end == two[1].begin));
        assert!(series.steps.iter().all(|step| !step.broken));
        // And are of the same length, but the last.
        let (_, full) = series.steps.split_last().unwrap();
        assert!(full.iter().all(|step| step.windows == full[0].windows));
    }

    #[test]
    fn a_gap_outlives_thinning_and_many_have_an_end() {
        let mut series = Series::default();
        for n in 0..1000 {
            if n != 500 {
                series.push(step(n, 1), n != 0 && n != 501);
            }
        }
        let gaps = series.steps.iter().filter(|step| !step.joined).count();
        assert_eq!(gaps, 2, "the beginning, and the gap");
        let around = series.steps.windows(2).find(|two| !two[1].joined).unwrap();
        assert_eq!((around[0].end, around[1].begin), (500_000, 501_000));

        let mut series = Series::default();
        for n in 0..10_000 {
            series.push(step(2 * n, 1), false);
        }
        assert!(series.steps.len() <= 2 * FEW);
        assert!(series.steps.iter().any(|step| step.broken));
        assert!(series.at_most(10).len() <= 10);
    }
}
