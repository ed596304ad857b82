// SPDX-License-Identifier: GPL-2.0
//! One device's figures over a window.

use std::collections::VecDeque;

use super::edge::Edge;
use super::sweep::{Change, Sweep};
use crate::source::Group;

/// Counts and sums of one group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Completed I/O.
    pub ios: u64,
    /// Absorbed requests.
    pub merges: u64,
    /// Ends that were requeues: of stays at the driver.
    pub requeues: u64,
    /// Sum of end minus start, in ns.
    pub nsecs: u64,
    /// Completed I/O whose start is unknown; `nsecs` lacks it.
    pub unseen: u64,
    /// Ends so close to an edge of the window that they may lie on the other side.
    pub edge_ios: u64,
    /// Requeues likewise.
    pub edge_requeues: u64,
    /// Merges likewise.
    pub edge_merges: u64,
    /// The latencies of `edge_ios`, in ns.
    pub edge_nsecs: u64,
}

/// Figures in the making.
#[derive(Clone, Debug)]
pub struct Account {
    from: Edge,
    to: Edge,
    skew: u64,
    exact: Sweep,
    lower: Sweep,
    upper: Sweep,
    groups: [Tally; Group::COUNT],
    /// Changes inside the window.
    changes: u64,
    /// Changes that may lie on the other side of an edge.
    edge_changes: u64,
    /// By how much they may be so, added up, in ns.
    edge_ns: u64,
    in_flight: i64,
    in_flight_before: i64,
    unseen: u64,
    /// What happened within twice `skew` of the latest event: the window may turn out to end there.
    /// Once it is known where, what may lie on either side of its end.
    recent: VecDeque<(u64, Group, Tally)>,
    /// How many ns before its time the event that is entered can have been.
    late: u64,
}

/// What is made of I/O that someone counted at both edges and the trace does not know, if events
/// near the edges could explain it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unexplained {
    /// They do.
    ByEdges,
    /// It was in flight all the time.
    AllTheTime,
}

/// The figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Length of the union, in ns.
    pub io_ticks: u64,
    /// The union if each time is off by the skew, at its shortest and at its longest.
    pub io_ticks_range: (u64, u64),
    /// Integral, in ns.
    pub time_in_queue: u64,
    /// What the integral may differ by if each time is off by the skew.
    pub time_in_queue_slack: u64,
    /// In flight at the beginning, as far as the trace knows.
    pub in_flight_before: u64,
    /// In flight at the end.
    pub in_flight: u64,
    /// Starts, ends and merges inside the window.
    pub changes: u64,
    /// Those that may lie on the other side of an edge.
    pub edge_changes: u64,
    /// Ends inside the window whose starts are unknown.
    pub unseen: u64,
    /// Those of them that were not in flight at the beginning either.
    pub surplus_ends: u64,
    /// Per group.
    pub groups: [Tally; Group::COUNT],
}

impl Account {
    /// Opens an account whose times may be off by `skew` ns, over a window that begins at `from`.
    pub fn new(from: impl Into<Edge>, skew: u64) -> Self {
        let from = from.into();
        let skew = skew.min(i64::MAX as u64 / 2);
        Account {
            from,
            to: Edge::NEVER,
            skew,
            exact: Sweep::new(from.time, 0),
            lower: Sweep::new(from.time, -(skew as i64)),
            upper: Sweep::new(from.time, skew as i64),
            groups: Default::default(),
            changes: 0,
            edge_changes: 0,
            edge_ns: 0,
            in_flight: 0,
            in_flight_before: 0,
            unseen: 0,
            recent: VecDeque::new(),
            late: 0,
        }
    }

    /// Ends the window at `to`; nothing after it may have been given yet.
    pub fn close(&mut self, to: impl Into<Edge>) {
        self.to = to.into();
        for sweep in [&mut self.exact, &mut self.lower, &mut self.upper] {
            sweep.close(self.to.time);
        }
        let (to, skew) = (self.to, self.skew);
        self.recent
            .retain(|&(time, ..)| to.is_unsure(time, 0, skew));
    }

    /// What is entered from now on can have been so many ns before its time.
    pub fn late(&mut self, ns: u64) {
        self.late = ns;
    }

    /// A request starts.
    pub fn begin(&mut self, time: u64, group: Group) {
        self.change(time, Change::Begin, group, Tally::default());
    }

    /// A request ends.
    pub fn end(&mut self, time: u64, group: Group, start: Option<u64>) {
        self.leave(time, group, start, 0);
    }

    /// A request whose start is unknown, and that was taken to have ended at `before`, ends only now.
    pub fn end_after(&mut self, time: u64, group: Group, before: u64) {
        if before < self.from.time || before > self.to.time {
            return self.end(time, group, None);
        }
        if time > self.to.time {
            return;
        }
        for sweep in [&mut self.exact, &mut self.lower, &mut self.upper] {
            sweep.take_back(before);
        }
        self.change(time, Change::EndUnseen, group, Tally::default());
        self.unseen = self.unseen.saturating_sub(1);
    }

    /// A request's stay at the driver ends by a requeue.
    pub fn requeue(&mut self, time: u64, group: Group, issued: Option<u64>) {
        self.leave(time, group, issued, 1);
    }

    fn leave(&mut self, time: u64, group: Group, start: Option<u64>, requeues: u64) {
        let mut tally = Tally {
            ios: 1,
            requeues,
            ..Tally::default()
        };
        let change = match start {
            Some(start) => {
                tally.nsecs = time.saturating_sub(start);
                Change::End
            }
            None => {
                tally.unseen = 1;
                Change::EndUnseen
            }
        };
        self.change(time, change, group, tally);
    }

    /// A request is absorbed; `seen` tells whether its start is known.
    pub fn absorb(&mut self, time: u64, group: Group, seen: bool) {
        let tally = Tally {
            merges: 1,
            ..Tally::default()
        };
        let change = if seen { Change::End } else { Change::EndUnseen };
        self.change(time, change, group, tally);
    }

    fn change(&mut self, time: u64, change: Change, group: Group, tally: Tally) {
        // A request that was in flight all through the window is added when the account closes.
        let (from, to) = (self.from.time, self.to.time);
        if change != Change::EndUnseen || time <= to {
            for sweep in [&mut self.exact, &mut self.lower, &mut self.upper] {
                sweep.change(time, change);
            }
        }
        self.remember(time, group, tally);
        if self.from.is_unsure(time, self.late, self.skew) {
            self.near_edge(time.abs_diff(from), group, &tally);
        }
        let step = match change {
            Change::Begin => 1,
            Change::End => -1,
            Change::EndUnseen => 0,
        };
        if time < from {
            self.in_flight_before += step;
        }
        if time <= to {
            self.in_flight += step;
        }
        if (from..=to).contains(&time) {
            self.changes += 1;
            self.unseen += u64::from(change == Change::EndUnseen);
            let sum = &mut self.groups[group as usize];
            sum.ios += tally.ios;
            sum.merges += tally.merges;
            sum.requeues += tally.requeues;
            sum.nsecs += tally.nsecs;
            sum.unseen += tally.unseen;
        }
    }

    /// Keeps what may lie on either side of the window's end.
    fn remember(&mut self, time: u64, group: Group, tally: Tally) {
        if self.to != Edge::NEVER {
            if self.to.is_unsure(time, self.late, self.skew) {
                self.recent.push_back((time, group, tally));
            }
            return;
        }
        let old = time.saturating_sub(2 * self.skew);
        while self.recent.front().is_some_and(|&(at, ..)| at < old) {
            self.recent.pop_front();
        }
        self.recent.push_back((time, group, tally));
    }

    /// An event so far from the edge may lie on its other side.
    fn near_edge(&mut self, ns: u64, group: Group, tally: &Tally) {
        self.edge_changes += 1;
        self.edge_ns = self.edge_ns.saturating_add(ns);
        let sum = &mut self.groups[group as usize];
        sum.edge_ios += tally.ios;
        sum.edge_merges += tally.merges;
        sum.edge_requeues += tally.requeues;
        sum.edge_nsecs += tally.nsecs;
    }

    /// Closes the account. `counted` is in-flight at both edges, if someone counted it: what the
    /// trace knows less at both, and what the edges' own events do not explain, was in flight all
    /// the time.
    pub fn finish(mut self, counted: Option<(u64, u64)>, unexplained: Unexplained) -> Figures {
        for (time, group, tally) in std::mem::take(&mut self.recent) {
            self.near_edge(time.abs_diff(self.to.time), group, &tally);
        }
        let seen_before = self.in_flight_before.max(0) as u64;
        let seen_after = self.in_flight.max(0) as u64;
        let (still, older) = counted.map_or((0, self.unseen), |(before, after)| {
            let older = before.saturating_sub(seen_before);
            let still = older
                .saturating_sub(self.unseen)
                .min(after.saturating_sub(seen_after));
            let by_edges = unexplained == Unexplained::ByEdges && still <= self.edge_changes;
            (if by_edges { 0 } else { still }, older)
        });
        let (io_ticks, area) = self.exact.finish(still);
        let (shortest, _) = self.lower.finish(still);
        let (longest, _) = self.upper.finish(still);
        let edges = self.changes.saturating_add(self.edge_changes);
        Figures {
            io_ticks,
            io_ticks_range: (shortest, longest),
            time_in_queue: u64::try_from(area.max(0)).unwrap_or(u64::MAX),
            time_in_queue_slack: self.skew.saturating_mul(edges).saturating_add(self.edge_ns),
            in_flight_before: seen_before,
            in_flight: seen_after.saturating_add(still),
            changes: self.changes,
            edge_changes: self.edge_changes,
            unseen: self.unseen,
            surplus_ends: self
                .unseen
                .saturating_sub(older.saturating_add(self.edge_changes)),
            groups: self.groups,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_near_either_edge_may_lie_on_the_other_side() {
        let mut account = Account::new(100, 10);
        account.close(200);
        for (start, end) in [(80, 95), (96, 105), (120, 150), (160, 191), (192, 209)] {
            account.begin(start, Group::Read);
            account.end(end, Group::Read, Some(start));
        }
        let figures = account.finish(None, Unexplained::ByEdges);
        let read = figures.groups[Group::Read as usize];
        // Ended inside: at 105, 150 and 191. Near an edge: at 95, 105, 191 and 209.
        assert_eq!((read.ios, read.edge_ios), (3, 4));
        assert_eq!(read.edge_nsecs, 15 + 9 + 31 + 17);
    }

    /// The numbers are of 100 and 200, but were read from 90 to 120 and from 190 to 220.
    #[test]
    fn what_happens_during_a_read_may_be_in_it_or_not() {
        let edge = |time| Edge {
            time,
            begun: time - 10,
            over: time + 20,
        };
        let mut account = Account::new(edge(100), 0);
        for (start, end) in [(80, 95), (96, 119), (121, 150)] {
            account.begin(start, Group::Read);
            account.end(end, Group::Read, Some(start));
        }
        account.close(edge(200));
        for (start, end) in [(189, 190), (210, 220), (220, 221)] {
            account.begin(start, Group::Read);
            account.end(end, Group::Read, Some(start));
        }
        let figures = account.finish(None, Unexplained::ByEdges);
        let read = figures.groups[Group::Read as usize];
        // Ended inside: at 119, 150 and 190. During a read: at 95, 119, 190 and 220.
        assert_eq!((read.ios, read.edge_ios), (3, 4));
        // Starts at 96, 210 and 220 as well.
        assert_eq!(figures.edge_changes, 7);
        assert_eq!(figures.time_in_queue_slack, 5 + 4 + 19 + 10 + 10 + 20 + 20);
    }

    #[test]
    fn io_that_never_ends_is_in_flight_all_the_time() {
        let mut account = Account::new(100, 0);
        account.close(200);
        account.begin(120, Group::Read);
        account.end(130, Group::Read, Some(120));
        // Two of which the trace knows nothing, before and after.
        let figures = account.finish(Some((2, 2)), Unexplained::ByEdges);
        assert_eq!((figures.io_ticks, figures.time_in_queue), (100, 210));
        assert_eq!(figures.in_flight, 2);
    }

    #[test]
    fn more_ends_than_io_in_flight_are_told() {
        let mut account = Account::new(100, 0);
        account.close(200);
        account.end(130, Group::Read, None);
        account.end(140, Group::Read, None);
        assert_eq!(
            account
                .finish(Some((1, 0)), Unexplained::ByEdges)
                .surplus_ends,
            1
        );
    }
}
