// SPDX-License-Identifier: GPL-2.0

//! Every interleaving of a few events, explored with loom: a model per invariant.
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" cargo test --release --test loom
//! ```
//!
//! A schedule has at most three preemptions, two where three threads run; `LOOM_MAX_PREEMPTIONS`
//! overrides that. The clock is an atomic counter that ticks when it is read, so each reading is a
//! point where another thread may come in, and times from different threads tell which came first.

#![cfg(loom)]
#![allow(missing_docs)]

mod common;

use std::time::Instant;

use acct::busy::Busy;
use acct::leaf::Leaf;
use acct::nsec::{Clock, Nsec};
use acct::root::Root;
use acct::sgrp::StatGroup;
use acct::slot::{self, Cell, Slot, Slots};
use acct::snap::Snapshot;
use loom::sync::atomic::{fence, AtomicU64, Ordering};
use loom::sync::Arc;
use loom::thread;

use common::union;

/// Runs `model`, which has so many threads, under all schedules, and says how long that took.
fn explore(name: &str, threads: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    let bound = if threads > 2 { 2 } else { 3 };
    builder.preemption_bound.get_or_insert(bound);
    let begin = Instant::now();
    builder.check(model);
    eprintln!("{name}: {:.1} s", begin.elapsed().as_secs_f64());
}

/// Ticks by one at each reading.
struct Ticks(AtomicU64);

impl Ticks {
    fn new() -> Self {
        Self(AtomicU64::new(1))
    }

    fn pass(&self, time: u64) {
        self.0.fetch_add(time, Ordering::Relaxed);
    }
}

impl Clock for Ticks {
    fn now(&self) -> Nsec {
        Nsec(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// Something that I/O can start and end on.
trait Device: Send + Sync + 'static {
    fn start(&self, leaf: usize, clock: &Ticks) -> Nsec;
    fn end(&self, leaf: usize, clock: &Ticks) -> Nsec;
    fn total(&self, clock: &Ticks) -> u64;
}

impl Device for Root {
    fn start(&self, _: usize, clock: &Ticks) -> Nsec {
        self.arrive(self.arriving(), clock.now(), clock)
    }

    fn end(&self, _: usize, clock: &Ticks) -> Nsec {
        let time = self.depart(self.departing(), clock.now(), clock);
        time.expect("the root is held")
    }

    fn total(&self, clock: &Ticks) -> u64 {
        self.read(clock).1
    }
}

/// No leaf: the I/O holds the root itself.
const DIRECT: usize = 2;

#[derive(Default)]
struct Disk {
    busy: Busy,
    leaves: [Leaf; 2],
}

impl Device for Disk {
    fn start(&self, leaf: usize, clock: &Ticks) -> Nsec {
        let arrival = match self.leaves.get(leaf) {
            Some(leaf) => self.busy.start(leaf),
            None => self.busy.start_direct(),
        };
        arrival.commit(clock.now(), clock)
    }

    fn end(&self, leaf: usize, clock: &Ticks) -> Nsec {
        let departure = match self.leaves.get(leaf) {
            Some(leaf) => self.busy.end(leaf),
            None => self.busy.end_direct(),
        };
        let time = departure.commit(clock.now(), clock);
        time.expect("this I/O is in flight")
    }

    fn total(&self, clock: &Ticks) -> u64 {
        self.busy.read(clock).1
    }
}

/// Runs one I/O from start to end; returns when that was.
fn io<D: Device>(device: &D, leaf: usize, clock: &Ticks) -> (u64, u64) {
    let start = device.start(leaf, clock);
    let end = device.end(leaf, clock);
    (start.0, end.0)
}

/// Runs one I/O per entry of `leaves` on threads of their own.
fn race<D: Device>(device: &Arc<D>, clock: &Arc<Ticks>, leaves: &[usize]) -> Vec<(u64, u64)> {
    let threads: Vec<_> = leaves[1..]
        .iter()
        .map(|&leaf| {
            let (device, clock) = (device.clone(), clock.clone());
            thread::spawn(move || io(&*device, leaf, &clock))
        })
        .collect();
    let mut spans = vec![io(&**device, leaves[0], clock)];
    spans.extend(threads.into_iter().map(|t| t.join().unwrap()));
    spans
}

/// Two I/Os are in flight. One ends, while the other ends and makes way for a third.
fn relay<D: Device>(device: &Arc<D>, clock: &Arc<Ticks>, leaves: &[usize]) -> Vec<(u64, u64)> {
    let starts = [0, 1].map(|io| device.start(leaves[io], clock).0);
    let other = {
        let (device, clock, leaf) = (device.clone(), clock.clone(), leaves[1]);
        thread::spawn(move || device.end(leaf, &clock).0)
    };
    let end = device.end(leaves[0], clock).0;
    let third = io(&**device, leaves[0], clock);
    vec![(starts[0], end), (starts[1], other.join().unwrap()), third]
}

type Play<D> = fn(&Arc<D>, &Arc<Ticks>, &[usize]) -> Vec<(u64, u64)>;

/// Explores a play of I/Os on `leaves` and hands the busy total and the union of their intervals
/// to `check`.
fn compare<D>(name: &str, play: Play<D>, leaves: &'static [usize], check: fn(u64, u64))
where
    D: Device + Default,
{
    explore(name, leaves.len(), move || {
        let (device, clock) = (Arc::new(D::default()), Arc::new(Ticks::new()));
        let intervals = play(&device, &clock, leaves);
        check(device.total(&clock), union(intervals));
    });
}

fn compare_all(name: &str, check: fn(u64, u64)) {
    compare::<Root>(&format!("{name}: root"), race, &[0, 0], check);
    compare::<Root>(&format!("{name}: root, relay"), relay, &[0, 0], check);
    compare::<Disk>(&format!("{name}: one leaf"), race, &[0, 0], check);
    compare::<Disk>(&format!("{name}: one leaf, relay"), relay, &[0, 0], check);
    compare::<Disk>(&format!("{name}: two leaves"), race, &[0, 1], check);
    compare::<Disk>(&format!("{name}: two leaves, relay"), relay, &[0, 1], check);
    compare::<Disk>(&format!("{name}: leaf, direct"), race, &[0, DIRECT], check);
    compare::<Disk>(
        &format!("{name}: direct, leaf, relay"),
        relay,
        &[DIRECT, 0],
        check,
    );
}

#[test]
fn no_span_is_lost() {
    compare_all("no_span_is_lost", |total, union| assert!(total >= union));
}

#[test]
fn none_is_charged_twice() {
    compare_all("none_is_charged_twice", |total, union| {
        assert!(total <= union)
    });
}

#[test]
fn io_ticks_is_the_union_of_three() {
    compare::<Root>(
        "io_ticks_is_the_union_of_three",
        race,
        &[0, 0, 0],
        |a, b| assert_eq!(a, b),
    );
}

#[test]
fn no_idle_gap_is_charged() {
    explore("no_idle_gap_is_charged", 2, || {
        let (disk, clock) = (Arc::new(Disk::default()), Arc::new(Ticks::new()));
        io(&*disk, 0, &clock);
        clock.pass(1_000_000);
        race(&disk, &clock, &[0, 1]);
        assert!(disk.total(&clock) < 1_000);
    });
}

#[test]
fn io_ticks_is_monotonic() {
    explore("io_ticks_is_monotonic", 2, || {
        let (disk, clock) = (Arc::new(Disk::default()), Arc::new(Ticks::new()));
        let worker = {
            let (disk, clock) = (disk.clone(), clock.clone());
            thread::spawn(move || {
                io(&*disk, 0, &clock);
                io(&*disk, 0, &clock);
            })
        };
        let (early, first) = disk.busy.read(&*clock);
        let (late, second) = disk.busy.read(&*clock);
        assert!(first <= second);
        assert!(first < early.0 && second < late.0);
        worker.join().unwrap();
        assert!(second <= disk.total(&clock));
    });
}

#[test]
fn surplus_is_undone() {
    explore("surplus_is_undone", 2, || {
        let (disk, clock) = (Arc::new(Disk::default()), Arc::new(Ticks::new()));
        let other = {
            let (disk, clock) = (disk.clone(), clock.clone());
            thread::spawn(move || disk.start(0, &clock))
        };
        disk.start(0, &clock);
        other.join().unwrap();
        assert_eq!(disk.leaves[0].in_flight(), 2);
        disk.end(0, &clock);
        assert!(disk.busy.is_busy());
        disk.end(0, &clock);
        assert!(!disk.busy.is_busy());
    });
}

/// The slot of the only CPU.
struct OneCpu([AtomicU64; Cell::COUNT]);

impl Slot for OneCpu {
    fn add_nth<const FIRST: usize>(&self, nth: usize, n: u64) {
        self.0[FIRST + nth].fetch_add(n, Ordering::Release);
    }
}

impl Slots for OneCpu {
    fn cpus(&self) -> impl Iterator<Item = usize> {
        0..1
    }

    fn load(&self, _: usize, cell: Cell) -> u64 {
        self.0[cell.index()].load(Ordering::Acquire)
    }

    fn relax(&self) {
        thread::yield_now();
    }
}

#[test]
fn slot_reads_are_untorn() {
    const NOW: u64 = 1000;
    explore("slot_reads_are_untorn", 3, || {
        let cpu = Arc::new(OneCpu(std::array::from_fn(|_| AtomicU64::new(0))));
        // Two writers, as an event and the interrupt that nests in it, but in any order.
        let writers = [100, 200].map(|t| {
            let cpu = cpu.clone();
            thread::spawn(move || slot::start(&*cpu, Nsec(t), StatGroup::Read, || 8))
        });
        let snap = Snapshot::take(&Busy::default(), &Default::default(), &*cpu, &|| Nsec(NOW));
        let possible = match snap.stat.in_flight {
            0 => &[0][..],
            1 => &[NOW - 100, NOW - 200][..],
            _ => &[2 * NOW - 300][..],
        };
        assert!(possible.contains(&snap.stat.time_in_queue));
        for writer in writers {
            writer.join().unwrap();
        }
    });
}

/// A switch of the mode while the queue is frozen, and a request that comes in after the thaw; the
/// thaw waits, or not, for a grace period of RCU first. The request takes its reference in a
/// read-side section, by a load that acquires nothing.
fn thaw(waits: bool) {
    let words = Arc::new([0; 3].map(AtomicU64::new));
    let shared = words.clone();
    let request = thread::spawn(move || {
        let [counting, live, reading] = &*shared;
        reading.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if live.load(Ordering::Relaxed) == 1 {
            assert_eq!(
                counting.load(Ordering::Relaxed),
                1,
                "a start goes uncounted"
            );
        }
        reading.store(0, Ordering::Release);
    });
    let [counting, live, reading] = &*words;
    counting.store(1, Ordering::Relaxed);
    if waits {
        fence(Ordering::SeqCst);
        while reading.load(Ordering::Acquire) == 1 {
            thread::yield_now();
        }
        fence(Ordering::SeqCst);
    }
    live.store(1, Ordering::Relaxed);
    request.join().unwrap();
}

#[test]
fn a_request_after_the_thaw_sees_the_mode() {
    explore("thaw", 2, || thaw(true));
}

#[test]
#[should_panic(expected = "a start goes uncounted")]
fn without_a_wait_a_request_after_the_thaw_may_not() {
    explore("thaw that does not wait", 2, || thaw(false));
}
