// SPDX-License-Identifier: GPL-2.0

//! A request, as an event of the block layer shows it.
//!
//! C header: [`include/linux/blk-mq.h`](srctree/include/linux/blk-mq.h)

use super::{
    bdev::Key,
    helpers,
    preempt, //
};
use crate::acct::nsec::Nsec;
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};
use kernel::{
    bindings,
    prelude::*, //
};

const RQF_IO_STAT: u32 = 1 << bindings::rqf_flags___RQF_IO_STAT;
const RQF_FLUSH_SEQ: u32 = 1 << bindings::rqf_flags___RQF_FLUSH_SEQ;
const RQF_STATS: u32 = 1 << bindings::rqf_flags___RQF_STATS;

const REQ_OP_MASK: u32 = 0xff;
const QUEUE_STATS: c_ulong = 1 << bindings::QUEUE_FLAG_STATS;

/// A flag of ours among the request's: the driver has it. The kernel uses the lower ones, and
/// clears them all when it hands the request out anew.
const AT_DRIVER: u32 = 1 << 31;
const _: () = assert!(bindings::rqf_flags___RQF_BITS <= 31);

/// Reads a field of a request. Never a reference to the request, nor to its queue: the kernel may
/// write to another field meanwhile, as to the count that keeps a tag's iterator off.
macro_rules! field {
    ($rq:expr, $field:ident) => {
        // SAFETY: The request is live by the type invariants, and this field not written meanwhile.
        unsafe { (&raw const (*$rq.0.as_ptr()).$field).read() }
    };
}

/// A live request.
///
/// # Invariants
///
/// The pointer is to a request that is live for all of `'p` and has a queue, and that only the
/// caller's event works on meanwhile: the fields that are used here are its alone.
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

    /// Returns the operation's flags of the request, `rq_flags`.
    #[inline]
    fn flags(&self) -> u32 {
        field!(self, rq_flags)
    }

    #[inline]
    fn queue(&self) -> *mut bindings::request_queue {
        field!(self, q)
    }

    /// Returns whether the kernel will count the request at its start, which it is about to do.
    ///
    /// The answer at the start holds to the end; later [`Self::is_counted`] tells.
    pub(crate) fn starts_counted(&self) -> bool {
        // SAFETY: Live by the type invariants.
        let stats = || unsafe { helpers::blkacct_rq_passthrough_stats(self.0.as_ptr()) };
        self.is_on_counting_queue() && (!self.is_passthrough() || stats())
    }

    /// Returns whether the request's queue counts I/O: that is all of [`Self::starts_counted`]
    /// unless the request [is passthrough](Self::is_passthrough).
    #[inline]
    pub(crate) fn is_on_counting_queue(&self) -> bool {
        // SAFETY: A request's queue is live; a change of the bit waits until it is empty. The
        // constant is one.
        unsafe {
            let features = (&raw const (*self.queue()).limits.features).read_volatile();
            features & helpers::blkacct_feat_io_stat != 0
        }
    }

    /// Returns whether this is a private command of the driver.
    #[inline]
    pub(crate) fn is_passthrough(&self) -> bool {
        // One test finds both.
        const _: () =
            assert!(bindings::req_op_REQ_OP_DRV_OUT == bindings::req_op_REQ_OP_DRV_IN | 1);
        self.op() & REQ_OP_MASK & !1 == bindings::req_op_REQ_OP_DRV_IN
    }

    /// Returns whether the kernel counted the request at its start.
    #[inline]
    pub(crate) fn is_counted(&self) -> bool {
        self.flags() & RQF_IO_STAT != 0
    }

    /// Returns whether the request is in a flush sequence, whose steps are not its completion.
    #[inline]
    pub(crate) fn in_flush_sequence(&self) -> bool {
        self.flags() & RQF_FLUSH_SEQ != 0
    }

    /// Returns whether this is a flush that the block layer made itself, for requests that wait.
    ///
    /// The kernel does not count its start, and its end only in its own group.
    #[inline]
    pub(crate) fn is_internal_flush(&self) -> bool {
        self.in_flush_sequence() && self.op() & REQ_OP_MASK == bindings::req_op_REQ_OP_FLUSH
    }

    /// Returns when the request was issued to the driver, if the driver has it and it was marked.
    ///
    /// With I/O statistics of the queue on, it is the kernel's own stamp, taken after the event.
    #[inline]
    pub(crate) fn issued(&self) -> Option<Nsec> {
        (self.flags() & AT_DRIVER != 0).then(|| Nsec(field!(self, io_start_time_ns)))
    }

    /// Lets the kernel stamp the request with `now`, not with the plug's older time. To be called
    /// in the event of its start.
    #[inline]
    pub(crate) fn set_started(&self, now: Nsec) {
        preempt::set_plug_clock(now.0);
    }

    /// Marks the request as issued at `now`. To be called in the event of its issue.
    ///
    /// The stamp is the kernel's own field for this very time, which it sets itself right after the
    /// event where it needs it (with this time too, not with the plug's older one), and leaves
    /// alone elsewhere.
    #[inline]
    pub(crate) fn set_issued(&self, now: Nsec) {
        let rq = self.0.as_ptr();
        // SAFETY: The request is live, and the event's alone, by the type invariants. Its queue is
        // live; a flag in it may change meanwhile, and is as right before as after.
        unsafe {
            (*rq).io_start_time_ns = now.0;
            (*rq).rq_flags |= AT_DRIVER;
            if (&raw const (*self.queue()).queue_flags).read_volatile() & QUEUE_STATS != 0 {
                preempt::set_plug_clock(now.0);
            }
        }
        if self.is_internal_flush() {
            // Makes the kernel show its end, which it otherwise does with such statistics only.
            // Without them nobody listens to what it then feeds to them.
            // SAFETY: As above.
            unsafe { (*rq).rq_flags |= RQF_STATS };
        }
    }

    /// Takes the mark off: the driver has given the request back, and it will be issued again, or
    /// ended a second time.
    #[inline]
    pub(crate) fn set_returned(&self) {
        // SAFETY: As in `set_issued`.
        unsafe { (*self.0.as_ptr()).rq_flags &= !AT_DRIVER };
    }

    /// Returns the operation and its flags, `cmd_flags`.
    #[inline]
    pub(crate) fn op(&self) -> u32 {
        field!(self, cmd_flags)
    }

    /// Returns the sectors of 512 bytes still to be transferred.
    #[inline]
    pub(crate) fn sectors(&self) -> u64 {
        u64::from(field!(self, __data_len) >> 9)
    }

    /// Returns the time the kernel counts the latency from: the start, or the earliest of those
    /// merged into it. Set after the start's event.
    #[inline]
    pub(crate) fn start_time(&self) -> Nsec {
        Nsec(field!(self, start_time_ns))
    }

    /// Returns the number of the hardware queue the request is bound to, the same at its start
    /// and at its end.
    #[inline]
    pub(crate) fn hardware_queue(&self) -> u32 {
        let context = field!(self, mq_hctx);
        // SAFETY: A request that has been allocated is bound to a hardware context until freed.
        unsafe { (*context).queue_num }
    }

    /// Returns the device that the kernel is about to count the request on: its bio's, or the
    /// whole disk's where it has none (a flush that dm-multipath cloned).
    #[inline]
    pub(crate) fn starting_on(&self) -> Key {
        let bio = field!(self, bio);
        if bio.is_null() {
            return self.whole_disk();
        }
        // SAFETY: The bio belongs to the request.
        Key::of(unsafe { (*bio).bi_bdev })
    }

    /// Returns the whole disk. Not for a passthrough request, whose queue may have none.
    #[inline]
    pub(crate) fn whole_disk(&self) -> Key {
        // SAFETY: A request's queue is live, and its disk too while accounting is on.
        Key::of(unsafe { (*(*self.queue()).disk).part0 })
    }

    /// Returns the device the kernel counted the start on. Valid for a counted request; a merge
    /// may have moved the bio into another partition since.
    #[inline]
    pub(crate) fn counted_on(&self) -> Key {
        Key::of(field!(self, part))
    }
}
