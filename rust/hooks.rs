// SPDX-License-Identifier: GPL-2.0

//! What an event of the block layer does to the accounts.
//!
//! The kernel's own decision is followed to the letter: a request counts if the kernel counts its
//! start, on the device the kernel counts it on, and from then to its end. What looks like an end
//! but is none is told by the request's flags; see the hazards in `Documentation/design.rst`.

use crate::{
    account::Account,
    acct::{
        busy::Departure,
        nsec::{
            Clock,
            Nsec, //
        },
        sgrp::StatGroup, //
    },
    sys::{
        bdev::Key,
        clock::Monotonic,
        percpu::Pinned,
        published::Published,
        request::{
            self,
            RqRef, //
        },
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
    str::CStr,
    sync::{
        Arc,
        Mutex, //
    }, //
};

type Devices = Published<Table>;

/// Returns the entry of a device whose events count.
#[inline]
fn counting<'p>(devices: &Devices, key: Key, probe: &'p InProbe) -> Option<&'p Entry> {
    devices
        .get(probe)?
        .find(key)
        .filter(|entry| entry.account.is_counting())
}

/// A request begins.
struct Start;

impl OnRequest for Start {
    const EVENT: &'static CStr = c"block_io_start";
    type Context = Devices;

    fn event(devices: &Devices, rq: RqRef<'_>, probe: &InProbe) {
        // The event comes before the kernel's own tests.
        if !rq.starts_counted() {
            return;
        }
        let Some(entry) = counting(devices, rq.starting_on(), probe) else {
            return;
        };
        let pin = Pinned::new();
        let group = StatGroup::of(rq.op());
        let levels = [entry.disk.as_ref(), Some(&entry.account)];
        let arrivals = levels.map(|account| account?.start(rq.hardware_queue()));
        let now = Monotonic.now();
        // The kernel is about to stamp the request: with this time, not the plug's older one.
        request::set_plug_clock(now);
        for (account, arrival) in levels.into_iter().zip(arrivals) {
            if let (Some(account), Some(arrival)) = (account, arrival) {
                account.started(arrival, now, &pin, group, rq.sectors());
            }
        }
    }
}

/// A request is done.
struct Done;

impl OnRequest for Done {
    const EVENT: &'static CStr = c"block_io_done";
    type Context = Devices;

    fn event(devices: &Devices, rq: RqRef<'_>, probe: &InProbe) {
        // A step of a flush sequence is no end: the request comes again.
        if rq.in_flush_sequence() {
            return;
        }
        end(devices, rq, probe, |account, departure, now, pin| {
            account.done(departure, now, pin, StatGroup::of(rq.op()), rq.start_time());
        });
    }
}

/// A request has been absorbed by another, which has its earlier start by now.
struct Merge;

impl OnRequest for Merge {
    const EVENT: &'static CStr = c"block_rq_merge";
    type Context = Devices;

    fn event(devices: &Devices, rq: RqRef<'_>, probe: &InProbe) {
        end(devices, rq, probe, |account, departure, now, pin| {
            account.merged(departure, now, pin, StatGroup::of(rq.op()));
        });
    }
}

/// Ends a request on its device and on its disk, at one time; `book` does it for each.
#[inline(always)]
fn end(
    devices: &Devices,
    rq: RqRef<'_>,
    probe: &InProbe,
    book: impl Fn(&Account, Departure<'_>, Nsec, &Pinned),
) {
    if !rq.is_counted() {
        return;
    }
    let Some(entry) = counting(devices, rq.counted_on(), probe) else {
        return;
    };
    let pin = Pinned::new();
    let levels = [Some(&entry.account), entry.disk.as_ref()];
    let departures = levels.map(|account| account?.end(rq.hardware_queue()));
    let now = Monotonic.now();
    for (account, departure) in levels.into_iter().zip(departures) {
        if let (Some(account), Some(departure)) = (account, departure) {
            book(account, departure, now, &pin);
        }
    }
}

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

fn find<H: OnRequest>() -> Result<Found> {
    tracepoint::find::<H>().inspect_err(|_| {
        pr_err!(
            "this kernel has no tracepoint {}; blkacct cannot count on it\n",
            H::EVENT
        );
    })
}
