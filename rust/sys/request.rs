// SPDX-License-Identifier: GPL-2.0

//! A request, as an event of the block layer shows it.
//!
//! C header: [`include/linux/blk-mq.h`](srctree/include/linux/blk-mq.h)

use super::{
    bdev::Key,
    helpers, //
};
use crate::acct::nsec::Nsec;
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};
use kernel::bindings;

const RQF_IO_STAT: u32 = 1 << bindings::rqf_flags___RQF_IO_STAT;
const RQF_FLUSH_SEQ: u32 = 1 << bindings::rqf_flags___RQF_FLUSH_SEQ;

/// A live request.
///
/// # Invariants
///
/// The pointer is to a request that is live for all of `'p` and has a queue, and that only the
/// caller's event works on meanwhile.
#[derive(Clone, Copy)]
pub(crate) struct RqRef<'p>(NonNull<bindings::request>, PhantomData<&'p ()>);

impl RqRef<'_> {
    /// Wraps a request.
    ///
    /// # Safety
    ///
    /// The type invariants hold for `rq`.
    #[inline]
    pub(crate) unsafe fn from_raw(rq: *mut bindings::request) -> Self {
        // INVARIANT: The caller's promise.
        // SAFETY: No live request is at address zero.
        Self(unsafe { NonNull::new_unchecked(rq) }, PhantomData)
    }

    #[inline]
    fn get(&self) -> &bindings::request {
        // SAFETY: Live, and not written meanwhile, by the type invariants.
        unsafe { self.0.as_ref() }
    }

    /// Returns whether the kernel will count the request at its start, which it is about to do.
    ///
    /// The answer at the start holds to the end; later [`Self::is_counted`] tells.
    #[inline]
    pub(crate) fn starts_counted(&self) -> bool {
        // SAFETY: Live by the type invariants.
        unsafe { helpers::blkacct_rq_starts_counted(self.0.as_ptr()) }
    }

    /// Returns whether the kernel counted the request at its start.
    #[inline]
    pub(crate) fn is_counted(&self) -> bool {
        self.get().rq_flags & RQF_IO_STAT != 0
    }

    /// Returns whether the request is in a flush sequence, whose steps are not its completion.
    #[inline]
    pub(crate) fn in_flush_sequence(&self) -> bool {
        self.get().rq_flags & RQF_FLUSH_SEQ != 0
    }

    /// Returns the operation and its flags, `cmd_flags`.
    #[inline]
    pub(crate) fn op(&self) -> u32 {
        self.get().cmd_flags
    }

    /// Returns the sectors of 512 bytes still to be transferred.
    #[inline]
    pub(crate) fn sectors(&self) -> u64 {
        u64::from(self.get().__data_len >> 9)
    }

    /// Returns the time the kernel counts the latency from: the start, or the earliest of those
    /// merged into it. Set after the start's event.
    #[inline]
    pub(crate) fn start_time(&self) -> Nsec {
        Nsec(self.get().start_time_ns)
    }

    /// Returns the number of the hardware queue the request is bound to, the same at its start
    /// and at its end.
    #[inline]
    pub(crate) fn hardware_queue(&self) -> usize {
        // SAFETY: A request that has been allocated is bound to a hardware context until freed.
        unsafe { (*self.get().mq_hctx).queue_num as usize }
    }

    /// Returns the device that the kernel is about to count the request on: its bio's, or the
    /// whole disk's where it has none (a flush that dm-multipath cloned).
    #[inline]
    pub(crate) fn starting_on(&self) -> Key {
        let bio = self.get().bio;
        if bio.is_null() {
            // SAFETY: A request's queue is live, and its disk too while accounting is on.
            return Key::of(unsafe { (*(*self.get().q).disk).part0 });
        }
        // SAFETY: The bio belongs to the request.
        Key::of(unsafe { (*bio).bi_bdev })
    }

    /// Returns the device the kernel counted the start on. Valid for a counted request; a merge
    /// may have moved the bio into another partition since.
    #[inline]
    pub(crate) fn counted_on(&self) -> Key {
        Key::of(self.get().part)
    }
}

/// Makes the kernel stamp this task's next request with `now` instead of the plug's older time.
///
/// Any context; does nothing outside a task or a plug, where no time is cached.
#[inline]
pub(crate) fn set_plug_clock(now: Nsec) {
    // SAFETY: Touches only the current task and its plug.
    unsafe { helpers::blkacct_set_plug_clock(now.0) };
}
