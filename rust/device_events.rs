// SPDX-License-Identifier: GPL-2.0

//! What an event does to the driver's share of the accounts.
//!
//! A request that counts is at the driver from its issue to its completion or requeue. It carries a
//! mark meanwhile (`sys/request.rs`), since it may complete without an issue, and a write in a
//! flush sequence is done twice with a single issue. The block layer's internal flushes are at the
//! driver too, on the whole disk: while one is, the requests that wait for it do not find the
//! driver idle.

use crate::{
    account::{
        Account,
        AtDevice,
        Either,
        Route, //
    },
    acct::{
        busy::Departure,
        nsec::{
            Clock,
            Nsec, //
        },
        sgrp::StatGroup, //
    },
    delivery::{
        counting,
        deliver,
        OnAccounts, //
    },
    sys::{
        bdev::Key,
        clock::Monotonic,
        percpu::Pinned,
        request::RqRef,
        tracepoint::{
            Arguments,
            InProbe,
            OnRequest, //
        }, //
    },
    table::{
        Devices,
        Entry, //
    }, //
};
use kernel::str::CStr;

/// Returns the device on which a request's stay at the driver counts.
#[inline(always)]
fn staying_on(rq: RqRef<'_>) -> Option<Key> {
    if rq.is_counted() {
        Some(rq.counted_on())
    } else if rq.is_internal_flush() {
        Some(rq.whole_disk())
    } else {
        None
    }
}

/// Returns its entry.
fn staying<'p>(devices: &Devices, rq: RqRef<'_>, probe: &'p InProbe) -> Option<&'p Entry> {
    counting(devices, staying_on(rq)?, probe)
}

/// A request goes to the driver.
pub(crate) struct Issue;

impl OnRequest for Issue {
    const EVENT: &'static CStr = c"block_rq_issue";
    type Context = Devices;

    #[inline(always)]
    fn event(devices: &Devices, rq: RqRef<'_>, probe: &InProbe) {
        if let Some(key) = staying_on(rq) {
            deliver::<Self>(devices, key, rq, probe);
        }
    }
}

impl OnAccounts for Issue {
    #[inline(always)]
    fn on<R: Route>(inner: &Account, outer: Option<&Account>, rq: RqRef<'_>) {
        let pin = Pinned::new();
        let to_outer = outer.and_then(|account| account.issue::<R>(rq.hardware_queue()));
        let to_inner = inner.issue::<R>(rq.hardware_queue());
        let mut now = Monotonic.now();
        rq.set_issued(now);
        // From the outside in, as at the start.
        if let Some(arrival) = to_outer {
            now = arrival.issued(now, &pin);
        }
        if let Some(arrival) = to_inner {
            arrival.issued(now, &pin);
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
        if let Some(stay) = Return::begin::<Either>(&entry.account, entry.disk.as_deref(), rq) {
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
            entry.account.failed();
            if let Some(disk) = &entry.disk {
                disk.failed();
            }
        }
    }
}

/// A step of a flush sequence is done: the flush itself, or the data of a write that goes on.
#[inline(never)]
pub(crate) fn step_done(devices: &Devices, rq: RqRef<'_>, probe: &InProbe) {
    let Some(entry) = staying(devices, rq, probe) else {
        return;
    };
    let pin = Pinned::new();
    let Some(stay) = Return::begin::<Either>(&entry.account, entry.disk.as_deref(), rq) else {
        return;
    };
    let now = stay.completed(Monotonic.now(), &pin);
    if rq.is_internal_flush() {
        entry.account.flushed(&pin, rq.start_time(), now);
    } else {
        rq.set_returned();
    }
}

/// The return of a request from the driver, on its device and on its whole disk if that is another:
/// it waits for the time.
pub(crate) struct Return<'a> {
    inner: AtDevice<'a, Departure<'a>>,
    outer: Option<AtDevice<'a, Departure<'a>>>,
    group: StatGroup,
    issued: Nsec,
}

impl<'a> Return<'a> {
    /// Begins the return of a request, if the driver has it. Read the clock next.
    #[inline(always)]
    pub(crate) fn begin<R: Route>(
        inner: &'a Account,
        outer: Option<&'a Account>,
        rq: RqRef<'_>,
    ) -> Option<Self> {
        let issued = rq.issued()?;
        Some(Self {
            inner: inner.come_back::<R>(rq.hardware_queue())?,
            outer: outer.and_then(|account| account.come_back::<R>(rq.hardware_queue())),
            group: StatGroup::of(rq.op()),
            issued,
        })
    }

    /// Completes the return of a request that is done; returns its time.
    #[inline(always)]
    pub(crate) fn completed(self, mut now: Nsec, pin: &Pinned) -> Nsec {
        now = self.inner.completed(now, pin, self.group, self.issued);
        if let Some(stay) = self.outer {
            now = stay.completed(now, pin, self.group, self.issued);
        }
        now
    }

    /// Completes the return of a request that is requeued.
    #[inline(always)]
    fn requeued(self, mut now: Nsec, pin: &Pinned) {
        now = self.inner.requeued(now, pin, self.group, self.issued);
        if let Some(stay) = self.outer {
            stay.requeued(now, pin, self.group, self.issued);
        }
    }
}

#[cfg(CONFIG_KUNIT)]
#[kernel::macros::kunit_tests(blkacct_device_events)]
mod tests {
    use super::*;
    use crate::{
        acct::wire::DeviceSide,
        rig::{
            counts,
            Rig, //
        },
        sys::fake::Request, //
    };
    use kernel::prelude::*;

    fn side(account: &Account) -> DeviceSide {
        account.device_side().unwrap_or_default()
    }

    /// Returns (at the driver, write completions in the driver's histogram).
    fn device(account: &Account) -> (u64, u64) {
        let latency = account.device_latency(StatGroup::Write).unwrap_or_default();
        (side(account).in_flight, latency.0.iter().sum())
    }

    /// Makes sure that what comes next is later than what was.
    fn time_passes() {
        let then = Monotonic.now();
        while Monotonic.now() == then {}
    }

    #[test]
    fn a_request_is_at_the_driver_from_issue_to_completion() -> Result {
        for rig in Rig::each()? {
            let rq = rig.started()?;
            assert_eq!(device(&rig.whole), (0, 0));
            rig.issue(&rq);
            assert_eq!(device(&rig.whole), (1, 0));
            assert_eq!(device(&rig.part), (1, 0));
            time_passes();
            rig.done(&rq);
            assert_eq!(device(&rig.whole), (0, 1));
            assert_eq!(device(&rig.part), (0, 1));
            let write = StatGroup::Write.index();
            let stat = rig.whole.core_snapshot().stat;
            let side = side(&rig.whole);
            assert!(side.nsecs[write] > 0 && side.nsecs[write] == side.ticks);
            assert!(side.ticks <= stat.io_ticks);
        }
        Ok(())
    }

    #[test]
    fn a_request_that_fails_before_its_issue_was_never_there() -> Result {
        let rig = Rig::new()?;
        let rq = rig.started()?;
        rig.done(&rq);
        assert_eq!(device(&rig.whole), (0, 0));
        assert_eq!(counts(&rig.whole), (0, 1, 0));
        assert_eq!(rig.whole.anomalies().orphans, 0);
        Ok(())
    }

    #[test]
    fn a_requeue_ends_a_stay_and_not_the_request() -> Result {
        for rig in Rig::each()? {
            let rq = rig.started()?;
            rig.issue(&rq);
            rig.requeue(&rq);
            assert_eq!(device(&rig.whole), (0, 0));
            assert_eq!(counts(&rig.whole), (1, 0, 0));
            assert_eq!(side(&rig.whole).requeues, 1);
            // It fails while it waits, or is issued again.
            rig.issue(&rq);
            rig.done(&rq);
            assert_eq!(device(&rig.whole), (0, 1));
            assert_eq!(side(&rig.part).requeues, 1);
        }
        Ok(())
    }

    #[test]
    fn a_requeue_without_an_issue_is_none() -> Result {
        // As where the driver's queue was full before it looked at the request.
        let rig = Rig::new()?;
        let rq = rig.started()?;
        rig.requeue(&rq);
        assert_eq!(side(&rig.whole).requeues, 0);
        rig.done(&rq);
        assert_eq!(device(&rig.whole), (0, 0));
        Ok(())
    }

    #[test]
    fn a_sequenced_write_leaves_the_driver_once() -> Result {
        let rig = Rig::new()?;
        let mut rq = rig.started()?;
        rq.set_flush_sequence(true);
        rig.issue(&rq);
        rig.done(&rq);
        assert_eq!(device(&rig.whole), (0, 1));
        assert_eq!(counts(&rig.whole), (1, 0, 0));
        rq.set_flush_sequence(false);
        rig.done(&rq);
        assert_eq!(device(&rig.whole), (0, 1));
        assert_eq!(counts(&rig.whole), (0, 1, 0));
        assert_eq!(rig.whole.anomalies().orphans, 0);
        Ok(())
    }

    #[test]
    fn an_internal_flush_keeps_the_driver_busy_and_is_no_io() -> Result {
        let rig = Rig::new()?;
        let flush = rig.internal_flush()?;
        rig.issue(&flush);
        assert!(flush.shows_its_end());
        assert_eq!(side(&rig.whole).in_flight, 1);
        assert_eq!(side(&rig.part).in_flight, 0);
        time_passes();
        rig.done(&flush);
        let after = side(&rig.whole);
        assert_eq!(after.in_flight, 0);
        assert!(after.nsecs[StatGroup::Flush.index()] > 0);
        assert_eq!(counts(&rig.whole), (0, 0, 0));
        Ok(())
    }

    #[test]
    fn the_kernels_own_stamp_of_the_issue_counts_where_it_sets_one() -> Result {
        let rig = Rig::new()?;
        let mut rq = rig.started()?;
        rig.issue(&rq);
        time_passes();
        rq.kernel_stamps_issue(Monotonic.now().0 - 1);
        rig.done(&rq);
        let write = StatGroup::Write.index();
        let side = side(&rig.whole);
        assert!(side.nsecs[write] < side.ticks);
        Ok(())
    }

    #[test]
    fn passthrough_that_does_not_count_is_nowhere() -> Result {
        let rig = Rig::new()?;
        let mut command = Request::new(&rig.disk, 35)?;
        rig.start(&mut command);
        rig.issue(&command);
        rig.done(&command);
        assert_eq!(side(&rig.whole), DeviceSide::default());
        Ok(())
    }

    #[test]
    fn what_never_comes_back_is_written_off() -> Result {
        for rig in Rig::each()? {
            let rq = rig.started()?;
            rig.issue(&rq);
            rig.whole.write_off();
            assert_eq!(device(&rig.whole).0, 0);
            assert_eq!(rig.whole.anomalies().lost_starts, 1);
            assert!(rig.whole.anomalies().bound_ns > 0);
        }
        Ok(())
    }
}
