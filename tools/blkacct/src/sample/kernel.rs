// SPDX-License-Identifier: GPL-2.0
//! What the kernel counts itself: all fields of a line of `/proc/diskstats`
//! (`Documentation/admin-guide/iostats.rst`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A line of `/proc/diskstats`. Times are in ms, as the kernel gives them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelStat {
    /// Reads, writes and discards.
    pub groups: [KernelGroup; 3],
    /// Requests in flight.
    pub in_flight: u64,
    /// Time with I/O in flight.
    pub io_ticks_ms: u64,
    /// Sum of the latencies of all groups.
    pub time_in_queue_ms: u64,
    /// Flushes.
    pub flushes: u64,
    /// Sum of their latencies.
    pub flush_ms: u64,
}

/// One of the kernel's groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelGroup {
    /// Completed I/O.
    pub ios: u64,
    /// Merged bios and requests.
    pub merges: u64,
    /// Sectors of 512 bytes.
    pub sectors: u64,
    /// Sum of latencies.
    pub ms: u64,
}

/// Reads all lines, by the name of the device. A line that lacks a field is left out.
pub fn parse(text: &str) -> BTreeMap<&str, KernelStat> {
    text.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<(&str, KernelStat)> {
    let mut words = line.split_ascii_whitespace().skip(2);
    let name = words.next()?;
    let mut next = || words.next()?.parse::<u64>().ok();
    let mut stat = KernelStat::default();
    let group = |next: &mut dyn FnMut() -> Option<u64>| {
        Some(KernelGroup {
            ios: next()?,
            merges: next()?,
            sectors: next()?,
            ms: next()?,
        })
    };
    stat.groups[0] = group(&mut next)?;
    stat.groups[1] = group(&mut next)?;
    stat.in_flight = next()?;
    stat.io_ticks_ms = next()?;
    stat.time_in_queue_ms = next()?;
    stat.groups[2] = group(&mut next)?;
    stat.flushes = next()?;
    stat.flush_ms = next()?;
    Some((name, stat))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_its_place() {
        let text = "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n\
                    8 1 sda1 1 2 3\n104 0 cciss/c0d0 0 0 0 0 0 0 0 0 0 7 0 0 0 0 0 0 0 99\n";
        let lines = parse(text);
        assert_eq!(lines.len(), 2, "a short line is none");
        assert_eq!(lines["cciss/c0d0"].io_ticks_ms, 7);
        let group = |n| KernelGroup {
            ios: n,
            merges: n + 1,
            sectors: n + 2,
            ms: n + 3,
        };
        let want = KernelStat {
            groups: [group(1), group(5), group(12)],
            in_flight: 9,
            io_ticks_ms: 10,
            time_in_queue_ms: 11,
            flushes: 16,
            flush_ms: 17,
        };
        assert_eq!(lines["sda"], want);
    }
}
