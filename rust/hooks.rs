// SPDX-License-Identifier: GPL-2.0

//! The hooks into the block layer: the probes, and the devices that they see.
//!
//! Attached while at least one disk of a kind, request-based or bio-based, is in mode 2. A disk in
//! another mode pays for them only while there is such a disk: a look into the table per event.

use crate::{
    account::Account,
    acct::wire,
    device_events::{
        Failed,
        Issue,
        Requeue, //
    },
    events::{
        Done,
        Merge,
        Start, //
    },
    sys::{
        bdev::{
            BdevRef,
            Key, //
        },
        bio_acct,
        disk_lock::DiskLock,
        published::Published,
        queue::not_supported,
        repeat::Pace,
        stat_files::BeforeRead,
        tracepoint::{
            self,
            Attached,
            Found,
            InProbe,
            OnRequest, //
        }, //
    },
    table::{
        Devices,
        Entry,
        Table, //
    }, //
};
use kernel::{
    new_mutex,
    pr_info_once,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    }, //
};

/// The hooks into the block layer.
#[pin_data]
pub(crate) struct Hooks {
    start: Found,
    done: Found,
    merge: Found,
    failed: Found,
    /// Those of issue and requeue, where the driver's share is counted.
    driver: Option<(Found, Found)>,
    devices: Arc<Devices>,
    classic: Atomic<bool>,
    /// When those that linger are looked after next.
    pace: Arc<Pace>,
    #[pin]
    state: DiskLock<State>,
}

struct State {
    entries: KVec<Entry>,
    /// The probes still see devices that are not among these, for want of memory.
    outdated: bool,
    /// While a request-based disk is in mode 2.
    probes: Option<Attached<Devices>>,
    bios: Option<bio_acct::Attached<Devices>>,
}

impl State {
    /// Detaches what no device needs any more, and waits for it. May sleep.
    fn detach(&mut self) {
        let for_bios = |entry: &Entry| entry.account.is_for_bios();
        if self.entries.iter().all(for_bios) {
            self.probes = None;
        }
        if !self.entries.iter().any(for_bios) {
            self.bios = None;
        }
    }
}

impl Hooks {
    /// Finds the hooks of this kernel, with those for the driver's share if `device_side`; attaches
    /// nothing yet. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOENT` if one is missing, with a line in the log that names it; `ENOMEM`.
    pub(crate) fn find(device_side: bool) -> Result<Arc<Self>> {
        let (start, done, merge) = (find::<Start>()?, find::<Done>()?, find::<Merge>()?);
        let failed = find::<Failed>()?;
        let driver = match device_side {
            true => Some((find::<Issue>()?, find::<Requeue>()?)),
            false => None,
        };
        let devices = Published::new(KBox::new(Table::new(&[])?, GFP_KERNEL)?);
        let devices = Arc::new(devices, GFP_KERNEL)?;
        let pace = Pace::new()?;
        Arc::pin_init(
            pin_init!(Self {
                start,
                done,
                merge,
                failed,
                driver,
                devices,
                classic: Atomic::new(false),
                pace,
                state <- DiskLock::new(new_mutex!(State {
                    entries: KVec::new(),
                    outdated: false,
                    probes: None,
                    bios: None,
                })),
            }),
            GFP_KERNEL,
        )
    }

    /// Shows `entries` to the probes, those of them that are not shown yet, and attaches what they
    /// need. May sleep.
    ///
    /// # Errors
    ///
    /// `EOPNOTSUPP` if bio-based disks cannot be counted on this kernel, with a line in the log;
    /// `ENOMEM`, or what the kernel says to the attaching; nothing is shown then that was not.
    pub(crate) fn add(&self, entries: &[Entry]) -> Result {
        let state = &mut *self.state.lock();
        let before = state.entries.len();
        let added = self.show(state, entries);
        if added.is_err() {
            state.entries.truncate(before);
        }
        added
    }

    fn show(&self, state: &mut State, entries: &[Entry]) -> Result {
        for entry in entries {
            // From here on it is not hidden for having nothing in flight.
            entry.account.want(true);
            if !state.entries.iter().any(|shown| shown.key == entry.key) {
                state.entries.push(entry.clone(), GFP_KERNEL)?;
            }
        }
        let table = KBox::new(Table::new(&state.entries)?, GFP_KERNEL)?;
        for entry in entries {
            if !entry.account.is_for_bios() && state.probes.is_none() {
                state.probes = Some(self.attach()?);
            }
            if entry.account.is_for_bios() && state.bios.is_none() {
                state.bios = Some(self.attach_for_bios()?);
            }
        }
        drop(self.devices.replace(table));
        state.outdated = false;
        Ok(())
    }

    /// Hides the devices that `which` picks from the probes. Their accounts no longer count. May
    /// sleep; returns when no probe uses one.
    pub(crate) fn remove(&self, which: impl Fn(&Entry) -> bool) {
        self.take_out(&mut self.state.lock(), which);
    }

    /// Returns whether the probes see none of what `which` picks any more.
    fn take_out(&self, state: &mut State, which: impl Fn(&Entry) -> bool) -> bool {
        let before = state.entries.len();
        state.entries.retain(|entry| !which(entry));
        if state.entries.len() != before || state.outdated {
            // Without memory for a smaller table the probes keep the larger one, up to the next
            // change: of the devices in it no new I/O counts any more.
            let table = Table::new(&state.entries);
            let table = table.and_then(|table| Ok(KBox::new(table, GFP_KERNEL)?));
            state.outdated = table.is_err();
            drop(table.map(|table| self.devices.replace(table)));
        }
        !state.outdated
    }

    /// Detaches what no device needs any more. May sleep, and waits for whoever else changes a
    /// tracepoint or a hook: not for one who adds or removes a disk.
    pub(crate) fn detach(&self) {
        self.state.lock().detach();
    }

    /// Has [`Self::detach`] called soon, by whoever looks after those that linger. Any context.
    pub(crate) fn detach_soon(&self) {
        self.pace.next_in(0);
    }

    /// Hides a bio-based device that has left mode 2 and has nothing in flight; a disk not before
    /// its partitions, by which the probes still get to its account. Returns whether it is hidden.
    /// May sleep.
    pub(crate) fn hide_drained(&self, key: Key, account: &Arc<Account>) -> bool {
        // With the lock held to the end, so that it is not shown again in between.
        let state = &mut *self.state.lock();
        let is_disk_of =
            |part: &Entry| matches!(&part.disk, Some(disk) if Arc::ptr_eq(disk, account));
        let hidden = account.lingers()
            && account.is_drained()
            && !state.entries.iter().any(is_disk_of)
            && self.take_out(state, |entry| entry.key == key);
        if hidden {
            account.forget();
        }
        hidden
    }

    /// Returns when those that linger are looked after next, which can be brought forward.
    pub(crate) fn pace(&self) -> &Arc<Pace> {
        &self.pace
    }

    /// Calls `each` for the devices whose I/O is counted. May sleep.
    pub(crate) fn for_each(&self, each: impl Fn(&Entry)) {
        self.state.lock().entries.iter().for_each(each);
    }

    /// Lets the kernel's `io_ticks` be exact as well, from the next time a disk enters mode 2. To
    /// be called before there are devices.
    pub(crate) fn set_classic(&self) {
        // ORDERING: Relaxed. Set before a device is there.
        self.classic.store(true, Relaxed);
    }

    /// Returns whether the kernel's `io_ticks` is ours to keep.
    pub(crate) fn classic(&self) -> bool {
        // ORDERING: Relaxed. As in `set_classic`.
        self.classic.load(Relaxed)
    }

    /// Returns whether the driver's share is counted.
    pub(crate) fn has_device_side(&self) -> bool {
        self.driver.is_some()
    }

    /// Returns the form that `stat` has on a device, with nothing counted.
    pub(crate) fn empty_stat(&self, request_based: bool) -> wire::Stat {
        wire::Stat {
            errors: request_based.then_some(0),
            device: (request_based && self.has_device_side()).then(Default::default),
            ..Default::default()
        }
    }

    fn attach_for_bios(&self) -> Result<bio_acct::Attached<Devices>> {
        bio_acct::Attached::new(self.devices.clone()).map_err(|error| {
            if error == ENOMEM {
                return error;
            }
            pr_info_once!("bio-based disks do not take 2 on this kernel ({error:?})\n");
            not_supported()
        })
    }

    fn attach(&self) -> Result<Attached<Devices>> {
        // Ends first, and detached last: a start that is seen has its end seen.
        let mut probes = Attached::new(self.devices.clone());
        probes.attach::<Failed>(self.failed)?;
        probes.attach::<Done>(self.done)?;
        if let Some((issue, requeue)) = self.driver {
            probes.attach::<Requeue>(requeue)?;
            probes.attach::<Issue>(issue)?;
        }
        probes.attach::<Merge>(self.merge)?;
        probes.attach::<Start>(self.start)?;
        Ok(probes)
    }
}

impl BeforeRead for Hooks {
    fn before_read(&self, bdev: BdevRef<'_>, probe: &InProbe) {
        if let Some(entry) = self.devices.get(probe).find(bdev.key()) {
            entry.account.settle(bdev);
        }
    }
}

fn find<H: OnRequest>() -> Result<Found> {
    tracepoint::find::<H>().inspect_err(|_| {
        pr_err!(
            "this kernel has no tracepoint {}; blkacct cannot count on it\n",
            H::EVENT
        );
    })
}

#[cfg(CONFIG_KUNIT)]
#[kernel::macros::kunit_tests(blkacct_hooks)]
mod tests {
    use super::*;
    use crate::sys::fake::Disk;

    #[test]
    fn a_disk_is_hidden_after_its_partitions() -> Result {
        let hooks = Hooks::find(false)?;
        let disk = Disk::new()?;
        let (whole, part) = (Account::for_bios()?, Account::for_bios()?);
        let entries = [
            Entry {
                key: disk.whole(),
                account: whole.clone(),
                disk: None,
            },
            Entry {
                key: disk.partition(),
                account: part.clone(),
                disk: Some(whole.clone()),
            },
        ];
        hooks.add(&entries)?;
        whole.want(false);
        part.want(false);
        // By its partition the probes would still get to it.
        assert!(!hooks.hide_drained(disk.whole(), &whole));
        assert!(hooks.hide_drained(disk.partition(), &part));
        assert!(hooks.hide_drained(disk.whole(), &whole));
        hooks.detach();
        Ok(())
    }
}
