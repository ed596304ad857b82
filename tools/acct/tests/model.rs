// SPDX-License-Identifier: GPL-2.0

//! Random histories against a plain reference: a list of intervals.
//!
//! An event is taken apart into its three steps (prepare, read the clock, commit), and the steps
//! of many events are interleaved, on several leaves of a disk and of its partition. Whenever no
//! event is half done, every number must be what the list says, to the nanosecond.

#![cfg(not(loom))]
#![allow(missing_docs)]

mod common;

use std::cell::Cell as Value;

use acct::busy::{Arrival, Busy, Departure};
use acct::extended::Extended;
use acct::leaf::Leaf;
use acct::nsec::Nsec;
use acct::sgrp::StatGroup;
use acct::slot::{self, Cell, Slot, Slots};
use acct::snap::Snapshot;
use proptest::prelude::*;

use common::union;

const LEAVES: usize = 3;
const CPUS: usize = 2;
const GROUP: StatGroup = StatGroup::WriteZeroes;
const SECTORS: u64 = 8;

/// Slots of all CPUs, and which one the caller is on.
struct Cpus([[Value<u64>; Cell::COUNT]; CPUS], Value<usize>);

impl Slot for Cpus {
    fn add_nth<const FIRST: usize>(&self, nth: usize, n: u64) {
        let value = &self.0[self.1.get()][FIRST + nth];
        value.set(value.get().wrapping_add(n));
    }
}

impl Slots for Cpus {
    fn cpus(&self) -> impl Iterator<Item = usize> {
        0..CPUS
    }

    fn load(&self, cpu: usize, cell: Cell) -> u64 {
        self.0[cpu][cell.index()].get()
    }
}

/// No leaf: the I/O holds the root itself.
const DIRECT: usize = LEAVES;

/// A disk or a partition: the core's accounts.
struct Level {
    busy: Busy,
    leaves: [Leaf; LEAVES],
    queue: Extended<64>,
    cpus: Cpus,
}

impl Level {
    fn new() -> Self {
        Self {
            busy: Busy::default(),
            leaves: Default::default(),
            queue: Extended::default(),
            cpus: Cpus(
                [const { [const { Value::new(0) }; Cell::COUNT] }; CPUS],
                Value::new(0),
            ),
        }
    }
}

/// One I/O on one level, as the reference sees it.
#[derive(Clone, Copy)]
struct Span {
    start: u64,
    /// The earliest start that it inherited.
    earliest: u64,
    end: Option<u64>,
    /// Of a completed one.
    latency: Option<u64>,
}

/// An I/O in flight: its leaf, or [`DIRECT`], and its place in the list of each level it counts for.
#[derive(Clone)]
struct Io {
    leaf: usize,
    spans: Vec<usize>,
}

/// An event that has been prepared and, once it has a time, can be committed.
struct Pending<'a> {
    t: Option<Nsec>,
    io: Io,
    half: Half<'a>,
}

enum Half<'a> {
    Start(Vec<Arrival<'a>>),
    End {
        departures: Vec<Departure<'a>>,
        /// For an I/O that is merged: the spans of the one that absorbs it.
        into: Option<Vec<usize>>,
    },
}

#[derive(Clone, Debug)]
enum Command {
    Start { leaf: usize, part: bool },
    End { which: usize },
    Merge { which: usize, into: usize },
    Advance { which: usize },
    Tick { ns: u64 },
    Read,
    Drain,
}

fn command() -> impl Strategy<Value = Command> {
    let which = 0..64usize;
    prop_oneof![
        4 => (0..=DIRECT, any::<bool>()).prop_map(|(leaf, part)| Command::Start { leaf, part }),
        3 => which.clone().prop_map(|which| Command::End { which }),
        1 => (which.clone(), which.clone())
            .prop_map(|(which, into)| Command::Merge { which, into }),
        12 => which.prop_map(|which| Command::Advance { which }),
        6 => (0..50u64).prop_map(|ns| Command::Tick { ns }),
        1 => Just(Command::Tick { ns: 1 << 32 }),
        1 => Just(Command::Read),
        1 => Just(Command::Drain),
    ]
}

struct World<'a> {
    levels: &'a [Level; 2],
    now: Value<u64>,
    spans: [Vec<Span>; 2],
    seen: [u64; 2],
    open: Vec<Io>,
    pending: Vec<Pending<'a>>,
}

impl<'a> World<'a> {
    fn run(&mut self, command: &Command) {
        match *command {
            Command::Start { leaf, part } => {
                let count = if part { 2 } else { 1 };
                let levels = &self.levels[..count];
                let arrivals = levels.iter().map(|l| match l.leaves.get(leaf) {
                    Some(leaf) => l.busy.start(leaf),
                    None => l.busy.start_direct(),
                });
                let half = Half::Start(arrivals.collect());
                let spans = Vec::new();
                let io = Io { leaf, spans };
                self.pending.push(Pending { t: None, io, half });
            }
            Command::End { which } => self.end(which, None),
            Command::Merge { which, into } if self.open.len() > 1 => {
                let (which, into) = (which % self.open.len(), into % self.open.len());
                if which != into && self.open[which].spans.len() == self.open[into].spans.len() {
                    self.end(which, Some(self.open[into].spans.clone()));
                }
            }
            Command::Merge { .. } => {}
            Command::Advance { which } if !self.pending.is_empty() => {
                self.advance(which % self.pending.len());
            }
            Command::Advance { .. } => {}
            Command::Tick { ns } => self.now.set(self.now.get() + ns),
            Command::Read => self.read(),
            Command::Drain => self.drain(),
        }
    }

    fn end(&mut self, which: usize, into: Option<Vec<usize>>) {
        if self.open.is_empty() {
            return;
        }
        let io = self.open.swap_remove(which % self.open.len());
        let levels = &self.levels[..io.spans.len()];
        let departures = levels.iter().map(|l| match l.leaves.get(io.leaf) {
            Some(leaf) => l.busy.end(leaf),
            None => l.busy.end_direct(),
        });
        let departures = departures.collect();
        let half = Half::End { departures, into };
        self.pending.push(Pending { t: None, io, half });
    }

    /// Takes a pending event one step on.
    fn advance(&mut self, which: usize) {
        let Some(t) = self.pending[which].t else {
            self.pending[which].t = Some(Nsec(self.now.get()));
            return;
        };
        let Pending { mut io, half, .. } = self.pending.swap_remove(which);
        let clock = || Nsec(self.now.get());
        match half {
            Half::Start(arrivals) => {
                for (level, arrival) in arrivals.into_iter().enumerate() {
                    let start = arrival.commit(t, &clock);
                    self.levels[level].cpus.1.set(which % CPUS);
                    slot::start(&self.levels[level].cpus, start, GROUP, || SECTORS);
                    io.spans.push(self.spans[level].len());
                    self.spans[level].push(Span {
                        start: start.0,
                        earliest: start.0,
                        end: None,
                        latency: None,
                    });
                }
                self.open.push(io);
            }
            Half::End { departures, into } => {
                for (level, departure) in departures.into_iter().enumerate() {
                    let end = departure.commit(t, &clock).expect("it is in flight");
                    let cpus = &self.levels[level].cpus;
                    cpus.1.set(which % CPUS);
                    let span = &mut self.spans[level][io.spans[level]];
                    span.end = Some(end.0);
                    let earliest = span.earliest;
                    span.latency = into.is_none().then(|| end.0 - earliest);
                    match &into {
                        None => slot::end(cpus, end, GROUP, Nsec(earliest)),
                        Some(into) => {
                            slot::absorbed(cpus, end, GROUP);
                            let by = &mut self.spans[level][into[level]];
                            by.earliest = by.earliest.min(earliest);
                        }
                    }
                }
            }
        }
    }

    /// Reads while events may be half done: the total does not step back nor exceed wall time.
    fn read(&mut self) {
        let clock = || Nsec(self.now.get());
        for (level, seen) in self.levels.iter().zip(&mut self.seen) {
            let (now, total) = level.busy.read(&clock);
            assert!(*seen <= total && total <= now.0 - EPOCH);
            *seen = total;
        }
    }

    /// Ends everything, as a change of mode does.
    fn drain(&mut self) {
        while !self.pending.is_empty() || !self.open.is_empty() {
            while !self.pending.is_empty() {
                self.advance(0);
            }
            self.end(0, None);
        }
        for level in self.levels {
            assert!(!level.busy.is_busy());
            assert!(level.leaves.iter().all(|leaf| leaf.in_flight() == 0));
        }
    }

    /// Compares all numbers with the list's.
    fn check(&mut self) {
        let now = self.now.get();
        for (place, level) in self.levels.iter().enumerate() {
            let spans = &self.spans[place];
            let until = |span: &Span| span.end.unwrap_or(now);
            let snap = Snapshot::take(&level.busy, &level.queue, &level.cpus, &|| Nsec(now));
            let busy = union(spans.iter().map(|span| (span.start, until(span))));
            // A read that met a half-done end may have been ahead, and what it said stands.
            self.seen[place] = self.seen[place].max(busy);
            assert_eq!(snap.stat.io_ticks, self.seen[place]);
            let queue: u64 = spans.iter().map(|span| until(span) - span.start).sum();
            assert_eq!(snap.stat.time_in_queue, queue);
            let open = spans.iter().filter(|span| span.end.is_none()).count() as u64;
            assert_eq!((snap.in_flight.reads, snap.in_flight.writes), (0, open));
            let latencies = spans.iter().filter_map(|span| span.latency);
            let group = snap.stat.groups[GROUP.index()];
            assert_eq!(group.ios, latencies.clone().count() as u64);
            assert_eq!(group.nsecs, latencies.sum::<u64>());
            assert_eq!(snap.absorbed, spans.len() as u64 - group.ios - open);
            assert_eq!(group.sectors, spans.len() as u64 * SECTORS);
        }
    }
}

/// Far from zero, where sums of times wrap.
const EPOCH: u64 = 1 << 62;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_numbers_are_those_of_a_list(commands in prop::collection::vec(command(), 1..300)) {
        let levels = [Level::new(), Level::new()];
        let mut world = World {
            levels: &levels,
            now: Value::new(EPOCH),
            spans: Default::default(),
            seen: [0; 2],
            open: Vec::new(),
            pending: Vec::new(),
        };
        for command in &commands {
            world.run(command);
            if world.pending.is_empty() {
                world.check();
            }
        }
        world.drain();
        world.check();
    }
}
