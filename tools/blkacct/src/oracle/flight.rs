// SPDX-License-Identifier: GPL-2.0
//! The requests in flight, and what each event does to them.
//!
//! A trace line does not name its request; it has the disk, the operation, the first sector, some
//! letters, the CPU and the task. `Documentation/design.rst`, "Which end belongs to which start",
//! is the model: what the block layer does to a request, what of it a trace shows, and what that
//! leaves open. This is that model.
//!
//! * [`table`]: the requests, by all that a line can tell of them.
//! * [`pairing`]: which of them an event is about.
//! * [`flow`]: what the events just before it, on its CPU, tell.
//! * [`done`] and [`commands`]: how requests end, and what ends that never began.
//! * [`merging`]: requests that grow, and those that are absorbed.
//!
//! Where an event may be of any of several twins, the sum of latencies is open until all of them
//! are done; [`Slack`] bounds it. Where it may be an end or the middle of a flush sequence, in-flight
//! itself is open: then [`Lean`] decides, and [`super::Oracle`] follows both ways.

mod commands;
mod done;
mod flow;
mod merging;
mod pairing;
mod table;

use std::collections::BTreeMap;

use super::driver::{Stay, Strays};
use super::slack::Slack;
use crate::source::{Event, Group, Kind};
use flow::Flow;
use pairing::{as_sequence, Choice};
use table::{Awaits, Key, Request, Shape, Stage, Table};

/// What an event does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// To I/O of which group.
    pub group: Group,
    /// To the account of all that is in flight.
    pub io: Option<Effect>,
    /// To that of the driver.
    pub driver: Option<Stay>,
}

/// What an event does to the account of all that is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A request starts.
    Begin,
    /// A request ends; its start is unknown if the trace does not have it.
    End {
        /// The earliest start that the request inherited.
        start: Option<u64>,
    },
    /// A request from before the trace ends, which was taken to have ended when its data were done.
    EndAfter {
        /// When they were.
        data: u64,
    },
    /// A request from before the trace ends, whose data were done in it.
    EndOfBegun,
    /// A request is absorbed by another.
    Absorb {
        /// Whether the trace has its start.
        seen: bool,
    },
}

/// So many requests from before the trace are kept in mind.
const BEGUN: usize = 65_536;

const SECOND: u64 = 1_000_000_000;

/// A request from before the trace whose data are done, if they are those of a sequence.
#[derive(Clone, Copy, Debug)]
struct Begun {
    /// When they were.
    at: u64,
    /// They were taken for those of a request that ended.
    counted: bool,
    /// The other place where its end may be.
    other: u64,
}

/// How an event is taken that may end a request or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lean {
    /// It ends one: requests end as early as they can.
    #[default]
    Early,
    /// It does not: they end as late as they can.
    Late,
}

/// Where the last done of a sequence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastDone {
    /// Behind the data, as in 7.2.
    Behind,
    /// At their first sector, as in 6.18.
    First,
}

/// The requests in flight.
#[derive(Clone)]
pub struct Flight {
    table: Table,
    flow: Flow,
    strays: Strays,
    slack: Slack,
    driver_slack: Slack,
    /// The kind of event that ends a request.
    end: Kind,
    /// How an open question is answered.
    pub lean: Lean,
    /// Where this kernel has the last done of a sequence, once that is known.
    last_done: Option<LastDone>,
    /// Requests that have had, or may have, more dones than one.
    sequences: u64,
    /// Ends of flush commands in the trace.
    flush_ends: u64,
    /// Those of them that `block_io_done` tells of.
    flush_dones: u64,
    /// Completions in the trace: it shows those of flush commands, too.
    completions: u64,
    /// Sequences taken to have ended before the trace showed the end of any flush command.
    ended_unflushed: u64,
    /// Two queues had a flush command at once.
    flushes_overlap: bool,
    /// Data that were done of requests from before the trace, by where their ends may be: they may be
    /// those of sequences.
    begun: BTreeMap<(Group, u64), Begun>,
    /// When a sequence from before the trace was last taken to wait for a flush.
    waits_since: Option<u64>,
    /// When a flush command was last issued.
    last_flush: u64,
    /// What each task has queued last, if the trace shows that.
    queued: BTreeMap<u32, (u64, u64)>,
    queues: u64,
    /// The last event ends something that nobody saw begin.
    pub missed: bool,
    /// Driver commands in flight.
    commands: u64,
    /// Issues in the trace.
    pub issues: u64,
    /// Driver commands that were started. Whether they count, the trace does not tell.
    pub driver_commands: u64,
}

impl Flight {
    /// Nothing is in flight. `end` is the kind of event that ends a request.
    pub fn new(end: Kind) -> Self {
        Flight {
            table: Table::default(),
            flow: Flow::default(),
            strays: Strays::default(),
            slack: Slack::default(),
            driver_slack: Slack::default(),
            end,
            lean: Lean::Early,
            last_done: None,
            sequences: 0,
            flush_ends: 0,
            flush_dones: 0,
            completions: 0,
            ended_unflushed: 0,
            flushes_overlap: false,
            begun: BTreeMap::new(),
            waits_since: None,
            last_flush: 0,
            queued: BTreeMap::new(),
            queues: 0,
            missed: false,
            commands: 0,
            issues: 0,
            driver_commands: 0,
        }
    }

    /// Returns whether the event may end a request or not, for all that is known.
    pub fn is_open(&self, event: &Event) -> bool {
        let Some(group) = event.rwbs.group else {
            // A driver command names no place.
            let command = self.commands > 0 && event.sector == 0;
            return event.kind == Kind::Done && command && self.zeroes(event).is_some();
        };
        let both = |choice: Choice| choice.end.is_some() && choice.middle.is_some();
        match event.kind {
            kind if kind == self.end && self.last_done_is_open(group, event) => true,
            kind if kind == self.end => {
                let choice = self.choose_done(group, event);
                both(choice) || self.begun_is_open(group, event, &choice)
            }
            Kind::Requeue if group == Group::Flush => self.strays.count(group, 0) > 0,
            Kind::Requeue => {
                let (driver, waits) = self.choose_requeue(group, event);
                driver.is_some() && waits.is_some()
            }
            Kind::Issue if self.sequences > 0 => both(self.choose_issue(group, event)),
            Kind::MergeOrGrow => self.merge_is_open(group, event),
            _ => false,
        }
    }

    /// Answers an open question one way and the other, in this flight and in the one returned.
    pub fn fork(&mut self, event: &Event) -> Flight {
        let mut other = self.clone();
        other.lean = Lean::Late;
        let group = event.rwbs.group.unwrap_or(Group::Write);
        if event.kind == self.end && self.last_done_is_open(group, event) {
            self.last_done = Some(LastDone::Behind);
            other.last_done = Some(LastDone::First);
        }
        other
    }

    /// Takes an event; returns what it does, if anything.
    pub fn event(&mut self, event: &Event) -> Option<Step> {
        self.missed = false;
        let Some(group) = event.rwbs.group else {
            return self.command(event);
        };
        self.completions += u64::from(event.kind == Kind::Complete);
        let (io, driver) = match event.kind {
            Kind::Start => (Some(self.start(group, event)), None),
            Kind::Issue => (None, Some(self.issue(group, event))),
            Kind::Requeue => (None, self.requeue(group, event)),
            Kind::Done => self.done(group, event),
            Kind::Complete if group == Group::Flush => (None, self.flush_ends(event, false)),
            Kind::Complete if self.end == Kind::Complete => self.complete_or_end(group, event),
            Kind::Complete => {
                self.complete(group, event);
                (None, None)
            }
            Kind::Merge => (Some(self.merge(group, event)), None),
            Kind::MergeOrGrow => (self.merge_or_grow(group, event), None),
            Kind::GrowFront | Kind::GrowBack | Kind::Queue => {
                self.bio(group, event);
                (None, None)
            }
            // It ends as any other.
            Kind::Error => (None, None),
            // Its start follows.
            Kind::Allocate => (None, None),
        };
        let step = Step { group, io, driver };
        (io.is_some() || driver.is_some()).then_some(step)
    }

    /// Returns whether a sequence was taken to have ended without the flush that it waited for, in a
    /// trace that shows such flushes.
    pub fn is_refuted(&self) -> bool {
        self.ended_unflushed > 0 && self.flush_ends > 0
    }

    /// Returns what the sums of latencies may be wrong by, and those of the times at the driver.
    pub fn slack(&self) -> (&Slack, &Slack) {
        (&self.slack, &self.driver_slack)
    }

    fn start(&mut self, group: Group, event: &Event) -> Effect {
        self.unqueue(event);
        self.flow.pass(event.on);
        let rwbs = event.rwbs;
        // The group of flushes has none: its letters are those of the command itself.
        let shape = match group {
            Group::Flush => Shape::Plain,
            _ if event.sectors == 0 && (rwbs.preflush || rwbs.fua) => Shape::Empty,
            _ if rwbs.preflush => Shape::Sequence,
            _ if rwbs.fua => Shape::Undecided,
            _ => Shape::Plain,
        };
        let kept = match shape {
            Shape::Plain => rwbs.kept,
            _ => as_sequence(rwbs.kept),
        };
        self.sequences += u64::from(shape != Shape::Plain);
        let request = Request {
            sectors: event.sectors,
            issued: None,
            fua: rwbs.fua,
            awaits: Awaits::Flush(event.time),
        };
        let key = Key::new(group, event.sector, shape, kept, event.time);
        self.table.start(key, request);
        Effect::Begin
    }

    fn issue(&mut self, group: Group, event: &Event) -> Stay {
        self.issues += 1;
        self.flow.over(event.on);
        let found = self.take(self.choose_issue(group, event), group, event);
        let Some((mut key, mut request)) = found else {
            let extent = (event.sector, event.sectors);
            self.strays.issue(group, extent, event.time);
            if group == Group::Flush {
                self.last_flush = event.time;
            }
            self.flushes_overlap |= group == Group::Flush && self.strays.count(group, 0) > 1;
            return Stay::Begin;
        };
        if key.shape == Shape::Undecided {
            key.shape = match event.rwbs.fua {
                true => Shape::Fua,
                false => Shape::Sequence,
            };
        }
        // The disk does forced unit access itself, so that no flush follows the data.
        request.fua &= !event.rwbs.fua || key.shape == Shape::Fua;
        request.sectors = event.sectors;
        request.issued = Some(event.time);
        (key.stage, key.sector) = (Stage::Driver, event.sector);
        self.table.insert(key, request);
        Stay::Begin
    }

    /// A request that the driver refused before it was issued is requeued, too: no stay ends then.
    fn requeue(&mut self, group: Group, event: &Event) -> Option<Stay> {
        self.flow.over(event.on);
        let (driver, waits) = self.choose_requeue(group, event);
        let refused = waits.is_some() && (driver.is_none() || self.lean == Lean::Late);
        if refused || (group == Group::Flush && self.lean == Lean::Late) {
            return None;
        }
        let returned = driver.and_then(|key| {
            let mut request = self.table.remove(&key)?;
            let issued = request.issued.take();
            let stage = Stage::Waiting;
            self.table.insert(Key { stage, ..key }, request);
            issued
        });
        let issued = returned.or_else(|| self.come_back(group, event.sector))?;
        Some(Stay::Requeue { issued })
    }

    fn is_middle(&self, choice: &Choice) -> bool {
        choice.middle.is_some() && (choice.end.is_none() || self.lean == Lean::Late)
    }

    /// Takes the request that was chosen out of the table.
    fn take(&mut self, choice: Choice, group: Group, event: &Event) -> Option<(Key, Request)> {
        let pick = match self.is_middle(&choice) {
            true => choice.middle,
            false => choice.end,
        }?;
        self.guess(group, pick.doubt, pick.key.start, event);
        let request = self.table.remove(&pick.key)?;
        Some((pick.key, request))
    }

    /// One of several is taken, the oldest of which started at `oldest`.
    fn guess(&mut self, group: Group, doubt: u64, oldest: u64, event: &Event) {
        if doubt > 0 {
            self.slack.guessed(group, doubt);
            // They may have been issued in another order than that of their starts.
            let youngest = event.time.saturating_sub(oldest);
            self.driver_slack.guessed(group, youngest);
        }
    }

    /// With none left in flight, every start has been used, whatever was guessed.
    fn settle(&mut self, group: Group) {
        if self.table.count(group) == 0 {
            self.slack.emptied(group);
            self.driver_slack.emptied(group);
        }
    }
}
