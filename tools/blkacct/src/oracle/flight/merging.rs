// SPDX-License-Identifier: GPL-2.0
//! Requests that grow, and requests that others absorb.
//!
//! A bio joins a request at its front or its back; a request that another one touches is absorbed
//! by it (`block/blk-merge.c`). Requests with flush flags never merge. Discards of several ranges
//! need not touch.
//!
//! blkparse writes the same letter for a bio that joins the end of a request and for a request that
//! is absorbed. Which it is, the task's own `Q` tells: it queued the bio just before. Without `Q` in
//! the trace the places decide, as far as they can.

use super::table::{Key, Request, Shape, Stage};
use super::{Effect, Flight, Lean};
use crate::source::{Event, Group, Kind};

/// So many tasks' last bios are kept in mind.
const TASKS: usize = 65_536;

impl Flight {
    /// A request that waits is absorbed by the one that ends where it begins.
    pub(super) fn merge(&mut self, group: Group, event: &Event) -> Effect {
        let Some(absorbed) = self.absorbed(group, event) else {
            self.missed = true;
            return Effect::Absorb { seen: false };
        };
        self.table.remove(&absorbed);
        self.absorb(group, event, absorbed.start);
        self.settle(group);
        Effect::Absorb { seen: true }
    }

    /// The absorbing request inherits the start, if it is earlier, and the sectors.
    fn absorb(&mut self, group: Group, event: &Event, start: u64) {
        let ends_here = |(key, request): &(&Key, &Request)| {
            key.shape == Shape::Plain && key.sector + request.sectors == event.sector
        };
        let plain = |(key, _): &(&Key, &Request)| key.shape == Shape::Plain;
        let below = || self.table.below(group, Stage::Waiting, event.sector);
        let mut both = below().filter(ends_here).map(|(&key, _)| key);
        let (touching, another) = (both.next(), both.next().is_some());
        drop(both);
        // Bios may have joined it unseen, so that its known size falls short; discards need not
        // even touch.
        let found = touching
            .or_else(|| below().find(plain).map(|(&key, _)| key))
            .or_else(|| {
                let mut all = self.table.from(group, Stage::Waiting, 0);
                all.find(plain).map(|(&key, _)| key)
            });
        let Some(mut key) = found else { return };
        // Discards need not touch: it may be any of them.
        let any = group == Group::Discard && self.table.count(group) > 1;
        if touching.is_none() || another || any {
            let spread = self.table.spread(group, start);
            self.slack.merged(group, spread);
        }
        if let Some(mut request) = self.table.remove(&key) {
            key.start = key.start.min(start);
            let end = event.sector.saturating_add(event.sectors);
            request.sectors = request.sectors.max(end.saturating_sub(key.sector));
            self.table.insert(key, request);
        }
    }

    fn absorbed(&mut self, group: Group, event: &Event) -> Option<Key> {
        let stage = Stage::Waiting;
        let kept = event.rwbs.kept;
        let twins = self
            .table
            .twins(group, stage, event.sector, Shape::Plain, kept);
        if let Some(twins) = twins {
            self.slack.merged(group, twins.spread());
            return Some(twins.oldest);
        }
        let plain = |(key, _): &(&Key, &Request)| key.shape == Shape::Plain;
        let mut here = self.table.at(group, stage, event.sector).take(64);
        let here = here.find(plain).map(|(&key, _)| key);
        here.or_else(|| self.grown_to(group, event))
            .or_else(|| self.rest_of(group, stage, event))
            .filter(|key| key.shape == Shape::Plain)
    }

    /// A bio comes, or has joined a request.
    pub(super) fn bio(&mut self, group: Group, event: &Event) {
        match event.kind {
            Kind::GrowFront => {
                self.unqueue(event);
                self.grow_front(group, event);
            }
            Kind::GrowBack => self.grow_back(group, event),
            _ => {
                self.queues += 1;
                if self.queued.len() < TASKS || self.queued.contains_key(&event.on.pid) {
                    let bio = (event.sector, event.sectors);
                    self.queued.insert(event.on.pid, bio);
                }
            }
        }
    }

    fn grow_front(&mut self, group: Group, event: &Event) {
        let behind = event.sector.saturating_add(event.sectors);
        let plain = |(key, _): &(&Key, &Request)| key.shape == Shape::Plain;
        let here = self.table.at(group, Stage::Waiting, behind).take(64);
        let all: Vec<Key> = here.filter(plain).map(|(&key, _)| key).collect();
        let Some(key) = self.one_of(group, event, all) else {
            return;
        };
        if let Some(mut request) = self.table.remove(&key) {
            request.sectors += event.sectors;
            let sector = event.sector;
            self.table.insert(Key { sector, ..key }, request);
        }
    }

    fn grow_back(&mut self, group: Group, event: &Event) {
        let all: Vec<Key> = self.ending_where(group, event.sector).collect();
        let Some(key) = self.one_of(group, event, all) else {
            return;
        };
        if let Some(mut request) = self.table.remove(&key) {
            request.sectors = request.sectors.saturating_add(event.sectors);
            self.table.insert(key, request);
        }
    }

    /// Returns the oldest of requests which a bio can have joined.
    fn one_of(&mut self, group: Group, event: &Event, all: Vec<Key>) -> Option<Key> {
        let oldest = *all.iter().min_by_key(|key| key.start)?;
        let youngest = all.iter().map(|key| key.start).max()?;
        self.guess(group, youngest - oldest.start, oldest.start, event);
        Some(oldest)
    }

    /// Returns the plain requests that wait and end at a place.
    fn ending_where(&self, group: Group, sector: u64) -> impl Iterator<Item = Key> + '_ {
        let ends_here = move |(key, request): &(&Key, &Request)| {
            key.shape == Shape::Plain && key.sector + request.sectors == sector
        };
        let below = self.table.below(group, Stage::Waiting, sector);
        below.filter(ends_here).map(|(&key, _)| key)
    }

    /// Returns whether a request of just this size waits here, that may be absorbed.
    fn may_be_absorbed(&self, group: Group, event: &Event) -> bool {
        let like = |(key, request): &(&Key, &Request)| {
            key.shape == Shape::Plain && request.sectors == event.sectors
        };
        let mut here = self.table.at(group, Stage::Waiting, event.sector).take(64);
        here.any(|entry| like(&entry))
    }

    /// Returns whether the task queued the bio that the event names; none if the trace shows none.
    fn was_queued(&self, event: &Event) -> Option<bool> {
        let &(sector, sectors) = self.queued.get(&event.on.pid)?;
        Some(sector == event.sector && event.sectors <= sectors)
    }

    /// The task's bio has found its request. Of one that was split the rest is still to come.
    pub(super) fn unqueue(&mut self, event: &Event) {
        if self.was_queued(event) == Some(true) {
            let (sector, sectors) = self.queued[&event.on.pid];
            let rest = sectors - event.sectors;
            match rest {
                0 => self.queued.remove(&event.on.pid),
                _ => {
                    let bio = (sector + event.sectors, rest);
                    self.queued.insert(event.on.pid, bio)
                }
            };
        }
    }

    /// Returns whether the event is of a bio or of a request, for all that is known.
    pub(super) fn merge_is_open(&self, group: Group, event: &Event) -> bool {
        self.queues == 0
            && self.may_be_absorbed(group, event)
            && self.ending_where(group, event.sector).next().is_some()
    }

    pub(super) fn merge_or_grow(&mut self, group: Group, event: &Event) -> Option<Effect> {
        let absorbed = match self.was_queued(event) {
            Some(queued) => !queued,
            None if self.queues > 0 => self.absorbed_here(group, event),
            None if self.merge_is_open(group, event) => self.lean == Lean::Early,
            None => self.absorbed_here(group, event),
        };
        if absorbed {
            return Some(self.merge(group, event));
        }
        self.unqueue(event);
        self.grow_back(group, event);
        None
    }

    /// Whether a request begins where the event is, or has grown to it.
    fn absorbed_here(&self, group: Group, event: &Event) -> bool {
        self.may_be_absorbed(group, event)
            || (self.ending_where(group, event.sector).next().is_none()
                && self.grown_to(group, event).is_some())
    }
}
