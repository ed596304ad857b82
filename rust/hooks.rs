// SPDX-License-Identifier: GPL-2.0

//! The hooks into the block layer: the probes, and the devices that they see.
//!
//! Attached while at least one disk is in mode 2. A disk in another mode pays for them only while
//! there is such a disk: a look into the table per event.

use crate::{
    events::{
        Devices,
        Done,
        Merge,
        Start, //
    },
    sys::{
        bdev::BdevRef,
        published::Published,
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
        Entry,
        Table, //
    }, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Mutex, //
    }, //
};

/// The probes, while at least one disk is in mode 2. Fields are dropped in this order: starts
/// first, so that nothing begins whose end is not seen.
struct Probes {
    _start: Attached<Start>,
    _merge: Attached<Merge>,
    _done: Attached<Done>,
}

/// The hooks into the block layer.
#[pin_data]
pub(crate) struct Hooks {
    start: Found,
    done: Found,
    merge: Found,
    devices: Arc<Devices>,
    classic: Atomic<bool>,
    #[pin]
    state: Mutex<State>,
}

struct State {
    entries: KVec<Entry>,
    probes: Option<Probes>,
}

impl Hooks {
    /// Finds the hooks of this kernel; attaches nothing yet. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOENT` if one is missing, with a line in the log that names it; `ENOMEM`.
    pub(crate) fn find() -> Result<Arc<Self>> {
        let (start, done, merge) = (find::<Start>()?, find::<Done>()?, find::<Merge>()?);
        let devices = Arc::new(Published::empty(), GFP_KERNEL)?;
        Arc::pin_init(
            pin_init!(Self {
                start,
                done,
                merge,
                devices,
                classic: Atomic::new(false),
                state <- new_mutex!(State {
                    entries: KVec::new(),
                    probes: None,
                }),
            }),
            GFP_KERNEL,
        )
    }

    /// Shows `entries` to the probes, and attaches those with the first. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, or what the kernel says to the attaching; nothing has changed then.
    pub(crate) fn add(&self, entries: &[Entry]) -> Result {
        let state = &mut *self.state.lock();
        let before = state.entries.len();
        let added = state
            .entries
            .extend_from_slice(entries, GFP_KERNEL)
            .map_err(Error::from)
            .and_then(|()| Table::new(&state.entries))
            .and_then(|table| Ok(KBox::new(table, GFP_KERNEL)?))
            .and_then(|table| {
                if state.probes.is_none() {
                    state.probes = Some(self.attach()?);
                }
                Ok(table)
            });
        match added {
            Ok(table) => drop(self.devices.replace(Some(table))),
            Err(error) => {
                state.entries.truncate(before);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Hides the devices that `which` picks from the probes, and detaches those with the last
    /// device. Their accounts no longer count. May sleep; returns when no probe uses one.
    pub(crate) fn remove(&self, which: impl Fn(&Entry) -> bool) {
        let state = &mut *self.state.lock();
        let before = state.entries.len();
        state.entries.retain(|entry| !which(entry));
        if state.entries.len() == before {
            return;
        }
        if state.entries.is_empty() {
            drop(self.devices.replace(None));
            state.probes = None;
            return;
        }
        // Without memory for a smaller table the probes keep the larger one: the devices in it do
        // not count any more, and the next change makes a new table.
        let table = Table::new(&state.entries);
        if let Ok(table) = table.and_then(|table| Ok(KBox::new(table, GFP_KERNEL)?)) {
            drop(self.devices.replace(Some(table)));
        }
    }

    /// Calls `each` for the devices whose I/O is counted. May sleep.
    pub(crate) fn for_each(&self, each: impl Fn(&Entry)) {
        self.state.lock().entries.iter().for_each(each);
    }

    /// Lets the kernel's `io_ticks` be exact as well, from the next time a disk enters mode 2.
    pub(crate) fn set_classic(&self) {
        self.classic.store(true, Relaxed);
    }

    /// Returns whether the kernel's `io_ticks` is ours to keep.
    pub(crate) fn classic(&self) -> bool {
        self.classic.load(Relaxed)
    }

    fn attach(&self) -> Result<Probes> {
        // Ends first: a start that is seen has its end seen.
        let done = Attached::new(self.done, self.devices.clone())?;
        let merge = Attached::new(self.merge, self.devices.clone())?;
        let start = Attached::new(self.start, self.devices.clone())?;
        Ok(Probes {
            _start: start,
            _merge: merge,
            _done: done,
        })
    }
}

impl BeforeRead for Hooks {
    fn before_read(&self, bdev: BdevRef<'_>, probe: &InProbe) {
        let entry = self
            .devices
            .get(probe)
            .and_then(|devices| devices.find(bdev.key()));
        if let Some(entry) = entry {
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
