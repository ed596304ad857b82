// SPDX-License-Identifier: GPL-2.0

//! The functions of `helpers.c`, declared by hand.

// The bindings' empty structs, which stand for the kernel's without lock debugging.
#![allow(improper_ctypes)]

use kernel::{
    bindings,
    ffi::c_void,
    prelude::*, //
};

/// The number of the kernel's stat groups, `NR_STAT_GROUPS`.
pub(crate) const KERNEL_GROUPS: usize = 4;

extern "C" {
    /// `preempt_disable()`.
    #[allow(dead_code)] // Not where it is inline.
    pub(super) fn blkacct_preempt_disable();
    /// `preempt_enable()`.
    #[allow(dead_code)]
    pub(super) fn blkacct_preempt_enable();
    /// `__preempt_schedule()`.
    #[allow(dead_code)] // Only where preemption is inline.
    pub(super) fn blkacct_preempt_schedule();
    /// `__my_cpu_offset`.
    #[allow(dead_code)] // Not where per-CPU adds are inline.
    pub(super) fn blkacct_cpu_offset() -> c_ulong;
    /// `memalloc_noio_save()`.
    pub(super) fn blkacct_noio_save() -> c_uint;
    /// `memalloc_noio_restore()`.
    pub(super) fn blkacct_noio_restore(flags: c_uint);
    /// `BLK_FEAT_IO_STAT`.
    pub(super) static blkacct_feat_io_stat: u32;
    /// `cond_resched()`.
    pub(super) fn blkacct_cond_resched();
    /// `tracepoint_synchronize_unregister()` and `synchronize_rcu()`.
    pub(super) fn blkacct_synchronize_probes();
    /// `blk_rq_passthrough_stats()`: whether `blk_account_io_start()` is about to count this
    /// passthrough request.
    pub(super) fn blkacct_rq_passthrough_stats(rq: *mut bindings::request) -> bool;
    /// Sets the time, in ns, that `blk_time_get_ns()` has cached for the current task.
    #[allow(dead_code)] // Not where it is inline.
    pub(super) fn blkacct_set_plug_clock(now: u64);
    /// Tells whether an address is in the function of this name.
    pub(super) fn blkacct_is_symbol(address: *const c_void, name: *const c_char) -> bool;
    /// `local_irq_save()`.
    pub(super) fn blkacct_irq_save() -> c_ulong;
    /// `local_irq_restore()`.
    pub(super) fn blkacct_irq_restore(flags: c_ulong);
    /// `blk_queue_io_stat()`.
    pub(super) fn blkacct_queue_io_stat(q: *mut bindings::request_queue) -> bool;
    /// `queue_limits_start_update()`: locks the limits and copies them.
    pub(super) fn blkacct_limits_start(
        q: *mut bindings::request_queue,
        limits: &mut bindings::queue_limits,
    );
    /// `queue_limits_cancel_update()`: unlocks them.
    pub(super) fn blkacct_limits_cancel(q: *mut bindings::request_queue);
    /// Changes `BLK_FEAT_IO_STAT`.
    pub(super) fn blkacct_limits_set_io_stat(limits: *mut bindings::queue_limits, on: bool);
    /// Adds up each stat group's ios, merges, sectors and nsecs, of all CPUs.
    pub(super) fn blkacct_part_stats(
        bdev: *mut bindings::block_device,
        counts: &mut [[u64; 4]; KERNEL_GROUPS],
    );
    /// Puts the stamp of `update_io_ticks()` far into the future, or to the present.
    pub(super) fn blkacct_park_stamp(bdev: *mut bindings::block_device, park: bool);
    /// `part_stat_add()` of `io_ticks`, in jiffies, on this device alone.
    pub(super) fn blkacct_add_io_ticks(bdev: *mut bindings::block_device, ticks: c_ulong);
    /// `part_stat_add()` of a stat group's `nsecs`, on this device alone.
    pub(super) fn blkacct_add_nsecs(bdev: *mut bindings::block_device, group: c_int, nsecs: u64);
    /// Calls `each` for the disk and its partitions, each in an RCU read-side section.
    pub(super) fn blkacct_visit_parts(
        disk: *mut bindings::gendisk,
        each: unsafe extern "C" fn(*mut bindings::block_device),
    );
    /// `INIT_DELAYED_WORK()`.
    pub(super) fn blkacct_init_delayed_work(
        work: *mut bindings::delayed_work,
        func: unsafe extern "C" fn(*mut bindings::work_struct),
    );
}
