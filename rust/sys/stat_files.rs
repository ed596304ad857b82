// SPDX-License-Identifier: GPL-2.0

//! A call before the kernel's own statistics are read: `/proc/diskstats` and each device's `stat`.
//!
//! C source: [`block/genhd.c`](srctree/block/genhd.c)

use super::{
    bdev::BdevRef,
    ftrace::{
        Arguments,
        Hook, //
    },
    helpers,
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

/// Is told that a device's statistics are about to be read. With preemption off, so as in a probe:
/// for one device at a time, since whoever reads `/proc/diskstats` has it for all.
pub(crate) trait BeforeRead: Send + Sync + 'static {
    /// The device's statistics are read after this returns.
    fn before_read(&self, bdev: BdevRef<'_>, probe: &InProbe);
}

static LISTENER: Place = Place::new();

/// Keeps a [`BeforeRead`] informed. Fields are dropped in order: first the hooks.
pub(crate) struct Watched<T: BeforeRead> {
    _hooks: [Hook; 2],
    _listener: Placed<T>,
}

impl<T: BeforeRead> Watched<T> {
    /// Sets the hooks. May sleep.
    ///
    /// # Errors
    ///
    /// `EBUSY` if ftrace is off; `EINVAL` if this kernel has no such functions; `ENOMEM`.
    pub(crate) fn new(listener: Arc<T>) -> Result<Self> {
        let listener = LISTENER.put(listener)?;
        // SAFETY: Their arguments are those of the functions in block/genhd.c.
        let hooks = unsafe {
            [
                Hook::before(c"diskstats_show", before_diskstats::<T>)?,
                Hook::before(c"part_stat_show", before_part_stat::<T>)?,
            ]
        };
        Ok(Self {
            _hooks: hooks,
            _listener: listener,
        })
    }
}

/// Runs before `diskstats_show()`, which shows a disk and its partitions.
///
/// # Safety
///
/// Called with its arguments through the hook of a `Watched<T>`.
unsafe extern "C" fn before_diskstats<T: BeforeRead>([_seq, disk, ..]: &Arguments) -> bool {
    let disk = *disk as *mut bindings::gendisk;
    // SAFETY: The second argument is a live disk.
    unsafe { helpers::blkacct_visit_parts(disk, before_bdev::<T>) };
    false
}

/// Runs before `part_stat_show()`, which shows one device.
///
/// # Safety
///
/// Called with its arguments through the hook of a `Watched<T>`.
unsafe extern "C" fn before_part_stat<T: BeforeRead>([device, ..]: &Arguments) -> bool {
    let device = *device as *mut bindings::device;
    // SAFETY: The first argument is the live device inside a block device.
    unsafe {
        before_bdev::<T>(kernel::container_of!(
            device,
            bindings::block_device,
            bd_device
        ));
    }
    false
}

/// Tells the listener of one device.
///
/// # Safety
///
/// `bdev` is live, and a `Watched<T>` too.
unsafe extern "C" fn before_bdev<T: BeforeRead>(bdev: *mut bindings::block_device) {
    // SAFETY: By the function's contract; the listener outlives the hooks.
    let (listener, bdev) = unsafe { (LISTENER.get::<T>(), BdevRef::from_raw(bdev)) };
    let pin = Pinned::new();
    listener.before_read(bdev, InProbe::pinned(&pin));
}
