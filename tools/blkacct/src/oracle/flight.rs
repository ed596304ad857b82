// SPDX-License-Identifier: GPL-2.0
//! The requests in flight, told apart by what a trace prints of them.
//!
//! A trace line does not name its request; it has the disk, the operation and the first sector.
//! That is enough for most: the first sector changes only when a bio joins at the front, after a
//! partial completion, and when a zone append learns where it went. Then one of the requests of the
//! same group is taken, the likeliest first. In-flight stays right whichever it is, and so does the
//! sum of latencies once all of them are complete, for that sum is ends minus starts. [`Slack`]
//! bounds what is left.
//!
//! # Flush sequences
//!
//! A write with a flush before it, or with forced unit access that the kernel emulates by a flush
//! after it, is reported done twice: for its data, and in the end. The text lacks the flag that
//! tells the two apart, but has this (`block/blk-flush.c`, 7.2):
//!
//! * A bio keeps its flush flags only on a disk with a write cache. So a start with data and an `F`
//!   before its operation is always a sequence.
//! * The sequence takes the `F` after the operation away if the disk cannot do forced unit access.
//!   So a start with it is a sequence if its first done lacks it.
//! * The data's done is at the first sector. So is the last one in 6.18; in 7.2 it is at the sector
//!   behind the data, which is where the bio has advanced to. Both are taken.
//! * The flush command between them is done without ever being started.
//!
//! # At the driver
//!
//! An issue names where the request begins by then, so bios that joined at the front are known from
//! there on, and a done at a place that no issue has is of a request from before the trace. A done
//! is that of a request which the driver has, if there is one at its place: this tells apart what
//! only waits there, or has been at the driver for its data. A request comes back from the driver
//! at its requeue and at its first done.

mod lookup;

use std::collections::BTreeMap;

use super::driver::{Stay, Strays};
use super::slack::Slack;
use crate::source::{Event, Group, Kind};

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
    /// A request is absorbed by another.
    Absorb {
        /// Whether the trace has its start.
        seen: bool,
    },
}

/// How many dones a request has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Steps {
    One,
    /// One, or two if the first lacks the flag.
    Fua,
    Two,
    /// The data are done, the end is to come.
    Last,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    start: u64,
    sectors: u64,
    steps: Steps,
    /// When it was issued, while the driver has it.
    issued: Option<u64>,
}

/// Group, first sector, and a number that keeps equals in the order of their starts.
type Place = (Group, u64, u64);

/// The requests in flight.
#[derive(Default)]
pub struct Flight {
    places: BTreeMap<Place, Request>,
    started: u64,
    /// Sequences whose end is to come, with the sector behind their data.
    ending: Vec<(Place, u64)>,
    slack: Slack,
    strays: Strays,
    /// Issues in the trace.
    pub issues: u64,
    /// Driver commands that were started. Whether they count, the trace does not tell.
    pub driver_commands: u64,
    /// Dones that may be the middle or the end of a flush sequence.
    pub unclear_flushes: u64,
}

impl Flight {
    /// Takes an event; returns what it does, if anything.
    pub fn event(&mut self, event: &Event) -> Option<Step> {
        let Some(group) = event.rwbs.group else {
            self.driver_commands += u64::from(event.kind == Kind::Start);
            return None;
        };
        let (io, driver) = match event.kind {
            Kind::Start => (Some(self.start(group, event)), None),
            Kind::Issue => (None, Some(self.issue(group, event))),
            Kind::Requeue => (None, self.requeue(group, event)),
            Kind::Done => self.done(group, event, u64::MAX),
            Kind::Complete => self.done(group, event, event.sectors),
            Kind::Merge => (Some(self.merge(group, event)), None),
            Kind::MergeOrGrow => (self.merge_or_grow(group, event), None),
            // It ends as any other.
            Kind::Error | Kind::Queue | Kind::GrowBack => (None, None),
            Kind::GrowFront => {
                self.grow_front(group, event);
                (None, None)
            }
        };
        let step = Step { group, io, driver };
        (io.is_some() || driver.is_some()).then_some(step)
    }

    /// Returns what the sums of latencies may be wrong by.
    pub fn slack(&self) -> &Slack {
        &self.slack
    }

    fn start(&mut self, group: Group, event: &Event) -> Effect {
        let steps = match event.rwbs {
            _ if event.sectors == 0 => Steps::One,
            rwbs if rwbs.preflush => Steps::Two,
            rwbs if rwbs.fua => Steps::Fua,
            _ => Steps::One,
        };
        let request = Request {
            start: event.time,
            sectors: event.sectors,
            steps,
            issued: None,
        };
        self.started += 1;
        let place = (group, event.sector, self.started);
        self.places.insert(place, request);
        Effect::Begin
    }

    fn issue(&mut self, group: Group, event: &Event) -> Stay {
        self.issues += 1;
        let waits = |r: &Request| r.issued.is_none() && r.steps != Steps::Last;
        let found = self
            .exact(group, event.sector, waits)
            .or_else(|| self.grown_to(event, group, waits))
            .or_else(|| self.covering(group, event.sector, waits));
        let request = found.and_then(|place| Some((place, self.places.remove(&place)?)));
        match request {
            Some((place, request)) => {
                let issued = Request {
                    sectors: event.sectors,
                    issued: Some(event.time),
                    ..request
                };
                self.places.insert((group, event.sector, place.2), issued);
            }
            None => self.strays.issue(group, event.sector, event.time),
        }
        Stay::Begin
    }

    /// A request that the driver refused before it was issued is requeued, too: no stay ends then.
    fn requeue(&mut self, group: Group, event: &Event) -> Option<Stay> {
        let at_driver = |r: &Request| r.issued.is_some();
        let issued = self
            .exact(group, event.sector, at_driver)
            .or_else(|| self.covering(group, event.sector, at_driver))
            .and_then(|place| self.places.get_mut(&place)?.issued.take())
            .or_else(|| self.strays.come_back(group, event.sector))?;
        Some(Stay::Requeue { issued })
    }

    /// `sectors` are complete from the front of the request at the event's sector.
    fn done(
        &mut self,
        group: Group,
        event: &Event,
        sectors: u64,
    ) -> (Option<Effect>, Option<Stay>) {
        let found = self.find(group, event, |r| r.issued.is_some());
        let request = found.and_then(|place| Some((place, self.places.remove(&place)?)));
        let Some((place, mut request)) = request else {
            let issued = self.strays.come_back(group, event.sector);
            // A flush command of a sequence has no start. One that a stacked driver sends has.
            if group == Group::Flush {
                return (None, issued.map(|time| Stay::End { issued: Some(time) }));
            }
            return (
                Some(Effect::End { start: None }),
                Some(Stay::End { issued }),
            );
        };
        let last = request.steps == Steps::Last;
        if sectors < request.sectors && !last {
            request.sectors -= sectors;
            let rest = (group, place.1 + sectors, place.2);
            self.places.insert(rest, request);
            return (None, None);
        }
        // If an end was given to the wrong one of two, the right one's issue found none.
        let issued = request
            .issued
            .take()
            .or_else(|| self.strays.come_back(group, event.sector));
        let stay = issued.map(|time| Stay::End { issued: Some(time) });
        let more = match request.steps {
            Steps::One | Steps::Last => false,
            Steps::Fua => !event.rwbs.fua,
            Steps::Two => true,
        };
        if more {
            request.steps = Steps::Last;
            self.places.insert(place, request);
            self.ending.push((place, place.1 + request.sectors));
            return (None, stay);
        }
        if last {
            self.ending.retain(|&(ending, _)| ending != place);
        }
        self.settle(group);
        let end = Effect::End {
            start: Some(request.start),
        };
        (Some(end), stay)
    }

    fn merge(&mut self, group: Group, event: &Event) -> Effect {
        let Some(absorbed) = self
            .find(group, event, |r| r.issued.is_none())
            .and_then(|p| self.places.remove(&p))
        else {
            return Effect::Absorb { seen: false };
        };
        let ends_here = |(place, r): (&Place, &Request)| place.1 + r.sectors == event.sector;
        let before = self.places.range((group, 0, 0)..(group, event.sector, 0));
        // The absorbing request ends where the absorbed one begins. Bios may have joined it since
        // its start, so its known size may fall short; discards need not even touch.
        let place = before
            .clone()
            .rev()
            .find(|&one| ends_here(one))
            .or_else(|| before.clone().rev().find(|(_, r)| r.steps == Steps::One))
            .or_else(|| self.group(group).find(|(_, r)| r.steps == Steps::One))
            .map(|(&place, _)| place);
        if let Some(place) = place {
            if !self.places.get_key_value(&place).is_some_and(ends_here) {
                let starts = self.plain_starts(group).map(|s| s.max(absorbed.start));
                let spread = spread(starts);
                self.slack.merged(group, spread);
            }
            if let Some(request) = self.places.get_mut(&place) {
                request.start = request.start.min(absorbed.start);
                let end = event.sector + event.sectors;
                request.sectors = request.sectors.max(end.saturating_sub(place.1));
            }
        }
        self.settle(group);
        Effect::Absorb { seen: true }
    }

    fn merge_or_grow(&mut self, group: Group, event: &Event) -> Option<Effect> {
        let here = self.exact(group, event.sector, |r| r.issued.is_none());
        let same_size =
            here.and_then(|p| self.places.get(&p)).map(|r| r.sectors) == Some(event.sectors);
        let grown = self
            .group(group)
            .find(|(p, r)| {
                r.steps == Steps::One && p.1 < event.sector && p.1 + r.sectors == event.sector
            })
            .map(|(&place, _)| place)?;
        if same_size {
            return Some(self.merge(group, event));
        }
        if let Some(request) = self.places.get_mut(&grown) {
            request.sectors += event.sectors;
        }
        None
    }

    fn grow_front(&mut self, group: Group, event: &Event) {
        let Some(place) = self.exact(group, event.sector + event.sectors, |_| true) else {
            return;
        };
        if let Some(mut request) = self.places.remove(&place) {
            request.sectors += event.sectors;
            self.places.insert((group, event.sector, place.2), request);
        }
    }

    /// With none left in flight, every start has been used, whatever was guessed.
    fn settle(&mut self, group: Group) {
        if self.group(group).next().is_none() {
            self.slack.emptied(group);
        }
    }
}

/// Returns the largest minus the smallest.
fn spread(starts: impl Iterator<Item = u64>) -> u64 {
    let (low, high) = starts.fold((u64::MAX, 0), |(low, high), s| (low.min(s), high.max(s)));
    high.saturating_sub(low)
}
