// SPDX-License-Identifier: GPL-2.0
//! What happened on a device between two reads of `stat`.

use acct::sgrp::{Classic, StatGroup};
use acct::wire::{DeviceSide, Group, Stat};
use serde::Serialize;

use super::{Gap, Stall, Stock};
use crate::sample::Sample;

/// The difference of two reads.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Its length in ns, if it is known.
    pub interval_ns: Option<u64>,
    /// How many devices it is the sum of.
    pub devices: u64,
    /// I/O in flight at its beginning.
    pub in_flight_before: u64,
    /// What the kernel's own counters say, where that can be told.
    pub stock: Option<Stock>,
    /// The counters' growth, and in-flight at the end.
    grown: Stat,
}

/// The I/O of some groups that completed in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// I/O completed.
    pub ios: u64,
    /// Requests and bios merged into another.
    pub merges: u64,
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
        let stock = Stock::between([before, after], [a, b]);
        Gap::of_device(a, b).map(|(a, b)| Window {
            stock,
            ..Window::new(Some(a), b)
        })
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
            devices: 1,
            in_flight_before: start.in_flight,
            stock: None,
            grown,
        }
    }

    /// Returns the growth of all counters; `time_ns` and the two in-flight are those of the end.
    pub fn grown(&self) -> &Stat {
        &self.grown
    }

    /// Returns the sum of several windows of the same time. What one does not have, the sum does
    /// not have. The length is the mean.
    pub fn sum(windows: &[Window]) -> Option<Self> {
        let mut all = *windows.first()?;
        let mut interval = u128::from(all.interval_ns?);
        for window in &windows[1..] {
            interval += u128::from(window.interval_ns?);
            all.devices += window.devices;
            all.stock = None;
            all.grown = added(&all.grown, &window.grown);
        }
        let mean = interval / windows.len() as u128;
        all.interval_ns = u64::try_from(mean).ok();
        Some(all)
    }

    /// Returns the time with I/O in flight and nothing completing, as far as two samples tell.
    pub fn stall(&self) -> Option<Stall> {
        Stall::of(self)
    }

    /// Adds up the groups that `which` takes.
    pub fn tally(&self, which: impl Fn(StatGroup) -> bool) -> Tally {
        let mut tally = Tally::default();
        for group in StatGroup::ALL.into_iter().filter(|&group| which(group)) {
            let grown = &self.grown.groups[group.index()];
            tally.ios += grown.ios;
            tally.merges += grown.merges;
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

    /// Whether anything completed, or was in flight. A disk that hangs is active.
    pub fn is_active(&self) -> bool {
        self.grown.io_ticks > 0 || self.tally(|_| true).ios > 0
    }

    /// Returns for how long requests waited and the driver had none, in ns.
    pub fn idle_while_queued(&self) -> Option<u64> {
        let device = self.grown.device.as_ref()?;
        Some(self.grown.io_ticks.saturating_sub(device.ticks))
    }
}

/// Adds up counters that grew; the time is that of the first.
fn added(a: &Stat, b: &Stat) -> Stat {
    let mut sum = *a;
    sum.io_ticks = a.io_ticks.saturating_add(b.io_ticks);
    sum.time_in_queue = a.time_in_queue.saturating_add(b.time_in_queue);
    sum.in_flight = a.in_flight.saturating_add(b.in_flight);
    for (group, more) in sum.groups.iter_mut().zip(&b.groups) {
        *group = Group {
            ios: group.ios.saturating_add(more.ios),
            merges: group.merges.saturating_add(more.merges),
            sectors: group.sectors.saturating_add(more.sectors),
            nsecs: group.nsecs.saturating_add(more.nsecs),
        };
    }
    sum.errors = a.errors.zip(b.errors).map(|(a, b)| a.saturating_add(b));
    sum.device = a.device.zip(b.device).map(|(a, b)| DeviceSide {
        ticks: a.ticks.saturating_add(b.ticks),
        time_in_queue: a.time_in_queue.saturating_add(b.time_in_queue),
        in_flight: a.in_flight.saturating_add(b.in_flight),
        nsecs: std::array::from_fn(|i| a.nsecs[i].saturating_add(b.nsecs[i])),
        requeues: a.requeues.saturating_add(b.requeues),
    });
    sum
}

impl Tally {
    /// Returns the mean latency in ns.
    pub fn latency(&self) -> Option<u64> {
        self.nsecs.checked_div(self.ios)
    }

    /// Returns the sum of the times from start to issue, in ns.
    pub fn q2d_sum(&self) -> Option<u64> {
        Some(self.nsecs.saturating_sub(self.device_nsecs?))
    }

    /// Returns the sum of the times from issue to completion, in ns.
    pub fn d2c_sum(&self) -> Option<u64> {
        self.device_nsecs
    }

    /// Returns the mean time from start to issue, in ns.
    pub fn q2d(&self) -> Option<u64> {
        self.q2d_sum()?.checked_div(self.ios)
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
