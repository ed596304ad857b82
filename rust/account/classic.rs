// SPDX-License-Identifier: GPL-2.0

//! The kernel's own times, while they are ours to keep: they get what ours have grown by when
//! somebody is about to read them, and so no I/O pays for it.
//!
//! Nothing is ever taken away from them, and what the kernel counted before stays.

use crate::sys::{
    atomic::{
        Acquire,
        Atomic,
        Relaxed, //
    },
    bdev::{
        BdevRef,
        KERNEL_GROUPS, //
    },
    clock::TICK_NSEC, //
};
use kernel::sync::atomic::Release;

/// Moves `given` on to `due` and returns by how much, which is the caller's to add.
fn advance(given: &Atomic<u64>, due: u64) -> u64 {
    // ORDERING: Relaxed. Who moves it on has the difference to add, whatever others see.
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
        // ORDERING: Acquire pairs with the Release in `take_over`.
        self.ours.load(Acquire)
    }

    /// Makes them ours: the kernel adds nothing from now on. Any context.
    pub(super) fn take_over(&self, bdev: BdevRef<'_>) {
        // ORDERING: Release. Who sees this sees what was skipped, and does not add it again.
        self.ours.store(true, Release);
        bdev.park_stamp(true);
    }

    /// Gives them back to the kernel. Any context.
    pub(super) fn give_back(&self, bdev: BdevRef<'_>) {
        // ORDERING: Relaxed. Who misses it adds what is ours anyway, as if it had come before.
        self.ours.store(false, Relaxed);
        bdev.park_stamp(false);
    }

    /// Takes it that the kernel has counted itself what is busy time of ours up to `total`, in ns.
    pub(super) fn skip(&self, total: u64) {
        // ORDERING: Relaxed. `take_over` publishes it.
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
        // ORDERING: Acquire pairs with the Release in `set_ours`.
        self.ours.load(Acquire)
    }

    /// Makes them ours, or the kernel's.
    pub(super) fn set_ours(&self, ours: bool) {
        // ORDERING: Release. Who sees this sees what was skipped, and does not add it again.
        self.ours.store(ours, Release);
    }

    /// Takes it that the kernel has counted itself what is ours up to `nsecs`.
    pub(super) fn skip(&self, nsecs: [u64; KERNEL_GROUPS]) {
        for (given, nsecs) in self.given.iter().zip(nsecs) {
            // ORDERING: Relaxed. `set_ours` publishes it.
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
