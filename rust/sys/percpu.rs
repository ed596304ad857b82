// SPDX-License-Identifier: GPL-2.0

//! Per-CPU arrays of `u64` counters.
//!
//! C header: [`include/linux/percpu.h`](srctree/include/linux/percpu.h)

mod here;

use super::{
    helpers,
    preempt::Disabled, //
};
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};
use kernel::{
    bindings,
    prelude::*,
    sync::atomic::{
        Acquire,
        Atomic, //
    }, //
};

/// Proof that the caller stays on one CPU: preemption is off while it lives.
///
/// Interrupts are not: one may come between any two instructions and count on the same CPU.
pub(crate) struct Pinned(#[allow(dead_code)] Disabled);

impl Pinned {
    /// Disables preemption until the value is dropped.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self(Disabled::new())
    }
}

/// Runs `this` with interrupts off on this CPU. It must be short.
pub(crate) fn without_interrupts<R>(this: impl FnOnce() -> R) -> R {
    // SAFETY: No preconditions; undone below.
    let flags = unsafe { helpers::blkacct_irq_save() };
    let result = this();
    // SAFETY: The flags are those of the call above. A panic does not unwind.
    unsafe { helpers::blkacct_irq_restore(flags) };
    result
}

/// `N` counters on each possible CPU, zero at first.
///
/// # Invariants
///
/// `base` is a per-CPU allocation of `[u64; N]` that lives as long as this value, and is only ever
/// accessed as single, aligned words.
pub(crate) struct Counters<const N: usize> {
    base: NonNull<[u64; N]>,
}

// SAFETY: The per-CPU memory is accessed word by word, and from other CPUs only by loads.
unsafe impl<const N: usize> Send for Counters<N> {}
// SAFETY: As above.
unsafe impl<const N: usize> Sync for Counters<N> {}

impl<const N: usize> Counters<N> {
    /// Allocates the counters. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new() -> Result<Self> {
        // SAFETY: A whole number of cache lines or less is a valid size, 64 a valid alignment.
        // The allocator returns zeroed memory.
        let base = unsafe {
            bindings::pcpu_alloc_noprof(
                core::mem::size_of::<[u64; N]>(),
                64,
                false,
                bindings::GFP_KERNEL,
            )
        };
        // INVARIANT: Just allocated, with the size and alignment of the array.
        Ok(Self {
            base: NonNull::new(base.cast()).ok_or(ENOMEM)?,
        })
    }

    /// Returns the counters of the CPU that `pin` holds.
    #[inline(always)]
    pub(crate) fn here<'a>(&'a self, _pin: &'a Pinned) -> Here<'a, N> {
        // INVARIANT: Both references outlive `'a`.
        Here(self.base, PhantomData)
    }

    /// Loads counter `index` of `cpu`, with acquire ordering; zero if there is no such CPU.
    #[inline]
    pub(crate) fn load(&self, cpu: u32, index: usize) -> u64 {
        // SAFETY: Set once at boot.
        let cpus = unsafe { bindings::nr_cpu_ids };
        if cpu >= cpus || index >= N {
            return 0;
        }
        // SAFETY: `cpu` is below `nr_cpu_ids`; the array is set once at boot.
        let offset = unsafe { bindings::__per_cpu_offset[cpu as usize] };
        let cell = self
            .base
            .cast::<u64>()
            .as_ptr()
            .wrapping_byte_add(offset)
            .wrapping_add(index);
        // ORDERING: Acquire. The adds of a CPU are seen in order; see `acct::slot`.
        // SAFETY: A counter of a possible CPU by the type invariants (see `possible`), live while
        // `self` is, and only accessed as a word.
        unsafe { Atomic::from_ptr(cell) }.load(Acquire)
    }
}

/// The counters of the current CPU.
///
/// The place of a counter is a constant, `FIRST` or `INDEX`, and a number that is added where it
/// is not known when compiled.
///
/// # Invariants
///
/// The pointer is that of [`Counters`] which outlive this value, and so does a [`Pinned`]. (Not a
/// reference to the counters: their pointer would be read anew for each add.)
#[derive(Clone, Copy)]
pub(crate) struct Here<'a, const N: usize>(NonNull<[u64; N]>, PhantomData<&'a Pinned>);

impl<const N: usize> Here<'_, N> {
    /// Adds `n`, wrapping, to the counter `nth` places after `FIRST`. Out of bounds it adds
    /// nothing.
    #[inline(always)]
    pub(crate) fn add_nth<const FIRST: usize>(&self, nth: usize, n: u64) {
        if nth < const { N - FIRST } {
            // SAFETY: A counter of the allocation, by the type invariants and the test. The pin
            // keeps preemption off.
            unsafe { here::add_nth::<FIRST>(self.0.cast().as_ptr(), nth, n) };
        }
    }

    /// Adds one, wrapping, to the counter `nth` places after `FIRST`. Out of bounds it adds
    /// nothing.
    #[inline(always)]
    pub(crate) fn count_nth<const FIRST: usize>(&self, nth: usize) {
        if nth < const { N - FIRST } {
            // SAFETY: As in `add_nth`.
            unsafe { here::count_nth::<FIRST>(self.0.cast().as_ptr(), nth) };
        }
    }

    /// Adds `n`, wrapping, to a counter.
    #[inline(always)]
    pub(crate) fn add<const INDEX: usize>(&self, n: u64) {
        const { assert!(INDEX < N) };
        // SAFETY: As in `add_nth`.
        unsafe { here::add::<INDEX>(self.0.cast().as_ptr(), n) };
    }

    /// Adds one, wrapping, to a counter.
    #[inline(always)]
    pub(crate) fn count<const INDEX: usize>(&self) {
        const { assert!(INDEX < N) };
        // SAFETY: As in `add_nth`.
        unsafe { here::count::<INDEX>(self.0.cast().as_ptr()) };
    }
}

impl<const N: usize> Drop for Counters<N> {
    fn drop(&mut self) {
        // SAFETY: Allocated by `new`, and nobody refers to it any more.
        unsafe { bindings::free_percpu(self.base.as_ptr().cast()) };
    }
}

/// Iterates over the possible CPUs.
pub(crate) fn possible() -> impl Iterator<Item = u32> {
    // SAFETY: Set once at boot.
    let cpus = unsafe { bindings::nr_cpu_ids };
    (0..cpus).filter(|cpu| {
        // SAFETY: Set once at boot, and has at least `nr_cpu_ids` bits.
        unsafe { bindings::cpumask_test_cpu(*cpu as i32, &raw mut bindings::__cpu_possible_mask) }
    })
}

/// A point where a long reader lets others run. May sleep.
pub(crate) fn resched_point() {
    // SAFETY: Process context, as the name says.
    unsafe { helpers::blkacct_cond_resched() };
}

#[cfg(CONFIG_KUNIT)]
#[kernel::macros::kunit_tests(blkacct_percpu)]
mod tests {
    use super::*;

    fn sum<const N: usize>(counters: &Counters<N>, index: usize) -> u64 {
        possible().map(|cpu| counters.load(cpu, index)).sum()
    }

    #[test]
    fn counters_start_at_zero_and_add_up() -> Result {
        let counters = Counters::<3>::new()?;
        assert_eq!(sum(&counters, 0), 0);
        for _ in 0..10 {
            let pin = Pinned::new();
            counters.here(&pin).add::<1>(4);
            counters.here(&pin).count_nth::<1>(1);
        }
        assert_eq!(sum(&counters, 0), 0);
        assert_eq!(sum(&counters, 1), 40);
        assert_eq!(sum(&counters, 2), 10);
        Ok(())
    }

    #[test]
    fn a_counter_wraps() -> Result {
        let counters = Counters::<1>::new()?;
        let pin = Pinned::new();
        counters.here(&pin).add_nth::<0>(0, u64::MAX);
        counters.here(&pin).add::<0>(2);
        counters.here(&pin).count::<0>();
        drop(pin);
        assert_eq!(sum(&counters, 0), 2);
        Ok(())
    }

    #[test]
    fn out_of_bounds_is_nothing() -> Result {
        let counters = Counters::<2>::new()?;
        let pin = Pinned::new();
        counters.here(&pin).add_nth::<1>(1, 5);
        counters.here(&pin).count_nth::<1>(usize::MAX);
        drop(pin);
        assert_eq!(counters.load(u32::MAX, 0), 0);
        assert_eq!(sum(&counters, 0) + sum(&counters, 1), 0);
        Ok(())
    }
}
