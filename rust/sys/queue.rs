// SPDX-License-Identifier: GPL-2.0

//! The request queue of a disk: freezing it, and its own accounting bit.
//!
//! C header: [`include/linux/blk-mq.h`](srctree/include/linux/blk-mq.h)

use super::helpers;
use core::marker::PhantomData;
use kernel::{
    bindings,
    error::to_result,
    prelude::*,
    time::{
        msecs_to_jiffies,
        Msecs, //
    }, //
};

/// The errno of a disk that cannot do what is asked; the `kernel` crate has no name for it yet.
pub(crate) fn not_supported() -> Error {
    Error::from_errno(-(bindings::EOPNOTSUPP as c_int))
}

/// A live request queue.
///
/// # Invariants
///
/// The pointer is to a queue that is live for all of `'a`.
#[derive(Clone, Copy)]
pub(crate) struct Queue<'a>(*mut bindings::request_queue, PhantomData<&'a ()>);

impl<'a> Queue<'a> {
    /// Wraps a queue.
    ///
    /// # Safety
    ///
    /// `q` points to a queue that is live for all of `'a`.
    pub(super) unsafe fn from_raw(q: *mut bindings::request_queue) -> Self {
        // INVARIANT: The caller's promise.
        Self(q, PhantomData)
    }

    /// Returns whether the disk is request-based, so that its I/O passes the tracepoints.
    pub(crate) fn is_request_based(&self) -> bool {
        // SAFETY: Live by the type invariants; set before the disk is added.
        unsafe { !(*self.0).mq_ops.is_null() }
    }

    /// Returns the number of hardware queues, at least one.
    pub(crate) fn hardware_queues(&self) -> usize {
        // SAFETY: Live by the type invariants.
        unsafe { (*self.0).nr_hw_queues as usize }.max(1)
    }

    /// Returns whether all requests go to hardware queue 0, but those that are polled, and reads
    /// where the driver has queues for them. For a request-based disk that has not gone.
    pub(crate) fn has_single_queue(&self) -> bool {
        // SAFETY: Live by the type invariants. The tag set is the driver's, which keeps it until
        // the disk has gone; an integer in it, for which a stale value is as good.
        unsafe {
            let set = (*self.0).tag_set;
            (&raw const (*set).map[0].nr_queues).read_volatile() == 1
        }
    }

    /// Returns whether zone appends are for this queue, by its limits as they are.
    pub(crate) fn takes_zone_appends(&self) -> bool {
        // SAFETY: Live by the type invariants. An integer, for which a stale value is as good.
        unsafe { (&raw const (*self.0).limits.max_zone_append_sectors).read_volatile() != 0 }
    }

    /// Locks the queue's limits for a change. May sleep; comes before every lock of ours.
    pub(crate) fn lock_limits(self) -> LockedLimits<'a> {
        let mut limits = pin_init::zeroed();
        // SAFETY: Live by the type invariants.
        unsafe { helpers::blkacct_limits_start(self.0, &mut limits) };
        // INVARIANT: Just locked.
        LockedLimits {
            queue: self,
            limits,
        }
    }

    /// Returns whether the kernel's own accounting is on: `queue/iostats`.
    pub(crate) fn io_stat(&self) -> bool {
        // SAFETY: Live by the type invariants.
        unsafe { helpers::blkacct_queue_io_stat(self.0) }
    }

    /// Freezes the queue: waits until no request is in flight, and keeps new ones out.
    ///
    /// Waits at most `limit` ms. May sleep; the caller must not allocate memory while it is
    /// frozen, since that may wait for I/O to this very disk.
    ///
    /// # Errors
    ///
    /// `EBUSY` when requests are still in flight after that time. The queue then runs on.
    pub(crate) fn freeze(self, limit: Msecs) -> Result<Frozen<'a>> {
        // SAFETY: Live by the type invariants. The guard undoes it in the same task.
        unsafe { bindings::blk_freeze_queue_start(self.0) };
        // INVARIANT: Just frozen, or on the way to it.
        let frozen = Frozen(self);
        // SAFETY: As above.
        let left =
            unsafe { bindings::blk_mq_freeze_queue_wait_timeout(self.0, msecs_to_jiffies(limit)) };
        if left == 0 {
            return Err(EBUSY);
        }
        Ok(frozen)
    }
}

/// A frozen queue; thawed when dropped. Whatever happened before is seen by the requests after it.
///
/// # Invariants
///
/// The current task has begun to freeze the queue once.
pub(crate) struct Frozen<'a>(Queue<'a>);

/// A queue's limits, about to be changed by somebody who holds their lock.
///
/// # Invariants
///
/// The pointer is to limits that only the caller uses for all of `'a`.
pub(crate) struct Limits<'a>(*mut bindings::queue_limits, PhantomData<&'a mut ()>);

impl Limits<'_> {
    /// Wraps limits.
    ///
    /// # Safety
    ///
    /// The type invariants hold for `limits`.
    pub(super) unsafe fn from_raw(limits: *mut bindings::queue_limits) -> Self {
        // INVARIANT: The caller's promise.
        Self(limits, PhantomData)
    }

    /// Sets the kernel's own accounting bit, `queue/iostats`.
    pub(crate) fn set_io_stat(&mut self, on: bool) {
        // SAFETY: Ours by the type invariants.
        unsafe { helpers::blkacct_limits_set_io_stat(self.0, on) };
    }
}

/// Limits that are locked, and unlocked when this is dropped or committed.
///
/// # Invariants
///
/// The queue's limits lock is held by the current task.
pub(crate) struct LockedLimits<'a> {
    queue: Queue<'a>,
    limits: bindings::queue_limits,
}

impl LockedLimits<'_> {
    /// Returns the limits for changing.
    pub(crate) fn get(&mut self) -> Limits<'_> {
        Limits(&raw mut self.limits, PhantomData)
    }

    /// Puts the changed limits in force, on a queue that `_frozen` keeps empty.
    ///
    /// # Errors
    ///
    /// What the block layer says to them.
    pub(crate) fn commit(self, _frozen: &Frozen<'_>) -> Result {
        // Committing unlocks, whatever comes of it.
        let mut this = core::mem::ManuallyDrop::new(self);
        // SAFETY: Live, locked and frozen, by the type invariants.
        to_result(unsafe {
            bindings::queue_limits_commit_update(this.queue.0, &raw mut this.limits)
        })
    }
}

impl Drop for LockedLimits<'_> {
    fn drop(&mut self) {
        // SAFETY: Locked by the type invariants.
        unsafe { helpers::blkacct_limits_cancel(self.queue.0) };
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        // A request that comes in after the thaw must see what was changed before it. It takes a
        // reference in an RCU read-side section, by percpu_ref_tryget_live_rcu(), which acquires
        // nothing. A section that sees the thaw ends after the wait, so it began after it, and
        // sees all from before. x86 loads in order, and so needs none.
        #[cfg(not(target_arch = "x86_64"))]
        // SAFETY: Process context; takes no memory and no lock that a frozen queue could hold up.
        unsafe {
            bindings::synchronize_rcu_expedited();
        }
        // SAFETY: Frozen by this task, by the type invariants.
        unsafe { bindings::blk_mq_unfreeze_queue_nomemrestore(self.0 .0) };
    }
}
