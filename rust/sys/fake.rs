// SPDX-License-Identifier: GPL-2.0

//! Disks and requests that only a test has: enough of them for the events' handlers.

use super::{
    bdev::Key,
    request::RqRef, //
};
use core::cell::UnsafeCell;
use kernel::{
    alloc::flags::__GFP_ZERO,
    bindings,
    prelude::*, //
};

/// Returns a zeroed `T`.
///
/// # Safety
///
/// `T` is a C structure, for which all zeroes is a value.
unsafe fn zeroed<T>() -> Result<KBox<T>> {
    let memory = KBox::<T>::new_uninit(GFP_KERNEL | __GFP_ZERO)?;
    // SAFETY: By the function's contract.
    Ok(unsafe { memory.assume_init() })
}

/// A disk with one partition and one hardware queue.
///
/// # Invariants
///
/// All pointers are to boxes of this value, and `queue` is only accessed through its cell.
pub(crate) struct Disk {
    queue: KBox<UnsafeCell<bindings::request_queue>>,
    hctx: KBox<bindings::blk_mq_hw_ctx>,
    _gendisk: KBox<bindings::gendisk>,
    whole: KBox<bindings::block_device>,
    partition: KBox<bindings::block_device>,
}

impl Disk {
    /// Makes one, with the kernel's accounting on.
    pub(crate) fn new() -> Result<Self> {
        // SAFETY: C structures.
        let (queue, hctx, mut gendisk, whole, partition) = unsafe {
            (
                zeroed::<UnsafeCell<bindings::request_queue>>()?,
                zeroed()?,
                zeroed::<bindings::gendisk>()?,
                zeroed::<bindings::block_device>()?,
                zeroed::<bindings::block_device>()?,
            )
        };
        gendisk.part0 = (&raw const *whole).cast_mut();
        // SAFETY: Nobody else has the queue yet.
        unsafe { (*queue.get()).disk = &raw mut *gendisk };
        let disk = Self {
            queue,
            hctx,
            _gendisk: gendisk,
            whole,
            partition,
        };
        disk.set_io_stat(true);
        Ok(disk)
    }

    /// Sets all features of the queue, or none: accounting is one of them.
    pub(crate) fn set_io_stat(&self, on: bool) {
        // SAFETY: A test is one thread, and holds no reference into the queue.
        unsafe { (*self.queue.get()).limits.features = if on { u32::MAX } else { 0 } };
    }

    /// Returns the whole disk's key.
    pub(crate) fn whole(&self) -> Key {
        Key::of(&*self.whole)
    }

    /// Returns the partition's key.
    pub(crate) fn partition(&self) -> Key {
        Key::of(&*self.partition)
    }
}

/// A request of the partition, with a bio.
///
/// # Invariants
///
/// The pointers are to boxes of this value and of a disk that outlives it.
pub(crate) struct Request<'d> {
    rq: KBox<bindings::request>,
    bio: KBox<bindings::bio>,
    disk: &'d Disk,
}

impl<'d> Request<'d> {
    /// Makes a request with this operation.
    pub(crate) fn new(disk: &'d Disk, op: u32) -> Result<Self> {
        // SAFETY: C structures.
        let (mut rq, mut bio) =
            unsafe { (zeroed::<bindings::request>()?, zeroed::<bindings::bio>()?) };
        bio.bi_bdev = (&raw const *disk.partition).cast_mut();
        rq.q = disk.queue.get();
        rq.mq_hctx = (&raw const *disk.hctx).cast_mut();
        rq.cmd_flags = op;
        rq.bio = &raw mut *bio;
        Ok(Self { rq, bio, disk })
    }

    /// Returns it as an event shows it.
    pub(crate) fn get(&self) -> RqRef<'_> {
        // SAFETY: Live while `self` is borrowed, with queue and hardware context.
        unsafe { RqRef::from_raw((&raw const *self.rq).cast_mut()) }
    }

    /// Does what `blk_account_io_start()` does after the event.
    pub(crate) fn kernel_starts(&mut self) {
        if self.get().starts_counted() {
            self.rq.rq_flags |= 1 << bindings::rqf_flags___RQF_IO_STAT;
            self.rq.part = self.bio.bi_bdev;
        }
    }

    /// Does what `blk_mq_start_request()` does after the event: with statistics of the queue on, it
    /// stamps the issue itself, at `now`.
    pub(crate) fn kernel_stamps_issue(&mut self, now: u64) {
        self.rq.io_start_time_ns = now;
    }

    /// Returns whether the kernel will show the request's end even if it does not count it.
    pub(crate) fn shows_its_end(&self) -> bool {
        self.rq.rq_flags & (1 << bindings::rqf_flags___RQF_STATS) != 0
    }

    /// Puts the request into a flush sequence, or takes it out.
    pub(crate) fn set_flush_sequence(&mut self, on: bool) {
        let flag = 1 << bindings::rqf_flags___RQF_FLUSH_SEQ;
        if on {
            self.rq.rq_flags |= flag;
        } else {
            self.rq.rq_flags &= !flag;
        }
    }

    /// Makes the request one with another operation.
    pub(crate) fn become_op(&mut self, op: u32) {
        self.rq.cmd_flags = op;
    }

    /// Makes the request begin with a bio of the whole disk.
    pub(crate) fn move_bio_to_whole_disk(&mut self) {
        self.bio.bi_bdev = (&raw const *self.disk.whole).cast_mut();
    }
}
