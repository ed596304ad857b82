// SPDX-License-Identifier: GPL-2.0

//! The account of one block device: its busy clock, its counters, and what went wrong.
//!
//! Joins the core to per-CPU memory and to the counts that the kernel keeps exactly itself. Made
//! when a device first enters mode 2 and kept while it lives, so that no counter starts over.

mod bio;

use crate::{
    acct::{
        busy::{
            Arrival,
            Busy,
            Departure, //
        },
        extended::Extended,
        leaf::Leaf,
        nsec::{
            Clock,
            Nsec, //
        },
        root::Stamp,
        sgrp::{
            Classic,
            StatGroup, //
        },
        slot::{
            self,
            Cell,
            Slot,
            Slots, //
        },
        snap::Snapshot,
        wire, //
    },
    sys::{
        bdev::{
            Bdev,
            BdevRef,
            KernelCounts, //
        },
        clock::{
            Monotonic,
            TICK_NSEC, //
        },
        percpu::{
            self,
            Counters,
            Pinned, //
        }, //
    }, //
};
use bio::BioShare;
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Mutex, //
    }, //
};

/// More leaves than this do not make an event cheaper, only a device bigger.
const MAX_LEAVES: usize = 256;

type KernelGroups = [KernelCounts; 4];

/// The account of one block device.
#[pin_data]
pub(crate) struct Account {
    busy: Busy,
    /// A power of two of them; a hardware queue has the one its number leads to.
    leaves: KVec<Leaf>,
    cells: Counters<{ Cell::COUNT }>,
    /// What a bio-based device has in addition.
    bio: Option<KBox<BioShare>>,
    queue: Extended<64>,
    /// Jiffies of the busy time that the kernel's own `io_ticks` has been given.
    given: Atomic<u64>,
    /// Whether the kernel's own `io_ticks` is ours to keep in this period.
    classic: Atomic<bool>,
    /// Whether events count. Changes only while nothing is in flight, and is only the mode's name
    /// for a bio-based device.
    counting: Atomic<bool>,
    clamped: Atomic<u64>,
    orphans: Atomic<u64>,
    lost_starts: Atomic<u64>,
    #[pin]
    kernel: Mutex<KernelShare>,
    #[pin]
    shown: Mutex<Shown>,
}

/// What the last reader was shown.
#[derive(Default)]
struct Shown {
    time_ns: u64,
    io_ticks: u64,
    /// Sectors of each of the kernel's groups.
    ///
    /// A finer group's sectors count at the start, the kernel's at the completion; in between the
    /// difference would step back.
    sectors: [u64; 4],
}

impl Shown {
    /// Keeps busy time within wall time from one reader to the next.
    ///
    /// A start that is held up between its clock reading and its entry into the root is seen late,
    /// and its first moments with it. They are shown as the time allows, so none is lost.
    fn within_wall_time(&mut self, stat: &mut wire::Stat) {
        let wall = stat.time_ns.saturating_sub(self.time_ns);
        stat.io_ticks = stat.io_ticks.min(self.io_ticks.saturating_add(wall));
        self.time_ns = stat.time_ns;
        self.io_ticks = stat.io_ticks;
    }
}

/// What of the kernel's own counts belongs to mode 2.
#[derive(Default)]
struct KernelShare {
    /// Counted in earlier periods of mode 2.
    before: KernelGroups,
    /// The kernel's counts when this period began; `None` outside mode 2.
    base: Option<KernelGroups>,
}

impl KernelShare {
    fn total(&self, now: &KernelGroups) -> KernelGroups {
        let Some(base) = &self.base else {
            return self.before;
        };
        core::array::from_fn(|group| self.before[group].plus(&now[group].minus(&base[group])))
    }
}

impl Account {
    /// Makes an account for a device of a disk with `hardware_queues` queues. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(hardware_queues: usize) -> Result<Arc<Self>> {
        Self::with(hardware_queues, None)
    }

    fn with(hardware_queues: usize, bio: Option<KBox<BioShare>>) -> Result<Arc<Self>> {
        let mut leaves = KVec::new();
        for _ in 0..hardware_queues.clamp(1, MAX_LEAVES).next_power_of_two() {
            leaves.push(Leaf::default(), GFP_KERNEL)?;
        }
        let cells = Counters::new()?;
        Arc::pin_init(
            pin_init!(Self {
                busy: Busy::default(),
                leaves,
                cells,
                bio,
                queue: Extended::default(),
                given: Atomic::new(0),
                classic: Atomic::new(false),
                counting: Atomic::new(false),
                clamped: Atomic::new(0),
                orphans: Atomic::new(0),
                lost_starts: Atomic::new(0),
                kernel <- new_mutex!(KernelShare::default()),
                shown <- new_mutex!(Shown::default()),
            }),
            GFP_KERNEL,
        )
    }

    /// Returns whether events count.
    #[inline]
    pub(crate) fn is_counting(&self) -> bool {
        // ORDERING: Relaxed. It changes while the queue is frozen, which orders it with every
        // request before and after.
        self.counting.load(Relaxed)
    }

    /// Lets events count from now on. Nothing is in flight on a request-based device. With `classic`, the
    /// kernel's own `io_ticks` follows ours.
    pub(crate) fn open(&self, bdev: &Bdev, classic: bool) {
        if let Some(bio) = &self.bio {
            return self.open_bios(bio, bdev, classic);
        }
        self.kernel.lock().base = Some(bdev.kernel_counts());
        self.classic.store(classic, Relaxed);
        if classic {
            bdev.borrow().park_stamp(true);
        }
        self.counting.store(true, Relaxed);
    }

    /// Brings what the kernel shows of ours up to date. In a task.
    pub(crate) fn settle(&self, bdev: BdevRef<'_>) {
        self.settle_io_ticks(bdev);
        self.settle_nsecs(bdev);
    }

    /// Brings the kernel's own `io_ticks` up to date, in whole jiffies; the rest is carried. Any
    /// context.
    fn settle_io_ticks(&self, bdev: BdevRef<'_>) {
        if !self.classic.load(Relaxed) {
            return;
        }
        let (_, total) = self.busy.read(&Monotonic);
        let due = total / TICK_NSEC;
        // ORDERING: Relaxed. Who moves `given` on adds the difference, whatever others see.
        let mut given = self.given.load(Relaxed);
        while given < due {
            match self.given.cmpxchg(given, due, Relaxed) {
                Ok(_) => return bdev.add_io_ticks(due.wrapping_sub(given)),
                Err(other) => given = other,
            }
        }
    }

    /// Stops counting. Nothing is in flight on a request-based device, or the device goes.
    pub(crate) fn close(&self, bdev: &Bdev) {
        if !self.is_counting() {
            return;
        }
        if let Some(bio) = &self.bio {
            return self.close_bios(bio, bdev);
        }
        self.counting.store(false, Relaxed);
        if self.classic.load(Relaxed) {
            self.give_back(bdev.borrow());
        }
        let mut kernel = self.kernel.lock();
        kernel.before = kernel.total(&bdev.kernel_counts());
        kernel.base = None;
    }

    /// Gives the kernel's `io_ticks` back to it, complete.
    fn give_back(&self, bdev: BdevRef<'_>) {
        self.settle_io_ticks(bdev);
        self.classic.store(false, Relaxed);
        bdev.park_stamp(false);
    }

    /// Ends what is still counted as in flight although the device is idle: requests that were
    /// freed without a completion.
    pub(crate) fn write_off(&self) {
        let stray = self.core_snapshot().in_flight;
        let pin = Pinned::new();
        for leaf in &self.leaves {
            for _ in 0..leaf.in_flight() {
                let _ = self.busy.end(leaf).commit(Monotonic.now(), &Monotonic);
                self.lost_starts.add(1, Relaxed);
            }
        }
        let here = Here(&self.cells, &pin);
        for (count, group) in [
            (stray.reads, StatGroup::Read),
            (stray.writes, StatGroup::Write),
        ] {
            for _ in 0..count {
                slot::absorbed(&here, Monotonic.now(), group);
            }
        }
        self.write_off_bios(&pin);
    }

    /// As [`Self::open`], for a device that only a test has.
    #[cfg(CONFIG_KUNIT)]
    pub(crate) fn open_for_test(&self) {
        self.counting.store(true, Relaxed);
    }

    fn leaf(&self, hardware_queue: usize) -> Option<&Leaf> {
        self.leaves
            .get(hardware_queue & self.leaves.len().wrapping_sub(1))
    }

    /// Begins a start on a hardware queue; see [`Busy::start`].
    #[inline]
    pub(crate) fn start(&self, hardware_queue: usize) -> Option<Arrival<'_>> {
        Some(self.busy.start(self.leaf(hardware_queue)?))
    }

    /// Begins an end on a hardware queue; see [`Busy::end`].
    #[inline]
    pub(crate) fn end(&self, hardware_queue: usize) -> Option<Departure<'_>> {
        Some(self.busy.end(self.leaf(hardware_queue)?))
    }

    /// Completes a start, and books it.
    #[inline]
    pub(crate) fn started(
        &self,
        arrival: Arrival<'_>,
        now: Nsec,
        pin: &Pinned,
        group: StatGroup,
        sectors: u64,
    ) {
        let stamp = arrival.commit(now, &Monotonic);
        slot::start(&Here(&self.cells, pin), self.time(stamp), group, sectors);
    }

    /// Completes an end and returns its time; `None` for an orphan, which is only counted.
    #[inline]
    fn left(&self, departure: Departure<'_>, now: Nsec) -> Option<Nsec> {
        let Some(stamp) = departure.commit(now, &Monotonic) else {
            self.orphans.add(1, Relaxed);
            return None;
        };
        Some(self.time(stamp))
    }

    /// Completes an end by completion, and books it.
    #[inline]
    pub(crate) fn done(
        &self,
        departure: Departure<'_>,
        now: Nsec,
        pin: &Pinned,
        group: StatGroup,
        start_time: Nsec,
    ) {
        let Some(time) = self.left(departure, now) else {
            return;
        };
        if time < start_time {
            self.clamped.add(1, Relaxed);
        }
        slot::end(&Here(&self.cells, pin), time, group, start_time);
    }

    /// Completes an end by a merge into another request, and books it.
    #[inline]
    pub(crate) fn merged(
        &self,
        departure: Departure<'_>,
        now: Nsec,
        pin: &Pinned,
        group: StatGroup,
    ) {
        if let Some(time) = self.left(departure, now) {
            slot::absorbed(&Here(&self.cells, pin), time, group);
        }
    }

    #[inline]
    fn time(&self, stamp: Stamp) -> Nsec {
        if stamp.clamped {
            self.clamped.add(1, Relaxed);
        }
        stamp.time
    }

    /// Takes a snapshot of what the core counts. Process context.
    pub(crate) fn core_snapshot(&self) -> Snapshot {
        Snapshot::take(&self.busy, &self.queue, self, &Monotonic)
    }

    /// Takes a snapshot, with what the kernel counts filled in. Process context.
    pub(crate) fn snapshot(&self, bdev: &Bdev) -> Snapshot {
        // Readers come one by one: each is shown no less than the one before.
        let shown = &mut *self.shown.lock();
        let mut snapshot = self.core_snapshot();
        shown.within_wall_time(&mut snapshot.stat);
        if !self.fill_in_bios(&mut snapshot) {
            let kernel = self.kernel.lock().total(&bdev.kernel_counts());
            fill_in(&mut snapshot.stat.groups, &kernel, &mut shown.sectors);
        }
        snapshot
    }

    /// Returns the anomalies so far. Any context.
    pub(crate) fn anomalies(&self) -> wire::Anomalies {
        wire::Anomalies {
            clamped: self.clamped.load(Relaxed),
            orphans: self.orphans.load(Relaxed),
            lost_starts: self.lost_starts.load(Relaxed),
            late_starts: self.late_starts(),
        }
    }

    /// Lets the 64-bit total catch up with the busy clock's 44 bits; to be called at least every
    /// 2.4 hours. Any context.
    pub(crate) fn catch_up(&self) {
        self.busy.read(&Monotonic);
    }
}

/// Puts the kernel's counts into groups that have the core's.
///
/// The kernel's groups are coarser: what the core counts itself for a finer group is taken out of
/// the one the kernel put it into. `shown` keeps the results from stepping back.
fn fill_in(
    groups: &mut [wire::Group; StatGroup::COUNT],
    kernel: &KernelGroups,
    shown: &mut [u64; 4],
) {
    let mut sectors = kernel.map(|counts| counts.sectors);
    for group in StatGroup::ALL {
        let coarse = &mut sectors[kernel_index(group.classic())];
        *coarse = coarse.saturating_sub(groups[group.index()].sectors);
    }
    for group in [StatGroup::Read, StatGroup::Write, StatGroup::Discard] {
        let coarse = kernel_index(group.classic());
        shown[coarse] = shown[coarse].max(sectors[coarse]);
        groups[group.index()].sectors = shown[coarse];
        groups[group.index()].merges = kernel[coarse].merges;
    }
    // The kernel times its internal flushes itself, in ns.
    let flush = &kernel[kernel_index(Classic::Flush)];
    groups[StatGroup::Flush.index()].ios = flush.ios;
    groups[StatGroup::Flush.index()].nsecs = flush.nsecs;
}

/// Returns the kernel's number of a stat group, `enum stat_group`.
fn kernel_index(group: Classic) -> usize {
    match group {
        Classic::Read => 0,
        Classic::Write => 1,
        Classic::Discard => 2,
        Classic::Flush => 3,
    }
}

/// The counters of the current CPU.
struct Here<'a, const N: usize>(&'a Counters<N>, &'a Pinned);

impl<const N: usize> Slot for Here<'_, N> {
    #[inline]
    fn add(&self, cell: Cell, n: u64) {
        self.0.add(self.1, cell.index(), n);
    }
}

impl Slots for Account {
    fn cpus(&self) -> impl Iterator<Item = usize> {
        percpu::possible().map(|cpu| cpu as usize)
    }

    fn load(&self, cpu: usize, cell: Cell) -> u64 {
        self.cells.load(cpu as u32, cell.index())
    }

    fn relax(&self) {
        percpu::resched_point();
    }
}

#[cfg(CONFIG_KUNIT)]
#[kernel::macros::kunit_tests(blkacct_account)]
mod tests {
    use super::*;

    fn kernel(write: u64, discard: u64) -> KernelGroups {
        let mut groups = KernelGroups::default();
        groups[1].sectors = write;
        groups[2].sectors = discard;
        groups
    }

    #[test]
    fn a_finer_group_is_taken_out_of_the_kernels() {
        let mut groups = [wire::Group::default(); StatGroup::COUNT];
        groups[StatGroup::WriteZeroes.index()].sectors = 300;
        fill_in(&mut groups, &kernel(1000, 50), &mut [0; 4]);
        assert_eq!(groups[StatGroup::Write.index()].sectors, 700);
        assert_eq!(groups[StatGroup::WriteZeroes.index()].sectors, 300);
        assert_eq!(groups[StatGroup::Discard.index()].sectors, 50);
    }

    #[test]
    fn sectors_that_have_started_do_not_step_back() {
        let mut shown = [0; 4];
        let mut groups = [wire::Group::default(); StatGroup::COUNT];
        fill_in(&mut groups, &kernel(1000, 0), &mut shown);
        groups[StatGroup::WriteZeroes.index()].sectors = 300;
        fill_in(&mut groups, &kernel(1000, 0), &mut shown);
        assert_eq!(groups[StatGroup::Write.index()].sectors, 1000);
        fill_in(&mut groups, &kernel(1300, 0), &mut shown);
        assert_eq!(groups[StatGroup::Write.index()].sectors, 1000);
    }

    #[test]
    fn busy_time_seen_late_is_shown_within_wall_time() {
        let mut shown = Shown::default();
        for (time_ns, io_ticks, expected) in [
            (1000, 100, 100),
            (1010, 130, 110),
            (1015, 130, 115),
            (2000, 130, 130),
            (2000, 135, 130),
        ] {
            let mut stat = wire::Stat {
                time_ns,
                io_ticks,
                ..Default::default()
            };
            shown.within_wall_time(&mut stat);
            assert_eq!(stat.io_ticks, expected);
        }
    }

    #[test]
    fn only_mode_2_counts_of_the_kernels() {
        let mut share = KernelShare::default();
        assert_eq!(share.total(&kernel(70, 0))[1].sectors, 0);
        share.base = Some(kernel(70, 0));
        assert_eq!(share.total(&kernel(75, 0))[1].sectors, 5);
        share.before = share.total(&kernel(75, 0));
        share.base = Some(kernel(90, 0));
        assert_eq!(share.total(&kernel(91, 0))[1].sectors, 6);
    }
}
