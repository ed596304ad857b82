// SPDX-License-Identifier: GPL-2.0
//! What the kernel's own counters say of the same time, where they are its own.
//!
//! Rule: the growth of `io_ticks` and of the weighted time in `/proc/diskstats`, over the time
//! between the two reads of it. In mode 2 the module brings its own `io_ticks` into the kernel's
//! where `classic` is 1; then what the kernel would have counted is not known, and nothing is
//! claimed. The weighted time is the kernel's own on a disk that is not bio-based.
//!
//! Error: a jiffy of the kernel for `io_ticks`, and for both what happened between the reads of the
//! two files, which is the time that a sample takes.

use serde::Serialize;

use crate::sample::{DeviceSample, Sample};

/// The growth of the kernel's own counters; what is not its own is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stock {
    /// Between the two reads, in ns.
    pub interval_ns: u64,
    /// Time with I/O in flight.
    pub io_ticks_ms: Option<u64>,
    /// Sum of latencies.
    pub time_in_queue_ms: Option<u64>,
}

impl Stock {
    /// Returns what the kernel counted between two samples of a device.
    pub fn between(samples: [&Sample; 2], devices: [&DeviceSample; 2]) -> Option<Self> {
        let [from, to] = devices;
        let (a, b) = (from.kernel?, to.kernel?);
        let is_own = |device: &DeviceSample| device.classic == Some(false);
        let own = is_own(from) && is_own(to);
        let request_based = to.stat.is_some_and(|stat| stat.errors.is_some());
        let grown = |own: bool, a: u64, b: u64| own.then(|| b.checked_sub(a)).flatten();
        Some(Stock {
            interval_ns: samples[1].begin_ns.checked_sub(samples[0].begin_ns)?,
            io_ticks_ms: grown(own, a.io_ticks_ms, b.io_ticks_ms),
            time_in_queue_ms: grown(own || request_based, a.time_in_queue_ms, b.time_in_queue_ms),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::testing::{device, sample};
    use crate::sample::KernelStat;

    #[test]
    fn only_what_is_the_kernels_own_is_claimed() {
        let second = 1_000_000_000;
        let at = |n: u64, classic, bio_based: bool| {
            let mut device = device("sda", n * second);
            device.classic = classic;
            device.stat.as_mut().unwrap().errors = (!bio_based).then_some(0);
            device.kernel = Some(KernelStat {
                io_ticks_ms: n * 300,
                time_in_queue_ms: n * 700,
                ..KernelStat::default()
            });
            sample(n * second, vec![device])
        };
        let stock = |classic, bio_based| {
            let (a, b) = (at(1, classic, bio_based), at(2, classic, bio_based));
            Stock::between([&a, &b], [&a.devices[0], &b.devices[0]]).unwrap()
        };
        let want = |io_ticks_ms, time_in_queue_ms| Stock {
            interval_ns: second,
            io_ticks_ms,
            time_in_queue_ms,
        };
        assert_eq!(stock(Some(false), false), want(Some(300), Some(700)));
        assert_eq!(stock(Some(false), true), want(Some(300), Some(700)));
        assert_eq!(stock(Some(true), false), want(None, Some(700)));
        assert_eq!(stock(Some(true), true), want(None, None));
        assert_eq!(stock(None, true), want(None, None));
    }
}
