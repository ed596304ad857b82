// SPDX-License-Identifier: GPL-2.0
//! What the kernel's own `io_ticks` would have said of the same events, by its algorithms so far.
//!
//! All of them count in jiffies, and look at the clock at starts and ends only. Each keeps a stamp,
//! the jiffy of its last look, in which it counts nothing more:
//!
//! | kernels | at a start | at an end | when read |
//! |---|---|---|---|
//! | before 5.0 | what has passed, if requests are in flight | the same | the same |
//! | 5.0 to 5.6 | one jiffy | one jiffy | - |
//! | 5.7 to 6.9 | one jiffy | what has passed | - |
//! | since 6.10 | what has passed, if requests are in flight | what has passed | as at an end, if requests are in flight |
//!
//! (`part_round_stats()`, and the three states of `update_io_ticks()`: commits 5b18b5a73760,
//! 2b8bd423614c and 99dc422335d8 of the kernel.) A trace does not show where a jiffy begins; here
//! it does at multiples of its length. Nor does it show races between CPUs, so none is modelled.

use serde::Serialize;

use super::flight::Effect;

const SECOND: u64 = 1_000_000_000;

/// An algorithm, and what it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Said {
    /// The kernels that have it.
    pub kernels: &'static str,
    /// Its `io_ticks`, in ns.
    pub io_ticks: u64,
}

/// The algorithms, at work on the same events.
pub struct Models {
    hz: u64,
    from: u64,
    to: u64,
    depth: u64,
    models: [Model; 4],
    /// What each had counted when the window began.
    before: Option<[u64; 4]>,
    /// What each has counted in the window, when that is over.
    within: Option<[u64; 4]>,
}

#[derive(Clone, Copy)]
enum Rule {
    Rounds,
    OneEach,
    EndDelta,
    Precise,
}

struct Model {
    rule: Rule,
    /// None before the first event.
    stamp: Option<u64>,
    ticks: u64,
}

const KERNELS: [(Rule, &str); 4] = [
    (Rule::Rounds, "before 5.0"),
    (Rule::OneEach, "5.0 to 5.6"),
    (Rule::EndDelta, "5.7 to 6.9"),
    (Rule::Precise, "since 6.10"),
];

impl Model {
    fn new(rule: Rule) -> Self {
        Model {
            rule,
            stamp: None,
            ticks: 0,
        }
    }

    /// Looks at the clock, in jiffy `now`, with `depth` requests in flight before the event.
    fn look(&mut self, now: u64, is_end: bool, depth: u64) {
        if self.stamp == Some(now) {
            return;
        }
        let passed = now - self.stamp.unwrap_or(now);
        self.stamp = Some(now);
        self.ticks += match self.rule {
            Rule::Rounds if depth > 0 => passed,
            Rule::Precise if is_end || depth > 0 => passed,
            Rule::EndDelta if is_end => passed,
            Rule::OneEach | Rule::EndDelta => 1,
            Rule::Rounds | Rule::Precise => 0,
        };
    }

    /// Returns what a reader is told in jiffy `now`.
    fn read(&mut self, now: u64, depth: u64) -> u64 {
        if depth > 0 && matches!(self.rule, Rule::Rounds | Rule::Precise) {
            self.look(now, true, depth);
        }
        self.ticks
    }
}

impl Models {
    /// Models kernels with `hz` jiffies a second, over a window that begins at `from`.
    pub fn new(hz: u64, from: u64) -> Self {
        Models {
            hz,
            from,
            to: u64::MAX,
            depth: 0,
            models: KERNELS.map(|(rule, _)| Model::new(rule)),
            before: None,
            within: None,
        }
    }

    /// Ends the window at `to`; nothing after it may have been given yet.
    pub fn close(&mut self, to: u64) {
        self.to = to;
    }

    /// Takes the next event, in order of time.
    pub fn event(&mut self, time: u64, effect: Effect) {
        self.pass(time);
        let now = self.jiffy(time);
        let is_end = effect != Effect::Begin;
        for model in &mut self.models {
            model.look(now, is_end, self.depth);
        }
        self.depth = match is_end {
            true => self.depth.saturating_sub(1),
            false => self.depth + 1,
        };
    }

    /// Returns what each says of the window, which has been closed.
    pub fn finish(mut self) -> Vec<Said> {
        self.pass(u64::MAX);
        let within = self.within.unwrap_or_default();
        let said = KERNELS.iter().zip(within);
        said.map(|(&(_, kernels), ticks)| Said {
            kernels,
            io_ticks: ticks.saturating_mul(SECOND) / self.hz,
        })
        .collect()
    }

    /// Reads at the edges of the window that lie before `time`.
    fn pass(&mut self, time: u64) {
        if self.before.is_none() && time >= self.from {
            self.before = Some(self.read(self.from));
        }
        if let (None, Some(before)) = (self.within, self.before) {
            if time > self.to {
                let after = self.read(self.to);
                self.within = Some(std::array::from_fn(|n| after[n] - before[n]));
            }
        }
    }

    fn read(&mut self, time: u64) -> [u64; 4] {
        let (now, depth) = (self.jiffy(time), self.depth);
        std::array::from_fn(|n| self.models[n].read(now, depth))
    }

    fn jiffy(&self, time: u64) -> u64 {
        (u128::from(time) * u128::from(self.hz) / u128::from(SECOND)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const US: u64 = 1_000;

    /// One request after another, each `busy` ns long and `gap` ns after the last; returns the
    /// %util of each algorithm, and the true one.
    fn one_by_one(hz: u64, busy: u64, gap: u64, seconds: u64) -> ([f64; 4], f64) {
        let to = seconds * SECOND;
        let mut models = Models::new(hz, 0);
        models.close(to);
        let (mut time, mut union) = (0, 0);
        while time + busy < to {
            models.event(time, Effect::Begin);
            models.event(time + busy, Effect::End { start: Some(time) });
            union += busy;
            time += busy + gap;
        }
        let said = models.finish();
        let percent = |ns: u64| ns as f64 * 100.0 / to as f64;
        (
            std::array::from_fn(|n| percent(said[n].io_ticks)),
            percent(union),
        )
    }

    #[test]
    fn the_slow_disk_of_2020() {
        // 82.6 reads a second of 12.09 ms; reported: 8.43 % before the change and 99.99 % after it.
        let period = SECOND * 10 / 826;
        let busy = 12_090 * US;
        let (util, truth) = one_by_one(1000, busy, period - busy, 30);
        assert!((truth - 99.86).abs() < 0.05, "{truth}");
        assert!((8.2..8.6).contains(&util[1]), "{util:?}");
        assert!(util[2] > 99.8, "{util:?}");
        assert!((util[3] - truth).abs() < 0.5, "{util:?}");
    }

    #[test]
    fn the_reviewers_batches_of_2020() {
        // A request of 600 us, then 300 us of nothing.
        let (util, truth) = one_by_one(1000, 600 * US, 300 * US + 7, 20);
        assert!((truth - 66.67).abs() < 0.1, "{truth}");
        assert!((util[0] - truth).abs() < 1.0, "{util:?}");
        assert!(util[2] > 98.0, "{util:?}");
        assert!((util[3] - truth).abs() < 1.0, "{util:?}");
    }

    #[test]
    fn one_in_step_with_the_tick_is_all_or_nothing() {
        // 100 us in every 4 ms, begun in the middle of a jiffy of 4 ms: no look sees one pass.
        let mut models = Models::new(250, 0);
        models.close(SECOND);
        for n in 0..250 {
            let start = 4 * MS * n + 2 * MS;
            models.event(start, Effect::Begin);
            models.event(start + 100 * US, Effect::End { start: Some(start) });
        }
        let said = models.finish();
        assert_eq!(said[0].io_ticks, 0);
        assert_eq!(said[1].io_ticks, SECOND);
        assert_eq!(said[2].io_ticks, SECOND);
        assert_eq!(said[3].io_ticks, 0);
    }

    #[test]
    fn a_hung_request_is_seen_by_a_reader() {
        let mut models = Models::new(1000, 10 * MS);
        models.event(0, Effect::Begin);
        models.close(30 * MS);
        let said = models.finish();
        let ticks: Vec<u64> = said.iter().map(|said| said.io_ticks).collect();
        assert_eq!(ticks, [20 * MS, 0, 0, 20 * MS]);
    }
}
