// SPDX-License-Identifier: GPL-2.0

//! The block devices there are: whole disks with their partitions, as they come and go.

use crate::{
    attrs,
    disk::{
        Device,
        LINGERING, //
    },
    hooks::Hooks,
    mode::{
        self,
        Mode, //
    },
    sys::{
        attribute::Directory,
        bdev::{
            Bdev,
            Key, //
        },
        class_interface::BlockDevices,
        disk_lock::DiskLock,
        queue::Limits,
        queue_iostats::QueueIostats,
        repeat::Repeated, //
    }, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::Arc,
    time::Msecs, //
};

/// Ten minutes: the busy clock's total must be seen within 36 minutes of busy time.
const CATCH_UP: Msecs = 10 * 60 * 1000;

/// A device with its files.
struct Attached {
    device: Arc<Device>,
    /// Owns a reference to the device too; dropped first.
    directory: Directory<Device>,
}

/// All block devices.
#[pin_data]
pub(crate) struct Disks {
    hooks: Arc<Hooks>,
    /// The files are for root and its group alone.
    private: bool,
    /// Held while the worker has a device that may go meanwhile.
    #[pin]
    looking: DiskLock<()>,
    #[pin]
    attached: DiskLock<KVec<Attached>>,
}

impl Disks {
    /// Makes the list, still empty.
    pub(crate) fn new(hooks: Arc<Hooks>, private: bool) -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                hooks,
                private,
                looking <- DiskLock::new(new_mutex!(())),
                attached <- DiskLock::new(new_mutex!(KVec::new())),
            }),
            GFP_KERNEL,
        )
    }

    fn find(&self, which: impl Fn(&Bdev) -> bool) -> Option<Arc<Device>> {
        let attached = self.attached.lock();
        let found = attached.iter().find(|each| which(each.device.bdev()));
        found.map(|each| each.device.clone())
    }

    /// Brings a new partition into the mode its disk is in: no I/O has reached it yet.
    fn join(&self, device: &Arc<Device>) -> Result {
        if !mode::is_accounted(device) {
            return Ok(());
        }
        let switch = &mut *device.whole().switch().lock();
        switch.devices.push(device.clone(), GFP_KERNEL)?;
        if switch.exact {
            let shown = device.entry().and_then(|entry| self.hooks.add(&[entry]));
            if shown.is_err() {
                switch.devices.pop();
                return shown;
            }
            device.open();
        }
        Ok(())
    }

    /// Takes a device that goes out of its disk's switch, and away from the probes. These go later,
    /// as whoever adds or removes disks must not wait for those who change tracepoints: they hold
    /// locks of the kernel while they take memory.
    fn leave(&self, device: &Device) {
        let switch = &mut *device.whole().switch().lock();
        let key = device.bdev().key();
        device.close();
        self.hooks.remove(|entry| entry.key == key);
        switch.devices.retain(|each| each.bdev().key() != key);
        if !device.is_partition() {
            switch.exact = false;
            switch.gone = true;
            switch.devices.clear();
        }
        self.hooks.detach_soon();
    }

    /// Returns the disk of a partition; `None` if the device is no partition, or its disk is not
    /// attached.
    fn disk_of(&self, bdev: &Bdev) -> Option<Arc<Device>> {
        let whole = bdev.disk_key();
        match bdev.key() == whole {
            true => None,
            false => self.find(|each| each.key() == whole),
        }
    }

    /// Gives a device its account and its files.
    fn attach(&self, bdev: Bdev, disk: Option<Arc<Device>>) -> Result {
        let device = Device::new(bdev, disk, self.hooks.clone())?;
        self.join(&device)?;
        let attached = Directory::new(
            device.bdev(),
            c"blkacct",
            attrs::files(&device),
            device.clone(),
            self.private,
        )
        .and_then(|directory| {
            let device = device.clone();
            let attached = Attached { device, directory };
            Ok(self.attached.lock().push(attached, GFP_KERNEL)?)
        });
        if attached.is_err() {
            self.leave(&device);
        }
        attached
    }
}

impl BlockDevices for Disks {
    fn add(&self, bdev: Bdev) -> Result {
        let disk = self.disk_of(&bdev);
        if disk.is_none() && bdev.key() != bdev.disk_key() {
            return Err(ENODEV);
        }
        let added = self.attach(bdev, disk.clone());
        if let (Err(_), Some(disk)) = (added, disk) {
            mode::miss_partition(&disk);
        }
        added
    }

    fn remove(&self, bdev: &Bdev) {
        let key = bdev.key();
        let attached = {
            let attached = &mut *self.attached.lock();
            let at = attached
                .iter()
                .position(|each| each.device.bdev().key() == key);
            at.and_then(|at| attached.remove(at).ok())
        };
        let Some(Attached { device, directory }) = attached else {
            if let Some(disk) = self.disk_of(bdev) {
                let switch = &mut *disk.switch().lock();
                switch.missing = switch.missing.saturating_sub(1);
            }
            return;
        };
        // Waits for those who use a file, so without the list's lock; then no switch can come.
        drop(directory);
        self.leave(&device);
        // Nor has the worker the device any more, whose last reference would then be dropped when
        // the driver may be gone, which the release of a disk asks.
        drop(self.looking.lock());
    }
}

impl QueueIostats for Disks {
    fn show(&self, disk: Key) -> Option<u8> {
        let device = self.find(|bdev| bdev.key() == disk)?;
        Some(mode::of(&device).digit())
    }

    fn store(&self, disk: Key, written: &[u8], limits: &mut Limits<'_>) -> Result {
        let mode = Mode::parse(written)?;
        match self.find(|bdev| bdev.key() == disk) {
            Some(device) => mode::set_with(&device, mode, limits),
            // Not attached, for want of memory: the kernel's own modes remain.
            None if mode == Mode::Exact => Err(ENODEV),
            None => {
                limits.set_io_stat(mode != Mode::Off);
                Ok(())
            }
        }
    }
}

impl Disks {
    /// Hides bio-based devices that have left mode 2 and have nothing in flight any more. Returns
    /// whether there are others.
    fn hide_drained(&self) -> bool {
        let mut others = false;
        // Without the list's lock meanwhile. A device that is passed over, since another has gone
        // from before it, has its turn the next time. From the end, where a disk's partitions are.
        let count = self.attached.lock().len();
        for at in (0..count).rev() {
            let looking = self.looking.lock();
            others |= self.nth(at).is_some_and(|device| self.lingers_on(&device));
            drop(looking);
        }
        others
    }

    /// Hides a device if it has left mode 2 and has nothing in flight; returns whether it has left
    /// and is not hidden.
    fn lingers_on(&self, device: &Device) -> bool {
        let Some(account) = device.account().filter(|account| account.lingers()) else {
            return false;
        };
        if !account.is_drained() {
            return true;
        }
        account.settle_nsecs(device.bdev().borrow());
        !self.hooks.hide_drained(device.bdev().key(), account)
    }

    fn nth(&self, at: usize) -> Option<Arc<Device>> {
        Some(self.attached.lock().get(at)?.device.clone())
    }
}

impl Repeated for Disks {
    fn again(&self) -> Msecs {
        self.hooks.for_each(|entry| entry.account.catch_up());
        let others = self.hide_drained();
        self.hooks.detach();
        match others {
            true => LINGERING,
            false => CATCH_UP,
        }
    }
}
