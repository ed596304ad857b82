// SPDX-License-Identifier: GPL-2.0

//! A block device: a whole disk or a partition, and what its mode has made of it.

use crate::{
    account::{
        Account,
        Features, //
    },
    acct::{
        nsec::Clock,
        periods::Periods, //
    },
    hooks::Hooks,
    sys::{
        bdev::Bdev,
        clock::Monotonic,
        disk_lock::DiskLock, //
    },
    table::Entry, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        SetOnce, //
    },
    time::Msecs, //
};

/// How soon, and how often, a bio-based disk that has left mode 2 is looked at for I/O in flight
/// from then.
pub(crate) const LINGERING: Msecs = 1000;

/// A whole disk or a partition.
#[pin_data]
pub(crate) struct Device {
    bdev: Bdev,
    /// The whole disk, for a partition.
    disk: Option<Arc<Device>>,
    hooks: Arc<Hooks>,
    /// Made when the device first enters mode 2.
    account: SetOnce<Arc<Account>>,
    /// Of mode 2.
    #[pin]
    periods: DiskLock<Periods>,
    /// Of a whole disk; unused in a partition.
    #[pin]
    switch: DiskLock<Switch>,
}

/// What a mode switch changes, and what must not change during one.
pub(crate) struct Switch {
    /// Mode 2 is on.
    pub(crate) exact: bool,
    /// The disk goes: no more switches.
    pub(crate) gone: bool,
    /// Partitions that could not be attached. The disk's numbers would lack their I/O, so there is
    /// no mode 2 until they are gone.
    pub(crate) missing: usize,
    /// The disk and its partitions.
    pub(crate) devices: KVec<Arc<Device>>,
}

impl Device {
    /// Makes one that has never been in mode 2.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(
        bdev: Bdev,
        disk: Option<Arc<Device>>,
        hooks: Arc<Hooks>,
    ) -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                bdev,
                disk,
                hooks,
                account: SetOnce::new(),
                periods <- DiskLock::new(new_mutex!(Periods::default())),
                switch <- DiskLock::new(new_mutex!(Switch {
                    exact: false,
                    gone: false,
                    missing: 0,
                    devices: KVec::new(),
                })),
            }),
            GFP_KERNEL,
        )
    }

    pub(crate) fn bdev(&self) -> &Bdev {
        &self.bdev
    }

    pub(crate) fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    /// Returns the whole disk: this device, unless it is a partition.
    pub(crate) fn whole(&self) -> &Device {
        self.disk.as_deref().unwrap_or(self)
    }

    pub(crate) fn is_partition(&self) -> bool {
        self.disk.is_some()
    }

    /// Returns whether the disk's I/O comes as requests, and not as bios.
    pub(crate) fn is_request_based(&self) -> bool {
        self.bdev.queue().is_request_based()
    }

    pub(crate) fn switch(&self) -> &DiskLock<Switch> {
        &self.switch
    }

    /// Returns the account, if the device has ever been in mode 2.
    pub(crate) fn account(&self) -> Option<&Arc<Account>> {
        self.account.as_ref()
    }

    /// Returns what the probes need to know of the device, and makes its account if it has none.
    /// The caller holds the disk's switch.
    pub(crate) fn entry(&self) -> Result<Entry> {
        Ok(Entry {
            key: self.bdev.key(),
            account: self.ensure_account()?.clone(),
            disk: match &self.disk {
                Some(disk) => Some(disk.ensure_account()?.clone()),
                None => None,
            },
        })
    }

    fn ensure_account(&self) -> Result<&Arc<Account>> {
        if self.account.as_ref().is_none() {
            let queue = self.bdev.queue();
            self.account.populate(if self.is_request_based() {
                Account::new(&Features {
                    hardware_queues: queue.hardware_queues(),
                    single_queue: queue.has_single_queue(),
                    zone_appends: queue.takes_zone_appends(),
                    device_side: self.hooks.has_device_side(),
                })?
            } else {
                Account::for_bios()?
            });
        }
        self.account.as_ref().ok_or(ENOMEM)
    }

    /// Returns for how long the device has been in mode 2, all periods together, in ns. May sleep.
    pub(crate) fn counted_ns(&self) -> u64 {
        self.periods.lock().total(Monotonic.now())
    }

    /// Lets the account count; nothing is in flight on a request-based device.
    pub(crate) fn open(&self) {
        if let Some(account) = self.account() {
            account.open(&self.bdev, self.hooks.classic());
            self.periods.lock().open(Monotonic.now());
        }
    }

    /// Stops the account; nothing is in flight on a request-based device, or the device goes.
    pub(crate) fn close(&self) {
        if let Some(account) = self.account() {
            account.close(&self.bdev);
            self.periods.lock().close(Monotonic.now());
        }
    }

    /// Lets the account be hidden from the hooks when nothing is in flight, which is soon looked
    /// after.
    pub(crate) fn linger(&self) {
        if let Some(account) = self.account() {
            account.want(false);
            self.hooks.pace().next_in(LINGERING);
        }
    }
}
