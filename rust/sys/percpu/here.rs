// SPDX-License-Identifier: GPL-2.0

//! Adding to a counter of the current CPU.
//!
//! Only that CPU writes it, so the addition is not locked. It is one instruction, so that an
//! interrupt on this CPU falls before or after it. x86 stores become visible in program order.
//!
//! The contract of each function: preemption is off, and `base` is a per-CPU address with a counter
//! at the place that is meant.

pub(super) use imp::*;

#[cfg(target_arch = "x86_64")]
mod imp {
    use core::arch::asm;

    /// # Safety
    ///
    /// The file's contract.
    #[inline(always)]
    pub(in super::super) unsafe fn add_nth<const FIRST: usize>(base: *mut u64, nth: usize, n: u64) {
        // SAFETY: By the contract; gs makes the address the current CPU's.
        unsafe {
            asm!(
                "add qword ptr gs:[{base} + 8 * {nth} + {first}], {n}",
                base = in(reg) base,
                nth = in(reg) nth,
                first = const 8 * FIRST,
                n = in(reg) n,
                options(nostack),
            );
        }
    }

    /// # Safety
    ///
    /// The file's contract.
    #[inline(always)]
    pub(in super::super) unsafe fn count_nth<const FIRST: usize>(base: *mut u64, nth: usize) {
        // SAFETY: As above.
        unsafe {
            asm!(
                "inc qword ptr gs:[{base} + 8 * {nth} + {first}]",
                base = in(reg) base,
                nth = in(reg) nth,
                first = const 8 * FIRST,
                options(nostack),
            );
        }
    }

    /// # Safety
    ///
    /// The file's contract.
    #[inline(always)]
    pub(in super::super) unsafe fn add<const INDEX: usize>(base: *mut u64, n: u64) {
        // SAFETY: As above.
        unsafe {
            asm!(
                "add qword ptr gs:[{base} + {index}], {n}",
                base = in(reg) base,
                index = const 8 * INDEX,
                n = in(reg) n,
                options(nostack),
            );
        }
    }

    /// # Safety
    ///
    /// The file's contract.
    #[inline(always)]
    pub(in super::super) unsafe fn count<const INDEX: usize>(base: *mut u64) {
        // SAFETY: As above.
        unsafe {
            asm!(
                "inc qword ptr gs:[{base} + {index}]",
                base = in(reg) base,
                index = const 8 * INDEX,
                options(nostack),
            );
        }
    }
}

// Elsewhere an atomic, with release ordering as the reader's check needs it.
#[cfg(not(target_arch = "x86_64"))]
mod imp {
    use crate::sys::helpers;
    use kernel::sync::atomic::{
        Atomic,
        Release, //
    };

    /// # Safety
    ///
    /// The file's contract.
    pub(in super::super) unsafe fn add_nth<const FIRST: usize>(base: *mut u64, nth: usize, n: u64) {
        // SAFETY: Preemption is off, so the offset is that of the current CPU.
        let offset = unsafe { helpers::blkacct_cpu_offset() } as usize;
        let cell = base.wrapping_byte_add(offset).wrapping_add(FIRST + nth);
        // ORDERING: Release pairs with the reader's Acquire, so that adds are seen in order.
        // SAFETY: By the contract.
        unsafe { Atomic::from_ptr(cell) }.fetch_add(n, Release);
    }

    /// # Safety
    ///
    /// The file's contract.
    pub(in super::super) unsafe fn count_nth<const FIRST: usize>(base: *mut u64, nth: usize) {
        // SAFETY: By the contract.
        unsafe { add_nth::<FIRST>(base, nth, 1) };
    }

    /// # Safety
    ///
    /// The file's contract.
    pub(in super::super) unsafe fn add<const INDEX: usize>(base: *mut u64, n: u64) {
        // SAFETY: By the contract.
        unsafe { add_nth::<INDEX>(base, 0, n) };
    }

    /// # Safety
    ///
    /// The file's contract.
    pub(in super::super) unsafe fn count<const INDEX: usize>(base: *mut u64) {
        // SAFETY: By the contract.
        unsafe { add_nth::<INDEX>(base, 0, 1) };
    }
}
