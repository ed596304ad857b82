// SPDX-License-Identifier: GPL-2.0

//! The starts and ends that bio-based drivers account: `bdev_start_io_acct()` and
//! `bdev_end_io_acct()`.
//!
//! They have no tracepoint. All bio-based drivers that account at all call them, directly or by
//! the `bio_*_io_acct*()` around them.
//!
//! C source: [`block/blk-core.c`](srctree/block/blk-core.c)

use super::{
    bdev::Key,
    ftrace::{
        Arguments,
        Hook, //
    },
    listener::{
        Place,
        Placed, //
    },
    percpu::Pinned,
    tracepoint::InProbe, //
};
use kernel::{
    bindings,
    prelude::*,
    sync::Arc, //
};

/// Whether an end can keep the kernel from adding time.
pub(crate) const CAN_KEEP_TIME: bool = Hook::CAN_CHANGE;

/// One end of an I/O. Nothing in it tells which.
pub(crate) struct Bio {
    pub(crate) bdev: Key,
    /// The operation, without its flags.
    pub(crate) op: u32,
    /// In jiffies; the same at both ends, and not after either.
    pub(crate) start_time: u64,
}

/// Who keeps the kernel's `nsecs` of an I/O that ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Time {
    /// The kernel, in jiffies.
    Kernels,
    /// The listener: the kernel adds nothing, where [`CAN_KEEP_TIME`] says so.
    Ours,
}

/// Handles starts and ends of bio-based I/O. Any context but NMI; with preemption off, so as in a
/// probe. Must not sleep.
pub(crate) trait OnBio: Send + Sync + 'static {
    /// An I/O is about to be counted as started.
    fn start(&self, bio: &Bio, probe: &InProbe);
    /// An I/O of `sectors` sectors is about to be counted as done.
    fn end(&self, bio: &Bio, sectors: u64, probe: &InProbe) -> Time;
}

static LISTENER: Place = Place::new();

/// Keeps an [`OnBio`] informed. Fields are dropped in order: first the hooks.
pub(crate) struct Attached<T: OnBio> {
    _hooks: [Hook; 2],
    _listener: Placed<T>,
}

impl<T: OnBio> Attached<T> {
    /// Sets the hooks; no I/O may count before both are set, nor when they go. May sleep.
    ///
    /// # Errors
    ///
    /// `EBUSY` if ftrace is off; `EINVAL` if this kernel has no such functions; `ENOMEM`.
    pub(crate) fn new(listener: Arc<T>) -> Result<Self> {
        let listener = LISTENER.put(listener)?;
        // SAFETY: Their arguments are those of the functions in block/blk-core.c.
        let hooks = unsafe {
            [
                Hook::before(c"bdev_end_io_acct", end::<T>)?,
                Hook::before(c"bdev_start_io_acct", start::<T>)?,
            ]
        };
        Ok(Self {
            _hooks: hooks,
            _listener: listener,
        })
    }
}

fn bio(bdev: usize, op: usize, start_time: usize) -> Bio {
    // Jiffies were read for the start time before anything is judged by it. x86 loads in order.
    #[cfg(not(target_arch = "x86_64"))]
    kernel::sync::barrier::smp_rmb();
    Bio {
        bdev: Key::of(bdev as *const bindings::block_device),
        op: op as u32,
        start_time: start_time as u64,
    }
}

/// Runs before `bdev_start_io_acct()`.
///
/// # Safety
///
/// Called with its arguments through the hook of an `Attached<T>`.
unsafe extern "C" fn start<T: OnBio>([bdev, op, start_time, _]: &Arguments) -> bool {
    // SAFETY: The listener outlives the hooks.
    let listener = unsafe { LISTENER.get::<T>() };
    let io = bio(*bdev, *op, *start_time);
    let pin = Pinned::new();
    listener.start(&io, InProbe::pinned(&pin));
    false
}

/// Runs before `bdev_end_io_acct()`, whose only use of the start time is the time from then to now.
///
/// # Safety
///
/// As for [`start`].
unsafe extern "C" fn end<T: OnBio>([bdev, op, sectors, start_time]: &Arguments) -> bool {
    // SAFETY: The listener outlives the hooks.
    let listener = unsafe { LISTENER.get::<T>() };
    let io = bio(*bdev, *op, *start_time);
    // The argument is an `unsigned int`; the rest of its register means nothing.
    let sectors = u64::from(*sectors as u32);
    let pin = Pinned::new();
    listener.end(&io, sectors, InProbe::pinned(&pin)) == Time::Ours
}
