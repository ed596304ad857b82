// SPDX-License-Identifier: GPL-2.0
//! Which request an event is about.
//!
//! First those that the event names outright: its place, its group, its letters, a stage in which
//! the event can come. Only where there is none of these, those that it can be about by way of
//! something that the trace did not show: bios that joined at the front, a part that was complete
//! before, letters that somebody changed.

use super::flow::Told;
use super::table::{Awaits, Key, Request, Shape, Stage, Twins};
use super::{Flight, LastDone};
use crate::source::{Event, Group, Kept, Kind, On};

/// A request, and how far wrong it may be to take it rather than its twins.
#[derive(Clone, Copy, Debug)]
pub struct Pick {
    pub key: Key,
    /// In ns, by the starts.
    pub doubt: u64,
}

/// The request that an event is about.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choice {
    /// If the event is of one whose next done is its end.
    pub end: Option<Pick>,
    /// If it is of a sequence that is not yet over with it.
    pub middle: Option<Pick>,
}

/// Whether a sequence can end with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ready {
    No,
    Maybe,
    Sure,
}

impl Choice {
    fn is_empty(&self) -> bool {
        self.end.is_none() && self.middle.is_none()
    }

    /// Takes a request into the choice, beside what is there.
    fn add(&mut self, found: Option<Twins>, middle: bool) {
        let Some(twins) = found else { return };
        let place = if middle {
            &mut self.middle
        } else {
            &mut self.end
        };
        let (low, high) = (twins.oldest.start, twins.youngest);
        *place = Some(match place.take() {
            None => Pick {
                key: twins.oldest,
                doubt: high - low,
            },
            Some(pick) => {
                let first = pick.key.start;
                let key = if low < first { twins.oldest } else { pick.key };
                let last = high.max(first + pick.doubt);
                Pick {
                    key,
                    doubt: last - low.min(first),
                }
            }
        });
    }

    /// Takes one that was found some other way, if the choice is empty.
    fn or(&mut self, key: Option<Key>, doubt: u64) {
        if let Some(key) = key.filter(|_| self.is_empty()) {
            let pick = Some(Pick { key, doubt });
            match key.shape {
                Shape::Sequence if key.stage == Stage::Driver => self.middle = pick,
                _ => self.end = pick,
            }
        }
    }
}

/// The letters of a request that is or may be a sequence: it has the `S` from the beginning.
pub fn as_sequence(kept: Kept) -> Kept {
    Kept { sync: true, ..kept }
}

impl Flight {
    /// Returns the request that is done.
    pub(super) fn choose_done(&self, group: Group, event: &Event) -> Choice {
        let told = self.told(group, event);
        let (sure, maybe) = self.endings(group, event, told);
        let mut choice = Choice::default();
        if sure.is_some() {
            choice.add(sure, false);
            return choice;
        }
        choice.add(maybe, false);
        if (self.end, told) != (Kind::Complete, Told::End) {
            self.add_data(&mut choice, group, event, told);
            self.add_hidden(&mut choice, group, event);
        } else if choice.is_empty() {
            choice.or(self.without_data(group, event), 0);
        }
        choice
    }

    /// Returns what is known of a done before one looks at the requests.
    pub(super) fn told(&self, group: Group, event: &Event) -> Told {
        match (self.end, event.sectors) {
            (Kind::Complete, 0) => Told::End,
            (Kind::Complete, sectors) => Told::Data(sectors),
            _ => self.flow.told(group, event),
        }
    }

    /// Adds those whose data are done by the event.
    fn add_data(&self, choice: &mut Choice, group: Group, event: &Event, told: Told) {
        let (kept, fua) = (event.rwbs.kept, event.rwbs.fua);
        let here = |stage, shape, kept| {
            let twins = self.table.twins(group, stage, event.sector, shape, kept)?;
            Some(match told {
                Told::Data(sectors) => self.of_size(twins, sectors),
                _ => twins,
            })
        };
        let stages: &[Stage] = match self.issues {
            // Nothing tells when the driver has one.
            0 => &[Stage::Driver, Stage::Waiting],
            _ => &[Stage::Driver],
        };
        for &stage in stages {
            if !fua {
                choice.add(here(stage, Shape::Plain, kept), false);
            }
            if fua {
                choice.add(here(stage, Shape::Fua, as_sequence(kept)), false);
            }
            choice.add(here(stage, Shape::Undecided, as_sequence(kept)), !fua);
            choice.add(here(stage, Shape::Sequence, as_sequence(kept)), true);
        }
    }

    /// Returns a command without data that the driver has: blkparse has its place only at the end.
    fn without_data(&self, group: Group, event: &Event) -> Option<Key> {
        if event.sectors > 0 {
            return None;
        }
        let like = |(key, request): &(&Key, &Request)| {
            key.shape == Shape::Plain && key.kept == event.rwbs.kept && request.sectors == 0
        };
        [event.sector, 0].into_iter().find_map(|sector| {
            let mut here = self.table.at(group, Stage::Driver, sector).take(64);
            here.find(like).map(|(&key, _)| key)
        })
    }

    /// Adds one that the event can be about in some way that the trace does not show.
    fn add_hidden(&self, choice: &mut Choice, group: Group, event: &Event) {
        let (sector, table) = (event.sector, &self.table);
        let spread = || table.spread(group, 0);
        let any = |stage| table.at(group, stage, sector).map(|(&key, _)| key);
        // It failed before the driver had it.
        let waits = |key: &Key| key.shape != Shape::Plain || key.kept == event.rwbs.kept;
        if self.issues > 0 && choice.is_empty() {
            choice.or(any(Stage::Waiting).take(64).find(waits), 0);
        }
        // A part of it was done before, or it has grown at its front.
        if choice.is_empty() {
            let covering = self.covering(group, Stage::Driver, event);
            let spread = covering.map_or(0, |twins| twins.spread());
            choice.or(covering.map(|twins| twins.oldest), spread);
        }
        if choice.is_empty() {
            let ended = table.ending_at(group, sector).next().copied();
            choice.or(ended.or_else(|| any(Stage::Ending).next()), 0);
            choice.or(any(Stage::Driver).next(), 0);
        }
        if choice.is_empty() && self.issues == 0 {
            let plain = |(key, _): &(&Key, &Request)| key.shape == Shape::Plain;
            let found = self
                .covering(group, Stage::Waiting, event)
                .map(|twins| twins.oldest)
                .or_else(|| any(Stage::Waiting).next())
                .or_else(|| {
                    let mut behind = table.from(group, Stage::Waiting, sector);
                    behind.find(plain).map(|(&key, _)| key)
                })
                .or_else(|| {
                    let mut all = table.from(group, Stage::Waiting, 0);
                    all.find(plain).map(|(&key, _)| key)
                });
            choice.or(found, spread());
        }
    }

    /// Returns the sequences and the flushes without data that can end with the event: those that
    /// must, and those that may.
    fn endings(&self, group: Group, event: &Event, told: Told) -> (Option<Twins>, Option<Twins>) {
        let kept = as_sequence(event.rwbs.kept);
        let (mut sure, mut maybe) = (None, None);
        let mut take = |key: Key, awaits: Awaits| {
            let place = match self.ready(awaits, event, told) {
                Ready::No => return,
                Ready::Maybe => &mut maybe,
                Ready::Sure => &mut sure,
            };
            let twins = place.get_or_insert(Twins {
                oldest: key,
                youngest: key.start,
            });
            twins.youngest = twins.youngest.max(key.start);
            if key.start < twins.oldest.start {
                twins.oldest = key;
            }
        };
        let table = &self.table;
        for key in self.endings_at(group, event.sector) {
            if let Some(request) = table.get(&key).filter(|_| key.kept == kept) {
                take(key, request.awaits);
            }
        }
        let empty = table.twins(group, Stage::Waiting, event.sector, Shape::Empty, kept);
        if let Some(twins) = empty {
            take(twins.oldest, Awaits::Flush(twins.oldest.start));
            if self.ready(Awaits::Flush(twins.youngest), event, told) != Ready::No {
                for place in [&mut sure, &mut maybe].into_iter().flatten() {
                    place.youngest = place.youngest.max(twins.youngest);
                }
            }
        }
        (sure, maybe)
    }

    /// Returns the sequences whose last done is at a place.
    fn endings_at(&self, group: Group, sector: u64) -> impl Iterator<Item = Key> + '_ {
        let behind = self.table.ending_at(group, sector).copied();
        let first = self.table.at(group, Stage::Ending, sector).take(64);
        let behind = behind.filter(|_| self.last_done != Some(LastDone::First));
        let first = first.filter(|_| self.last_done != Some(LastDone::Behind));
        behind.chain(first.map(|(&key, _)| key))
    }

    /// Returns whether sequences can end here by either place that a kernel may name, so that it is
    /// open which kernel it is.
    pub(super) fn last_done_is_open(&self, group: Group, event: &Event) -> bool {
        if self.last_done.is_some() {
            return false;
        }
        let kept = as_sequence(event.rwbs.kept);
        let told = self.told(group, event);
        let can = |key: &Key| {
            let request = self.table.get(key).filter(|_| key.kept == kept);
            request.is_some_and(|request| self.ready(request.awaits, event, told) != Ready::No)
        };
        let mut first = self.table.at(group, Stage::Ending, event.sector).take(64);
        self.table.ending_at(group, event.sector).any(can) && first.any(|(key, _)| can(key))
    }

    fn ready(&self, awaits: Awaits, event: &Event, told: Told) -> Ready {
        match (awaits, told) {
            (_, Told::Data(_)) => Ready::No,
            (_, Told::End) => Ready::Sure,
            (Awaits::Nothing(On::UNKNOWN), _) => Ready::Maybe,
            (Awaits::Nothing(on), _) if on == event.on => Ready::Sure,
            (Awaits::Nothing(_), _) => Ready::No,
            (Awaits::Flush(since), Told::Flushed(Some(issued))) if issued < since => Ready::No,
            // Another queue's flush may have ended here.
            (Awaits::Flush(_), Told::Flushed(_)) if self.flushes_overlap => Ready::Maybe,
            (Awaits::Flush(_), Told::Flushed(_)) => Ready::Sure,
            (Awaits::Flush(_), Told::Nothing) => match self.flush_ends + self.completions {
                0 => Ready::Maybe,
                _ => Ready::No,
            },
        }
    }

    /// Returns the request that goes to the driver.
    pub(super) fn choose_issue(&self, group: Group, event: &Event) -> Choice {
        let (kept, fua) = (event.rwbs.kept, event.rwbs.fua);
        let stage = Stage::Waiting;
        let here = |shape, kept| {
            let twins = self.table.twins(group, stage, event.sector, shape, kept)?;
            Some(self.of_size(twins, event.sectors))
        };
        let mut choice = Choice::default();
        if fua {
            choice.add(here(Shape::Fua, as_sequence(kept)), false);
            choice.add(here(Shape::Undecided, as_sequence(kept)), false);
        } else {
            choice.add(here(Shape::Plain, kept), false);
            choice.add(here(Shape::Undecided, as_sequence(kept)), true);
        }
        choice.add(here(Shape::Sequence, as_sequence(kept)), true);
        if choice.is_empty() {
            let grown = self.grown_to(group, event);
            choice.or(grown.or_else(|| self.rest_of(group, stage, event)), 0);
        }
        if choice.is_empty() {
            let any = |(key, _): &(&Key, &Request)| key.shape != Shape::Empty;
            let mut all = self.table.at(group, stage, event.sector).take(64);
            choice.or(all.find(any).map(|(&key, _)| key), 0);
        }
        choice
    }

    /// Returns the request that is given back, and one like it that the driver never had.
    pub(super) fn choose_requeue(&self, group: Group, event: &Event) -> (Option<Key>, Option<Key>) {
        let like = |(key, request): &(&Key, &Request)| {
            let kept = match key.shape {
                Shape::Plain => event.rwbs.kept,
                _ => as_sequence(event.rwbs.kept),
            };
            key.kept == kept && key.shape != Shape::Empty && request.sectors == event.sectors
        };
        let find = |stage| {
            let mut here = self.table.at(group, stage, event.sector).take(64);
            here.find(like).map(|(&key, _)| key)
        };
        let waits = find(Stage::Waiting);
        let driver = find(Stage::Driver).or_else(|| match waits {
            None => self
                .rest_of(group, Stage::Driver, event)
                .or_else(|| self.without_data(group, event)),
            Some(_) => None,
        });
        (driver, waits)
    }

    /// Returns the oldest of the twins that has so many sectors, if one has.
    fn of_size(&self, twins: Twins, sectors: u64) -> Twins {
        let Key { group, stage, .. } = twins.oldest;
        let mut here = self.table.at(group, stage, twins.oldest.sector).take(64);
        let like = |(key, request): &(&Key, &Request)| {
            (key.shape, key.kept) == (twins.oldest.shape, twins.oldest.kept)
                && request.sectors == sectors
        };
        let found = here.by_ref().find(like).map(|(&key, _)| key);
        let youngest = here.filter(like).last().map(|(key, _)| key.start);
        match found {
            None => twins,
            Some(oldest) => Twins {
                oldest,
                youngest: youngest.unwrap_or(oldest.start),
            },
        }
    }

    /// Returns the requests that hold the event's sector behind their first. A zone append is anywhere
    /// behind the first sector of its zone; blkparse shows it as a write.
    pub(super) fn covering(&self, group: Group, stage: Stage, event: &Event) -> Option<Twins> {
        let holds = |(key, request): &(&Key, &Request)| {
            key.shape != Shape::Empty && key.sector + request.sectors > event.sector
        };
        let append = |(key, request): &(&Key, &Request)| match group {
            Group::ZoneAppend => true,
            Group::Write if self.end == Kind::Complete => {
                key.shape == Shape::Plain
                    && key.kept == event.rwbs.kept
                    && request.sectors == event.sectors
            }
            _ => false,
        };
        let below = || self.table.below(group, stage, event.sector);
        let found = below()
            .next()
            .filter(holds)
            .or_else(|| below().find(append));
        found.and_then(|(&key, _)| {
            self.table
                .twins(group, stage, key.sector, key.shape, key.kept)
        })
    }

    /// Returns the request whose last sectors the event names: those before them were complete, and
    /// it was given back.
    pub(super) fn rest_of(&self, group: Group, stage: Stage, event: &Event) -> Option<Key> {
        let end = event.sector.saturating_add(event.sectors);
        let fits = |(key, request): &(&Key, &Request)| {
            key.shape != Shape::Empty && key.sector + request.sectors == end
        };
        let mut below = self.table.below(group, stage, event.sector);
        below.find(fits).map(|(&key, _)| key)
    }

    /// Returns the plain request that waits and that bios at its front can have grown to the
    /// event's.
    pub(super) fn grown_to(&self, group: Group, event: &Event) -> Option<Key> {
        let end = event.sector.saturating_add(event.sectors);
        let fits = |(key, request): &(&Key, &Request)| {
            key.shape == Shape::Plain && key.sector + request.sectors <= end
        };
        self.table
            .from(group, Stage::Waiting, event.sector)
            .take_while(|(key, _)| key.sector < end)
            .find(fits)
            .map(|(&key, _)| key)
    }
}
