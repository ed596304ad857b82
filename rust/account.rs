// SPDX-License-Identifier: GPL-2.0

//! The account of one block device: its busy clock, its counters, and what went wrong.
//!
//! Joins the core to per-CPU memory and to the counts that the kernel keeps exactly itself. Made
//! when a device first enters mode 2 and kept while it lives, so that no counter starts over.

mod anomalies;
mod bio;
#[cfg(CONFIG_KUNIT)]
mod cases;
mod cells;
mod classic;
mod device;
mod histograms;
mod io;
mod route;
#[cfg(CONFIG_KUNIT)]
mod skew;
mod stock;

use crate::{
    acct::{
        busy::Busy,
        extended::Extended,
        hist,
        leaf::Leaves,
        nsec::Clock,
        sgrp::StatGroup,
        slot::{
            self,
            Cell, //
        },
        snap::Snapshot,
        wire, //
    },
    sys::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        bdev::{
            Bdev,
            BdevRef, //
        },
        clock::Monotonic,
        disk_lock::DiskLock,
        percpu::{
            Counters,
            Pinned, //
        },
        wrapped::Wrapped, //
    }, //
};
use anomalies::Anomalies;
use bio::BioShare;
use classic::KernelTicks;
pub(crate) use device::AtDevice;
use device::DeviceShare;
use histograms::Histograms;
use kernel::{
    new_mutex,
    prelude::*,
    sync::Arc, //
};
pub(crate) use route::{
    Direct,
    Either,
    OnLeaf,
    Route, //
};
use stock::{
    fill_in,
    KernelShare,
    Shown, //
};

/// No hardware queue has this number.
const NONE_DIRECT: u32 = u32::MAX;

/// More leaves than this do not make an event cheaper, only a device bigger.
const MAX_LEAVES: usize = 256;

/// The account of one block device.
#[pin_data]
pub(crate) struct Account {
    busy: Busy,
    /// Whether most requests come through hardware queue 0.
    single: bool,
    /// The number of the hardware queue whose requests need no leaf, while events count.
    direct: Atomic<u32>,
    /// Any other has the one its number leads to.
    leaves: Wrapped<Leaves>,
    cells: Counters<{ Cell::COUNT }>,
    /// Histograms of a request-based device.
    latency: Option<Histograms>,
    /// The driver's share, where it is wanted.
    device: Option<DeviceShare>,
    /// What a bio-based device has in addition.
    bio: Option<KBox<BioShare>>,
    queue: Extended<64>,
    io_ticks: KernelTicks,
    /// Whether events count. Changes only while nothing is in flight, and is only the mode's name
    /// for a bio-based device.
    counting: Atomic<bool>,
    anomalies: Anomalies,
    errors: Atomic<u64>,
    #[pin]
    kernel: DiskLock<KernelShare>,
    #[pin]
    shown: DiskLock<Shown>,
}

/// What a request-based disk has and its devices' accounts make room for.
#[derive(Clone, Copy)]
pub(crate) struct Features {
    /// Its hardware queues, of all kinds.
    pub(crate) hardware_queues: usize,
    /// Most requests come through the first of them, so that a leaf would only be in their way.
    pub(crate) single_queue: bool,
    /// Zone appends are for it, and as frequent as writes.
    pub(crate) zone_appends: bool,
    /// What its driver has is to be counted as well.
    pub(crate) device_side: bool,
}

#[cfg(CONFIG_KUNIT)]
impl Features {
    /// Those of a disk with one hardware queue, whose driver's share is counted.
    pub(crate) const SIMPLE: Self = Self {
        hardware_queues: 1,
        single_queue: true,
        zone_appends: false,
        device_side: true,
    };
}

impl Account {
    /// Makes an account for a device of a disk with these features. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(disk: &Features) -> Result<Arc<Self>> {
        let latency = Histograms::new(disk.zone_appends)?;
        let device = match disk.device_side {
            true => Some(DeviceShare::new(disk.zone_appends)?),
            false => None,
        };
        Self::with(
            disk.hardware_queues,
            disk.single_queue,
            Some(latency),
            device,
            None,
        )
    }

    fn with(
        hardware_queues: usize,
        single: bool,
        latency: Option<Histograms>,
        device: Option<DeviceShare>,
        bio: Option<KBox<BioShare>>,
    ) -> Result<Arc<Self>> {
        let leaves = Wrapped::new(hardware_queues.min(MAX_LEAVES), Leaves::default)?;
        let cells = Counters::new()?;
        Arc::pin_init(
            pin_init!(Self {
                busy: Busy::default(),
                single,
                direct: Atomic::new(NONE_DIRECT),
                leaves,
                cells,
                latency,
                device,
                bio,
                queue: Extended::default(),
                io_ticks: KernelTicks::default(),
                counting: Atomic::new(false),
                anomalies: Anomalies::default(),
                errors: Atomic::new(0),
                kernel <- DiskLock::new(new_mutex!(KernelShare::default())),
                shown <- DiskLock::new(new_mutex!(Shown::default())),
            }),
            GFP_KERNEL,
        )
    }

    /// Returns whether events count.
    #[inline(always)]
    pub(crate) fn is_counting(&self) -> bool {
        // ORDERING: Relaxed. It changes while the queue is frozen: the freeze has waited for every
        // request before, and the thaw sees to it that those after see it (`sys/queue.rs`).
        self.counting.load(Relaxed)
    }

    fn set_counting(&self, counting: bool) {
        // ORDERING: Relaxed, for both. As in `is_counting`.
        self.counting.store(counting, Relaxed);
        let direct = if counting && self.single {
            0
        } else {
            NONE_DIRECT
        };
        self.direct.store(direct, Relaxed);
    }

    /// Lets events count from now on. Nothing is in flight on a request-based device. With
    /// `classic`, the kernel's own `io_ticks` follows ours.
    pub(crate) fn open(&self, bdev: &Bdev, classic: bool) {
        self.anomalies.opened();
        if let Some(bio) = &self.bio {
            return self.open_bios(bio, bdev, classic);
        }
        self.kernel.lock().base = Some(bdev.kernel_counts());
        if classic {
            self.io_ticks.take_over(bdev.borrow());
        }
        self.set_counting(true);
    }

    /// Brings what the kernel shows of ours up to date. With preemption off.
    pub(crate) fn settle(&self, bdev: BdevRef<'_>) {
        self.settle_io_ticks(bdev);
        self.settle_nsecs_now(bdev);
    }

    /// Brings the kernel's own `io_ticks` up to date. Any context.
    fn settle_io_ticks(&self, bdev: BdevRef<'_>) {
        if self.io_ticks.are_ours() {
            self.io_ticks.settle(self.busy.read(&Monotonic).1, bdev);
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
        self.set_counting(false);
        self.give_back(bdev.borrow());
        let mut kernel = self.kernel.lock();
        kernel.before = kernel.total(&bdev.kernel_counts());
        kernel.base = None;
    }

    /// Gives the kernel's `io_ticks` back to it, complete, if it is ours. Any context.
    fn give_back(&self, bdev: BdevRef<'_>) {
        if self.io_ticks.are_ours() {
            self.settle_io_ticks(bdev);
            self.io_ticks.give_back(bdev);
        }
    }

    /// Ends what is still counted as in flight although the device is idle: requests that were
    /// freed without a completion.
    pub(crate) fn write_off(&self) {
        // No loop here is as long as a counter says: one that were wrong would keep the CPU.
        let stray = self.core_snapshot().in_flight;
        let on_leaves = self.leaves.iter();
        let on_leaves = on_leaves.map(|leaves| self.busy.abandon(&leaves.io, &Monotonic));
        let lost = on_leaves.sum::<u64>() + self.busy.abandon_direct(&Monotonic);
        let now = Monotonic.now();
        if lost > 0 {
            self.anomalies.lost_starts(now, lost);
        }
        let pin = Pinned::new();
        let here = self.cells.here(&pin);
        slot::write_off(&here, now, StatGroup::Read, stray.reads);
        slot::write_off(&here, now, StatGroup::Write, stray.writes);
        drop(pin);
        self.write_off_device();
        self.write_off_bios();
    }

    #[cfg(CONFIG_KUNIT)]
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.is_busy()
    }

    /// As [`Self::open`], for a device that only a test has.
    #[cfg(CONFIG_KUNIT)]
    pub(crate) fn open_for_test(&self) {
        self.set_counting(true);
    }

    /// Counts an error. Any context.
    pub(crate) fn failed(&self) {
        // ORDERING: Relaxed. A count of its own.
        self.errors.add(1, Relaxed);
    }

    /// Takes a snapshot of what the core counts. Process context.
    pub(crate) fn core_snapshot(&self) -> Snapshot {
        Snapshot::take(&self.busy, &self.queue, &self.cells, &Monotonic)
    }

    /// Takes a snapshot, with what the kernel counts filled in. Process context.
    pub(crate) fn snapshot(&self, bdev: &Bdev) -> Snapshot {
        // Readers come one by one: each is shown no less than the one before.
        let shown = &mut *self.shown.lock();
        // The device side first: what comes to the driver between the two is in flight later on.
        let device = self.device_side();
        let mut snapshot = self.core_snapshot();
        snapshot.stat.device = device;
        shown.in_order(&mut snapshot.stat);
        if !self.fill_in_bios(&mut snapshot) {
            // ORDERING: Relaxed. As in `failed`.
            snapshot.stat.errors = Some(self.errors.load(Relaxed));
            let kernel = self.kernel.lock().total(&bdev.kernel_counts());
            fill_in(&mut snapshot.stat.groups, &kernel, &mut shown.sectors);
        }
        snapshot
    }

    /// Returns the anomalies so far. Any context.
    pub(crate) fn anomalies(&self) -> wire::Anomalies {
        self.anomalies.read(self.late_starts())
    }

    /// Returns a group's histogram of latencies; `None` on a bio-based device. Process context.
    pub(crate) fn latency(&self, group: StatGroup) -> Option<hist::Counts> {
        Some(self.latency.as_ref()?.read(group))
    }

    /// Lets the 64-bit totals catch up with the busy clocks' 42 bits; to be called at least every
    /// 36 minutes. Any context.
    pub(crate) fn catch_up(&self) {
        self.busy.read(&Monotonic);
        self.catch_up_device();
    }
}
