// SPDX-License-Identifier: GPL-2.0

//! What the kernel counts exactly itself, and what a reader is shown of it.

use crate::{
    acct::{
        sgrp::{
            Classic,
            StatGroup, //
        },
        wire, //
    },
    sys::bdev::{
        KernelCounts,
        KERNEL_GROUPS, //
    }, //
};

pub(super) type KernelGroups = [KernelCounts; KERNEL_GROUPS];

/// What of the kernel's own counts belongs to mode 2.
#[derive(Default)]
pub(super) struct KernelShare {
    /// Counted in earlier periods of mode 2.
    pub(super) before: KernelGroups,
    /// The kernel's counts when this period began; `None` outside mode 2.
    pub(super) base: Option<KernelGroups>,
}

impl KernelShare {
    /// Returns what the kernel has counted in mode 2, if its counts are `now`.
    pub(super) fn total(&self, now: &KernelGroups) -> KernelGroups {
        let Some(base) = &self.base else {
            return self.before;
        };
        core::array::from_fn(|group| self.before[group].plus(&now[group].minus(&base[group])))
    }
}

/// What the last reader was shown.
#[derive(Default)]
pub(super) struct Shown {
    time_ns: u64,
    io_ticks: u64,
    /// By how much one total is ahead of another. In truth it only grows.
    lead: Leads,
    /// Sectors of each of the kernel's groups.
    ///
    /// A finer group's sectors count at the start, the kernel's at the completion; in between the
    /// difference would step back.
    pub(super) sectors: [u64; KERNEL_GROUPS],
}

#[derive(Default)]
struct Leads {
    queue_over_io: u64,
    io_over_device: u64,
    device_queue_over_device: u64,
}

impl Leads {
    /// Returns a lead that has been read, or the largest that was shown.
    fn of(upper: u64, lower: u64, last: &mut u64) -> u64 {
        *last = upper.saturating_sub(lower).max(*last);
        *last
    }
}

impl Shown {
    /// Keeps the times in order from one reader to the next, as the ABI text says.
    ///
    /// The read takes them one after the other while I/O goes on, so that each can be off by what
    /// the read takes. None goes further than that: where nothing is under way all are as they were
    /// read, once they lead each other by as much as they did.
    pub(super) fn in_order(&mut self, stat: &mut wire::Stat) {
        let queue = Leads::of(
            stat.time_in_queue,
            stat.io_ticks,
            &mut self.lead.queue_over_io,
        );
        // A start that is held up between its clock reading and its entry into the root is seen
        // late, and its first moments with it. They are shown as the time allows; none is lost.
        let wall = stat.time_ns.saturating_sub(self.time_ns);
        stat.io_ticks = stat.io_ticks.min(self.io_ticks.saturating_add(wall));
        self.time_ns = stat.time_ns;
        self.io_ticks = stat.io_ticks;
        stat.time_in_queue = stat.io_ticks.saturating_add(queue);

        if let Some(device) = &mut stat.device {
            let lead = &mut self.lead;
            let queue = Leads::of(
                device.time_in_queue,
                device.ticks,
                &mut lead.device_queue_over_device,
            );
            let idle = Leads::of(stat.io_ticks, device.ticks, &mut lead.io_over_device);
            device.ticks = stat.io_ticks.saturating_sub(idle);
            device.time_in_queue = device.ticks.saturating_add(queue);
        }
    }
}

/// Puts the kernel's counts into groups that have the core's.
///
/// The kernel's groups are coarser: what the core counts itself for a finer group is taken out of
/// the one the kernel put it into. `shown` keeps the results from stepping back.
pub(super) fn fill_in(
    groups: &mut [wire::Group; StatGroup::COUNT],
    kernel: &KernelGroups,
    shown: &mut [u64; KERNEL_GROUPS],
) {
    let mut sectors = kernel.map(|counts| counts.sectors);
    for group in StatGroup::ALL {
        let coarse = &mut sectors[kernel_index(group.classic())];
        *coarse = coarse.saturating_sub(groups[group.index()].sectors);
    }
    for group in [StatGroup::Read, StatGroup::Write, StatGroup::Discard] {
        let coarse = kernel_index(group.classic());
        shown[coarse] = shown[coarse].max(sectors[coarse]);
        groups[group.index()].sectors = shown[coarse];
        groups[group.index()].merges = kernel[coarse].merges;
    }
    // The kernel times its internal flushes itself, in ns. A flush that comes as a request, to a
    // path of dm-multipath, is none of these.
    let flush = &mut groups[StatGroup::Flush.index()];
    let internal = &kernel[kernel_index(Classic::Flush)];
    flush.ios = flush.ios.wrapping_add(internal.ios);
    flush.nsecs = flush.nsecs.wrapping_add(internal.nsecs);
}

/// Returns the kernel's number of a stat group, `enum stat_group`.
pub(super) fn kernel_index(group: Classic) -> usize {
    match group {
        Classic::Read => 0,
        Classic::Write => 1,
        Classic::Discard => 2,
        Classic::Flush => 3,
    }
}

#[cfg(CONFIG_KUNIT)]
#[kernel::macros::kunit_tests(blkacct_kernel_counts)]
mod tests {
    use super::*;

    fn kernel(write: u64, discard: u64) -> KernelGroups {
        let mut groups = KernelGroups::default();
        groups[1].sectors = write;
        groups[2].sectors = discard;
        groups
    }

    #[test]
    fn a_finer_group_is_taken_out_of_the_kernels() {
        let mut groups = [wire::Group::default(); StatGroup::COUNT];
        groups[StatGroup::WriteZeroes.index()].sectors = 300;
        fill_in(&mut groups, &kernel(1000, 50), &mut [0; KERNEL_GROUPS]);
        assert_eq!(groups[StatGroup::Write.index()].sectors, 700);
        assert_eq!(groups[StatGroup::WriteZeroes.index()].sectors, 300);
        assert_eq!(groups[StatGroup::Discard.index()].sectors, 50);
    }

    #[test]
    fn sectors_that_have_started_do_not_step_back() {
        let mut shown = [0; KERNEL_GROUPS];
        let mut groups = [wire::Group::default(); StatGroup::COUNT];
        fill_in(&mut groups, &kernel(1000, 0), &mut shown);
        groups[StatGroup::WriteZeroes.index()].sectors = 300;
        fill_in(&mut groups, &kernel(1000, 0), &mut shown);
        assert_eq!(groups[StatGroup::Write.index()].sectors, 1000);
        fill_in(&mut groups, &kernel(1300, 0), &mut shown);
        assert_eq!(groups[StatGroup::Write.index()].sectors, 1000);
    }

    #[test]
    fn busy_time_seen_late_is_shown_within_wall_time() {
        let mut shown = Shown::default();
        for (time_ns, io_ticks, expected) in [
            (1000, 100, 100),
            (1010, 130, 110),
            (1015, 130, 115),
            (2000, 130, 130),
            (2000, 135, 130),
        ] {
            let mut stat = wire::Stat {
                time_ns,
                io_ticks,
                ..Default::default()
            };
            shown.in_order(&mut stat);
            assert_eq!(stat.io_ticks, expected);
        }
    }

    #[test]
    fn times_read_one_after_the_other_are_shown_in_order() {
        let mut shown = Shown::default();
        // (time, io, queue, device, device queue) as read, and what is shown but for the time.
        for (read, expected) in [
            ((1000, 100, 100, 50, 50), (100, 100, 50, 50)),
            // The queue's time was read too early, the device's too late.
            ((1100, 200, 150, 190, 180), (200, 200, 150, 150)),
            // And nothing was lost.
            ((1200, 250, 260, 190, 195), (250, 260, 190, 195)),
        ] {
            let mut stat = wire::Stat {
                time_ns: read.0,
                io_ticks: read.1,
                time_in_queue: read.2,
                device: Some(wire::DeviceSide {
                    ticks: read.3,
                    time_in_queue: read.4,
                    ..Default::default()
                }),
                ..Default::default()
            };
            shown.in_order(&mut stat);
            let device = stat.device.unwrap_or_default();
            let times = (
                stat.io_ticks,
                stat.time_in_queue,
                device.ticks,
                device.time_in_queue,
            );
            assert_eq!(times, expected);
        }
    }

    #[test]
    fn only_mode_2_counts_of_the_kernels() {
        let mut share = KernelShare::default();
        assert_eq!(share.total(&kernel(70, 0))[1].sectors, 0);
        share.base = Some(kernel(70, 0));
        assert_eq!(share.total(&kernel(75, 0))[1].sectors, 5);
        share.before = share.total(&kernel(75, 0));
        share.base = Some(kernel(90, 0));
        assert_eq!(share.total(&kernel(91, 0))[1].sectors, 6);
    }
}
