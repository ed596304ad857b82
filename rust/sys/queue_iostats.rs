// SPDX-License-Identifier: GPL-2.0

//! `queue/iostats`, the block layer's own file, served by us.
//!
//! C source: [`block/blk-sysfs.c`](srctree/block/blk-sysfs.c)

use super::{
    bdev::Key,
    disk_lock::NoIo,
    ftrace::{
        Hook,
        Replacement, //
    },
    listener::{
        Place,
        Placed, //
    },
    queue::{
        Limits,
        Queue, //
    }, //
};
use kernel::{
    bindings,
    ffi::c_void,
    page::PAGE_SIZE,
    prelude::*,
    sync::Arc, //
};

/// Serves reads and writes of the file, for all disks. Process context; may sleep. A disk that goes
/// waits for either, so memory is without I/O meanwhile.
pub(crate) trait QueueIostats: Send + Sync + 'static {
    /// Returns the digit to show, or `None` for a disk that is not ours.
    fn show(&self, disk: Key) -> Option<u8>;
    /// Takes what was written. The kernel applies `limits` afterwards, with the queue frozen.
    fn store(&self, disk: Key, written: &[u8], limits: &mut Limits<'_>) -> Result;
}

static LISTENER: Place = Place::new();

/// The file while we serve it. Fields are dropped in order: first the hooks.
pub(crate) struct Served<T: QueueIostats> {
    _hooks: [Hook; 2],
    _listener: Placed<T>,
}

impl<T: QueueIostats> Served<T> {
    /// Takes the file over. May sleep.
    ///
    /// # Errors
    ///
    /// `EBUSY` if a live patch has it or ftrace is off; `EINVAL` if this kernel has no such
    /// functions; `ENOMEM`.
    pub(crate) fn new(listener: Arc<T>) -> Result<Self> {
        let listener = LISTENER.put(listener)?;
        // SAFETY: The replacements have the signatures of the functions in block/blk-sysfs.c.
        let hooks = unsafe {
            [
                Hook::replace(c"queue_iostats_show", show::<T> as *const c_void)?,
                Hook::replace(c"queue_iostats_store", store::<T> as *const c_void)?,
            ]
        };
        Ok(Self {
            _hooks: hooks,
            _listener: listener,
        })
    }
}

/// Replaces `queue_iostats_show()`.
///
/// # Safety
///
/// Called in its place, through the hook of a `Served<T>`.
unsafe extern "C" fn show<T: QueueIostats>(
    disk: *mut bindings::gendisk,
    page: *mut c_char,
) -> isize {
    // SAFETY: The first and only one in this call. The listener outlives the hooks, and the hooks
    // this call. The kernel passes a live disk, whose queue lives as long, and a page to fill.
    let (_call, listener, disk, queue, page) = unsafe {
        (
            Replacement::current(),
            LISTENER.get::<T>(),
            Key::of((*disk).part0),
            Queue::from_raw((*disk).queue),
            core::slice::from_raw_parts_mut(page.cast::<u8>(), PAGE_SIZE),
        )
    };
    let _scope = NoIo::new();
    let stock = || u8::from(queue.io_stat());
    let digit = listener.show(disk).unwrap_or_else(stock);
    page[0] = b'0'.wrapping_add(digit);
    page[1] = b'\n';
    2
}

/// Replaces `queue_iostats_store()`.
///
/// # Safety
///
/// As for [`show`].
unsafe extern "C" fn store<T: QueueIostats>(
    disk: *mut bindings::gendisk,
    written: *const c_char,
    count: usize,
    limits: *mut bindings::queue_limits,
) -> c_int {
    // SAFETY: As in `show`; the limits are the caller's, who applies them.
    let (_call, listener, disk, written, mut limits) = unsafe {
        (
            Replacement::current(),
            LISTENER.get::<T>(),
            Key::of((*disk).part0),
            core::slice::from_raw_parts(written.cast::<u8>(), count),
            Limits::from_raw(limits),
        )
    };
    let _scope = NoIo::new();
    match listener.store(disk, written, &mut limits) {
        Ok(()) => 0,
        Err(error) => error.to_errno(),
    }
}
