// SPDX-License-Identifier: GPL-2.0
//! What is read of a disk: the reports at an edge of the window, and `stat` in between.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use acct::wire::{Anomalies, Stat};
use anyhow::Context;

use crate::device::Device;
use crate::diskstats::{self, Diskstats};
use crate::invariants::{self, Violation};
use crate::oracle::edge::Edge;
use crate::snapshot;
use crate::source::Dev;

/// How often the reports are read for an edge; the quickest read is taken. One that is held up says
/// little: all that happens meanwhile may be in it or not.
const TRIES: u32 = 3;

/// Where the reports are.
pub struct Files {
    disk: Dev,
    stat: PathBuf,
    anomalies: PathBuf,
    diskstats: PathBuf,
    /// What `classic` says.
    pub classic: bool,
}

/// The reports at one edge.
pub struct Reports {
    /// Blkacct's.
    pub stat: Stat,
    /// How long it took to read, in ns.
    pub took_ns: u64,
    /// Blkacct's `anomalies`.
    pub anomalies: Anomalies,
    /// The kernel's line.
    pub diskstats: Diskstats,
}

impl Reports {
    /// Returns the edge of the window. The read's own time lies somewhere within it.
    pub fn edge(&self) -> Edge {
        let time = self.stat.time_ns;
        Edge {
            time,
            begun: time.saturating_sub(self.took_ns),
            over: time.saturating_add(self.took_ns),
        }
    }
}

/// The reads of `stat` in a window, each held against the one before.
#[derive(Default)]
pub struct Reads {
    last: Option<Stat>,
    /// What must hold between two of them and does not.
    pub violations: Vec<Violation>,
    /// How long the longest took, in ns.
    pub longest_ns: u64,
}

impl Reads {
    fn check(&mut self, stat: &Stat, took_ns: u64) {
        self.longest_ns = self.longest_ns.max(took_ns);
        if let Some(last) = self.last.replace(*stat) {
            self.violations.extend(invariants::check(&last, stat));
        }
    }
}

impl Files {
    /// Returns those of a disk.
    ///
    /// # Errors
    ///
    /// [`crate::exit::NotAvailable`] if it is not in mode 2.
    pub fn of(device: &Device, disk: Dev, root: &Path) -> anyhow::Result<Self> {
        device.in_mode_2()?;
        Ok(Files {
            disk,
            stat: device.file("stat"),
            anomalies: device.file("anomalies"),
            diskstats: root.join("proc/diskstats"),
            // An older module has no such file.
            classic: snapshot::text(&device.file("classic")).is_ok_and(|text| text.trim() == "1"),
        })
    }

    /// Returns the name of `stat`.
    pub fn stat(&self) -> &Path {
        &self.stat
    }

    /// Reads the reports for an edge.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, with its name.
    pub fn edge(&self, reads: &mut Reads) -> anyhow::Result<Reports> {
        let mut best = self.reports(reads)?;
        for _ in 1..TRIES {
            let next = self.reports(reads)?;
            if next.took_ns < best.took_ns {
                best = next;
            }
        }
        Ok(best)
    }

    /// Reads `stat`; returns it and how long that took, in ns.
    ///
    /// # Errors
    ///
    /// What [`snapshot::stat`] says.
    pub fn read(&self, reads: &mut Reads) -> anyhow::Result<(Stat, u64)> {
        let begun = Instant::now();
        let stat = snapshot::stat(&self.stat)?;
        let took_ns = ns(begun.elapsed());
        reads.check(&stat, took_ns);
        Ok((stat, took_ns))
    }

    fn reports(&self, reads: &mut Reads) -> anyhow::Result<Reports> {
        let (stat, took_ns) = self.read(reads)?;
        let diskstats = File::open(&self.diskstats)
            .and_then(|file| diskstats::read(file, self.disk))
            .with_context(|| self.diskstats.display().to_string())?
            .with_context(|| {
                let Dev { major, minor } = self.disk;
                format!("{}: no line of {major} {minor}", self.diskstats.display())
            })?;
        Ok(Reports {
            stat,
            took_ns,
            anomalies: snapshot::anomalies(&self.anomalies)?,
            diskstats,
        })
    }
}

/// Returns a time in ns.
fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_in_the_middle_is_found() {
        let read = |time_ns, io_ticks| Stat {
            time_ns,
            io_ticks,
            time_in_queue: io_ticks,
            ..Stat::default()
        };
        let mut reads = Reads::default();
        for stat in [read(10, 0), read(20, 5), read(30, 10), read(40, 10)] {
            reads.check(&stat, stat.time_ns % 40);
        }
        assert_eq!(reads.violations, []);
        assert_eq!(reads.longest_ns, 30);
        // First and last alone would do.
        let mut reads = Reads::default();
        for stat in [read(10, 0), read(20, 9), read(30, 8), read(40, 10)] {
            reads.check(&stat, 0);
        }
        let told: Vec<String> = reads.violations.iter().map(Violation::to_string).collect();
        let want =
            ["io_ticks", "time_in_queue"].map(|name| format!("{name} steps back from 9 to 8"));
        assert_eq!(told, want);
    }
}
