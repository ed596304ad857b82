// SPDX-License-Identifier: GPL-2.0

//! Atomics that are inline on x86-64.
//!
//! The `kernel` crate's call a C function for each operation, since Rust cannot inline the
//! kernel's headers. Here are those that an event needs, as `arch/x86/include/asm/atomic.h` and
//! `barrier.h` have them: a load is a plain load and a store a plain store, even with acquire and
//! release, and a `cmpxchg` is a locked one with any ordering. Elsewhere, and for all else, they
//! are the `kernel` crate's.

use core::{
    fmt,
    ops::Deref, //
};
use kernel::sync::atomic::{
    self,
    AtomicType, //
};

pub(crate) use kernel::sync::atomic::{
    Acquire,
    Full,
    Relaxed, //
};

/// A value that is read and written atomically, with the orderings of the kernel's memory model.
#[repr(transparent)]
pub(crate) struct Atomic<T: AtomicType>(atomic::Atomic<T>);

impl<T: AtomicType> Atomic<T> {
    /// Makes one.
    pub(crate) const fn new(value: T) -> Self {
        Self(atomic::Atomic::new(value))
    }
}

impl<T: AtomicType> Deref for Atomic<T> {
    type Target = atomic::Atomic<T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl fmt::Debug for Atomic<u64> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // ORDERING: Relaxed. For whoever debugs.
        fmt::Debug::fmt(&self.load(Relaxed), f)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{
        Atomic,
        AtomicType, //
    };
    use core::arch::asm;
    use kernel::sync::atomic::ordering::{
        AcquireOrRelaxed,
        Ordering,
        OrderingType,
        ReleaseOrRelaxed, //
    };

    /// Keeps the compiler from moving memory accesses across, as `barrier()`.
    #[inline(always)]
    fn barrier() {
        // SAFETY: Does nothing; the compiler takes it to touch all memory.
        unsafe { asm!("", options(nostack, preserves_flags)) };
    }

    impl<T: AtomicType> Atomic<T> {
        /// Loads the value.
        #[inline(always)]
        pub(crate) fn load<O: AcquireOrRelaxed>(&self, _: O) -> T {
            // SAFETY: Aligned and live; the processor loads it in one piece.
            let value = unsafe { self.0.as_ptr().read_volatile() };
            if matches!(O::TYPE, OrderingType::Acquire) {
                barrier();
            }
            value
        }

        /// Stores a value.
        #[inline(always)]
        pub(crate) fn store<O: ReleaseOrRelaxed>(&self, value: T, _: O) {
            if matches!(O::TYPE, OrderingType::Release) {
                barrier();
            }
            // SAFETY: As in `load`.
            unsafe { self.0.as_ptr().write_volatile(value) };
        }
    }

    impl Atomic<u64> {
        /// Replaces `old` by `new`, or returns what is there instead.
        #[inline(always)]
        pub(crate) fn cmpxchg<O: Ordering>(&self, old: u64, new: u64, _: O) -> Result<u64, u64> {
            let seen;
            // SAFETY: The word is aligned and live. The instruction is a full barrier for the
            // processor, and the block one for the compiler.
            unsafe {
                asm!(
                    "lock cmpxchg qword ptr [{word}], {new}",
                    word = in(reg) self.0.as_ptr(),
                    new = in(reg) new,
                    inout("rax") old => seen,
                    options(nostack),
                );
            }
            if seen == old {
                Ok(seen)
            } else {
                Err(seen)
            }
        }
    }
}
