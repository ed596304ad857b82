// SPDX-License-Identifier: GPL-2.0

//! What an event of the block layer does to the accounts.
//!
//! The kernel's own decision is followed to the letter: a request counts if the kernel counts its
//! start, on the device the kernel counts it on, and from then to its end. What looks like an end
//! but is none is told by the request's flags; see the hazards in `Documentation/design.rst`.

use crate::{
    account::{
        Account,
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
        deliver,
        OnAccounts, //
    },
    device_events::{
        self,
        Return, //
    },
    sys::{
        clock::Monotonic,
        percpu::Pinned,
        request::RqRef,
        tracepoint::{
            InProbe,
            OnRequest, //
        }, //
    },
    table::Devices, //
};
use core::marker::PhantomData;
use kernel::str::CStr;

/// A request begins.
pub(crate) struct Start;

impl OnRequest for Start {
    const EVENT: &'static CStr = c"block_io_start";
    type Context = Devices;

    #[inline(always)]
    fn event(devices: &Devices, rq: RqRef<'_>, probe: &InProbe) {
        // The event comes before the kernel's own tests.
        if rq.is_passthrough() {
            start_passthrough(devices, rq, probe);
        } else if rq.is_on_counting_queue() {
            start_counted(devices, rq, probe);
        }
    }
}

#[inline(never)]
fn start_passthrough(devices: &Devices, rq: RqRef<'_>, probe: &InProbe) {
    if rq.starts_counted() {
        start_counted(devices, rq, probe);
    }
}

/// Starts a request that the kernel is about to count.
#[inline(always)]
fn start_counted(devices: &Devices, rq: RqRef<'_>, probe: &InProbe) {
    deliver::<Start>(devices, rq.starting_on(), rq, probe);
}

impl OnAccounts for Start {
    #[inline(always)]
    fn on<R: Route>(inner: &Account, outer: Option<&Account>, rq: RqRef<'_>) {
        let pin = Pinned::new();
        let to_outer = outer.map(|account| account.start::<R>(rq.hardware_queue()));
        let to_inner = inner.start::<R>(rq.hardware_queue());
        let mut now = Monotonic.now();
        rq.set_started(now);
        let group = StatGroup::of(rq.op());
        // From the outside in: what is in flight on a partition is so on its disk.
        if let (Some(account), Some(arrival)) = (outer, to_outer) {
            now = account.started(arrival, now, &pin, group, || rq.sectors());
        }
        inner.started(to_inner, now, &pin, group, || rq.sectors());
    }
}

/// A request is done.
pub(crate) struct Done;

impl OnRequest for Done {
    const EVENT: &'static CStr = c"block_io_done";
    type Context = Devices;

    #[inline(always)]
    fn event(devices: &Devices, rq: RqRef<'_>, probe: &InProbe) {
        // A step of a flush sequence is no end: the request comes again.
        if rq.in_flush_sequence() {
            return device_events::step_done(devices, rq, probe);
        }
        end::<Self>(devices, rq, probe);
    }
}

impl End for Done {
    #[inline(always)]
    fn book(
        account: &Account,
        departure: Departure<'_>,
        now: Nsec,
        pin: &Pinned,
        rq: RqRef<'_>,
    ) -> Nsec {
        account.done(departure, now, pin, StatGroup::of(rq.op()), rq.start_time())
    }
}

/// A request has been absorbed by another, which has its earlier start by now.
pub(crate) struct Merge;

impl OnRequest for Merge {
    const EVENT: &'static CStr = c"block_rq_merge";
    type Context = Devices;

    #[inline(always)]
    fn event(devices: &Devices, rq: RqRef<'_>, probe: &InProbe) {
        end::<Self>(devices, rq, probe);
    }
}

impl End for Merge {
    #[inline(always)]
    fn book(
        account: &Account,
        departure: Departure<'_>,
        now: Nsec,
        pin: &Pinned,
        rq: RqRef<'_>,
    ) -> Nsec {
        account.merged(departure, now, pin, StatGroup::of(rq.op()), rq.start_time())
    }
}

/// One of the ways in which a request ends.
trait End {
    /// Completes and books the end on one of the request's accounts; returns its time.
    fn book(
        account: &Account,
        departure: Departure<'_>,
        now: Nsec,
        pin: &Pinned,
        rq: RqRef<'_>,
    ) -> Nsec;
}

/// Ends a request.
#[inline(always)]
fn end<E: End>(devices: &Devices, rq: RqRef<'_>, probe: &InProbe) {
    if !rq.is_counted() {
        return;
    }
    // Each with code of its own, as with the routes.
    if rq.issued().is_some() {
        deliver::<Returns<E>>(devices, rq.counted_on(), rq, probe);
    } else {
        deliver::<Ends<E>>(devices, rq.counted_on(), rq, probe);
    }
}

/// The end of a request that the driver does not have.
struct Ends<E>(PhantomData<E>);

impl<E: End> OnAccounts for Ends<E> {
    #[inline(always)]
    fn on<R: Route>(inner: &Account, outer: Option<&Account>, rq: RqRef<'_>) {
        let pin = Pinned::new();
        leave::<E, R>(inner, outer, rq, None, &pin);
    }
}

/// The end of a request that comes back from the driver with it.
struct Returns<E>(PhantomData<E>);

impl<E: End> OnAccounts for Returns<E> {
    #[inline(always)]
    fn on<R: Route>(inner: &Account, outer: Option<&Account>, rq: RqRef<'_>) {
        let pin = Pinned::new();
        let stay = Return::begin::<R>(inner, outer, rq);
        leave::<E, R>(inner, outer, rq, stay, &pin);
    }
}

/// Ends a request, and its stay at the driver if there is one.
#[inline(always)]
fn leave<E: End, R: Route>(
    inner: &Account,
    outer: Option<&Account>,
    rq: RqRef<'_>,
    stay: Option<Return<'_>>,
    pin: &Pinned,
) {
    let from_inner = inner.end::<R>(rq.hardware_queue());
    let from_outer = outer.map(|account| account.end::<R>(rq.hardware_queue()));
    let mut now = Monotonic.now();
    // From the inside out, and its stay at the driver before all.
    if let Some(stay) = stay {
        now = stay.completed(now, pin);
    }
    now = E::book(inner, from_inner, now, pin, rq);
    if let (Some(account), Some(departure)) = (outer, from_outer) {
        E::book(account, departure, now, pin, rq);
    }
}

#[cfg(CONFIG_KUNIT)]
#[kernel::macros::kunit_tests(blkacct_events)]
mod tests {
    use crate::{
        rig::{
            counts,
            Rig, //
        },
        sys::fake::{
            Disk,
            Request, //
        }, //
    };
    use kernel::prelude::*;

    #[test]
    fn a_partitions_request_counts_on_its_disk_too() -> Result {
        for rig in Rig::each()? {
            let rq = rig.started()?;
            assert_eq!(counts(&rig.part), (1, 0, 0));
            assert_eq!(counts(&rig.whole), (1, 0, 0));
            rig.done(&rq);
            assert_eq!(counts(&rig.part), (0, 1, 0));
            assert_eq!(counts(&rig.whole), (0, 1, 0));
        }
        Ok(())
    }

    #[test]
    fn what_the_kernel_does_not_count_is_not_counted() -> Result {
        let rig = Rig::new()?;
        // Passthrough, to the device; then a write with iostats off.
        let mut command = Request::new(&rig.disk, 35)?;
        rig.start(&mut command);
        rig.done(&command);
        rig.disk.set_io_stat(false);
        let rq = rig.started()?;
        rig.disk.set_io_stat(true);
        rig.done(&rq);
        assert_eq!(counts(&rig.whole), (0, 0, 0));
        assert_eq!(rig.whole.anomalies().orphans, 0);
        Ok(())
    }

    #[test]
    fn a_step_of_a_flush_sequence_is_no_end() -> Result {
        let rig = Rig::new()?;
        let mut rq = rig.started()?;
        rq.set_flush_sequence(true);
        rig.done(&rq);
        assert_eq!(counts(&rig.whole), (1, 0, 0));
        rq.set_flush_sequence(false);
        rig.done(&rq);
        assert_eq!(counts(&rig.whole), (0, 1, 0));
        Ok(())
    }

    #[test]
    fn an_internal_flush_is_no_io() -> Result {
        let rig = Rig::new()?;
        let flush = Request::new(&rig.disk, 2)?;
        rig.done(&flush);
        assert_eq!(counts(&rig.whole), (0, 0, 0));
        assert_eq!(rig.whole.anomalies().orphans, 0);
        Ok(())
    }

    #[test]
    fn a_merged_request_leaves_at_the_merge() -> Result {
        for rig in Rig::each()? {
            let (first, second) = (rig.started()?, rig.started()?);
            rig.merge(&second);
            assert_eq!(counts(&rig.whole), (1, 0, 1));
            rig.done(&first);
            assert_eq!(counts(&rig.whole), (0, 1, 1));
        }
        Ok(())
    }

    #[test]
    fn a_request_ends_on_the_partition_it_started_on() -> Result {
        let rig = Rig::new()?;
        let mut rq = rig.started()?;
        // A front merge brings in a bio that begins elsewhere.
        rq.move_bio_to_whole_disk();
        rig.done(&rq);
        assert_eq!(counts(&rig.part), (0, 1, 0));
        assert_eq!(counts(&rig.whole), (0, 1, 0));
        Ok(())
    }

    #[test]
    fn the_whole_disks_request_counts_there_alone() -> Result {
        for rig in Rig::each()? {
            let mut rq = rig.write()?;
            rq.move_bio_to_whole_disk();
            rig.start(&mut rq);
            assert_eq!(counts(&rig.whole), (1, 0, 0));
            rig.issue(&rq);
            rig.done(&rq);
            assert_eq!(counts(&rig.whole), (0, 1, 0));
            assert_eq!(counts(&rig.part), (0, 0, 0));
            assert!(!rig.whole.is_busy());
        }
        Ok(())
    }

    #[test]
    fn an_end_without_a_start_is_an_orphan_and_nothing_else() -> Result {
        for rig in Rig::each()? {
            let mut rq = rig.write()?;
            rq.kernel_starts();
            rig.done(&rq);
            assert_eq!(counts(&rig.whole), (0, 0, 0));
            assert_eq!(rig.whole.anomalies().orphans, 1);
            assert_eq!(rig.part.anomalies().orphans, 1);
        }
        Ok(())
    }

    #[test]
    fn a_start_without_an_end_is_written_off_when_idle() -> Result {
        for rig in Rig::each()? {
            // Freed without a completion, as when the inline-crypto key slot fails.
            let _lost = rig.started()?;
            rig.whole.write_off();
            assert_eq!(counts(&rig.whole), (0, 0, 1));
            assert_eq!(rig.whole.anomalies().lost_starts, 1);
            assert_eq!(rig.part.anomalies().lost_starts, 0);
        }
        Ok(())
    }

    #[test]
    fn an_end_of_another_direction_is_written_off_at_once() -> Result {
        for rig in Rig::each()? {
            let mut rq = rig.started()?;
            rq.become_op(0);
            rig.done(&rq);
            // One read has ended more than has started: as a number that is 2^64 - 1.
            assert_eq!(rig.whole.core_snapshot().in_flight.reads, u64::MAX);
            rig.whole.write_off();
            let snapshot = rig.whole.core_snapshot();
            assert_eq!(snapshot.in_flight.reads, 0);
            assert_eq!(snapshot.in_flight.writes, 0);
            assert_eq!(rig.whole.anomalies().lost_starts, 0);
        }
        Ok(())
    }

    #[test]
    fn a_disk_outside_mode_2_counts_nothing() -> Result {
        let rig = Rig::new()?;
        let other = Disk::new()?;
        let mut rq = Request::new(&other, 1)?;
        rig.start(&mut rq);
        rig.done(&rq);
        assert_eq!(counts(&rig.whole), (0, 0, 0));
        Ok(())
    }
}
