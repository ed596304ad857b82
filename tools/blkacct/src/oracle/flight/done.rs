// SPDX-License-Identifier: GPL-2.0
//! Requests that are done, wholly, in part, or for their data alone.

use super::flow::Told;
use super::pairing::{as_sequence, Choice};
use super::table::{Awaits, Key, Request, Shape, Stage};
use super::{Begun, Effect, Flight, LastDone, Lean, BEGUN, SECOND};
use crate::oracle::driver::Stay;
use crate::source::{Event, Group};

impl Flight {
    /// A request is done, or the data of a sequence are.
    pub(super) fn done(&mut self, group: Group, event: &Event) -> (Option<Effect>, Option<Stay>) {
        let choice = self.choose_done(group, event);
        // A flush command of a sequence has no start. One that a stacked driver sends has.
        if group == Group::Flush && choice.end.is_none() {
            return (None, self.flush_ends(event, true));
        }
        let middle = self.is_middle(&choice);
        let told = self.told(group, event);
        let open = self.begun_is_open(group, event, &choice);
        let found = self.take(choice, group, event);
        if !self.ends_in_a_row(found.as_ref()) {
            self.flow.over(event.on);
        }
        let Some((key, mut request)) = found else {
            return self.done_unseen(group, event, told, open);
        };
        // If an end was given to the wrong one of two, the right one's issue found none.
        let issued = request.issued.take();
        let issued = match key.stage {
            Stage::Waiting if key.shape == Shape::Plain => {
                issued.or_else(|| self.come_back(group, event.sector))
            }
            _ => issued,
        };
        let stay = issued.map(|time| Stay::End { issued: Some(time) });
        let unflushed = key.stage == Stage::Ending && matches!(request.awaits, Awaits::Flush(_));
        self.ended_unflushed += u64::from(unflushed && self.flush_ends == 0);
        if key.stage == Stage::Ending {
            self.learn_last_done(&key, &request, event);
        }
        if middle {
            self.data_are_done(key, request, event);
            return (None, stay);
        }
        self.sequences -= u64::from(key.shape != Shape::Plain);
        self.settle(group);
        let end = Effect::End {
            start: Some(key.start),
        };
        (Some(end), stay)
    }

    /// A request is done whose start the trace does not have. Its data may have been done in it.
    pub(super) fn done_unseen(
        &mut self,
        group: Group,
        event: &Event,
        told: Told,
        open: bool,
    ) -> (Option<Effect>, Option<Stay>) {
        let late = self.lean == Lean::Late;
        self.missed = true;
        if let Some(begun) = self.begun.remove(&(group, event.sector)) {
            self.begun.remove(&(group, begun.other));
            self.missed = begun.counted;
            let effect = match begun.counted {
                true => Effect::EndAfter { data: begun.at },
                false => Effect::EndOfBegun,
            };
            return (Some(effect), None);
        }
        let issued = self.come_back(group, event.sector);
        let may_wait = group == Group::Write && event.rwbs.kept.sync && !event.rwbs.fua;
        if let (Told::Data(sectors), true) = (told, may_wait && self.begun.len() < BEGUN) {
            let places = (event.sector, event.sector.saturating_add(sectors));
            self.keep_begun(group, places, event.time, !(open && late));
        }
        let is_data = matches!(told, Told::Data(_)) || !may_wait;
        let stayed = issued.is_some() || is_data || (open && late);
        let stay = stayed.then_some(Stay::End { issued });
        if open && late {
            self.waits_since = self.waits_since.max(Some(event.time));
            return (None, stay);
        }
        (Some(Effect::End { start: None }), stay)
    }

    pub(super) fn data_are_done(&mut self, key: Key, request: Request, event: &Event) {
        // A flush follows if forced unit access was asked for and the disk cannot do it.
        let flushes = request.fua && !event.rwbs.fua;
        let awaits = match flushes {
            true => Awaits::Flush(event.time),
            false => Awaits::Nothing(event.on),
        };
        let shape = Shape::Sequence;
        let stage = Stage::Ending;
        let key = Key {
            stage,
            shape,
            ..key
        };
        self.table.insert(key, Request { awaits, ..request });
    }

    /// A sequence has ended at one of its two places, and nothing else could.
    pub(super) fn learn_last_done(&mut self, key: &Key, request: &Request, event: &Event) {
        let behind = key.sector.saturating_add(request.sectors) == event.sector;
        let first = key.sector == event.sector;
        let known = match (behind, first) {
            (true, false) => LastDone::Behind,
            (false, true) => LastDone::First,
            _ => return,
        };
        self.last_done.get_or_insert(known);
    }

    /// Whether a request from before the trace ends here is open: it may be a flush sequence whose
    /// data are done; or, if that is not told either, one that is over and was at the driver before.
    pub(super) fn begun_is_open(&self, group: Group, event: &Event, choice: &Choice) -> bool {
        let unseen = choice.end.is_none() && choice.middle.is_none();
        let flushes = group == Group::Write && event.rwbs.kept.sync && !event.rwbs.fua;
        (unseen && flushes)
            && !self.begun.contains_key(&(group, event.sector))
            && self.told(group, event) != Told::End
    }

    /// So many sectors are complete from the front of the request at the event's sector, and no
    /// other event tells of its end.
    pub(super) fn complete_or_end(
        &mut self,
        group: Group,
        event: &Event,
    ) -> (Option<Effect>, Option<Stay>) {
        if self.complete(group, event) {
            return (None, None);
        }
        let nothing = event.sectors == 0 && self.choose_done(group, event).end.is_none();
        // A driver that could do nothing says so, and tries again or fails.
        let at_driver = || self.table.at(group, Stage::Driver, event.sector).next();
        if nothing && (event.failed || at_driver().is_some()) {
            return (None, None);
        }
        self.done(group, event)
    }

    /// The driver has completed sectors; returns whether they are only a part of the request.
    pub(super) fn complete(&mut self, group: Group, event: &Event) -> bool {
        let alike = |key: &Key| match key.shape {
            Shape::Plain => key.kept == event.rwbs.kept,
            _ => key.kept == as_sequence(event.rwbs.kept),
        };
        let part = |(key, request): &(&Key, &Request)| {
            alike(key) && event.sectors > 0 && event.sectors < request.sectors
        };
        let whole =
            |(key, request): &(&Key, &Request)| alike(key) && event.sectors == request.sectors;
        let stage = match self.issues {
            0 => Stage::Waiting,
            _ => Stage::Driver,
        };
        let here = || self.table.at(group, stage, event.sector).take(64);
        let found = match here().any(|entry| whole(&entry)) {
            true => None,
            false => here().find(part).map(|(&key, _)| key),
        };
        let Some(mut key) = found else {
            self.flow.completed(group, event);
            return false;
        };
        if let Some(mut request) = self.table.remove(&key) {
            key.sector = key.sector.saturating_add(event.sectors);
            request.sectors -= event.sectors;
            self.table.insert(key, request);
        }
        true
    }

    /// Keeps in mind data that may be those of a sequence, by where its end may be.
    fn keep_begun(&mut self, group: Group, (first, behind): (u64, u64), at: u64, counted: bool) {
        for (place, other, kernel) in [
            (first, behind, LastDone::First),
            (behind, first, LastDone::Behind),
        ] {
            if self.last_done.unwrap_or(kernel) == kernel {
                let begun = Begun { at, counted, other };
                self.begun.insert((group, place), begun);
            }
        }
    }

    /// Returns whether a sequence was taken to wait for a flush from then on, and none came until the
    /// trace was over, a second later or more: a flush that somebody waits for is issued at once.
    pub fn waits_in_vain(&self, last: u64) -> bool {
        let since = self.waits_since.filter(|_| self.issues > 0);
        since.is_some_and(|since| self.last_flush < since && last - since > SECOND)
    }
}
