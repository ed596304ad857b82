// SPDX-License-Identifier: GPL-2.0
//! The truth: books kept by the requests themselves.

use std::collections::BTreeMap;
use std::fmt;

use crate::event::{Id, Op, Record, What, GROUPS};
use crate::world::World;

/// Which of the events are the start and the end of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// `block_io_start` and `block_io_done`.
    Accounting,
    /// `G` and the last `C` of blktrace, which knows writes, reads and discards only.
    Blktrace,
}

/// Of one group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Ended.
    pub ios: u64,
    /// Absorbed.
    pub merges: u64,
    /// Ends minus starts, in ns.
    pub nsecs: u64,
    /// Ended, and started before the trace.
    pub unseen: u64,
    /// Time at the driver of all stays that ended, in ns.
    pub device_nsecs: u64,
    /// Such stays that began before the trace.
    pub device_unseen: u64,
    /// Bios that joined.
    pub joined: u64,
    /// Sectors that were done.
    pub sectors: u64,
}

/// Of one disk, over a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Length of the union, in ns.
    pub io_ticks: u64,
    /// Integral, in ns.
    pub time_in_queue: u64,
    /// In flight at the end.
    pub in_flight: u64,
    /// The same three at the driver.
    pub device: (u64, u64, u64),
    /// Given back undone.
    pub requeues: u64,
    /// Errors shown.
    pub errors: u64,
    /// By group.
    pub groups: [Tally; 9],
}

/// A window of a history, and of what a trace shows of it.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Events before this one are not in the trace.
    pub first: usize,
    /// Its beginning, in ns.
    pub from: u64,
    /// Its end.
    pub to: u64,
}

impl fmt::Display for Truth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "io_ticks {} time_in_queue {} in_flight {} device {:?} requeues {} errors {}",
            self.io_ticks,
            self.time_in_queue,
            self.in_flight,
            self.device,
            self.requeues,
            self.errors
        )?;
        for (tally, group) in self.groups.iter().zip(GROUPS) {
            if *tally != Tally::default() {
                writeln!(f, "{group} {tally:?}")?;
            }
        }
        Ok(())
    }
}

#[derive(Default)]
struct Life {
    /// When it started, and whether the trace shows it.
    start: Option<(u64, bool)>,
    /// The same of the earliest of those that it absorbed.
    passed_on: Option<(u64, bool)>,
    issue: Option<(u64, bool)>,
}

/// Keeps the books of a disk.
pub fn truth(world: &World, disk: usize, view: View, window: Window) -> Truth {
    let mut truth = Truth::default();
    let mut lives: BTreeMap<Id, Life> = BTreeMap::new();
    let (mut spans, mut stays) = (Vec::new(), Vec::new());
    for (at, record) in world.records.iter().enumerate() {
        if record.disk != disk || record.time > window.to {
            continue;
        }
        let seen = at >= window.first;
        let inside = record.time >= window.from && seen;
        let group = group(record, view);
        let tally = &mut truth.groups[group];
        let Some(id) = record.request else {
            let joins = matches!(record.what, What::BackMerge | What::FrontMerge);
            tally.joined += u64::from(joins && inside);
            continue;
        };
        let internal = record.opf.op == Op::Flush;
        if record.opf.op == Op::Driver {
            continue;
        }
        let end = |stay: bool, last: bool, accounting: bool| {
            // What the kernel's own flush shows depends on the disk.
            let mine = internal || accounting == (view == View::Accounting);
            (stay && mine, last && mine && !internal)
        };
        let (stays_end, ends) = match record.what {
            What::GetRq if view == View::Blktrace => {
                lives.entry(id).or_default().start = Some((record.time, seen));
                continue;
            }
            What::Start if view == View::Accounting => {
                lives.entry(id).or_default().start = Some((record.time, seen));
                continue;
            }
            What::Issue => {
                lives.entry(id).or_default().issue = Some((record.time, seen));
                continue;
            }
            What::Merge(into) => {
                let life = lives.remove(&id).unwrap_or_default();
                let Some(start) = life.start else {
                    continue;
                };
                spans.push((start.0, record.time));
                tally.merges += u64::from(inside);
                let passed_on = life.passed_on.map_or(start, |other| other.min(start));
                let life = lives.entry(into).or_default();
                life.passed_on = Some(life.passed_on.map_or(passed_on, |own| own.min(passed_on)));
                continue;
            }
            What::Error => {
                truth.errors += u64::from(inside && view == View::Accounting);
                continue;
            }
            What::Requeue => {
                let issued = lives.get(&id).is_some_and(|life| life.issue.is_some());
                truth.requeues += u64::from(issued && inside);
                (true, false)
            }
            What::Complete { stay, last } => {
                let sectors = if inside { record.sectors } else { 0 };
                tally.sectors += sectors;
                // There, an error is one of a completion, and the flush has none of its own.
                let failed = record.failed && !internal && view == View::Blktrace;
                truth.errors += u64::from(failed && inside);
                end(stay, last, false)
            }
            What::Done { stay, last } => end(stay, last, true),
            _ => continue,
        };
        let life = lives.entry(id).or_default();
        if let Some((issue, known)) = life.issue.take_if(|_| stays_end) {
            stays.push((issue, record.time));
            if inside {
                tally.device_nsecs += record.time - issue;
                tally.device_unseen += u64::from(!known);
            }
        }
        if let Some((start, known)) = life.start.take_if(|_| ends) {
            spans.push((start, record.time));
            if inside {
                let own = (start, known);
                let (earliest, known) = life.passed_on.map_or(own, |other| own.min(other));
                tally.ios += 1;
                tally.nsecs += record.time - earliest;
                tally.unseen += u64::from(!known);
            }
        }
    }
    for life in lives.values() {
        if let Some((start, _)) = life.start {
            spans.push((start, window.to));
            truth.in_flight += 1;
        }
        if let Some((issue, _)) = life.issue {
            stays.push((issue, window.to));
            truth.device.2 += 1;
        }
    }
    (truth.io_ticks, truth.time_in_queue) = lengths(spans, window);
    (truth.device.0, truth.device.1) = lengths(stays, window);
    truth
}

fn group(record: &Record, view: View) -> usize {
    match (record.opf.op, view) {
        (Op::ZoneAppend | Op::Zone(_) | Op::WriteZeroes, View::Blktrace) => Op::Write.group(),
        (op, _) => op.group(),
    }
}

/// Returns the length of the union, and the sum of the lengths, inside the window.
fn lengths(mut spans: Vec<(u64, u64)>, window: Window) -> (u64, u64) {
    spans.sort_unstable();
    let (mut union, mut sum, mut reached) = (0, 0, window.from);
    for (start, end) in spans {
        let end = end.min(window.to);
        sum += end.saturating_sub(start.max(window.from));
        union += end.saturating_sub(start.max(reached));
        reached = reached.max(end);
    }
    (union, sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_union_has_each_moment_once() {
        let window = Window {
            first: 0,
            from: 10,
            to: 100,
        };
        let spans = vec![(0, 20), (15, 30), (15, 18), (40, 50), (90, 120)];
        assert_eq!(
            lengths(spans, window),
            (20 + 10 + 10, 10 + 15 + 3 + 10 + 10)
        );
    }
}
