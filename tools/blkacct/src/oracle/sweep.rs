// SPDX-License-Identifier: GPL-2.0
//! The union and the integral of intervals, in one pass over their ends.
//!
//! In-flight only changes at a start or an end, so neither figure needs to know which end belongs
//! to which start: between two changes, time counts as busy if in-flight is above zero, and counts
//! in-flight times over for the integral.
//!
//! A sweep can also grow or shrink every interval at both ends by the same time. Its two kinds of
//! ends then pass in different orders, and the later kind waits in a queue.

use std::collections::VecDeque;

/// A change of in-flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// One more.
    Begin,
    /// One less.
    End,
    /// One less, of which only the end is known: it was in flight since before the window.
    EndUnseen,
}

/// What lies inside the window.
#[derive(Clone, Debug)]
pub struct Sweep {
    from: u64,
    to: u64,
    /// Each interval begins so much earlier and ends so much later, in ns.
    grow: i64,
    waiting: VecDeque<(u64, Change)>,
    at: u64,
    depth: i64,
    busy: u64,
    area: i128,
}

impl Sweep {
    /// Sweeps the window that begins at `from` and has no end yet.
    pub fn new(from: u64, grow: i64) -> Self {
        Sweep {
            from,
            to: u64::MAX,
            grow,
            waiting: VecDeque::new(),
            at: 0,
            depth: 0,
            busy: 0,
            area: 0,
        }
    }

    /// Ends the window at `to`; no change after it may have been given yet.
    pub fn close(&mut self, to: u64) {
        self.to = to;
    }

    /// In-flight changes at `time`. Times never step back.
    pub fn change(&mut self, time: u64, change: Change) {
        let begins = change == Change::Begin;
        let early = time.saturating_sub(self.grow.unsigned_abs());
        self.pass(early);
        // A grown interval begins early and ends late; a shrunk one is the other way round.
        if self.grow != 0 && begins == (self.grow < 0) {
            let late = time.saturating_add(self.grow.unsigned_abs());
            self.waiting.push_back((late, change));
        } else {
            self.apply(early, change);
        }
    }

    /// One that was taken to have been in flight from the edge to `time` was so for longer, and is
    /// told of again.
    pub fn take_back(&mut self, time: u64) {
        let since = time.clamp(self.from, self.to.max(self.from)) - self.from;
        self.area -= i128::from(since);
    }

    /// Returns the union and the integral over a window that was closed, with `unseen` requests in
    /// flight all through it that had neither a start nor an end.
    pub fn finish(mut self, unseen: u64) -> (u64, i128) {
        self.pass(u64::MAX);
        self.advance(self.to);
        self.end_unseen(unseen);
        (self.busy, self.area)
    }

    /// Applies the changes that waited for a time up to `time`.
    fn pass(&mut self, time: u64) {
        while let Some(&(at, change)) = self.waiting.front().filter(|&&(at, _)| at <= time) {
            self.waiting.pop_front();
            self.apply(at, change);
        }
    }

    fn apply(&mut self, time: u64, change: Change) {
        self.advance(time);
        match change {
            Change::Begin => self.depth += 1,
            Change::End => self.depth -= 1,
            Change::EndUnseen => self.end_unseen(1),
        }
    }

    /// So many were in flight from the edge until now: all of that time is busy.
    fn end_unseen(&mut self, count: u64) {
        if count == 0 {
            return;
        }
        let since = self.at.clamp(self.from, self.to.max(self.from)) - self.from;
        self.busy = self.busy.max(since);
        let area = i128::from(since).saturating_mul(i128::from(count));
        self.area = self.area.saturating_add(area);
    }

    /// Counts the time since the last change, as far as it lies in the window.
    fn advance(&mut self, time: u64) {
        let span = time.min(self.to).saturating_sub(self.at.max(self.from));
        if self.depth > 0 {
            self.busy += span;
        }
        self.area += i128::from(self.depth) * i128::from(span);
        self.at = self.at.max(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(sweep: &mut Sweep, changes: &[(u64, Change)]) {
        for &(time, change) in changes {
            sweep.change(time, change);
        }
    }

    fn finish(mut sweep: Sweep, to: u64) -> (u64, i128) {
        sweep.close(to);
        sweep.finish(0)
    }

    const PAIR: [(u64, Change); 4] = [
        (10, Change::Begin),
        (20, Change::Begin),
        (30, Change::End),
        (50, Change::End),
    ];

    #[test]
    fn overlap_counts_once_in_the_union() {
        let mut sweep = Sweep::new(0, 0);
        run(&mut sweep, &PAIR);
        assert_eq!(finish(sweep, 100), (40, 50));
    }

    #[test]
    fn edges_clip() {
        let mut sweep = Sweep::new(25, 0);
        sweep.close(40);
        run(&mut sweep, &PAIR);
        assert_eq!(sweep.finish(0), (15, 20));
    }

    #[test]
    fn grown_and_shrunk() {
        let mut sweep = Sweep::new(0, 3);
        run(&mut sweep, &PAIR);
        assert_eq!(finish(sweep, 100), (46, 62));
        let mut sweep = Sweep::new(0, -3);
        run(&mut sweep, &PAIR);
        assert_eq!(finish(sweep, 100), (34, 38));
    }

    #[test]
    fn a_shrunk_handover_leaves_a_gap() {
        let changes = [
            (10, Change::Begin),
            (20, Change::Begin),
            (21, Change::End),
            (30, Change::End),
        ];
        let mut sweep = Sweep::new(0, -3);
        run(&mut sweep, &changes);
        // 13..18 and 23..27.
        assert_eq!(finish(sweep, 100).0, 9);
    }

    #[test]
    fn an_unseen_start_lies_before_the_window() {
        let mut sweep = Sweep::new(100, 0);
        run(
            &mut sweep,
            &[
                (110, Change::Begin),
                (120, Change::EndUnseen),
                (130, Change::End),
            ],
        );
        assert_eq!(finish(sweep, 200), (30, 40));
        let mut sweep = Sweep::new(100, 0);
        sweep.close(200);
        assert_eq!(sweep.clone().finish(2), (100, 200));
        // What a file says is not waited for one by one.
        assert_eq!(sweep.finish(u64::MAX).1, 100 * i128::from(u64::MAX));
    }
}
