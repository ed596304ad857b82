// SPDX-License-Identifier: GPL-2.0

//! A snapshot: all numbers of a device at one time.
//!
//! The time is read with the root, before the slots are scanned: first the ends on all CPUs, then
//! the starts. The start of an I/O is booked before its end, so no scan sees an end without its
//! start, and `in_flight` is never negative.
//!
//! What is read is no moment. An end is one addition, on one CPU, so it is in the counts if its
//! CPU's ends were scanned after it, and is never there twice; of two ends on two CPUs the later one
//! can be there without the earlier. An I/O is in `in_flight` if its start was seen and its end was
//! not. If it is in flight during all of the scan it is, and if it is at no moment of the scan it is
//! not: an end before the scan of the ends is seen, a start after that of the starts is not. Between
//! the two scans one I/O can end and another begin, and both are in it. What of this a user of the
//! numbers must know is in the ABI text.
//!
//! `time_in_queue`, the integral of in-flight up to `t0`, is
//! `sum(ends) - sum(starts) + in_flight * t0`: what is done counts from start to end, and what is
//! in flight from its start to `t0`.
//!
//! # Error
//!
//! Nothing stops while the CPUs are scanned, for which `d` shall stand. An I/O that ends in that
//! time and is seen counts up to `d` too much, one that starts up to `d` too little, and an end
//! whose time is before `t0` but which is booked after the scan counts up to the delay between the
//! two too much. So the error is below `d` per event during the scan, it does not add up from one
//! snapshot to the next, and it is zero if nothing happens meanwhile.

use super::busy::Busy;
use super::extended::Extended;
use super::nsec::{
    Clock,
    Nsec, //
};
use super::sgrp::StatGroup;
use super::slot::{
    self,
    Slots,
    DONE,
    ENDS,
    END_CELLS,
    REST,
    SECTORS,
    STARTS,
    START_CELLS,
    START_SUM,
    SUM, //
};
use super::wire::{
    Group,
    InFlight,
    Stat, //
};

/// All numbers of a device at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The numbers in the form of `stat`.
    ///
    /// Of the counts it has what the core counts itself. Merges, and the sectors of groups that
    /// merge, are zero: the kernel counts these exactly, and the caller puts them in.
    pub stat: Stat,
    /// I/Os in flight by direction; their sum is that in `stat`.
    pub in_flight: InFlight,
    /// I/Os that left by being absorbed by another.
    pub absorbed: u64,
}

impl Snapshot {
    /// Takes a snapshot of a device.
    ///
    /// `queue` belongs to the device and is kept for the next snapshot: with it `time_in_queue`
    /// does not step back. Takes no lock and writes nothing that I/O writes.
    pub fn take(busy: &Busy, queue: &Extended<64>, slots: &impl Slots, clock: &impl Clock) -> Self {
        let (Nsec(time_ns), io_ticks) = busy.read(clock);
        let ends: [u64; END_CELLS] = slot::sum(slots, ENDS, slot::ended);
        let starts: [u64; START_CELLS] = slot::sum(slots, STARTS, slot::started);

        let [reads_came, writes_came] = slot::came(&starts);
        let [reads_left, writes_left] = slot::left(&ends);
        let in_flight = InFlight {
            reads: reads_came.wrapping_sub(reads_left),
            writes: writes_came.wrapping_sub(writes_left),
        };
        let open = in_flight.reads.wrapping_add(in_flight.writes);
        let groups = StatGroup::ALL.map(|group| Group {
            ios: ends[REST + 2 * group.index()],
            merges: 0,
            sectors: group
                .own_sectors()
                .map_or(0, |place| starts[SECTORS + place]),
            nsecs: ends[REST + 2 * group.index() + 1],
        });
        Self {
            stat: Stat {
                time_ns,
                io_ticks,
                time_in_queue: queue.extend(
                    open.wrapping_mul(time_ns)
                        .wrapping_add(ends[SUM])
                        .wrapping_sub(starts[START_SUM]),
                ),
                in_flight: open,
                groups,
                ..Stat::default()
            },
            in_flight,
            absorbed: ends[DONE].wrapping_add(ends[DONE + 1]),
        }
    }
}

#[cfg(any(test, CONFIG_KUNIT))]
#[cfg_attr(CONFIG_KUNIT, kernel::macros::kunit_tests(blkacct_snap))]
mod tests {
    use super::slot::{
        Cell,
        Slot, //
    };
    use super::*;

    type Value = core::cell::Cell<u64>;

    /// Two CPUs; events run on the one of them that `on` says.
    struct TwoCpus {
        cells: [[Value; Cell::COUNT]; 2],
        on: Value,
        /// The reader's loads before a whole I/O happens; zero for never.
        countdown: Value,
    }

    impl TwoCpus {
        fn new() -> Self {
            Self {
                cells: [const { [const { Value::new(0) }; Cell::COUNT] }; 2],
                on: Value::new(0),
                countdown: Value::new(0),
            }
        }

        fn on(&self, cpu: u64) -> &Self {
            self.on.set(cpu);
            self
        }

        fn snap(&self, t: u64) -> Snapshot {
            let clock = || Nsec(t);
            Snapshot::take(&Busy::default(), &Extended::default(), self, &clock)
        }
    }

    impl Slot for TwoCpus {
        fn add_nth<const FIRST: usize>(&self, nth: usize, n: u64) {
            let value = &self.cells[self.on.get() as usize][FIRST + nth];
            value.set(value.get().wrapping_add(n));
        }
    }

    impl Slots for TwoCpus {
        fn cpus(&self) -> impl Iterator<Item = usize> {
            0..2
        }

        fn load(&self, cpu: usize, cell: Cell) -> u64 {
            if self.countdown.get() > 0 {
                self.countdown.set(self.countdown.get() - 1);
                if self.countdown.get() == 0 {
                    slot::start(self.on(0), Nsec(100), StatGroup::Read, || 8);
                    slot::end(self.on(1), Nsec(110), StatGroup::Read, Nsec(100));
                }
            }
            self.cells[cpu][cell.index()].get()
        }
    }

    #[test]
    fn queue_time_is_the_integral_of_in_flight() {
        let cpus = TwoCpus::new();
        slot::start(cpus.on(0), Nsec(100), StatGroup::Read, || 8);
        slot::start(cpus.on(1), Nsec(150), StatGroup::Write, || 8);
        slot::end(cpus.on(1), Nsec(180), StatGroup::Read, Nsec(100));
        let snap = cpus.snap(200);
        assert_eq!(snap.stat.time_in_queue, 130);
        assert_eq!(snap.stat.in_flight, 1);
        assert_eq!(snap.in_flight.writes, 1);
        assert_eq!(snap.stat.groups[0].nsecs, 80);
    }

    #[test]
    fn sums_that_wrap_make_no_difference() {
        let cpus = TwoCpus::new();
        let late = u64::MAX - 10;
        slot::start(cpus.on(0), Nsec(late), StatGroup::Read, || 8);
        slot::start(cpus.on(1), Nsec(late), StatGroup::Read, || 8);
        slot::end(cpus.on(0), Nsec(late + 3), StatGroup::Read, Nsec(late));
        assert_eq!(cpus.snap(late + 5).stat.time_in_queue, 8);
    }

    #[test]
    fn a_start_after_the_time_makes_nothing_negative() {
        let cpus = TwoCpus::new();
        slot::start(cpus.on(0), Nsec(210), StatGroup::Read, || 8);
        assert_eq!(cpus.snap(200).stat.time_in_queue, 0);
    }

    #[test]
    fn no_end_is_seen_without_its_start() {
        for loads in 1..2 * Cell::COUNT as u64 {
            let cpus = TwoCpus::new();
            cpus.countdown.set(loads);
            assert!(cpus.snap(105).stat.in_flight <= 1);
        }
    }

    #[test]
    fn the_absorbed_are_told_from_the_completed() {
        let cpus = TwoCpus::new();
        slot::start(cpus.on(0), Nsec(1), StatGroup::Write, || 8);
        slot::start(cpus.on(0), Nsec(2), StatGroup::Write, || 8);
        slot::absorbed(cpus.on(1), Nsec(3), StatGroup::Write);
        slot::end(cpus.on(1), Nsec(9), StatGroup::Write, Nsec(1));
        let snap = cpus.snap(10);
        assert_eq!(snap.absorbed, 1);
        assert_eq!(snap.stat.groups[1].ios, 1);
        assert_eq!(snap.stat.time_in_queue, 9);
    }
}
