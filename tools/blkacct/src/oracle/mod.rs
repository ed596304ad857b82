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
//! This holds where the union is shrunk by counting: requests shorter than `2 d` only make the
//! lower bound lower.

pub mod account;
pub mod driver;
pub mod errors;
pub mod flight;
pub mod models;
pub mod replay;
pub mod slack;
pub mod sweep;

use account::{Account, Figures};
use driver::Stay;
use errors::{Counted, Errors};
use flight::{Effect, Flight, Step};
use models::{Models, Said};
use slack::Slack;

use crate::source::{Event, Group, Kind};

/// Turns the events of one disk into figures.
pub struct Oracle {
    flight: Flight,
    books: Option<Books>,
    errors: Errors,
    skew: u64,
    to: u64,
    last: u64,
    counted: Option<(u64, u64)>,
    counted_at_driver: Option<(u64, u64)>,
    from: u64,
    slack_before: Slack,
    /// Jiffies a second of the kernels to model, if any are.
    hz: Option<u64>,
    models: Option<Models>,
}

/// The two accounts.
struct Books {
    /// All that is in flight.
    io: Account,
    /// What the driver has.
    driver: Account,
}

impl Books {
    fn new(from: u64, skew: u64) -> Self {
        Books {
            io: Account::new(from, skew),
            driver: Account::new(from, skew),
        }
    }

    fn book(&mut self, time: u64, step: Step) {
        let (io, driver, group) = (&mut self.io, &mut self.driver, step.group);
        match step.io {
            Some(Effect::Begin) => io.begin(time, group),
            Some(Effect::End { start }) => io.end(time, group, start),
            Some(Effect::Absorb { seen }) => io.absorb(time, group, seen),
            None => {}
        }
        match step.driver {
            Some(Stay::Begin) => driver.begin(time, group),
            Some(Stay::End { issued }) => driver.end(time, group, issued),
            Some(Stay::Requeue { issued }) => driver.requeue(time, group, Some(issued)),
            None => {}
        }
    }
}

/// The figures, and what is to be said about them.
pub struct Truth {
    /// The beginning of the window, in ns of the trace's clock.
    pub from: u64,
    /// The end of the window.
    pub to: u64,
    /// The figures.
    pub figures: Figures,
    /// Those of the driver, whose `ios` are stays; none if the trace has no issue.
    pub driver: Option<Figures>,
    /// Requests that failed; none if the trace may not show them.
    pub errors: Option<Counted>,
    /// What each group's `nsecs` may be wrong by because requests had to be guessed, in ns.
    pub slack: [u64; Group::COUNT],
    /// Driver commands that were started.
    pub driver_commands: u64,
    /// Dones that may be the middle or the end of a flush sequence.
    pub unclear_flushes: u64,
    /// What the kernel's algorithms would have said, if they were modelled.
    pub models: Vec<Said>,
}

impl Oracle {
    /// The window is the trace, from the first event of the disk to the last.
    pub fn whole(skew: u64) -> Self {
        Oracle {
            flight: Flight::default(),
            books: None,
            errors: Errors::default(),
            skew,
            to: u64::MAX,
            last: 0,
            counted: None,
            counted_at_driver: None,
            from: 0,
            slack_before: Slack::default(),
            hz: None,
            models: None,
        }
    }

    /// The window begins at `from`.
    pub fn window(from: u64, skew: u64) -> Self {
        Oracle {
            books: Some(Books::new(from, skew)),
            from,
            ..Oracle::whole(skew)
        }
    }

    /// The window ends at `to`; no later event has been given yet. Someone counted in-flight, at
    /// the beginning and at the end.
    pub fn close(&mut self, to: u64, counted: (u64, u64)) {
        self.counted = Some(counted);
        self.end(to);
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

    fn end(&mut self, to: u64) {
        self.to = to;
        if let Some(books) = &mut self.books {
            books.io.close(to);
            books.driver.close(to);
        }
    }

    /// Takes the next event, in order of time.
    pub fn event(&mut self, event: &Event) {
        if event.time > self.to.saturating_add(self.skew) {
            return;
        }
        self.last = event.time;
        if event.time < self.from {
            self.slack_before = *self.flight.slack();
        }
        if event.kind == Kind::Error {
            let window = (self.from, self.to);
            return self.errors.event(event.time, window, self.skew);
        }
        let Some(step) = self.flight.event(event) else {
            return;
        };
        let books = self.books.get_or_insert_with(|| {
            self.from = event.time;
            Books::new(event.time, self.skew)
        });
        books.book(event.time, step);
        if let (Some(hz), Some(effect)) = (self.hz, step.io) {
            let models = self
                .models
                .get_or_insert_with(|| Models::new(hz, self.from));
            models.event(event.time, effect);
        }
    }

    /// Ends the window, at the last event unless it was closed.
    pub fn finish(mut self) -> Truth {
        if self.to == u64::MAX {
            self.end(self.last.max(self.from));
        }
        let books = self
            .books
            .unwrap_or_else(|| Books::new(self.from, self.skew));
        let figures = books.io.finish(self.counted);
        let driver = books.driver.finish(self.counted_at_driver);
        let slack = self.flight.slack();
        let models = self.models.map(|mut models| {
            models.close(self.to);
            models.finish()
        });
        Truth {
            from: self.from,
            to: self.to,
            slack: Group::ALL.map(|group| slack.since(&self.slack_before, group)),
            driver_commands: self.flight.driver_commands,
            unclear_flushes: self.flight.unclear_flushes,
            errors: self.errors.finish(self.to, self.skew),
            figures,
            models: models.unwrap_or_default(),
            driver: (self.flight.issues > 0).then_some(driver),
        }
    }
}
