// SPDX-License-Identifier: GPL-2.0

//! The clock of the module: CLOCK_MONOTONIC in ns, the one the block layer stamps requests with.
//! And jiffies, where it uses them.
//!
//! C header: [`include/linux/timekeeping.h`](srctree/include/linux/timekeeping.h)

use crate::acct::nsec::{
    Clock,
    Nsec, //
};
use kernel::{
    bindings,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

/// The length of a jiffy in ns.
pub(crate) const TICK_NSEC: u64 = bindings::TICK_NSEC as u64;

/// Jiffies per second.
pub(crate) const HZ: u64 = bindings::HZ as u64;

/// Returns the present jiffy. Any context.
#[inline]
pub(crate) fn jiffies() -> u64 {
    // ORDERING: Relaxed. As the kernel reads it; who needs an order has a barrier beside it.
    // SAFETY: A word that the timer interrupt counts up, there for ever.
    unsafe { Atomic::from_ptr((&raw const bindings::jiffies).cast_mut()) }.load(Relaxed) as u64
}

/// Reads CLOCK_MONOTONIC.
///
/// Any context but NMI; does not sleep.
pub(crate) struct Monotonic;

impl Clock for Monotonic {
    #[inline]
    fn now(&self) -> Nsec {
        // SAFETY: May be called in any context but NMI, where no block event happens.
        let now = unsafe { bindings::ktime_get() };
        // CLOCK_MONOTONIC starts at zero and is never negative.
        Nsec(now as u64)
    }
}
