// SPDX-License-Identifier: GPL-2.0

//! The one switch between the builds: whose atomics the core runs on.
//!
//! The kernel's are those of its `kernel` crate, inline where they can be; the host has a shim with
//! the part of that API which the core uses, over `core`'s atomics or, under `cfg(loom)`, loom's.
//! The shim is never stronger than the kernel: `Full` is only acquire and release there, and a
//! failed `cmpxchg` is relaxed, so a proof on the host leans on no barrier that the kernel does not
//! give.

#[cfg(CONFIG_RUST)]
pub(super) use crate::sys::atomic::{
    Acquire,
    Atomic,
    Full,
    Relaxed, //
};

#[cfg(not(CONFIG_RUST))]
pub(super) use host::{
    Acquire,
    Atomic,
    Full,
    Relaxed, //
};

#[cfg(not(CONFIG_RUST))]
mod host {
    use core::marker::PhantomData;

    #[cfg(not(loom))]
    use core::sync::atomic::{
        AtomicU64,
        Ordering, //
    };
    #[cfg(loom)]
    use loom::sync::atomic::{
        AtomicU64,
        Ordering, //
    };

    /// An ordering given as a type, as the kernel does.
    pub trait Order {
        const ORDER: Ordering;
    }

    pub struct Relaxed;
    pub struct Acquire;
    pub struct Full;

    impl Order for Relaxed {
        const ORDER: Ordering = Ordering::Relaxed;
    }

    impl Order for Acquire {
        const ORDER: Ordering = Ordering::Acquire;
    }

    impl Order for Full {
        const ORDER: Ordering = Ordering::AcqRel;
    }

    /// Stands for the kernel's `Atomic<T>`; `T` is always `u64`.
    #[derive(Debug)]
    pub struct Atomic<T>(AtomicU64, PhantomData<T>);

    impl Atomic<u64> {
        pub fn new(value: u64) -> Self {
            Self(AtomicU64::new(value), PhantomData)
        }

        pub fn load<O: Order>(&self, _: O) -> u64 {
            self.0.load(O::ORDER)
        }

        pub fn store<O: Order>(&self, value: u64, _: O) {
            self.0.store(value, O::ORDER);
        }

        pub fn cmpxchg<O: Order>(&self, old: u64, new: u64, _: O) -> Result<u64, u64> {
            self.0
                .compare_exchange(old, new, O::ORDER, Ordering::Relaxed)
        }
    }
}
