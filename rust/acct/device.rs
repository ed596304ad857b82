// SPDX-License-Identifier: GPL-2.0

//! Tallies of the device side: what the driver has, from issue to completion or requeue.
//!
//! These cells are a slot of their own, beside that of [`slot`], with two halves kept
//! and read in the same way: issues, and what comes back. A request comes back when it completes,
//! and also when it is requeued, so its time at the device is that of all its stays.

use super::busy::Busy;
use super::extended::Extended;
use super::nsec::{
    Clock,
    Nsec, //
};
use super::sgrp::StatGroup;
use super::slot::{
    self,
    Slot,
    Slots,
    BEGUN,
    DONE, //
};
use super::wire::DeviceSide;

/// The number of cells. Zeroed cells are a slot to which nothing has happened.
pub const CELLS: usize = RETURNS + RETURN_CELLS;

const ISSUES: usize = 0;
const ISSUE_CELLS: usize = SUM + 1;
const RETURNS: usize = ISSUES + ISSUE_CELLS;
const RETURN_CELLS: usize = REQUEUES + 1;

/// Within a half: the sum of the events' times. The direction makes no difference here, so all
/// that are through have one cell.
const SUM: usize = DONE + 1;
/// Returns: the ns of each group. Up to those of writes, all share one cache line with the issues.
const NSECS: usize = SUM + 1;
/// Returns: those that were requeues.
const REQUEUES: usize = NSECS + StatGroup::COUNT;

/// Books the issue of a request at `t`.
#[inline(always)]
pub fn issue(slot: &impl Slot, t: Nsec) {
    slot.count::<{ ISSUES + BEGUN }>();
    slot.add::<{ ISSUES + SUM }>(t.0);
    slot.count::<{ ISSUES + DONE }>();
}

/// Books that a request issued at `issued` came back at `t`, completed.
#[inline(always)]
pub fn come_back(slot: &impl Slot, t: Nsec, group: StatGroup, issued: Nsec) {
    slot.count::<{ RETURNS + BEGUN }>();
    slot.add::<{ RETURNS + SUM }>(t.0);
    slot.add_nth::<{ RETURNS + NSECS }>(group.index(), t.since(issued));
    slot.count::<{ RETURNS + DONE }>();
}

/// Books that a request issued at `issued` was requeued at `t`.
pub fn requeue(slot: &impl Slot, t: Nsec, group: StatGroup, issued: Nsec) {
    slot.count::<{ RETURNS + REQUEUES }>();
    come_back(slot, t, group, issued);
}

/// Books that `count` requests will never come back; their time up to `t` stays.
pub fn write_off(slot: &impl Slot, t: Nsec, count: u64) {
    slot.add::<{ RETURNS + BEGUN }>(count);
    slot.add::<{ RETURNS + SUM }>(t.0.wrapping_mul(count));
    slot.add::<{ RETURNS + DONE }>(count);
}

/// Reads the device side; `queue` is kept for the next time, as in `Snapshot::take()`.
///
/// The result is of a moment that is over when this returns: whatever is read afterwards is no
/// earlier. Takes no lock and writes nothing that I/O writes.
pub fn read(
    busy: &Busy,
    queue: &Extended<64>,
    slots: &impl Slots,
    clock: &impl Clock,
) -> DeviceSide {
    let (Nsec(time), ticks) = busy.read(clock);
    // Returns before issues, so that nothing in flight is negative.
    let returns: [u64; RETURN_CELLS] = slot::sum(slots, RETURNS, through);
    let issues: [u64; ISSUE_CELLS] = slot::sum(slots, ISSUES, through);
    let in_flight = issues[DONE].wrapping_sub(returns[DONE]);
    DeviceSide {
        ticks,
        time_in_queue: queue.extend(
            in_flight
                .wrapping_mul(time)
                .wrapping_add(returns[SUM])
                .wrapping_sub(issues[SUM]),
        ),
        in_flight,
        nsecs: core::array::from_fn(|group| returns[NSECS + group]),
        requeues: returns[REQUEUES],
    }
}

/// Returns how many events of a half are through.
fn through<const N: usize>(half: &[u64; N]) -> u64 {
    half[DONE]
}

#[cfg(any(test, CONFIG_KUNIT))]
#[cfg_attr(CONFIG_KUNIT, kernel::macros::kunit_tests(blkacct_device))]
mod tests {
    use super::*;

    type OneCpu = slot::testing::OneCpu<CELLS>;

    fn read_at(cpu: &OneCpu, t: u64) -> DeviceSide {
        let clock = || Nsec(t);
        read(&Busy::default(), &Extended::default(), cpu, &clock)
    }

    #[test]
    fn a_requeued_request_counts_all_its_stays() {
        let cpu = OneCpu::new();
        issue(&cpu, Nsec(10));
        requeue(&cpu, Nsec(14), StatGroup::Write, Nsec(10));
        issue(&cpu, Nsec(20));
        assert_eq!(read_at(&cpu, 25).in_flight, 1);
        come_back(&cpu, Nsec(30), StatGroup::Write, Nsec(20));
        let side = read_at(&cpu, 40);
        assert_eq!(side.nsecs[StatGroup::Write.index()], 14);
        assert_eq!(side.time_in_queue, 14);
        assert_eq!((side.in_flight, side.requeues), (0, 1));
    }

    #[test]
    fn an_issue_during_the_read_does_not_tear_it() {
        for interrupt in 1..=CELLS as u64 {
            let cpu = OneCpu::interrupted(interrupt, |cpu| issue(cpu, Nsec(50)));
            issue(&cpu, Nsec(100));
            let side = read_at(&cpu, 200);
            // The first has been there for 100, the other for 150.
            let expected = if side.in_flight == 2 { 250 } else { 100 };
            assert_eq!(side.time_in_queue, expected);
        }
    }

    #[test]
    fn what_never_comes_back_is_written_off() {
        let cpu = OneCpu::new();
        issue(&cpu, Nsec(10));
        issue(&cpu, Nsec(20));
        write_off(&cpu, Nsec(50), 2);
        let side = read_at(&cpu, 90);
        assert_eq!(side.in_flight, 0);
        assert_eq!(side.time_in_queue, 70);
    }
}
