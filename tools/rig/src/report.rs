// SPDX-License-Identifier: GPL-2.0
//! What a load did, as it saw it: the outermost measure, around the system calls.

use serde::Serialize;

/// A read: when it was due, begun and done, in ns of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// When it should begin.
    pub due: u64,
    /// Before the system call.
    pub start: u64,
    /// After the system call.
    pub end: u64,
}

/// A load that is done.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Its name.
    pub load: &'static str,
    /// Instants at which one or more reads were due.
    pub rounds: u64,
    /// Reads.
    pub ios: u64,
    /// From the first start to the last end.
    pub wall_ns: u64,
    /// How long at least one read was under way: the accounting's busy time is never more.
    pub busy_ns: u64,
    /// From the start to the end of a read.
    pub latency: Spread,
    /// From the time a read was due to its start.
    pub late: Spread,
}

/// Least, mean and most of some times, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// The least.
    pub min_ns: u64,
    /// The mean, rounded down.
    pub mean_ns: u64,
    /// The most.
    pub max_ns: u64,
}

impl Spread {
    fn of(times: impl Iterator<Item = u64>) -> Self {
        let (mut n, mut sum, mut min, mut max) = (0, 0, u64::MAX, 0);
        for time in times {
            n += 1;
            sum += time;
            min = min.min(time);
            max = max.max(time);
        }
        if n == 0 {
            return Spread::default();
        }
        Spread {
            min_ns: min,
            mean_ns: sum / n,
            max_ns: max,
        }
    }
}

impl Report {
    /// Sums up `reads`, in any order.
    pub fn new(load: &'static str, rounds: u32, mut reads: Vec<Read>) -> Self {
        reads.sort_unstable_by_key(|read| read.start);
        let first = reads.first().map_or(0, |read| read.start);
        let (mut busy, mut until) = (0, 0);
        for read in &reads {
            busy += read.end.saturating_sub(read.start.max(until));
            until = until.max(read.end);
        }
        Report {
            load,
            rounds: rounds.into(),
            ios: reads.len() as u64,
            wall_ns: until - first,
            busy_ns: busy,
            latency: Spread::of(reads.iter().map(|read| read.end - read.start)),
            late: Spread::of(reads.iter().map(|read| read.start - read.due)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_shared_by_reads_counts_once() {
        let read = |due, start, end| Read { due, start, end };
        let reads = vec![read(50, 60, 70), read(10, 10, 30), read(10, 15, 25)];
        let report = Report::new("x", 2, reads);
        assert_eq!((report.ios, report.wall_ns, report.busy_ns), (3, 60, 30));
        let spread = |min_ns, mean_ns, max_ns| Spread {
            min_ns,
            mean_ns,
            max_ns,
        };
        assert_eq!(report.latency, spread(10, 13, 20));
        assert_eq!(report.late, spread(0, 5, 10));
    }

    #[test]
    fn a_read_inside_another_does_not_end_it() {
        let read = |start, end| Read {
            due: start,
            start,
            end,
        };
        let report = Report::new("x", 1, vec![read(0, 100), read(10, 20), read(30, 50)]);
        assert_eq!((report.wall_ns, report.busy_ns), (100, 100));
    }
}
