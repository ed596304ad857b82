// SPDX-License-Identifier: GPL-2.0

//! The kernel's own times, while they are ours to keep: they get what ours have grown by when
//! somebody is about to read them, and so no I/O pays for it.
//!
//! Nothing is ever taken away from them, and what the kernel counted before stays.

use crate::sys::{
    atomic::{
        Atomic,
        Relaxed, //
    },
    bdev::{
        BdevRef,
        KERNEL_GROUPS, //
    },
    clock::TICK_NSEC, //
};

// ORDERING: Relaxed in all of this file. A flag says from about when on; what a reading is late for
// the next one brings. What is given is moved on by one reader alone, which `advance` shows.

/// Moves `given` on to `due` and returns by how much, which is the caller's to add.
fn advance(given: &Atomic<u64>, due: u64) -> u64 {
    let mut before = given.load(Relaxed);
    while before < due {
        match given.cmpxchg(before, due, Relaxed) {
            Ok(_) => return due.wrapping_sub(before),
            Err(other) => before = other,
        }
    }
    0
}

/// The kernel's `io_ticks`, in whole jiffies; the rest is carried.
pub(super) struct KernelTicks {
    ours: Atomic<bool>,
    /// Jiffies of our busy time that have been added.
    given: Atomic<u64>,
}

impl Default for KernelTicks {
    fn default() -> Self {
        Self {
            ours: Atomic::new(false),
            given: Atomic::new(0),
        }
    }
}

impl KernelTicks {
    /// Returns whether they are ours to keep.
    pub(super) fn are_ours(&self) -> bool {
        self.ours.load(Relaxed)
    }

    /// Makes them ours: the kernel adds nothing from now on. Any context.
    pub(super) fn take_over(&self, bdev: BdevRef<'_>) {
        self.ours.store(true, Relaxed);
        bdev.park_stamp(true);
    }

    /// Gives them back to the kernel. Any context.
    pub(super) fn give_back(&self, bdev: BdevRef<'_>) {
        self.ours.store(false, Relaxed);
        bdev.park_stamp(false);
    }

    /// Takes it that the kernel has counted itself what is busy time of ours up to `total`, in ns.
    pub(super) fn skip(&self, total: u64) {
        self.given.store(total / TICK_NSEC, Relaxed);
    }

    /// Brings them up to date with our busy time, in ns. Any context.
    pub(super) fn settle(&self, total: u64, bdev: BdevRef<'_>) {
        let ticks = advance(&self.given, total / TICK_NSEC);
        if ticks > 0 {
            bdev.add_io_ticks(ticks);
        }
    }
}

/// The kernel's `nsecs` of a bio-based device, by its stat groups.
pub(super) struct KernelNsecs {
    ours: Atomic<bool>,
    /// What of ours has been added, in ns.
    given: [Atomic<u64>; KERNEL_GROUPS],
}

impl Default for KernelNsecs {
    fn default() -> Self {
        Self {
            ours: Atomic::new(false),
            given: [const { Atomic::new(0) }; KERNEL_GROUPS],
        }
    }
}

impl KernelNsecs {
    /// Returns whether they are ours to keep.
    pub(super) fn are_ours(&self) -> bool {
        self.ours.load(Relaxed)
    }

    /// Makes them ours, or the kernel's.
    pub(super) fn set_ours(&self, ours: bool) {
        self.ours.store(ours, Relaxed);
    }

    /// Takes it that the kernel has counted itself what is ours up to `nsecs`.
    pub(super) fn skip(&self, nsecs: [u64; KERNEL_GROUPS]) {
        for (given, nsecs) in self.given.iter().zip(nsecs) {
            given.store(nsecs, Relaxed);
        }
    }

    /// Brings them up to date with ours. Any context.
    pub(super) fn settle(&self, nsecs: [u64; KERNEL_GROUPS], bdev: BdevRef<'_>) {
        for (group, (given, due)) in self.given.iter().zip(nsecs).enumerate() {
            let nsecs = advance(given, due);
            if nsecs > 0 {
                bdev.add_nsecs(group, nsecs);
            }
        }
    }
}
