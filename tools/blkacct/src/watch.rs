// SPDX-License-Identifier: GPL-2.0
//! `blkacct check --watch`: many reads of `stat`, and what must hold between any two of them.
//!
//! It needs neither a trace nor a quiet disk, and says nothing about the truth: only that the
//! numbers do not contradict each other, whatever happens meanwhile.

use std::io::Write;

use acct::wire::Stat;
use anyhow::bail;

use crate::cli::CheckArgs;
use crate::device::Device;
use crate::exit::{self, Exit};
use crate::invariants;
use crate::terminal;

/// Violations that are told; the rest is counted.
const TOLD: u64 = 20;

/// Reads `stat` of a device as often as `args` say, as fast as it goes.
///
/// # Errors
///
/// A device that is not there, or not in mode 2; a file that cannot be read.
pub fn run(name: &str, args: &CheckArgs) -> anyhow::Result<Exit> {
    let device = Device::find(&args.root, name)?;
    device.in_mode_2()?;
    let mut out = terminal::out();
    watch(&device.name, args.reads, || device.stat(), &mut out)
}

fn watch(
    name: &str,
    reads: u64,
    mut read: impl FnMut() -> anyhow::Result<Stat>,
    out: &mut impl Write,
) -> anyhow::Result<Exit> {
    let mut violations = 0;
    let first = read()?;
    let mut last = first;
    for number in 2..=reads {
        let stat = read()?;
        for violation in invariants::check(&last, &stat) {
            violations += 1;
            if violations <= TOLD {
                exit::unless_closed(writeln!(out, "read {number}: {violation}"))?;
            }
        }
        last = stat;
    }
    if last.time_ns == first.time_ns {
        bail!("{name}: the time in stat stands still; is it the module's file?");
    }
    let ios = |stat: &Stat| stat.groups.iter().map(|group| group.ios).sum::<u64>();
    exit::unless_closed(writeln!(
        out,
        "{}: {reads} reads in {} ms, while {} I/Os were done: {violations} violations",
        terminal::line(name),
        last.time_ns.saturating_sub(first.time_ns) / 1_000_000,
        ios(&last).saturating_sub(ios(&first)),
    ))?;
    Ok(match violations {
        0 => Exit::Ok,
        _ => Exit::CheckFailed,
    })
}

#[cfg(test)]
mod tests {
    use acct::wire::DeviceSide;

    use super::*;

    /// Returns a reading with these times, and device times of `at_driver`.
    fn stat(time_ns: u64, io_ticks: u64, time_in_queue: u64, at_driver: u64) -> Stat {
        Stat {
            time_ns,
            io_ticks,
            time_in_queue,
            device: Some(DeviceSide {
                ticks: at_driver,
                time_in_queue,
                ..DeviceSide::default()
            }),
            ..Stat::default()
        }
    }

    /// Watches these readings; returns the verdict and what was printed.
    fn watched(readings: &[Stat]) -> (Exit, String) {
        let mut readings = readings.iter();
        let mut out = Vec::new();
        let count = readings.len() as u64;
        let read = || Ok(*readings.next().unwrap());
        let exit = watch("sda", count, read, &mut out).unwrap();
        (exit, String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_slow_disk_that_is_counted_well_is_no_violation() {
        let first = stat(100, 50, 50, 40);
        let (exit, out) = watched(&[first, first, stat(1_000_100, 1_000_050, 9_000_050, 40)]);
        assert_eq!(
            out,
            "sda: 3 reads in 1 ms, while 0 I/Os were done: 0 violations\n"
        );
        assert_eq!(exit, Exit::Ok);
    }

    #[test]
    fn each_contradiction_is_told_with_its_read() {
        let first = stat(100, 50, 50, 40);
        let (exit, out) = watched(&[first, stat(110, 61, 70, 40), stat(120, 65, 75, 50)]);
        assert!(
            out.starts_with("read 2: io_ticks grows by 11, time_ns only by 10\n"),
            "{out}"
        );
        assert!(
            out.contains("read 3: device_ticks grows by 10, io_ticks only by 4\n"),
            "{out}"
        );
        assert_eq!(exit, Exit::CheckFailed);
    }

    #[test]
    fn a_file_that_never_changes_is_no_evidence() {
        let first = stat(100, 50, 50, 40);
        let read = || Ok(first);
        assert!(watch("sda", 5, read, &mut Vec::new()).is_err());
    }
}
