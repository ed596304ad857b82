// SPDX-License-Identifier: GPL-2.0
//! The requests in flight, told apart by what a trace prints of them.
//!
//! A trace line does not name its request; it has the disk, the operation and the first sector. That
//! is enough for most: the first sector changes only when a bio joins at the front, after a partial
//! completion, and when a zone append learns where it went. Then one of the requests of the same
//! group is taken, the likeliest first. In-flight stays right whichever it is, and so does the sum of
//! latencies once all of them are complete, for that sum is ends minus starts. [`Slack`] bounds what
//! is left.
//!
//! # Flush sequences
//!
//! A write with a flush before it, or with forced unit access that the kernel emulates by a flush
//! after it, is reported done twice: for its data, and in the end. The text lacks the flag that tells
//! the two apart, but has this (`block/blk-flush.c`, 7.2):
//!
//! * A bio keeps its flush flags only on a disk with a write cache. So a start with data and an `F`
//!   before its operation is always a sequence.
//! * The sequence takes the `F` after the operation away if the disk cannot do forced unit access. So a
//!   start with it is a sequence if its first done lacks it.
//! * The data's done is at the first sector. So is the last one in 6.18; in 7.2 it is at the sector behind
//!   the data, which is where the bio has advanced to. Both are taken.
//! * The flush command between them is done without ever being started.

use std::collections::BTreeMap;

use super::slack::Slack;
use crate::source::{Event, Group, Kind};

/// What an event does to the accounts.
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
    /// Driver commands that were started. Whether they count, the trace does not tell.
    pub driver_commands: u64,
    /// Dones that may be the middle or the end of a flush sequence.
    pub unclear_flushes: u64,
}

impl Flight {
    /// Takes an event; returns the group and the effect if it has one.
    pub fn event(&mut self, event: &Event) -> Option<(Group, Effect)> {
        let Some(group) = event.rwbs.group else {
            self.driver_commands += u64::from(event.kind == Kind::Start);
            return None;
        };
        let effect = match event.kind {
            Kind::Start => Some(self.start(group, event)),
            Kind::Done => self.done(group, event, u64::MAX),
            Kind::Complete => self.done(group, event, event.sectors),
            Kind::Merge => Some(self.merge(group, event)),
            Kind::MergeOrGrow => self.merge_or_grow(group, event),
            Kind::GrowFront => {
                self.grow_front(group, event);
                None
            }
        };
        effect.map(|effect| (group, effect))
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
        };
        self.started += 1;
        let place = (group, event.sector, self.started);
        self.places.insert(place, request);
        Effect::Begin
    }

    /// `sectors` are complete from the front of the request at the event's sector.
    fn done(&mut self, group: Group, event: &Event, sectors: u64) -> Option<Effect> {
        let Some(place) = self.find(group, event) else {
            // A flush command of a sequence has no start. One that a stacked driver sends has.
            return (group != Group::Flush).then_some(Effect::End { start: None });
        };
        let mut request = self.places.remove(&place)?;
        let last = request.steps == Steps::Last;
        if sectors < request.sectors && !last {
            request.sectors -= sectors;
            let rest = (group, place.1 + sectors, place.2);
            self.places.insert(rest, request);
            return None;
        }
        let more = match request.steps {
            Steps::One | Steps::Last => false,
            Steps::Fua => !event.rwbs.fua,
            Steps::Two => true,
        };
        if more {
            request.steps = Steps::Last;
            self.places.insert(place, request);
            self.ending.push((place, place.1 + request.sectors));
            return None;
        }
        if last {
            self.ending.retain(|&(ending, _)| ending != place);
        }
        self.settle(group);
        Some(Effect::End {
            start: Some(request.start),
        })
    }

    fn merge(&mut self, group: Group, event: &Event) -> Effect {
        let Some(absorbed) = self.find(group, event).and_then(|p| self.places.remove(&p)) else {
            return Effect::Absorb { seen: false };
        };
        let ends_here = |(place, r): (&Place, &Request)| place.1 + r.sectors == event.sector;
        let before = self.places.range((group, 0, 0)..(group, event.sector, 0));
        // The absorbing request ends where the absorbed one begins. Bios may have joined it since its
        // start, so its known size may fall short; discards need not even touch.
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
        let here = self.exact(group, event.sector);
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
        let Some(place) = self.exact(group, event.sector + event.sectors) else {
            return;
        };
        if let Some(mut request) = self.places.remove(&place) {
            request.sectors += event.sectors;
            self.places.insert((group, event.sector, place.2), request);
        }
    }

    /// Returns the oldest request at this very place.
    fn exact(&self, group: Group, sector: u64) -> Option<Place> {
        let mut here = self
            .places
            .range((group, sector, 0)..=(group, sector, u64::MAX));
        here.next().map(|(&place, _)| place)
    }

    /// Returns the request an event is about: the one at its place, or else the likeliest.
    fn find(&mut self, group: Group, event: &Event) -> Option<Place> {
        let sector = event.sector;
        let at_end = self
            .ending
            .iter()
            .find(|&&(place, end)| place.0 == group && end == sector)
            .map(|&(place, _)| place);
        let here = self
            .places
            .range((group, sector, 0)..=(group, sector, u64::MAX));
        let (all, open) = here.fold((u64::from(at_end.is_some()), 0), |(all, open), (_, r)| {
            let open_step = matches!(r.steps, Steps::Two | Steps::Fua);
            (all + 1, open + u64::from(open_step))
        });
        // Two ends may be swapped without harm, but not an end and the middle of a sequence.
        if all > 1 && open > 0 {
            self.unclear_flushes += 1;
        }
        if let Some(place) = self.exact(group, sector).or(at_end) {
            return Some(place);
        }
        let plain = |(_, request): &(&Place, &Request)| request.steps == Steps::One;
        let mut before = self.places.range((group, 0, 0)..(group, sector, 0)).rev();
        let mut after = self
            .places
            .range((group, sector, 0)..=(group, u64::MAX, u64::MAX));
        // Behind a request's first sector: part of it was complete before. In front of it: a bio
        // joined there.
        let place = before
            .next()
            .filter(|one| plain(one) && one.0 .1 + one.1.sectors > sector)
            .or_else(|| after.find(plain))
            .or_else(|| self.group(group).find(plain))
            .map(|(&place, _)| place)?;
        let spread = spread(self.plain_starts(group));
        self.slack.guessed(group, spread);
        Some(place)
    }

    fn group(&self, group: Group) -> impl Iterator<Item = (&Place, &Request)> {
        self.places
            .range((group, 0, 0)..=(group, u64::MAX, u64::MAX))
    }

    fn plain_starts(&self, group: Group) -> impl Iterator<Item = u64> + '_ {
        let plain = self.group(group).filter(|(_, r)| r.steps == Steps::One);
        plain.map(|(_, request)| request.start)
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
