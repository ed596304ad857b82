// SPDX-License-Identifier: GPL-2.0

//! What an event does to the driver's share of the accounts.
//!
//! A request that counts is at the driver from its issue to its completion or requeue. It carries a
//! mark meanwhile (`sys/request.rs`), since it may complete without an issue, and a write in a
//! flush sequence is done twice with a single issue. The block layer's internal flushes are at the
//! driver too, on the whole disk: while one is, the requests that wait for it do not find the driver
//! idle.

use crate::{
    account::AtDevice,
    acct::{
        busy::{
            Arrival,
            Departure, //
        },
        nsec::{
            Clock,
            Nsec, //
        },
        sgrp::StatGroup, //
    },
    events::{
        counting,
        Devices, //
    },
    sys::{
        clock::Monotonic,
        percpu::Pinned,
        request::{
            self,
            RqRef, //
        },
        tracepoint::{
            Arguments,
            InProbe,
            OnRequest, //
        }, //
    },
    table::Entry, //
};
use kernel::str::CStr;

/// Returns the entry of the device on which a request's stay at the driver counts.
#[inline]
fn staying<'p>(devices: &Devices, rq: RqRef<'_>, probe: &'p InProbe) -> Option<&'p Entry> {
    if rq.is_counted() {
        counting(devices, rq.counted_on(), probe)
    } else if rq.is_internal_flush() {
        counting(devices, rq.whole_disk(), probe)
    } else {
        None
    }
}

/// A request goes to the driver.
pub(crate) struct Issue;

impl OnRequest for Issue {
    const EVENT: &'static CStr = c"block_rq_issue";
    type Context = Devices;

    fn event(devices: &Devices, rq: RqRef<'_>, probe: &InProbe) {
        let Some(entry) = staying(devices, rq, probe) else {
            return;
        };
        let pin = Pinned::new();
        let arrivals: [Option<AtDevice<'_, Arrival<'_>>>; 2] = entry
            .outside_in()
            .map(|account| account?.issue(rq.hardware_queue()));
        let mut now = Monotonic.now();
        rq.set_issued(now);
        // The kernel may be about to stamp the issue: with this time, not the plug's older one.
        request::set_plug_clock(now);
        for arrival in arrivals.into_iter().flatten() {
            now = arrival.issued(now, &pin);
        }
    }
}

/// The driver has given a request back undone.
pub(crate) struct Requeue;

impl OnRequest for Requeue {
    const EVENT: &'static CStr = c"block_rq_requeue";
    type Context = Devices;

    fn event(devices: &Devices, rq: RqRef<'_>, probe: &InProbe) {
        let Some(entry) = staying(devices, rq, probe) else {
            return;
        };
        let pin = Pinned::new();
        if let Some(stay) = Return::begin(entry, rq) {
            rq.set_returned();
            stay.requeued(Monotonic.now(), &pin);
        }
    }
}

/// A request, or a part of it, has failed.
pub(crate) struct Failed;

impl OnRequest for Failed {
    const EVENT: &'static CStr = c"block_rq_error";
    const ARGUMENTS: Arguments = Arguments::Completion;
    type Context = Devices;

    fn event(devices: &Devices, rq: RqRef<'_>, probe: &InProbe) {
        if let Some(entry) = staying(devices, rq, probe) {
            for account in entry.inside_out().into_iter().flatten() {
                account.failed();
            }
        }
    }
}

/// A step of a flush sequence is done: the flush itself, or the data of a write that goes on.
#[inline]
pub(crate) fn step_done(devices: &Devices, rq: RqRef<'_>, probe: &InProbe) {
    let Some(entry) = staying(devices, rq, probe) else {
        return;
    };
    let pin = Pinned::new();
    let Some(stay) = Return::begin(entry, rq) else {
        return;
    };
    let now = stay.completed(Monotonic.now(), &pin);
    if rq.is_internal_flush() {
        entry.account.flushed(&pin, rq.start_time(), now);
    } else {
        rq.set_returned();
    }
}

/// The return of a request from the driver, at all levels: it waits for the time.
pub(crate) struct Return<'a> {
    stays: [Option<AtDevice<'a, Departure<'a>>>; 2],
    group: StatGroup,
    issued: Nsec,
}

impl<'a> Return<'a> {
    /// Begins the return of a request, if the driver has it. Read the clock next.
    #[inline]
    pub(crate) fn begin(entry: &'a Entry, rq: RqRef<'_>) -> Option<Self> {
        let issued = rq.issued()?;
        Some(Self {
            stays: entry
                .inside_out()
                .map(|account| account?.come_back(rq.hardware_queue())),
            group: StatGroup::of(rq.op()),
            issued,
        })
    }

    /// Completes the return of a request that is done; returns its time.
    #[inline]
    pub(crate) fn completed(self, mut now: Nsec, pin: &Pinned) -> Nsec {
        for stay in self.stays.into_iter().flatten() {
            now = stay.completed(now, pin, self.group, self.issued);
        }
        now
    }

    /// Completes the return of a request that is requeued.
    #[inline]
    fn requeued(self, mut now: Nsec, pin: &Pinned) {
        for stay in self.stays.into_iter().flatten() {
            now = stay.requeued(now, pin, self.group, self.issued);
        }
    }
}
