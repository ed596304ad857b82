// SPDX-License-Identifier: GPL-2.0

//! Tallies of bio-based devices, where an end does not know when its I/O began.
//!
//! The kernel hands both ends a time in whole jiffies and nothing that tells one I/O from another.
//! Sums need no more: the latencies of a group's I/O add up to the sum of its ends minus the sum of
//! its starts. What is in flight counts up to the time of the reading, so `nsecs` here includes the
//! time so far of I/O in flight, and is that of completed I/O whenever none is.
//!
//! These cells are a slot of their own, beside that of [`slot`], with two halves that
//! are kept and read in the same way.

use super::nsec::Nsec;
use super::sgrp::StatGroup;
use super::slot::{
    self,
    Slot,
    Slots,
    BEGUN,
    DONE, //
};
use super::wire::Group;

/// The number of cells. Zeroed cells are a slot to which nothing has happened.
pub const CELLS: usize = ENDS + END_CELLS;

const STARTS: usize = 0;
const START_CELLS: usize = REST + 2 * StatGroup::COUNT;
const ENDS: usize = STARTS + START_CELLS;
const END_CELLS: usize = REST + 3 * StatGroup::COUNT;

/// Within a half, after what [`slot::read`] needs. Starts: count and sum of times of each group.
/// Ends: count, sum of times and sectors.
const REST: usize = DONE + 2;

/// Books a start at `t`.
pub fn start(slot: &impl Slot, t: Nsec, group: StatGroup) {
    book_start(slot, group, 1, t.0);
}

/// Takes back `count` starts whose ends will never come; their time up to `t` stays. A negative
/// number, of ends that were another group's starts, adds as many.
pub fn write_off(slot: &impl Slot, t: Nsec, group: StatGroup, count: u64) {
    let taken = count.wrapping_neg();
    book_start(slot, group, taken, t.0.wrapping_mul(taken));
}

fn book_start(slot: &impl Slot, group: StatGroup, count: u64, time: u64) {
    let place = 2 * group.index();
    slot.count::<{ STARTS + BEGUN }>();
    slot.add_nth::<{ STARTS + REST }>(place, count);
    slot.add_nth::<{ STARTS + REST + 1 }>(place, time);
    slot.count_nth::<{ STARTS + DONE }>(group.direction() as usize);
}

/// Books an end at `t` of an I/O of `sectors` sectors.
pub fn end(slot: &impl Slot, t: Nsec, group: StatGroup, sectors: u64) {
    let place = 3 * group.index();
    slot.count::<{ ENDS + BEGUN }>();
    slot.count_nth::<{ ENDS + REST }>(place);
    slot.add_nth::<{ ENDS + REST + 1 }>(place, t.0);
    slot.add_nth::<{ ENDS + REST + 2 }>(place, sectors);
    slot.count_nth::<{ ENDS + DONE }>(group.direction() as usize);
}

/// Returns each group's counts, and the number of its I/O in flight, with times up to `t0`.
///
/// `t0` was read before. Ends are read before starts, so that nothing in flight is negative.
pub fn read(slots: &impl Slots, t0: Nsec) -> [(Group, u64); StatGroup::COUNT] {
    let ends: [u64; END_CELLS] = slot::sum(slots, ENDS, slot::both);
    let starts: [u64; START_CELLS] = slot::sum(slots, STARTS, slot::both);
    groups(&ends, &starts, t0)
}

/// As [`read`], for who must not sleep nor wait: after so many `tries` on a CPU it is `None`.
pub fn read_within(
    slots: &impl Slots,
    t0: Nsec,
    tries: u32,
) -> Option<[(Group, u64); StatGroup::COUNT]> {
    let ends: [u64; END_CELLS] = slot::sum_within(slots, ENDS, slot::both, tries)?;
    let starts: [u64; START_CELLS] = slot::sum_within(slots, STARTS, slot::both, tries)?;
    Some(groups(&ends, &starts, t0))
}

fn groups(
    ends: &[u64; END_CELLS],
    starts: &[u64; START_CELLS],
    t0: Nsec,
) -> [(Group, u64); StatGroup::COUNT] {
    StatGroup::ALL.map(|group| {
        let start = REST + 2 * group.index();
        let end = REST + 3 * group.index();
        let in_flight = starts[start].wrapping_sub(ends[end]);
        let group = Group {
            ios: ends[end],
            merges: 0,
            sectors: ends[end + 2],
            nsecs: in_flight
                .wrapping_mul(t0.0)
                .wrapping_add(ends[end + 1])
                .wrapping_sub(starts[start + 1]),
        };
        (group, in_flight)
    })
}

#[cfg(any(test, CONFIG_KUNIT))]
#[cfg_attr(CONFIG_KUNIT, kernel::macros::kunit_tests(blkacct_bios))]
mod tests {
    use super::*;

    type OneCpu = slot::testing::OneCpu<CELLS>;

    fn writes(cpu: &OneCpu, t0: u64) -> (Group, u64) {
        read(cpu, Nsec(t0))[StatGroup::Write.index()]
    }

    #[test]
    fn ends_need_not_know_their_starts() {
        let cpu = OneCpu::new();
        start(&cpu, Nsec(100), StatGroup::Write);
        start(&cpu, Nsec(110), StatGroup::Write);
        start(&cpu, Nsec(111), StatGroup::Read);
        end(&cpu, Nsec(150), StatGroup::Write, 8);
        end(&cpu, Nsec(160), StatGroup::Write, 16);
        let (group, in_flight) = writes(&cpu, 1000);
        assert_eq!(group.nsecs, 100);
        assert_eq!(group.ios, 2);
        assert_eq!(group.sectors, 24);
        assert_eq!(in_flight, 0);
    }

    #[test]
    fn what_is_in_flight_counts_up_to_the_reading() {
        let cpu = OneCpu::new();
        start(&cpu, Nsec(100), StatGroup::Write);
        start(&cpu, Nsec(110), StatGroup::Write);
        end(&cpu, Nsec(130), StatGroup::Write, 8);
        let (group, in_flight) = writes(&cpu, 200);
        assert_eq!(group.nsecs, 20 + 100);
        assert_eq!(in_flight, 1);
    }

    #[test]
    fn sums_that_wrap_make_no_difference() {
        let cpu = OneCpu::new();
        start(&cpu, Nsec(u64::MAX - 5), StatGroup::Write);
        start(&cpu, Nsec(u64::MAX - 4), StatGroup::Write);
        end(&cpu, Nsec(u64::MAX), StatGroup::Write, 8);
        end(&cpu, Nsec(u64::MAX), StatGroup::Write, 8);
        assert_eq!(writes(&cpu, u64::MAX).0.nsecs, 9);
    }

    #[test]
    fn an_end_of_another_group_is_written_off_with_its_start() {
        let cpu = OneCpu::new();
        start(&cpu, Nsec(100), StatGroup::Write);
        end(&cpu, Nsec(130), StatGroup::Read, 8);
        for group in [StatGroup::Read, StatGroup::Write] {
            let (_, in_flight) = read(&cpu, Nsec(150))[group.index()];
            write_off(&cpu, Nsec(150), group, in_flight);
        }
        let groups = read(&cpu, Nsec(500));
        assert!(groups.iter().all(|(_, in_flight)| *in_flight == 0));
        let times = groups.iter().map(|(group, _)| group.nsecs);
        assert_eq!(times.fold(0, u64::wrapping_add), 30);
    }

    #[test]
    fn what_is_written_off_is_no_io() {
        let cpu = OneCpu::new();
        start(&cpu, Nsec(100), StatGroup::Write);
        write_off(&cpu, Nsec(130), StatGroup::Write, 1);
        let (group, in_flight) = writes(&cpu, 500);
        assert_eq!(in_flight, 0);
        assert_eq!(group.ios, 0);
        assert_eq!(group.nsecs, 30);
    }
}
