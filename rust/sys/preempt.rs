// SPDX-License-Identifier: GPL-2.0

//! Preemption off and on, and the current task: inline on x86-64, as the kernel's headers have it.
//!
//! C header: [`arch/x86/include/asm/preempt.h`](srctree/arch/x86/include/asm/preempt.h)

/// One level of `preempt_disable()`, until it is dropped.
///
/// # Invariants
///
/// Preemption is off on account of this value.
pub(super) struct Disabled(core::marker::PhantomData<*mut ()>);

impl Disabled {
    #[inline(always)]
    pub(super) fn new() -> Self {
        imp::disable();
        // INVARIANT: Just disabled.
        Self(core::marker::PhantomData)
    }
}

impl Drop for Disabled {
    #[inline(always)]
    fn drop(&mut self) {
        imp::enable();
    }
}

/// Makes `now` what `blk_time_get_ns()` returns to this task until its plug ends, as if the kernel
/// had just read the clock for it. Any context; does nothing outside a task or a plug, where no
/// time is cached.
#[inline(always)]
pub(super) fn set_plug_clock(now: u64) {
    imp::set_plug_clock(now);
}

// Out of line where the kernel's own are, for tracing or checking.
#[cfg(all(
    target_arch = "x86_64",
    CONFIG_PREEMPTION,
    not(CONFIG_DEBUG_PREEMPT),
    not(CONFIG_PREEMPT_RT),
    not(CONFIG_TRACE_PREEMPT_TOGGLE)
))]
mod imp {
    use crate::sys::helpers;
    use core::arch::asm;
    use kernel::bindings;

    // The count's size, and `NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET`, which `helpers.c` asserts.
    // Since 7.3 the bit that says that no reschedule is due is in a half of its own.
    #[cfg(not(CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS))]
    macro_rules! count {
        ($operation:literal) => {
            concat!($operation, " dword ptr gs:[rip + {count}]")
        };
    }
    #[cfg(not(CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS))]
    const NOT_IN_TASK: u32 = 0x00ff_0100;
    #[cfg(CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS)]
    macro_rules! count {
        ($operation:literal) => {
            concat!($operation, " qword ptr gs:[rip + {count}]")
        };
    }
    #[cfg(CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS)]
    const NOT_IN_TASK: u32 = 0xff00_0100;

    #[inline(always)]
    pub(super) fn disable() {
        // SAFETY: Counts one level up, in one instruction; `enable` undoes it. The block is a
        // barrier for the compiler, as the kernel's is.
        unsafe {
            asm!(
                count!("inc"),
                count = sym bindings::__preempt_count,
                options(nostack),
            );
        }
    }

    #[inline(always)]
    pub(super) fn enable() {
        let due: u8;
        // SAFETY: Undoes a `disable`. Zero says that this was the last level and that a
        // reschedule is due: the kernel keeps the latter in a bit of the count, inverted.
        unsafe {
            asm!(
                count!("dec"),
                "setz {due}",
                count = sym bindings::__preempt_count,
                due = lateout(reg_byte) due,
                options(nostack),
            );
        }
        if due != 0 {
            // SAFETY: Preemption is on, as the call wants it.
            unsafe { helpers::blkacct_preempt_schedule() };
        }
    }

    #[inline(always)]
    fn in_task() -> bool {
        let count: u32;
        // SAFETY: Loads this CPU's count; a task keeps what is asked of it wherever it goes.
        unsafe {
            asm!(
                "mov {count:e}, gs:[rip + {preempt_count}]",
                count = lateout(reg) count,
                preempt_count = sym bindings::__preempt_count,
                options(nostack, readonly, preserves_flags),
            );
        }
        count & NOT_IN_TASK == 0
    }

    #[inline(always)]
    pub(super) fn set_plug_clock(now: u64) {
        let current: *mut bindings::task_struct;
        // SAFETY: Loads the current task; it stays the same for whoever asks.
        unsafe {
            asm!(
                "mov {current}, gs:[rip + {task}]",
                current = lateout(reg) current,
                task = sym bindings::current_task,
                options(nostack, readonly, preserves_flags),
            );
        }
        // SAFETY: The current task is live, and only it sets its plug.
        let plug = unsafe { (*current).plug };
        if plug.is_null() || !in_task() {
            return;
        }
        // SAFETY: A plug lives while it is the task's; only the task writes there, and to its
        // flags. The flag follows the time, as `blk_time_get_ns()` has it.
        unsafe {
            (&raw mut (*plug).cur_ktime).write_volatile(now);
            asm!("", options(nostack, preserves_flags));
            (*current).flags |= bindings::PF_BLOCK_TS;
        }
    }
}

#[cfg(not(all(
    target_arch = "x86_64",
    CONFIG_PREEMPTION,
    not(CONFIG_DEBUG_PREEMPT),
    not(CONFIG_PREEMPT_RT),
    not(CONFIG_TRACE_PREEMPT_TOGGLE)
)))]
mod imp {
    use crate::sys::helpers;

    #[inline(always)]
    pub(super) fn disable() {
        // SAFETY: `enable` undoes it.
        unsafe { helpers::blkacct_preempt_disable() };
    }

    #[inline(always)]
    pub(super) fn enable() {
        // SAFETY: Undoes a `disable`.
        unsafe { helpers::blkacct_preempt_enable() };
    }

    #[inline(always)]
    pub(super) fn set_plug_clock(now: u64) {
        // SAFETY: Touches only the current task and its plug.
        unsafe { helpers::blkacct_set_plug_clock(now) };
    }
}
