// SPDX-License-Identifier: GPL-2.0
//! What happened on a device between two reads of `stat`.

use acct::sgrp::{Classic, StatGroup};
use acct::wire::{DeviceSide, Group, Stat};
use serde::Serialize;

use super::Gap;
use crate::sample::Sample;
use crate::show::table::ratio;

/// The difference of two reads.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Its length in ns, if it is known.
    pub interval_ns: Option<u64>,
    /// The counters' growth, and in-flight at the end.
    grown: Stat,
}

/// The I/O of some groups that completed in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// I/O completed.
    pub ios: u64,
    /// Sectors of 512 bytes.
    pub sectors: u64,
    /// Sum of the latencies, in ns.
    pub nsecs: u64,
    /// Sum of the times at the driver, in ns, where they are counted.
    pub device_nsecs: Option<u64>,
}

impl Window {
    /// Returns all that was counted up to `after`, in so many ns of mode 2.
    pub fn since_mode_2(counted_ns: Option<u64>, after: &Stat) -> Self {
        Window {
            interval_ns: counted_ns,
            ..Window::new(None, after)
        }
    }

    /// Returns what happened on a device between two samples.
    ///
    /// # Errors
    ///
    /// Why nothing is known of it.
    pub fn between(before: &Sample, after: &Sample, name: &str) -> Result<Self, Gap> {
        let (a, b) = Gap::between(before, after, name)?;
        Gap::of_device(a, b).map(|(a, b)| Window::new(Some(a), b))
    }

    /// Returns what happened from `before` to `after`, or up to `after` since mode 2 began.
    pub fn new(before: Option<&Stat>, after: &Stat) -> Self {
        let start = before.copied().unwrap_or_default();
        let mut grown = *after;
        grown.io_ticks = after.io_ticks.saturating_sub(start.io_ticks);
        grown.time_in_queue = after.time_in_queue.saturating_sub(start.time_in_queue);
        for (group, start) in grown.groups.iter_mut().zip(&start.groups) {
            *group = Group {
                ios: group.ios.saturating_sub(start.ios),
                merges: group.merges.saturating_sub(start.merges),
                sectors: group.sectors.saturating_sub(start.sectors),
                nsecs: group.nsecs.saturating_sub(start.nsecs),
            };
        }
        let errors = start.errors.unwrap_or_default();
        grown.errors = after.errors.map(|now| now.saturating_sub(errors));
        if let Some(device) = &mut grown.device {
            let start = start.device.unwrap_or_default();
            *device = DeviceSide {
                ticks: device.ticks.saturating_sub(start.ticks),
                time_in_queue: device.time_in_queue.saturating_sub(start.time_in_queue),
                in_flight: device.in_flight,
                nsecs: std::array::from_fn(|i| device.nsecs[i].saturating_sub(start.nsecs[i])),
                requeues: device.requeues.saturating_sub(start.requeues),
            };
        }
        Window {
            interval_ns: before.map(|before| after.time_ns.saturating_sub(before.time_ns)),
            grown,
        }
    }

    /// Returns the growth of all counters; `time_ns` and the two in-flight are those of the end.
    pub fn grown(&self) -> &Stat {
        &self.grown
    }

    /// Adds up the groups that `which` takes.
    pub fn tally(&self, which: impl Fn(StatGroup) -> bool) -> Tally {
        let mut tally = Tally::default();
        for group in StatGroup::ALL.into_iter().filter(|&group| which(group)) {
            let grown = &self.grown.groups[group.index()];
            tally.ios += grown.ios;
            tally.sectors += grown.sectors;
            tally.nsecs += grown.nsecs;
            if let Some(device) = &self.grown.device {
                *tally.device_nsecs.get_or_insert(0) += device.nsecs[group.index()];
            }
        }
        tally
    }

    /// Adds up the groups that are one to the kernel, and so to iostat.
    pub fn classic(&self, kernel: Classic) -> Tally {
        self.tally(|group| group.classic() == kernel)
    }

    /// Returns for how long requests waited and the driver had none, in ns.
    pub fn idle_while_queued(&self) -> Option<u64> {
        let device = self.grown.device.as_ref()?;
        Some(self.grown.io_ticks.saturating_sub(device.ticks))
    }

    /// Writes a count per second.
    pub fn per_second(&self, count: u64) -> Option<String> {
        ratio(count, self.interval_ns?, 1_000_000_000, 2)
    }

    /// Writes the mean of what a time adds up.
    pub fn mean(&self, time: u64) -> Option<String> {
        ratio(time, self.interval_ns?, 1, 2)
    }

    /// Writes a time as a share of the window, in percent.
    pub fn percent(&self, time: u64) -> Option<String> {
        ratio(time, self.interval_ns?, 100, 2)
    }
}

impl Tally {
    /// Returns the mean latency in ns.
    pub fn latency(&self) -> Option<u64> {
        self.nsecs.checked_div(self.ios)
    }

    /// Returns the mean time from start to issue, in ns.
    pub fn q2d(&self) -> Option<u64> {
        self.nsecs
            .saturating_sub(self.device_nsecs?)
            .checked_div(self.ios)
    }

    /// Returns the mean time from issue to completion, in ns.
    pub fn d2c(&self) -> Option<u64> {
        self.device_nsecs?.checked_div(self.ios)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_in_flight_is_not_a_difference() {
        let side = |n| DeviceSide {
            ticks: n,
            time_in_queue: n,
            in_flight: n,
            nsecs: [n; StatGroup::COUNT],
            requeues: n,
        };
        let group = |n| Group {
            ios: n,
            merges: n,
            sectors: n,
            nsecs: n,
        };
        let stat = |n| Stat {
            time_ns: n,
            io_ticks: n,
            time_in_queue: n,
            in_flight: n,
            groups: [group(n); StatGroup::COUNT],
            errors: Some(n),
            device: Some(side(n)),
        };
        let window = Window::new(Some(&stat(3)), &stat(10));
        assert_eq!(window.interval_ns, Some(7));
        let mut want = stat(7);
        want.time_ns = 10;
        want.in_flight = 10;
        want.device.as_mut().unwrap().in_flight = 10;
        assert_eq!(*window.grown(), want);
        assert_eq!(Window::new(None, &stat(10)).interval_ns, None);
        assert_eq!(
            Window::since_mode_2(Some(5), &stat(10)).interval_ns,
            Some(5)
        );
    }

    #[test]
    fn the_kernels_groups_are_sums_of_ours() {
        let mut after = Stat::default();
        for (n, group) in after.groups.iter_mut().enumerate() {
            group.ios = 1 << n;
        }
        let window = Window::new(None, &after);
        let ios = |kernel| window.classic(kernel).ios;
        assert_eq!(ios(Classic::Read), 0b0_1000_0001);
        assert_eq!(ios(Classic::Write), 0b1_0111_0010);
        assert_eq!(ios(Classic::Discard), 0b0_0000_0100);
        assert_eq!(ios(Classic::Flush), 0b0_0000_1000);
    }
}
