// SPDX-License-Identifier: GPL-2.0

//! Slots: one CPU's counters, and what an event adds to them.
//!
//! # Reading a slot untorn
//!
//! A snapshot needs counts and sums that belong together: `time_in_queue` holds the sum of all
//! start times, and one start counted but not summed would be wrong by the age of the machine.
//! An event is several adds, and an interrupt may put another event of the same CPU between any
//! two of them, so a sequence count would need interrupts off. Instead a slot has two halves, for
//! starts and for ends, and an event first adds one to its half's `begun` and last of all one to
//! a count of those that are through: the starts or the I/Os of its group, which count anyway, or
//! those absorbed.
//!
//! A reader loads the counts, then everything again, and `begun` last of all, and takes what it has
//! if `begun` is the sum of the first counts, `done`. Both only grow, and `done <= begun` at any
//! moment. So if `begun`, loaded last, equals `done`, loaded first, then they were equal all the
//! while: no event was under way, however they nest, and none began.
//!
//! This needs the adds of one CPU to be seen in order: each add is a release and each load an
//! acquire. On x86 plain ones are. A weakly ordered machine must implement the traits with real
//! ones.
//!
//! # Layout
//!
//! The starts of reads and writes are in one cache line; so are the ends. The rest follows.

#[cfg(any(test, CONFIG_KUNIT))]
pub(super) mod testing;

use super::nsec::Nsec;
use super::sgrp::StatGroup;

/// One counter of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell(pub(super) usize);

impl Cell {
    /// The number of cells in a slot. Zeroed cells are a slot to which nothing has happened.
    pub const COUNT: usize = ENDS + END_CELLS;

    /// Returns the cell's place in the slot.
    pub const fn index(self) -> usize {
        self.0
    }
}

/// The slot of the CPU that the caller runs on and cannot leave meanwhile.
///
/// What is known when compiled, `FIRST`, is apart from what is not: a processor adds to a cell that
/// is given so in one instruction.
pub trait Slot {
    /// Adds `n` to the cell `nth` places after `FIRST`, wrapping, in one step with respect to
    /// interrupts, and with release ordering.
    fn add_nth<const FIRST: usize>(&self, nth: usize, n: u64);

    /// Adds one to the cell `nth` places after `FIRST`, in the same way.
    #[inline(always)]
    fn count_nth<const FIRST: usize>(&self, nth: usize) {
        self.add_nth::<FIRST>(nth, 1);
    }

    /// Adds `n` to a cell, in the same way.
    #[inline(always)]
    fn add<const CELL: usize>(&self, n: u64) {
        self.add_nth::<CELL>(0, n);
    }

    /// Adds one to a cell, in the same way.
    #[inline(always)]
    fn count<const CELL: usize>(&self) {
        self.count_nth::<CELL>(0);
    }
}

/// The slots of all CPUs of one device, for a reader.
pub trait Slots {
    /// Returns the CPUs that have a slot.
    fn cpus(&self) -> impl Iterator<Item = usize>;

    /// Returns the value of a cell, with acquire ordering.
    fn load(&self, cpu: usize, cell: Cell) -> u64;

    /// Called between CPUs and before another try; may sleep.
    fn relax(&self) {}
}

/// First cell of the starts.
pub(super) const STARTS: usize = 0;
/// Number of the starts' cells.
pub(super) const START_CELLS: usize = SECTORS + 4;
/// First cell of the ends, on a cache line of their own.
pub(super) const ENDS: usize = (STARTS + START_CELLS).next_multiple_of(8);
/// Number of the ends' cells.
pub(super) const END_CELLS: usize = REST + 2 * StatGroup::COUNT;

// Within a half:
/// Events that have begun.
pub(super) const BEGUN: usize = 0;
/// Ends of reads that are through since they were absorbed; those of writes follow.
pub(super) const DONE: usize = 1;
/// Ends: sum of their times.
pub(super) const SUM: usize = 3;
/// Ends: I/Os and ns of each group.
pub(super) const REST: usize = 4;
/// Starts: sum of their times.
pub(super) const START_SUM: usize = 1;
/// Starts of each group that are through.
pub(super) const STARTED: usize = 2;
/// Starts: sectors by `StatGroup::own_sectors()`.
pub(super) const SECTORS: usize = STARTED + StatGroup::COUNT;

/// Books the start of an I/O of `sectors` sectors at `t`.
///
/// The sectors count only for groups that never merge, as the size of the others is known later.
#[inline(always)]
pub fn start(slot: &impl Slot, t: Nsec, group: StatGroup, sectors: impl FnOnce() -> u64) {
    slot.count::<{ STARTS + BEGUN }>();
    slot.add::<{ STARTS + START_SUM }>(t.0);
    if let Some(place) = group.own_sectors() {
        slot.add_nth::<{ STARTS + SECTORS }>(place, sectors());
    }
    slot.count_nth::<{ STARTS + STARTED }>(group.index());
}

/// Books the completion at `t` of an I/O whose latency counts from `start_time`.
///
/// That is its own start, or the earliest of those that were merged into it.
#[inline(always)]
pub fn end(slot: &impl Slot, t: Nsec, group: StatGroup, start_time: Nsec) {
    let ios = 2 * group.index();
    slot.count::<{ ENDS + BEGUN }>();
    slot.add::<{ ENDS + SUM }>(t.0);
    slot.add_nth::<{ ENDS + REST + 1 }>(ios, t.since(start_time));
    slot.count_nth::<{ ENDS + REST }>(ios);
}

/// Books that an I/O left at `t`, absorbed by another, which completes for both.
pub fn absorbed(slot: &impl Slot, t: Nsec, group: StatGroup) {
    slot.count::<{ ENDS + BEGUN }>();
    slot.add::<{ ENDS + SUM }>(t.0);
    slot.count_nth::<{ ENDS + DONE }>(group.direction() as usize);
}

/// Books at `t` that of the I/O of a group, as its direction, `in_flight` have not ended and never
/// will. A negative number, of ends that were another direction's starts, is booked as starts.
/// Either is one addition to each cell, however many.
pub fn write_off(slot: &impl Slot, t: Nsec, group: StatGroup, in_flight: u64) {
    let missing = in_flight.wrapping_neg();
    if in_flight <= missing {
        slot.add::<{ ENDS + BEGUN }>(in_flight);
        slot.add::<{ ENDS + SUM }>(t.0.wrapping_mul(in_flight));
        slot.add_nth::<{ ENDS + DONE }>(group.direction() as usize, in_flight);
    } else {
        slot.add::<{ STARTS + BEGUN }>(missing);
        slot.add::<{ STARTS + START_SUM }>(t.0.wrapping_mul(missing));
        slot.add_nth::<{ STARTS + STARTED }>(group.index(), missing);
    }
}

/// Returns a CPU's half that starts at cell `first`, as it was at one moment.
///
/// `through` tells how many of its events are. It tries until no event is under way: with a slot's
/// owner pinned, a few loads' time.
pub(super) fn read<const N: usize>(
    slots: &impl Slots,
    cpu: usize,
    first: usize,
    through: fn(&[u64; N]) -> u64,
) -> [u64; N] {
    loop {
        if let Some(half) = try_read(slots, cpu, first, through) {
            return half;
        }
        slots.relax();
    }
}

/// As [`read`], but `None` if an event is under way, or was meanwhile.
fn try_read<const N: usize>(
    slots: &impl Slots,
    cpu: usize,
    first: usize,
    through: fn(&[u64; N]) -> u64,
) -> Option<[u64; N]> {
    let mut half = [0; N];
    let mut load_rest = || {
        for (place, value) in half.iter_mut().enumerate().skip(BEGUN + 1) {
            *value = slots.load(cpu, Cell(first + place));
        }
        half
    };
    // All counts before any value.
    let done = through(&load_rest());
    load_rest();
    half[BEGUN] = slots.load(cpu, Cell(first + BEGUN));
    (half[BEGUN] == done).then_some(half)
}

/// Returns how many events are through of a half that counts reads and writes apart.
pub(super) fn both<const N: usize>(half: &[u64; N]) -> u64 {
    half[DONE].wrapping_add(half[DONE + 1])
}

/// Returns how many starts of reads, and of writes, are through.
pub(super) fn came(starts: &[u64; START_CELLS]) -> [u64; 2] {
    let mut came = [0; 2];
    for group in StatGroup::ALL {
        let sum: &mut u64 = &mut came[group.direction() as usize];
        *sum = sum.wrapping_add(starts[STARTED + group.index()]);
    }
    came
}

/// Returns how many starts are through.
pub(super) fn started(starts: &[u64; START_CELLS]) -> u64 {
    let [reads, writes] = came(starts);
    reads.wrapping_add(writes)
}

/// Returns how many ends of reads, and of writes, are through.
pub(super) fn left(ends: &[u64; END_CELLS]) -> [u64; 2] {
    let mut left = [ends[DONE], ends[DONE + 1]];
    for group in StatGroup::ALL {
        let sum = &mut left[group.direction() as usize];
        *sum = sum.wrapping_add(ends[REST + 2 * group.index()]);
    }
    left
}

/// Returns how many ends are through.
pub(super) fn ended(ends: &[u64; END_CELLS]) -> u64 {
    let [reads, writes] = left(ends);
    reads.wrapping_add(writes)
}

/// Returns the sums over all CPUs of the half that starts at cell `first`. May sleep.
pub(super) fn sum<const N: usize>(
    slots: &impl Slots,
    first: usize,
    through: fn(&[u64; N]) -> u64,
) -> [u64; N] {
    let mut sums = [0u64; N];
    for cpu in seen_on(slots, first) {
        add_up(&mut sums, read(slots, cpu, first, through));
        slots.relax();
    }
    sums
}

/// As [`sum`], for who must not sleep nor wait: after so many `tries` on a CPU it is `None`.
pub(super) fn sum_within<const N: usize>(
    slots: &impl Slots,
    first: usize,
    through: fn(&[u64; N]) -> u64,
    tries: u32,
) -> Option<[u64; N]> {
    let mut sums = [0u64; N];
    for cpu in seen_on(slots, first) {
        let half = (0..tries).find_map(|_| try_read(slots, cpu, first, through))?;
        add_up(&mut sums, half);
    }
    Some(sums)
}

/// Returns the CPUs that have had an event: most of a big machine never see most disks, or are not
/// even there.
fn seen_on(slots: &impl Slots, first: usize) -> impl Iterator<Item = usize> + '_ {
    let cpus = slots.cpus();
    cpus.filter(move |cpu| slots.load(*cpu, Cell(first + BEGUN)) != 0)
}

fn add_up<const N: usize>(sums: &mut [u64; N], half: [u64; N]) {
    for (sum, value) in sums.iter_mut().zip(half) {
        *sum = sum.wrapping_add(value);
    }
}

#[cfg(any(test, CONFIG_KUNIT))]
#[cfg_attr(CONFIG_KUNIT, kernel::macros::kunit_tests(blkacct_slot))]
mod tests {
    use super::*;

    type OneCpu = testing::OneCpu<{ Cell::COUNT }>;

    fn a_whole_io(cpu: &OneCpu) {
        start(cpu, Nsec(50), StatGroup::Write, || 8);
        end(cpu, Nsec(70), StatGroup::Write, Nsec(50));
    }

    #[test]
    fn an_event_during_the_read_does_not_tear_it() {
        for interrupt in 1..=3 * START_CELLS as u64 {
            let cpu = OneCpu::interrupted(interrupt, a_whole_io);
            start(&cpu, Nsec(100), StatGroup::Read, || 8);
            let half: [u64; START_CELLS] = read(&cpu, 0, STARTS, started);
            let [reads, writes] = came(&half);
            assert_eq!(half[START_SUM], 100 * reads + 50 * writes);
        }
    }

    #[test]
    fn an_end_during_the_read_does_not_tear_it() {
        for interrupt in 1..=3 * END_CELLS as u64 {
            let cpu = OneCpu::interrupted(interrupt, a_whole_io);
            end(&cpu, Nsec(100), StatGroup::Read, Nsec(90));
            let half: [u64; END_CELLS] = read(&cpu, 0, ENDS, ended);
            let [reads, writes] = left(&half);
            assert_eq!(half[SUM], 100 * reads + 70 * writes);
        }
    }

    #[test]
    fn an_end_adds_its_latency_to_its_group() {
        let cpu = OneCpu::new();
        end(&cpu, Nsec(100), StatGroup::Discard, Nsec(40));
        end(&cpu, Nsec(100), StatGroup::Discard, Nsec(110));
        let half: [u64; END_CELLS] = read(&cpu, 0, ENDS, ended);
        let ios = REST + 2 * StatGroup::Discard.index();
        assert_eq!(half[ios], 2);
        assert_eq!(half[ios + 1], 60);
        assert_eq!(half[SUM], 200);
        assert_eq!(left(&half), [0, 2]);
    }

    #[test]
    fn who_must_not_wait_gives_up_where_an_event_does_not_end() {
        let cpu = OneCpu::new();
        a_whole_io(&cpu);
        assert!(sum_within(&cpu, ENDS, ended, 3).is_some());
        cpu.count::<{ ENDS + BEGUN }>();
        assert_eq!(sum_within(&cpu, ENDS, ended, 3), None);
        assert!(sum_within(&cpu, STARTS, started, 3).is_some());
    }

    #[test]
    fn an_end_of_another_direction_is_written_off_with_its_start() {
        let cpu = OneCpu::new();
        start(&cpu, Nsec(10), StatGroup::Write, || 8);
        end(&cpu, Nsec(30), StatGroup::Read, Nsec(10));
        write_off(&cpu, Nsec(50), StatGroup::Read, u64::MAX);
        write_off(&cpu, Nsec(50), StatGroup::Write, 1);
        let starts: [u64; START_CELLS] = read(&cpu, 0, STARTS, started);
        let ends: [u64; END_CELLS] = read(&cpu, 0, ENDS, ended);
        assert_eq!(came(&starts), left(&ends));
        assert_eq!(ends[SUM] - starts[START_SUM], 20);
    }

    #[test]
    fn any_number_is_written_off_at_once() {
        let cpu = OneCpu::new();
        write_off(&cpu, Nsec(7), StatGroup::Write, 1 << 62);
        let ends: [u64; END_CELLS] = read(&cpu, 0, ENDS, ended);
        assert_eq!(left(&ends), [0, 1 << 62]);
    }

    #[test]
    fn what_is_absorbed_is_no_completed_io() {
        let cpu = OneCpu::new();
        absorbed(&cpu, Nsec(100), StatGroup::Read);
        let half: [u64; END_CELLS] = read(&cpu, 0, ENDS, ended);
        assert_eq!(half[DONE], 1);
        assert_eq!(half[REST], 0);
    }

    #[test]
    fn only_groups_that_never_merge_count_sectors() {
        let cpu = OneCpu::new();
        start(&cpu, Nsec(1), StatGroup::Write, || 8);
        start(&cpu, Nsec(1), StatGroup::WriteZeroes, || 16);
        let half: [u64; START_CELLS] = read(&cpu, 0, STARTS, started);
        assert_eq!(half[SECTORS..], [0, 16, 0, 0]);
    }
}
