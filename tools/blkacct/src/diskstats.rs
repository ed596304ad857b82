// SPDX-License-Identifier: GPL-2.0
//! What the kernel reports: a disk's line of `/proc/diskstats`
//! (`Documentation/admin-guide/iostats.rst`).

use std::io::{self, Read};

use crate::source::{Dev, Lines, Next};

/// A disk's figures. Times are in ms, as the kernel gives them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Diskstats {
    /// Reads, writes, discards.
    pub groups: [Classic; 3],
    /// Requests in flight.
    pub in_flight: u64,
    /// Time with I/O in flight.
    pub io_ticks_ms: u64,
    /// Weighted time.
    pub time_in_queue_ms: u64,
}

/// Figures of one of the kernel's groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Classic {
    /// Completed I/O.
    pub ios: u64,
    /// Merged bios and requests.
    pub merges: u64,
    /// Sum of latencies.
    pub ms: u64,
}

/// More than the lines of the most disks that a kernel can have.
pub const LONGEST: usize = 1 << 26;

/// Finds the line of a disk, by its number, in the text of `/proc/diskstats`; none if it is not there
/// or lacks a field.
///
/// # Errors
///
/// Those of the source; a line that is none of this file.
pub fn read(source: impl Read, disk: Dev) -> io::Result<Option<Diskstats>> {
    let mut lines = Lines::new(source.take(LONGEST as u64));
    while let Next::Line(line) = lines.next_line()? {
        let figures = parse(&String::from_utf8_lossy(line), disk);
        if figures.is_some() {
            return Ok(figures);
        }
    }
    Ok(None)
}

/// Reads a line of this disk.
fn parse(line: &str, disk: Dev) -> Option<Diskstats> {
    let mut words = line.split_whitespace().map(str::parse);
    if (words.next()?, words.next()?) != (Ok(disk.major), Ok(disk.minor)) {
        return None;
    }
    let mut fields = line
        .split_whitespace()
        .skip(3)
        .map(|word| word.parse::<u64>());
    let mut next = || fields.next()?.ok();
    let (read, write) = (group(&mut next)?, group(&mut next)?);
    let (in_flight, io_ticks_ms, time_in_queue_ms) = (next()?, next()?, next()?);
    Some(Diskstats {
        groups: [read, write, group(&mut next)?],
        in_flight,
        io_ticks_ms,
        time_in_queue_ms,
    })
}

fn group(next: &mut impl FnMut() -> Option<u64>) -> Option<Classic> {
    let (ios, merges, _sectors, ms) = (next()?, next()?, next()?, next()?);
    Some(Classic { ios, merges, ms })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n   \
                        8       1 sda1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

    fn find(text: &str, minor: u32) -> Option<Diskstats> {
        read(text.as_bytes(), Dev { major: 8, minor }).unwrap()
    }

    #[test]
    fn finds_the_disk_and_not_its_partition() {
        let stats = find(TEXT, 0).unwrap();
        assert_eq!(
            stats.groups[1],
            Classic {
                ios: 5,
                merges: 6,
                ms: 8
            }
        );
        assert_eq!(
            (stats.in_flight, stats.io_ticks_ms, stats.time_in_queue_ms),
            (9, 10, 11)
        );
        assert_eq!(stats.groups[2].ios, 12);
        assert_eq!(find(TEXT, 16), None);
    }

    #[test]
    fn a_short_line_is_not_read() {
        assert_eq!(find("8 0 sda 1 2 3\n", 0), None);
    }
    #[test]
    fn a_line_without_end_is_refused() {
        let zeros = io::repeat(0).take(1 << 28);
        assert!(read(zeros, Dev { major: 8, minor: 0 }).is_err());
    }
}
