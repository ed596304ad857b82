// SPDX-License-Identifier: GPL-2.0

//! Every block device there is, and every one that comes or goes.
//!
//! C header: [`include/linux/device/class.h`](srctree/include/linux/device/class.h)

use super::{
    bdev::Bdev,
    disk_lock::NoIo,
    listener::{
        Place,
        Placed, //
    }, //
};
use core::ptr::null_mut;
use kernel::{
    bindings,
    device::Device,
    error::to_result,
    prelude::*,
    static_lock_class,
    sync::Arc,
    types::Opaque, //
};

/// Is told of block devices. The calls may sleep; they hold the class's lock, so come one by one,
/// and memory is without I/O meanwhile.
pub(crate) trait BlockDevices: Send + Sync + 'static {
    /// A disk or a partition is there; no I/O can reach a new one yet. It is not added if this
    /// fails, which the rest of the system does not notice.
    fn add(&self, bdev: Bdev) -> Result;
    /// A device goes. Its I/O may still be in flight.
    fn remove(&self, bdev: &Bdev);
}

static LISTENER: Place = Place::new();

/// Keeps a [`BlockDevices`] informed until dropped, when it is told that every device goes.
///
/// # Invariants
///
/// `interface` is registered with callbacks for `T`, whose listener is in its place.
#[pin_data(PinnedDrop)]
pub(crate) struct Registration<T: BlockDevices> {
    #[pin]
    interface: Opaque<bindings::class_interface>,
    _listener: Placed<T>,
}

// SAFETY: The kernel locks the list that the interface is on; `T` is shareable.
unsafe impl<T: BlockDevices> Send for Registration<T> {}
// SAFETY: As above.
unsafe impl<T: BlockDevices> Sync for Registration<T> {}

impl<T: BlockDevices> Registration<T> {
    /// Registers `listener`, and tells it of all devices there are.
    ///
    /// # Errors
    ///
    /// `EBUSY` if there is a listener already; `ENOMEM`.
    pub(crate) fn new(listener: Arc<T>) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            // First, and dropped if the rest fails.
            _listener: LISTENER.put(listener)?,
            interface <- Opaque::try_ffi_init(|slot: *mut bindings::class_interface| {
                let class = block_class()?;
                // SAFETY: `slot` is valid for writes, and stays in place while registered.
                to_result(unsafe {
                    slot.write(bindings::class_interface {
                        class,
                        add_dev: Some(add::<T>),
                        remove_dev: Some(remove::<T>),
                        ..Default::default()
                    });
                    bindings::class_interface_register(slot)
                })
            }),
        }? Error)
    }
}

#[pinned_drop]
impl<T: BlockDevices> PinnedDrop for Registration<T> {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: Registered by the type invariants. Calls `remove_dev` for each device.
        unsafe { bindings::class_interface_unregister(self.interface.get()) };
    }
}

/// Hears of a device that is there.
///
/// # Safety
///
/// Called by the class for the interface of a `Registration<T>`.
unsafe extern "C" fn add<T: BlockDevices>(device: *mut bindings::device) -> c_int {
    let _scope = NoIo::new();
    // SAFETY: A callback of `Registration<T>`, which outlives it; the class has only block devices,
    // and tells of them while they are registered.
    let (listener, bdev) = unsafe { (LISTENER.get::<T>(), Bdev::get(device)) };
    if let Err(error) = listener.add(bdev) {
        // SAFETY: Live during the callback.
        let device: &Device = unsafe { Device::from_raw(device) };
        dev_err!(device, "blkacct: cannot attach ({error:?})\n");
    }
    0
}

/// Hears of a device that goes.
///
/// # Safety
///
/// As for [`add`].
unsafe extern "C" fn remove<T: BlockDevices>(device: *mut bindings::device) {
    let _scope = NoIo::new();
    // SAFETY: As in `add`.
    let (listener, bdev) = unsafe { (LISTENER.get::<T>(), Bdev::get(device)) };
    listener.remove(&bdev);
}

/// Returns the class of block devices, which is not exported: a new disk, never added, has it.
fn block_class() -> Result<*const bindings::class> {
    // SAFETY: Without limits the block layer takes its defaults. May sleep.
    let disk = unsafe {
        bindings::__blk_alloc_disk(
            null_mut(),
            bindings::NUMA_NO_NODE,
            static_lock_class!().as_ptr(),
        )
    };
    let disk = kernel::error::from_err_ptr(disk)?;
    if disk.is_null() {
        return Err(ENOMEM);
    }
    // SAFETY: The disk is ours and complete; the class outlives it.
    unsafe {
        let class = (*(*disk).part0).bd_device.class;
        bindings::put_disk(disk);
        Ok(class)
    }
}
