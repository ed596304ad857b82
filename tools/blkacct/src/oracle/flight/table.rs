// SPDX-License-Identifier: GPL-2.0
//! The requests in flight, in an order in which every question about a place is one look-up.
//!
//! Requests of one kind at one place, with the same letters, cannot be told apart by any line of a
//! trace. They lie side by side here in the order of their starts, so that the oldest, and how far
//! the starts lie apart, take no search, however many there are.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Group, Kept, On};

/// How far a request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The block layer has it.
    Waiting,
    /// The driver has it.
    Driver,
    /// The data of a flush sequence are done, its end is to come.
    Ending,
}

/// How many dones a request has, as far as its letters and its place told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// One.
    Plain,
    /// One: the disk does forced unit access itself.
    Fua,
    /// As [`Shape::Fua`], or as [`Shape::Sequence`]: its first event without the letter decides.
    Undecided,
    /// Two: for its data, and in the end.
    Sequence,
    /// One, and no data: a flush that somebody waits for.
    Empty,
}

/// What ends a sequence whose data are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaits {
    /// Nothing: the end follows at once, in the same flow of control.
    Nothing(On),
    /// A flush that is issued no earlier than this.
    Flush(u64),
}

/// Where a request lies, and what a trace shows of it. The order is that of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Its group.
    pub group: Group,
    /// How far it has come.
    pub stage: Stage,
    /// Its first sector.
    pub sector: u64,
    /// How many dones it has.
    pub shape: Shape,
    /// The letters that it keeps.
    pub kept: Kept,
    /// Its start, or the earliest that it inherited, in ns.
    pub start: u64,
    /// Tells it from its twins.
    pub id: u64,
}

/// What is known of it besides.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Sectors that are not complete.
    pub sectors: u64,
    /// When it was issued, while the driver has it.
    pub issued: Option<u64>,
    /// It asked for forced unit access.
    pub fua: bool,
    /// What its end waits for, once its data are done.
    pub awaits: Awaits,
}

/// Requests that nothing tells apart.
#[derive(Clone, Copy, Debug)]
pub struct Twins {
    /// The oldest.
    pub oldest: Key,
    /// The youngest one's start.
    pub youngest: u64,
}

impl Twins {
    /// Returns how far their starts lie apart.
    pub fn spread(&self) -> u64 {
        self.youngest.saturating_sub(self.oldest.start)
    }
}

/// So many neighbours are looked at for one that fits.
const NEAR: usize = 64;

/// The requests in flight.
#[derive(Clone, Default)]
pub struct Table {
    requests: BTreeMap<Key, Request>,
    /// Sequences whose end is to come, by the sector behind their data.
    behind: BTreeSet<(Group, u64, Key)>,
    /// Requests that may merge, by start, to know how far those of a group lie apart.
    starts: BTreeSet<(Group, u64, u64)>,
    count: [u64; Group::COUNT],
    ids: u64,
}

impl Table {
    /// Adds a request that starts.
    pub fn start(&mut self, mut key: Key, request: Request) {
        self.ids += 1;
        key.id = self.ids;
        self.insert(key, request);
    }

    /// Takes a request out.
    pub fn remove(&mut self, key: &Key) -> Option<Request> {
        let request = self.requests.remove(key)?;
        self.count[key.group as usize] -= 1;
        self.starts.remove(&(key.group, key.start, key.id));
        if key.stage == Stage::Ending {
            let end = key.sector.saturating_add(request.sectors);
            self.behind.remove(&(key.group, end, *key));
        }
        Some(request)
    }

    /// Puts a request back, changed.
    pub fn insert(&mut self, key: Key, request: Request) {
        self.count[key.group as usize] += 1;
        if key.shape == Shape::Plain {
            self.starts.insert((key.group, key.start, key.id));
        }
        if key.stage == Stage::Ending {
            let end = key.sector.saturating_add(request.sectors);
            self.behind.insert((key.group, end, key));
        }
        self.requests.insert(key, request);
    }

    /// Returns what is known of a request.
    pub fn get(&self, key: &Key) -> Option<&Request> {
        self.requests.get(key)
    }

    /// Returns how many of a group are in flight.
    pub fn count(&self, group: Group) -> u64 {
        self.count[group as usize]
    }

    /// Returns how far the starts of a group's plain requests lie apart, each taken to be no
    /// earlier than `from`.
    pub fn spread(&self, group: Group, from: u64) -> u64 {
        let mut all = self
            .starts
            .range((group, 0, 0)..=(group, u64::MAX, u64::MAX));
        let first = all.next().map_or(0, |&(_, start, _)| start.max(from));
        let last = all
            .next_back()
            .map_or(first, |&(_, start, _)| start.max(from));
        last - first
    }

    /// Returns those of a kind at a place.
    pub fn twins(
        &self,
        group: Group,
        stage: Stage,
        sector: u64,
        shape: Shape,
        kept: Kept,
    ) -> Option<Twins> {
        let key = |start, id| Key {
            group,
            stage,
            sector,
            shape,
            kept,
            start,
            id,
        };
        let mut here = self.requests.range(key(0, 0)..=key(u64::MAX, u64::MAX));
        let oldest = *here.next()?.0;
        let youngest = here.next_back().map_or(oldest.start, |(key, _)| key.start);
        Some(Twins { oldest, youngest })
    }

    /// Returns all at a place, whatever their letters.
    pub fn at(&self, group: Group, stage: Stage, sector: u64) -> impl Iterator<Item = Entry<'_>> {
        let (low, high) = bounds(group, stage, sector, sector);
        self.requests.range(low..=high)
    }

    /// Returns those that begin in front of a place, the nearest first.
    pub fn below(
        &self,
        group: Group,
        stage: Stage,
        sector: u64,
    ) -> impl Iterator<Item = Entry<'_>> {
        let (low, _) = bounds(group, stage, 0, 0);
        let (high, _) = bounds(group, stage, sector, sector);
        self.requests.range(low..high).rev().take(NEAR)
    }

    /// Returns those that begin at a place or behind it, in order.
    pub fn from(&self, group: Group, stage: Stage, sector: u64) -> impl Iterator<Item = Entry<'_>> {
        let (low, high) = bounds(group, stage, sector, u64::MAX);
        self.requests.range(low..=high).take(NEAR)
    }

    /// Returns the sequences whose end is to come and whose data end at a place.
    pub fn ending_at(&self, group: Group, end: u64) -> impl Iterator<Item = &Key> {
        let (low, _) = bounds(group, Stage::Waiting, 0, 0);
        let (_, high) = bounds(group, Stage::Ending, u64::MAX, u64::MAX);
        let here = self.behind.range((group, end, low)..=(group, end, high));
        here.map(|(_, _, key)| key).take(NEAR)
    }
}

/// A request and its place.
pub type Entry<'a> = (&'a Key, &'a Request);

impl Key {
    /// Returns the place of a request that has just started.
    pub fn new(group: Group, sector: u64, shape: Shape, kept: Kept, start: u64) -> Self {
        Key {
            group,
            stage: Stage::Waiting,
            sector,
            shape,
            kept,
            start,
            id: 0,
        }
    }
}

/// The first and the last key of a stretch of sectors.
fn bounds(group: Group, stage: Stage, from: u64, to: u64) -> (Key, Key) {
    let low = Key {
        group,
        stage,
        sector: from,
        shape: Shape::Plain,
        kept: Kept::default(),
        start: 0,
        id: 0,
    };
    let high = Key {
        sector: to,
        shape: Shape::Empty,
        kept: Kept::ALL,
        start: u64::MAX,
        id: u64::MAX,
        ..low
    };
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(table: &mut Table, sector: u64, start: u64) {
        let key = Key::new(Group::Read, sector, Shape::Plain, Kept::default(), start);
        let request = Request {
            sectors: 8,
            issued: None,
            fua: false,
            awaits: Awaits::Flush(0),
        };
        table.start(key, request);
    }

    fn twins(table: &Table, sector: u64) -> Option<(u64, u64)> {
        let kept = Kept::default();
        let found = table.twins(Group::Read, Stage::Waiting, sector, Shape::Plain, kept)?;
        Some((found.oldest.start, found.spread()))
    }

    #[test]
    fn twins_are_in_the_order_of_their_starts() {
        let mut table = Table::default();
        for start in [7, 3, 9] {
            add(&mut table, 64, start);
        }
        add(&mut table, 72, 1);
        assert_eq!(twins(&table, 64), Some((3, 6)));
        assert_eq!(twins(&table, 72), Some((1, 0)));
        assert_eq!(twins(&table, 65), None);
        assert_eq!(table.spread(Group::Read, 0), 8);
        assert_eq!(table.spread(Group::Read, 5), 4);
    }

    #[test]
    fn a_sequence_is_found_by_where_its_data_end() {
        let mut table = Table::default();
        add(&mut table, 64, 3);
        let key = *table.at(Group::Read, Stage::Waiting, 64).next().unwrap().0;
        let request = table.remove(&key).unwrap();
        let stage = Stage::Ending;
        table.insert(Key { stage, ..key }, request);
        assert_eq!(table.ending_at(Group::Read, 72).count(), 1);
        assert_eq!(table.ending_at(Group::Read, 64).count(), 0);
        table.remove(&Key { stage, ..key });
        assert_eq!(table.ending_at(Group::Read, 72).count(), 0);
        assert_eq!(table.count(Group::Read), 0);
    }
}
