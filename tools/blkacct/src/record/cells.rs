// SPDX-License-Identifier: GPL-2.0
//! The counters of a device as a row of numbers, of which few change from one sample to the next.
//!
//! What a device does not have is 0, and the first number tells it from a count that is 0.

use acct::sgrp::StatGroup;
use acct::wire::{Anomalies, DeviceSide, Group, Stat};

use crate::sample::{DeviceSample, KernelGroup, KernelStat};

/// How many there are.
pub const CELLS: usize = 4 + 4 + 4 * StatGroup::COUNT + 1 + (4 + StatGroup::COUNT) + 5 + 17;

/// The numbers, in their order.
pub type Cells = [u64; CELLS];

/// What a device has, as bits of the first number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Has(pub u64);

impl Has {
    const STAT: u64 = 1;
    const ERRORS: u64 = 1 << 1;
    const DEVICE: u64 = 1 << 2;
    const COUNTED: u64 = 1 << 3;
    const ANOMALIES: u64 = 1 << 4;
    const CLASSIC: u64 = 1 << 5;
    const CLASSIC_IS_1: u64 = 1 << 6;
    const KERNEL: u64 = 1 << 7;
    /// Histograms of the first group; those of the others follow.
    const TOTAL: u32 = 8;
    /// Of them, those at the driver.
    const AT_DRIVER: u32 = Has::TOTAL + StatGroup::COUNT as u32;
    const BITS: u32 = Has::AT_DRIVER + StatGroup::COUNT as u32;

    fn of(sample: &DeviceSample) -> Self {
        let mut bits = 0;
        let mut set = |is: bool, bit: u64| bits |= if is { bit } else { 0 };
        set(sample.stat.is_some(), Has::STAT);
        set(
            sample.stat.is_some_and(|stat| stat.errors.is_some()),
            Has::ERRORS,
        );
        set(
            sample.stat.is_some_and(|stat| stat.device.is_some()),
            Has::DEVICE,
        );
        set(sample.counted_ns.is_some(), Has::COUNTED);
        set(sample.anomalies.is_some(), Has::ANOMALIES);
        set(sample.classic.is_some(), Has::CLASSIC);
        set(sample.classic == Some(true), Has::CLASSIC_IS_1);
        set(sample.kernel.is_some(), Has::KERNEL);
        for (index, latency) in sample.latencies.0.iter().enumerate() {
            let at_driver = latency.as_ref().is_some_and(|l| l.device.is_some());
            set(latency.is_some(), 1 << Has::TOTAL << index);
            set(at_driver, 1 << Has::AT_DRIVER << index);
        }
        Has(bits)
    }

    fn it(self, bit: u64) -> bool {
        self.0 & bit != 0
    }

    /// Whether it has histograms of a group.
    pub fn total(self, group: usize) -> bool {
        self.it(1 << Has::TOTAL << group)
    }

    /// Whether these have a line for the time at the driver.
    pub fn at_driver(self, group: usize) -> bool {
        self.it(1 << Has::AT_DRIVER << group)
    }
}

/// Returns the numbers of a device in a sample that was begun at `begin_ns`.
///
/// Its clocks are written as what they are off another one, which hardly changes.
pub fn write(sample: &DeviceSample, begin_ns: u64) -> Cells {
    let mut cells = [0; CELLS];
    let mut places = cells.iter_mut();
    let mut put = |values: &[u64]| {
        // The values first, or a place would be taken for none.
        for (value, place) in values.iter().zip(places.by_ref()) {
            *place = *value;
        }
    };
    let off = |clock: u64, other: u64| clock.wrapping_sub(other);
    let stat = sample.stat.unwrap_or_default();
    put(&[
        Has::of(sample).0,
        sample.mode.map_or(0, |mode| u64::from(mode) + 1),
        sample.took_ns,
        sample.counted_ns.map_or(0, |ns| off(ns, stat.time_ns)),
        sample.stat.map_or(0, |stat| off(stat.time_ns, begin_ns)),
        stat.io_ticks,
        stat.time_in_queue,
        stat.in_flight,
    ]);
    for group in &stat.groups {
        put(&[group.ios, group.merges, group.sectors, group.nsecs]);
    }
    let device = stat.device.unwrap_or_default();
    put(&[
        stat.errors.unwrap_or_default(),
        device.ticks,
        device.time_in_queue,
        device.in_flight,
        device.requeues,
    ]);
    put(&device.nsecs);
    let anomalies = sample.anomalies.unwrap_or_default();
    put(&[
        anomalies.clamped,
        anomalies.orphans,
        anomalies.lost_starts,
        anomalies.late_starts,
        anomalies.bound_ns,
    ]);
    let kernel = sample.kernel.unwrap_or_default();
    for group in &kernel.groups {
        put(&[group.ios, group.merges, group.sectors, group.ms]);
    }
    put(&[
        kernel.in_flight,
        kernel.io_ticks_ms,
        kernel.time_in_queue_ms,
        kernel.flushes,
        kernel.flush_ms,
    ]);
    cells
}

/// Sets a device's counters to these numbers; returns which histograms it has. None if no device
/// has such numbers.
pub fn read(cells: &Cells, begin_ns: u64, sample: &mut DeviceSample) -> Option<Has> {
    let mut places = cells.iter().copied();
    let mut next = || places.next().unwrap_or_default();
    let has = Has(next());
    let mode = next();
    if has.0 >> Has::BITS != 0 || mode > 1 + u64::from(u8::MAX) {
        return None;
    }
    let some = |bit: u64, value: u64| has.it(bit).then_some(value);
    sample.mode = mode.checked_sub(1).map(|mode| mode as u8);
    sample.took_ns = next();
    let (counted, time) = (next(), next());
    let time_ns = some(Has::STAT, time.wrapping_add(begin_ns)).unwrap_or_default();
    sample.counted_ns = some(Has::COUNTED, counted.wrapping_add(time_ns));
    let stat = Stat {
        time_ns,
        io_ticks: next(),
        time_in_queue: next(),
        in_flight: next(),
        groups: std::array::from_fn(|_| Group {
            ios: next(),
            merges: next(),
            sectors: next(),
            nsecs: next(),
        }),
        errors: some(Has::ERRORS, next()),
        device: Some(DeviceSide {
            ticks: next(),
            time_in_queue: next(),
            in_flight: next(),
            requeues: next(),
            nsecs: std::array::from_fn(|_| next()),
        })
        .filter(|_| has.it(Has::DEVICE)),
    };
    sample.stat = has.it(Has::STAT).then_some(stat);
    let anomalies = Anomalies {
        clamped: next(),
        orphans: next(),
        lost_starts: next(),
        late_starts: next(),
        bound_ns: next(),
    };
    sample.anomalies = has.it(Has::ANOMALIES).then_some(anomalies);
    sample.classic = has.it(Has::CLASSIC).then_some(has.it(Has::CLASSIC_IS_1));
    let kernel = KernelStat {
        groups: std::array::from_fn(|_| KernelGroup {
            ios: next(),
            merges: next(),
            sectors: next(),
            ms: next(),
        }),
        in_flight: next(),
        io_ticks_ms: next(),
        time_in_queue_ms: next(),
        flushes: next(),
        flush_ms: next(),
    };
    sample.kernel = has.it(Has::KERNEL).then_some(kernel);
    Some(has)
}
