// SPDX-License-Identifier: GPL-2.0

//! Per-CPU arrays of `u64` counters.
//!
//! C header: [`include/linux/percpu.h`](srctree/include/linux/percpu.h)

use super::helpers;
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
///
/// # Invariants
///
/// Preemption is disabled, and `offset` is the per-CPU offset of the CPU this runs on.
pub(crate) struct Pinned {
    offset: usize,
    // Belongs to the CPU it was made on.
    _not_send: core::marker::PhantomData<*mut ()>,
}

impl Pinned {
    /// Disables preemption until the value is dropped.
    #[inline]
    pub(crate) fn new() -> Self {
        // INVARIANT: The helper disables preemption and returns this CPU's offset.
        Self {
            // SAFETY: No preconditions; `drop` undoes it.
            offset: unsafe { helpers::blkacct_pin() } as usize,
            _not_send: core::marker::PhantomData,
        }
    }
}

impl Drop for Pinned {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: `new` disabled preemption once.
        unsafe { helpers::blkacct_unpin() };
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
    base: *mut [u64; N],
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
        if base.is_null() {
            return Err(ENOMEM);
        }
        // INVARIANT: Just allocated, with the size and alignment of the array.
        Ok(Self { base: base.cast() })
    }

    /// Adds `n`, wrapping, to counter `index` of the CPU that `pin` holds.
    ///
    /// An index out of bounds adds nothing.
    #[inline(always)]
    pub(crate) fn add(&self, pin: &Pinned, index: usize, n: u64) {
        if index >= N {
            return;
        }
        let cell = self
            .base
            .cast::<u64>()
            .wrapping_byte_add(pin.offset)
            .wrapping_add(index);
        // SAFETY: By the invariants of `self` and `pin` this is a counter of the current CPU.
        unsafe { add_here(cell, n) };
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
            .wrapping_byte_add(offset)
            .wrapping_add(index);
        // SAFETY: A counter of a possible CPU by the type invariants (see `possible`), live while
        // `self` is, and only accessed as a word.
        unsafe { Atomic::from_ptr(cell) }.load(Acquire)
    }
}

impl<const N: usize> Drop for Counters<N> {
    fn drop(&mut self) {
        // SAFETY: Allocated by `new`, and nobody refers to it any more.
        unsafe { bindings::free_percpu(self.base.cast()) };
    }
}

/// Adds to a counter that only the current CPU writes, in one instruction, so that an interrupt on
/// this CPU falls before or after it. Not locked: other CPUs only load.
///
/// # Safety
///
/// `cell` is valid and aligned, belongs to the current CPU, and preemption is off.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn add_here(cell: *mut u64, n: u64) {
    // SAFETY: The caller guarantees the target; x86 stores become visible in program order.
    unsafe {
        core::arch::asm!(
            "add qword ptr [{cell}], {n}",
            cell = in(reg) cell,
            n = in(reg) n,
            options(nostack),
        );
    }
}

/// See the x86-64 form; elsewhere an atomic, with release ordering as the reader's check needs it.
///
/// # Safety
///
/// As above.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
unsafe fn add_here(cell: *mut u64, n: u64) {
    // SAFETY: The caller guarantees the target.
    unsafe { Atomic::from_ptr(cell) }.fetch_add(n, kernel::sync::atomic::Release);
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
            counters.add(&pin, 1, 4);
        }
        assert_eq!(sum(&counters, 0), 0);
        assert_eq!(sum(&counters, 1), 40);
        assert_eq!(sum(&counters, 2), 0);
        Ok(())
    }

    #[test]
    fn a_counter_wraps() -> Result {
        let counters = Counters::<1>::new()?;
        let pin = Pinned::new();
        counters.add(&pin, 0, u64::MAX);
        counters.add(&pin, 0, 3);
        drop(pin);
        assert_eq!(sum(&counters, 0), 2);
        Ok(())
    }

    #[test]
    fn out_of_bounds_is_nothing() -> Result {
        let counters = Counters::<1>::new()?;
        let pin = Pinned::new();
        counters.add(&pin, 1, 5);
        drop(pin);
        assert_eq!(counters.load(u32::MAX, 0), 0);
        assert_eq!(counters.load(0, 1), 0);
        Ok(())
    }
}
