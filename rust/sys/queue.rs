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

/// A frozen queue; thawed when dropped.
///
/// # Invariants
///
/// The current task has begun to freeze the queue once.
pub(crate) struct Frozen<'a>(Queue<'a>);

impl Frozen<'_> {
    /// Sets the kernel's own accounting bit, `queue/iostats`.
    ///
    /// # Errors
    ///
    /// What the block layer says to the queue's limits.
    pub(crate) fn set_io_stat(&self, on: bool) -> Result {
        if self.0.io_stat() == on {
            return Ok(());
        }
        // SAFETY: Live and frozen by the type invariants.
        to_result(unsafe { helpers::blkacct_queue_set_io_stat(self.0 .0, on) })
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        // SAFETY: Frozen by this task, by the type invariants.
        unsafe { bindings::blk_mq_unfreeze_queue_nomemrestore(self.0 .0) };
    }
}
