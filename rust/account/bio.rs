// SPDX-License-Identifier: GPL-2.0

//! The account of a bio-based device: what is different there.
//!
//! The busy clock, `time_in_queue` and in-flight are those of a request-based one, on one leaf. But
//! I/O in flight spans a switch, so windows decide what counts; an end does not know its start, so
//! latencies are kept as sums; and the kernel keeps them in jiffies, so in mode 2 it is kept from
//! adding any, and gets ours when somebody looks.

use super::{
    classic::KernelNsecs,
    Account, //
};
use crate::{
    acct::{
        bios,
        busy::{
            Arrival,
            Departure, //
        },
        extended::Extended,
        nsec::{
            Clock,
            Nsec, //
        },
        sgrp::{
            Classic,
            StatGroup, //
        },
        slot, //
        snap::Snapshot,
        window::Windows,
        wire, //
    },
    sys::{
        bdev::{
            Bdev,
            BdevRef,
            KERNEL_GROUPS, //
        },
        bio_acct::{
            self,
            Time, //
        },
        clock::{
            jiffies,
            Monotonic,
            HZ,
            TICK_NSEC, //
        },
        percpu::{
            self,
            Counters,
            Pinned, //
        }, //
    }, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    }, //
};

/// Jiffies by which a start may be behind its `start_time` and still be on time.
const LATE: u64 = 2;

/// So many late starts in a window show that the driver holds I/O back before it accounts it.
const MANY_LATE: u64 = 16;

/// How often a reader that must not wait looks at a CPU's counters. An event takes less time than
/// one look, so only one that is held up makes them too few.
const TRIES: u32 = 64;

/// What the account of a bio-based device has in addition.
pub(super) struct BioShare {
    windows: Windows,
    cells: Counters<{ bios::CELLS }>,
    /// The `nsecs` that readers have seen, by group.
    nsecs: [Extended<64>; StatGroup::COUNT],
    /// Ours from the opening to when nothing is left.
    kernel_nsecs: KernelNsecs,
    /// Late starts, and how many there were when the window was opened.
    late: Atomic<u64>,
    late_before: Atomic<u64>,
    /// Whether the device is in mode 2 or about to be, so not to be hidden from the hooks.
    wanted: Atomic<bool>,
}

impl BioShare {
    /// Returns the counts of each group, which do not step back. May sleep.
    fn groups(&self, time: Nsec) -> Groups {
        self.in_order(bios::read(&self.cells, time))
    }

    fn in_order(&self, read: [(wire::Group, u64); StatGroup::COUNT]) -> Groups {
        let mut groups = read.map(|(group, _)| group);
        for (group, seen) in groups.iter_mut().zip(&self.nsecs) {
            group.nsecs = seen.extend(group.nsecs);
        }
        groups
    }

    /// Returns whether so many starts of this window came late that the driver must hold I/O back
    /// before it accounts it. The kernel's times then stay its own: they have that time.
    fn hides_starts(&self) -> bool {
        // ORDERING: Relaxed, here and where late starts are counted. A few more or less decide.
        let before = self.late_before.load(Relaxed);
        self.late.load(Relaxed).wrapping_sub(before) >= MANY_LATE
    }

    /// Returns whether the kernel's `nsecs` are ours to keep now.
    fn keeps_time(&self) -> bool {
        self.kernel_nsecs.are_ours() && !self.hides_starts()
    }
}

/// The counts of each group.
type Groups = [wire::Group; StatGroup::COUNT];

/// Returns the ns of each of the kernel's groups.
fn by_kernel_group(groups: Groups) -> [u64; KERNEL_GROUPS] {
    let mut nsecs = [0u64; KERNEL_GROUPS];
    for (group, counts) in StatGroup::ALL.into_iter().zip(groups) {
        let sum = &mut nsecs[kernel_index(group)];
        *sum = sum.wrapping_add(counts.nsecs);
    }
    nsecs
}

/// Returns the kernel's number of the stat group that `bdev_end_io_acct()` puts a group's I/O into.
fn kernel_index(group: StatGroup) -> usize {
    super::stock::kernel_index(match group.classic() {
        // A flush command, as of an NVMe path: it goes by its direction.
        Classic::Flush => Classic::Read,
        classic => classic,
    })
}

impl Account {
    /// Makes an account for a bio-based device. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn for_bios() -> Result<Arc<Self>> {
        let share = BioShare {
            windows: Windows::default(),
            cells: Counters::new()?,
            nsecs: Default::default(),
            kernel_nsecs: KernelNsecs::default(),
            late: Atomic::new(0),
            late_before: Atomic::new(0),
            wanted: Atomic::new(false),
        };
        // All bios have one leaf, since there may be any number of them.
        Self::with(1, false, None, None, Some(KBox::new(share, GFP_KERNEL)?))
    }

    /// Returns whether this is the account of a bio-based device.
    pub(crate) fn is_for_bios(&self) -> bool {
        self.bio.is_some()
    }

    /// Returns whether the device can enter mode 2: not while I/O of too many windows may still be
    /// in flight.
    pub(crate) fn have_room(&self) -> bool {
        self.bio.as_ref().is_none_or(|bio| bio.windows.have_room())
    }

    /// Says whether the device may be hidden from the hooks once nothing is in flight.
    pub(crate) fn want(&self, wanted: bool) {
        if let Some(bio) = &self.bio {
            // ORDERING: Relaxed. Whoever acts on it holds the lock of the hooks, as when it is set
            // for mode 2.
            bio.wanted.store(wanted, Relaxed);
        }
    }

    /// Returns whether the device has left mode 2.
    pub(crate) fn lingers(&self) -> bool {
        // ORDERING: Relaxed. As in `want`.
        self.bio
            .as_ref()
            .is_some_and(|bio| !bio.wanted.load(Relaxed))
    }

    /// Returns whether a device that has left mode 2 has nothing in flight, for a second or more.
    pub(crate) fn is_drained(&self) -> bool {
        let rested = self.bio.as_ref().is_none_or(|bio| {
            let last = bio.windows.last();
            last.is_none_or(|last| jiffies().wrapping_sub(last) >= HZ)
        });
        rested && !self.busy.is_busy()
    }

    /// Ends what a drained device has begun; it is hidden from the hooks, or goes.
    pub(crate) fn forget(&self) {
        let Some(bio) = &self.bio else {
            return;
        };
        // I/O that slipped in after the last look. Its end was not seen.
        self.write_off();
        bio.windows.forget();
        bio.kernel_nsecs.set_ours(false);
    }

    /// Opens a window. With `classic`, the kernel's own times follow ours. I/O in flight may not
    /// count, or still count from an earlier window.
    pub(super) fn open_bios(&self, bio: &BioShare, bdev: &Bdev, classic: bool) {
        let bdev = bdev.borrow();
        // Before the kernel's times are ours: late starts of the last window would hand them back.
        // ORDERING: Relaxed. `take_over` and `set_ours` publish it.
        bio.late_before.store(bio.late.load(Relaxed), Relaxed);
        if classic && !self.io_ticks.are_ours() {
            // What was busy since the last window closed was the kernel's to count.
            self.io_ticks.skip(self.busy.read(&Monotonic).1);
            self.io_ticks.take_over(bdev);
        }
        let keeps_time = classic && bio_acct::CAN_KEEP_TIME;
        if keeps_time && !bio.kernel_nsecs.are_ours() {
            let groups = bio.groups(Monotonic.now());
            bio.kernel_nsecs.skip(by_kernel_group(groups));
        }
        bio.kernel_nsecs.set_ours(keeps_time);
        self.open_window(bio, jiffies);
    }

    fn open_window(&self, bio: &BioShare, now: impl FnOnce() -> u64) {
        // The caller has seen that there is room.
        let _ = percpu::without_interrupts(|| bio.windows.open(now));
        // ORDERING: Relaxed, here and when it closes. Events go by the windows, not by the mode.
        self.counting.store(true, Relaxed);
    }

    fn close_window(&self, bio: &BioShare, now: impl FnOnce() -> u64) {
        percpu::without_interrupts(|| bio.windows.close(now));
        self.counting.store(false, Relaxed);
    }

    /// Closes the window. What is in flight counts on to its end.
    pub(super) fn close_bios(&self, bio: &BioShare, bdev: &Bdev) {
        self.close_window(bio, jiffies);
        self.give_back(bdev.borrow());
        self.settle_nsecs(bdev.borrow());
    }

    /// Returns whether I/O with this `start_time`, in jiffies, counts: the same at its start and at
    /// its end. Any context.
    #[inline]
    pub(crate) fn covers(&self, start_time: u64) -> bool {
        self.bio
            .as_ref()
            .is_some_and(|bio| bio.windows.cover(start_time))
    }

    /// Completes a start, and books it; returns its time. It was late by `late` jiffies.
    #[inline]
    pub(crate) fn bio_started(
        &self,
        arrival: Arrival<'_>,
        now: Nsec,
        pin: &Pinned,
        group: StatGroup,
        late: u64,
    ) -> Nsec {
        let Some(bio) = &self.bio else {
            return now;
        };
        let time = arrival.commit(now, self);
        slot::start(&self.cells.here(pin), time, group, || 0);
        bios::start(&bio.cells.here(pin), time, group);
        if late >= LATE {
            // ORDERING: Relaxed. As in `hides_starts`.
            bio.late.add(1, Relaxed);
        }
        time
    }

    /// Completes an end, and books it; returns its time, and who keeps the I/O's. That began at
    /// `start_time`, in jiffies.
    #[inline]
    pub(crate) fn bio_done(
        &self,
        departure: Departure<'_>,
        now: Nsec,
        pin: &Pinned,
        group: StatGroup,
        sectors: u64,
        start_time: u64,
    ) -> (Nsec, Time) {
        let Some(time) = departure.commit(now, self) else {
            let took = jiffies().wrapping_sub(start_time).wrapping_add(1);
            self.anomalies.orphan(took.wrapping_mul(TICK_NSEC));
            return (now, Time::Kernels);
        };
        let Some(bio) = &self.bio else {
            return (time, Time::Kernels);
        };
        slot::end(&self.cells.here(pin), time, group, time);
        bios::end(&bio.cells.here(pin), time, group, sectors);
        let keeper = match bio.keeps_time() {
            true => Time::Ours,
            false => Time::Kernels,
        };
        (time, keeper)
    }

    /// Adds to the kernel's own `nsecs` what has come to ours. May sleep.
    pub(crate) fn settle_nsecs(&self, bdev: BdevRef<'_>) {
        self.settle_nsecs_by(bdev, |bio| Some(bio.groups(Monotonic.now())));
    }

    /// As [`Self::settle_nsecs`], with preemption off: where an event on another CPU does not end,
    /// as of a virtual one that stands still, they are brought up to date another time.
    pub(super) fn settle_nsecs_now(&self, bdev: BdevRef<'_>) {
        self.settle_nsecs_by(bdev, |bio| {
            let read = bios::read_within(&bio.cells, Monotonic.now(), TRIES)?;
            Some(bio.in_order(read))
        });
    }

    fn settle_nsecs_by(&self, bdev: BdevRef<'_>, read: impl FnOnce(&BioShare) -> Option<Groups>) {
        let Some(bio) = &self.bio else {
            return;
        };
        if bio.hides_starts() {
            self.give_back(bdev);
        }
        if bio.keeps_time() {
            if let Some(groups) = read(bio) {
                bio.kernel_nsecs.settle(by_kernel_group(groups), bdev);
            }
        }
    }

    /// Writes off what bios are counted as in flight.
    pub(super) fn write_off_bios(&self) {
        let Some(bio) = &self.bio else {
            return;
        };
        let now = Monotonic.now();
        // Before the pin, since a reading may let others run.
        let strays = bios::read(&bio.cells, now).map(|(_, in_flight)| in_flight);
        let pin = Pinned::new();
        for (group, strays) in StatGroup::ALL.into_iter().zip(strays) {
            if strays != 0 {
                bios::write_off(&bio.cells.here(&pin), now, group, strays);
            }
        }
    }

    /// Fills in the counts of a bio-based device; returns false for a request-based one.
    pub(super) fn fill_in_bios(&self, snapshot: &mut Snapshot) -> bool {
        let Some(bio) = &self.bio else {
            return false;
        };
        snapshot.stat.groups = bio.groups(Nsec(snapshot.stat.time_ns));
        true
    }

    /// Returns the starts that came late.
    pub(super) fn late_starts(&self) -> u64 {
        // ORDERING: Relaxed. As in `hides_starts`.
        self.bio.as_ref().map_or(0, |bio| bio.late.load(Relaxed))
    }

    /// Opens or closes a window at a time that a test gives.
    #[cfg(CONFIG_KUNIT)]
    pub(crate) fn switch_for_test(&self, on: bool, at: u64) {
        if let Some(bio) = &self.bio {
            if on {
                self.open_window(bio, || at);
            } else {
                self.close_window(bio, || at);
            }
        }
    }

    /// Returns the counts of a group, for a test.
    #[cfg(CONFIG_KUNIT)]
    pub(crate) fn group_for_test(&self, group: StatGroup) -> wire::Group {
        self.bio.as_ref().map_or_else(Default::default, |bio| {
            bio.groups(Monotonic.now())[group.index()]
        })
    }
}
