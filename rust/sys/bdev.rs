// SPDX-License-Identifier: GPL-2.0

//! Block devices: whole disks and partitions.
//!
//! C header: [`include/linux/blk_types.h`](srctree/include/linux/blk_types.h)

use super::{
    helpers,
    queue::Queue, //
};
use core::{
    marker::PhantomData,
    ptr::{
        null,
        NonNull, //
    }, //
};
use kernel::{
    bindings,
    device::Device,
    ffi::c_void,
    prelude::*,
    sync::aref::ARef, //
};

pub(crate) use helpers::KERNEL_GROUPS;

/// Tells one block device from another. Not a reference: the device may be gone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(usize);

impl Key {
    #[inline]
    pub(super) fn of(bdev: *const bindings::block_device) -> Self {
        Self(bdev.addr())
    }

    /// Returns the key of a device that might be allocated as the `number`th.
    #[cfg(CONFIG_KUNIT)]
    pub(crate) fn test(number: usize) -> Self {
        Self(0xffff_8880_0000_0000 + number * core::mem::size_of::<bindings::block_device>())
    }

    /// Returns a well-mixed number of 32 bits.
    #[inline(always)]
    pub(crate) fn hash(self) -> usize {
        // Fibonacci hashing (Knuth, TAOCP 6.4), as include/linux/hash.h does it. The lower half of
        // the product knows little of the upper half of the address.
        const GOLDEN_RATIO_64: u64 = 0x61C8_8646_80B5_83EB;
        ((self.0 as u64).wrapping_mul(GOLDEN_RATIO_64) >> 32) as usize
    }
}

/// A block device, while somebody else sees to it that it lives.
///
/// # Invariants
///
/// Points to a block device that is live for all of `'a`.
#[derive(Clone, Copy)]
pub(crate) struct BdevRef<'a>(NonNull<bindings::block_device>, PhantomData<&'a ()>);

impl BdevRef<'_> {
    /// Wraps a block device.
    ///
    /// # Safety
    ///
    /// `bdev` points to a block device that is live for all of `'a`.
    pub(super) unsafe fn from_raw(bdev: *mut bindings::block_device) -> Self {
        // INVARIANT: The caller's promise.
        // SAFETY: No live device is at address zero.
        Self(unsafe { NonNull::new_unchecked(bdev) }, PhantomData)
    }

    /// Returns what tells this device from others.
    pub(crate) fn key(&self) -> Key {
        Key::of(self.0.as_ptr())
    }

    /// Keeps the kernel from adding to this device's `io_ticks`, or lets it again from now on.
    /// Any context.
    pub(crate) fn park_stamp(&self, park: bool) {
        // SAFETY: Live by the type invariants; the kernel swaps the stamp atomically.
        unsafe { helpers::blkacct_park_stamp(self.0.as_ptr(), park) };
    }

    /// Adds to the `nsecs` of one of this device's stat groups, not to its disk's. Any context.
    pub(crate) fn add_nsecs(&self, group: usize, nsecs: u64) {
        if group < KERNEL_GROUPS {
            // SAFETY: Live by the type invariants, and the group is one.
            unsafe { helpers::blkacct_add_nsecs(self.0.as_ptr(), group as i32, nsecs) };
        }
    }

    /// Adds jiffies to this device's `io_ticks`, not to its disk's. Any context.
    pub(crate) fn add_io_ticks(&self, ticks: u64) {
        // SAFETY: Live by the type invariants.
        unsafe { helpers::blkacct_add_io_ticks(self.0.as_ptr(), ticks as usize) };
    }
}

/// A counted reference to a block device and to its disk.
///
/// # Invariants
///
/// `bdev` points to a block device that lives as long as `_device`, the device inside it; its disk
/// and the disk's queue live as long as `_disk`, the device of the whole disk.
#[derive(Clone)]
pub(crate) struct Bdev {
    bdev: NonNull<bindings::block_device>,
    /// Where the disk's driver takes bios; null if it takes requests. Not called: the driver may
    /// be gone before the disk.
    submit_bio: *const c_void,
    _device: ARef<Device>,
    _disk: ARef<Device>,
}

// SAFETY: The reference counts are atomic, and the fields read are constant while the disk lives.
unsafe impl Send for Bdev {}
// SAFETY: As above.
unsafe impl Sync for Bdev {}

/// What the kernel itself counts, exactly, of one of its stat groups on a device.
#[derive(Clone, Copy, Default)]
pub(crate) struct KernelCounts {
    pub(crate) ios: u64,
    pub(crate) merges: u64,
    /// Of 512 bytes.
    pub(crate) sectors: u64,
    pub(crate) nsecs: u64,
}

impl KernelCounts {
    /// Returns the sum, wrapping.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        self.zip(other, u64::wrapping_add)
    }

    /// Returns the difference, wrapping.
    pub(crate) fn minus(&self, other: &Self) -> Self {
        self.zip(other, u64::wrapping_sub)
    }

    fn zip(&self, other: &Self, each: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            ios: each(self.ios, other.ios),
            merges: each(self.merges, other.merges),
            sectors: each(self.sectors, other.sectors),
            nsecs: each(self.nsecs, other.nsecs),
        }
    }
}

impl Bdev {
    /// Takes a reference to the block device that `device` belongs to.
    ///
    /// # Safety
    ///
    /// `device` is the `bd_device` of a block device, and registered.
    pub(super) unsafe fn get(device: *mut bindings::device) -> Self {
        // SAFETY: By the function's contract.
        let bdev = unsafe { kernel::container_of!(device, bindings::block_device, bd_device) };
        // SAFETY: While `device` is registered its disk is too, with the driver and its operations:
        // a partition's device holds its parent, which goes after it.
        let (disk, submit_bio) = unsafe {
            let disk = (*bdev).bd_disk;
            (
                &raw mut (*(*disk).part0).bd_device,
                (*(*disk).fops).submit_bio,
            )
        };
        // INVARIANT: `bdev` contains `device` and is freed by its release, and so is the disk, with
        // its reference to the queue, by that of its own.
        Self {
            // SAFETY: Not null, as it contains `device`.
            bdev: unsafe { NonNull::new_unchecked(bdev) },
            submit_bio: submit_bio.map_or(null(), |function| function as *const c_void),
            // SAFETY: Registered, so it has a reference count above zero.
            _device: unsafe { Device::get_device(device) },
            // SAFETY: As above.
            _disk: unsafe { Device::get_device(disk) },
        }
    }

    /// Returns what tells this device from others.
    pub(crate) fn key(&self) -> Key {
        Key::of(self.bdev.as_ptr())
    }

    /// Returns what tells this device's whole disk from others: its own key if it is one.
    pub(crate) fn disk_key(&self) -> Key {
        // SAFETY: Live by the type invariants.
        Key::of(unsafe { (*(*self.bdev.as_ptr()).bd_disk).part0 })
    }

    /// Returns the disk's queue.
    pub(crate) fn queue(&self) -> Queue<'_> {
        // SAFETY: The queue lives as long as the disk, by the type invariants.
        unsafe { Queue::from_raw((*self.bdev.as_ptr()).bd_queue) }
    }

    /// Returns whether the disk's driver takes bios in the function `name`.
    pub(crate) fn takes_bios_in(&self, name: &CStr) -> bool {
        // SAFETY: The name is a C string, and the address is only looked up.
        unsafe { helpers::blkacct_is_symbol(self.submit_bio, name.as_char_ptr()) }
    }

    /// Returns the device without its count.
    pub(crate) fn borrow(&self) -> BdevRef<'_> {
        BdevRef(self.bdev, PhantomData)
    }

    /// Returns the device's place in sysfs, live as long as `self`.
    pub(super) fn kobject(&self) -> *mut bindings::kobject {
        // SAFETY: Live by the type invariants; only an address is taken.
        unsafe { &raw mut (*self.bdev.as_ptr()).bd_device.kobj }
    }

    /// Sums up what the kernel counted on this device. Process context; O(CPUs).
    pub(crate) fn kernel_counts(&self) -> [KernelCounts; KERNEL_GROUPS] {
        let mut counts = [[0; 4]; KERNEL_GROUPS];
        // SAFETY: Live by the type invariants; the kernel has so many stat groups.
        unsafe { helpers::blkacct_part_stats(self.bdev.as_ptr(), &mut counts) };
        counts.map(|[ios, merges, sectors, nsecs]| KernelCounts {
            ios,
            merges,
            sectors,
            nsecs,
        })
    }
}
