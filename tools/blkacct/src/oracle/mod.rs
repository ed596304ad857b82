// SPDX-License-Identifier: GPL-2.0
//! The truth: what exact accounting must report for a stream of events.
//!
//! It shares no code with the accounting it judges. The core counts leaves and roots of a tree in
//! atomics, as the events happen; this is a sweep over a sorted list, afterwards.
//!
//! # How far a trace and the accounting may differ
//!
//! Trace and accounting see the same events and read the clock a moment apart, in either order. Let
//! `d` be the longest such moment (`--skew-ns`). Then, with no further assumption:
//!
//! * `io_ticks` is at least the union of the intervals shrunk by `d` at both ends, and at most the
//!   union of the intervals grown by `d` at both ends. Both are swept beside the exact union.
//! * `time_in_queue` differs by at most `d` for each start, end and merge.
//! * `ios` and `merges` differ by at most the events within `d` of an edge of the window.
//! * `nsecs` differs by at most `2 d` for each I/O, plus the latencies of those within `d` of an
//!   edge, plus [`slack::Slack`].
//!
//! The same goes for the times at the driver, which are a second account of the same kind.
//!
//! Where a CPU stands still between the two, `d` is not the longest such moment. Where the trace
//! shows that CPUs do ([`late`]), so much more is allowed.
//!
//! This holds where the union is shrunk by counting: requests shorter than `2 d` only make the
//! lower bound lower.

pub mod account;
mod books;
pub mod driver;
pub mod edge;
pub mod errors;
pub mod flight;
pub mod late;
pub mod models;
pub mod replay;
pub mod slack;
pub mod sweep;

use account::{Figures, Unexplained};
use books::Books;
use edge::Edge;
use errors::{Counted, Errors};
use flight::{Flight, Lean, Step};
use late::{Late, StoodStill};
use models::{Models, Said};
use slack::Slack;

use crate::source::{Event, Group, Kind};

/// Turns the events of one disk into figures.
pub struct Oracle {
    /// One way to read the events; two once an event was open.
    ways: Vec<Way>,
    errors: Errors,
    late: Late,
    skew: u64,
    to: Edge,
    last: u64,
    counted: Option<(u64, u64)>,
    counted_at_driver: Option<(u64, u64)>,
    from: Edge,
    /// The window is what the trace has.
    whole: bool,
    open: u64,
    end: Kind,
    /// Jiffies a second of the kernels to model, if any are.
    hz: Option<u64>,
    models: Option<Models>,
}

/// One way to read the events.
#[derive(Clone)]
struct Way {
    flight: Flight,
    books: Books,
    slack_before: (Slack, Slack),
}

/// The figures by one way to read the events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The figures.
    pub figures: Figures,
    /// Those of the driver, whose `ios` are stays; none if the trace has no issue.
    pub driver: Option<Figures>,
    /// What each group's `nsecs` may be wrong by because requests had to be guessed, in ns.
    pub slack: [u64; Group::COUNT],
    /// The same for the sums of the times at the driver.
    pub driver_slack: [u64; Group::COUNT],
}

/// The figures, and what is to be said about them.
pub struct Truth {
    /// The beginning of the window, in ns of the trace's clock.
    pub from: u64,
    /// The end of the window.
    pub to: u64,
    /// The figures, by each way to read the events: with ends as early as they can be, and, if that
    /// makes a difference, as late as they can be.
    pub readings: Vec<Reading>,
    /// Events that may end a request or not.
    pub open: u64,
    /// The trace has issues of flush commands and no end of one.
    pub flushes_never_end: bool,
    /// How long CPUs stood still while events were traced.
    pub stood_still: StoodStill,
    /// Requests that failed; none if the trace may not show them.
    pub errors: Option<Counted>,
    /// Driver commands that were started.
    pub driver_commands: u64,
    /// What the kernel's algorithms would have said, if they were modelled.
    pub models: Vec<Said>,
}

impl Truth {
    /// Returns the figures with ends as early as they can be.
    pub fn figures(&self) -> &Figures {
        &self.readings[0].figures
    }
}

impl Oracle {
    /// The window is the trace, from the first event of the disk to the last.
    pub fn whole(skew: u64) -> Self {
        Oracle {
            whole: true,
            ..Oracle::window(0, skew)
        }
    }

    /// The window begins at `from`.
    pub fn window(from: impl Into<Edge>, skew: u64) -> Self {
        let from = from.into();
        Oracle {
            ways: vec![Way {
                flight: Flight::new(Kind::Done),
                books: Books::new(from, skew),
                slack_before: Default::default(),
            }],
            errors: Errors::default(),
            late: Late::default(),
            skew,
            to: Edge::NEVER,
            last: 0,
            counted: None,
            counted_at_driver: None,
            from,
            whole: false,
            open: 0,
            end: Kind::Done,
            hz: None,
            models: None,
        }
    }

    /// Requests end with events of another kind than [`Kind::Done`]; no event has been given yet.
    pub fn ends_with(&mut self, kind: Kind) {
        self.end = kind;
        for way in &mut self.ways {
            way.flight = Flight::new(kind);
        }
    }

    /// The window ends at `to`; no later event has been given yet. Someone counted in-flight, at
    /// the beginning and at the end.
    pub fn close(&mut self, to: impl Into<Edge>, counted: (u64, u64)) {
        self.counted = Some(counted);
        self.end_at(to.into());
    }

    /// Models the kernel's own algorithms as well, with `hz` jiffies a second; no event has been
    /// given yet.
    pub fn model(&mut self, hz: u64) {
        self.hz = Some(hz);
    }

    /// Someone counted what the driver has, at the beginning and at the end.
    pub fn counted_at_driver(&mut self, counted: (u64, u64)) {
        self.counted_at_driver = Some(counted);
    }

    /// The trace shows the requests that fail.
    pub fn errors_are_shown(&mut self) {
        self.errors.show();
    }

    fn end_at(&mut self, to: Edge) {
        self.to = to;
        for way in &mut self.ways {
            way.books.close(to);
        }
    }

    /// Takes the next event, in order of time.
    pub fn event(&mut self, event: &Event) {
        let late = self.late.event(event);
        let earliest = event.time.saturating_sub(late);
        if earliest > self.to.over.saturating_add(self.skew) {
            return;
        }
        if event.time >= self.from.begun {
            self.late.count(late);
        }
        if event.kind == Kind::Allocate {
            return;
        }
        self.last = event.time;
        let window = (self.from.by_account().0, self.to.by_account().0);
        // Of the kernel's own flushes nobody is told that they fail.
        let told = event.rwbs.group != Some(Group::Flush);
        let fails = event.failed && told && self.end == Kind::Complete;
        if event.kind == Kind::Error || (event.kind == Kind::Complete && fails) {
            self.errors.event(event.time, window, self.skew);
        }
        self.fork(event);
        let mut first = None;
        let mut begins = event.kind == Kind::Error || event.failed;
        for way in &mut self.ways {
            if event.time < self.from.time {
                let (io, driver) = way.flight.slack();
                way.slack_before = (*io, *driver);
            }
            let Some(step) = way.flight.event(event) else {
                continue;
            };
            begins = true;
            if self.whole {
                way.books = Books::new(event.time.into(), self.skew);
            }
            way.books.book(event.time, late, step);
            first = first.or(Some(step));
        }
        // An event that does nothing, such as a bio's, begins no window.
        if self.whole && begins {
            self.whole = false;
            self.from = event.time.into();
        }
        if let Some(step) = first {
            self.model_step(event.time, step);
        }
        self.drop_wrong();
    }

    /// Drops a way that turns out wrong: one that comes to an end without a start, which the other
    /// has, or in which a sequence ended without its flush.
    fn drop_wrong(&mut self) {
        let [early, late] = self.ways.as_slice() else {
            return;
        };
        let wrong = |way: &Way| (way.flight.missed, way.flight.is_refuted());
        let right = match (wrong(early), wrong(late)) {
            ((false, _), (true, _)) | ((_, false), (_, true)) => 0,
            ((true, _), (false, _)) | ((_, true), (_, false)) => 1,
            _ => return,
        };
        self.ways.swap_remove(1 - right);
        self.ways[0].flight.lean = Lean::Early;
    }

    /// Goes on in two ways from an event that may end a request or not.
    fn fork(&mut self, event: &Event) {
        if !self.ways.iter().any(|way| way.flight.is_open(event)) {
            return;
        }
        self.open += 1;
        if let [way] = self.ways.as_mut_slice() {
            let other = Way {
                flight: way.flight.fork(event),
                ..way.clone()
            };
            self.ways.push(other);
        }
    }

    fn model_step(&mut self, time: u64, step: Step) {
        if let (Some(hz), Some(effect)) = (self.hz, step.io) {
            let from = self.from.time;
            let models = self.models.get_or_insert_with(|| Models::new(hz, from));
            models.event(time, effect);
        }
    }

    /// Ends the window, at the last event unless it was closed.
    pub fn finish(mut self) -> Truth {
        if self.to == Edge::NEVER {
            self.end_at(self.last.max(self.from.time).into());
        }
        let models = self.models.map(|mut models| {
            models.close(self.to.time);
            models.finish()
        });
        let driver_commands = self.ways[0].flight.driver_commands;
        let (counted, at_driver) = (self.counted, self.counted_at_driver);
        let flushes_never_end = self.ways[0].flight.flushes_never_end();
        let last = self.last;
        if self.ways.len() > 1 {
            self.ways.retain(|way| !way.flight.waits_in_vain(last));
        }
        let readings = self.ways.into_iter();
        Truth {
            from: self.from.time,
            to: self.to.time,
            readings: readings
                .flat_map(|way| way.finish(counted, at_driver))
                .collect(),
            flushes_never_end,
            open: self.open,
            stood_still: self.late.stood_still(self.skew),
            driver_commands,
            errors: self.errors.finish(self.to.by_account().0, self.skew),
            models: models.unwrap_or_default(),
        }
    }
}

impl Way {
    /// Returns the figures; two of them where it is open whether I/O that nobody saw was in flight.
    fn finish(self, counted: Option<(u64, u64)>, at_driver: Option<(u64, u64)>) -> Vec<Reading> {
        let (slack, driver_slack) = self.flight.slack();
        let since =
            |slack: &Slack, before: &Slack| Group::ALL.map(|group| slack.since(before, group));
        let shows_driver = self.flight.issues > 0 && !self.flight.flushes_never_end();
        let read = |unexplained| {
            let books = self.books.clone();
            let (figures, driver) = books.finish(counted, at_driver, unexplained);
            Reading {
                figures,
                driver: shows_driver.then_some(driver),
                slack: since(slack, &self.slack_before.0),
                driver_slack: since(driver_slack, &self.slack_before.1),
            }
        };
        let mut readings = vec![read(Unexplained::ByEdges), read(Unexplained::AllTheTime)];
        readings.dedup();
        readings
    }
}
