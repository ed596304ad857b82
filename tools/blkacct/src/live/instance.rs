// SPDX-License-Identifier: GPL-2.0
//! A tracefs instance of our own: its buffers, events and clock disturb no other user of the trace.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::stale;
use crate::exit::NotAvailable;
use crate::snapshot;
use crate::source::Dev;
use crate::terminal;

const EVENTS: [&str; 10] = [
    // Comes just before the start.
    "block_getrq",
    "block_io_start",
    "block_io_done",
    "block_rq_merge",
    "block_rq_issue",
    "block_rq_requeue",
    "block_rq_complete",
    "block_rq_error",
    // Where a request begins and ends after bios have joined it.
    "block_bio_frontmerge",
    "block_bio_backmerge",
];

/// The instance. Dropped, it no longer traces: it is removed, or stopped if it is not our own.
pub struct Instance {
    dir: PathBuf,
    owned: bool,
}

impl Instance {
    /// Makes an instance below `root`, or takes the one named `existing` and later leaves it there.
    /// What runs that were killed have left behind goes.
    ///
    /// # Errors
    ///
    /// [`NotAvailable`] if tracefs is not mounted; what the system says otherwise.
    pub fn new(root: &Path, existing: Option<&str>) -> anyhow::Result<Self> {
        let instances = root.join("sys/kernel/tracing/instances");
        if !instances.is_dir() {
            return Err(NotAvailable(format!(
                "{}: tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing",
                instances.display()
            ))
            .into());
        }
        if let Some(name) = existing {
            return Ok(Instance {
                dir: instances.join(name),
                owned: false,
            });
        }
        stale::remove(&instances, &root.join("proc"));
        let dir = instances.join(stale::own_name());
        fs::create_dir(&dir).with_context(|| {
            format!(
                "{}: cannot make a trace instance; are you root?",
                dir.display()
            )
        })?;
        Ok(Instance { dir, owned: true })
    }

    /// Makes ready to trace the disk.
    ///
    /// # Errors
    ///
    /// What the system says, with the file's name.
    pub fn set_up(&self, dev: Dev, buffer_kb: u64) -> anyhow::Result<()> {
        self.write("tracing_on", "0")?;
        self.write("trace_clock", "mono")?;
        self.write("buffer_size_kb", &buffer_kb.to_string())?;
        // The kernel's `dev_t` has 20 bits for the minor number.
        let filter = format!(
            "dev == {}",
            u64::from(dev.major) << 20 | u64::from(dev.minor)
        );
        for event in EVENTS {
            self.write(&format!("events/block/{event}/filter"), &filter)?;
            self.write(&format!("events/block/{event}/enable"), "1")?;
        }
        Ok(())
    }

    /// Starts to trace.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn start(&self) -> anyhow::Result<()> {
        self.write("tracing_on", "1")
    }

    /// Stops the trace; what is in the buffers can still be read.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn stop(&self) -> anyhow::Result<()> {
        self.write("tracing_on", "0")
    }

    /// Opens the pipe that hands out each event once, without waiting for one.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn pipe(&self) -> anyhow::Result<File> {
        let path = self.dir.join("trace_pipe");
        OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(&path)
            .with_context(|| path.display().to_string())
    }

    /// Returns how many events the buffers had no room for, over all CPUs.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn lost(&self) -> anyhow::Result<u64> {
        let per_cpu = self.dir.join("per_cpu");
        let mut lost = 0;
        for cpu in fs::read_dir(&per_cpu).with_context(|| per_cpu.display().to_string())? {
            let path = cpu?.path().join("stats");
            let stats = snapshot::text(&path).with_context(|| path.display().to_string())?;
            lost += overruns(&stats);
        }
        Ok(lost)
    }

    fn write(&self, file: &str, text: &str) -> anyhow::Result<()> {
        let path = self.dir.join(file);
        fs::write(&path, text).with_context(|| format!("{}: cannot write `{text}`", path.display()))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if !self.owned {
            if let Err(error) = self.stop() {
                terminal::tell(format_args!("{error:#}"));
            }
            return;
        }
        match fs::remove_dir(&self.dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                let dir = self.dir.display();
                terminal::tell(format_args!("{dir}: {error}; it still traces: rmdir {dir}"));
            }
            _ => {}
        }
    }
}

/// Adds up the lines of a CPU's `stats` that count lost events.
fn overruns(stats: &str) -> u64 {
    stats
        .lines()
        .filter_map(|line| line.split_once(": "))
        .filter(|(name, _)| matches!(*name, "overrun" | "commit overrun" | "dropped events"))
        .filter_map(|(_, value)| value.trim().parse::<u64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_goes_when_it_is_dropped() {
        let root = tempfile::tempdir().unwrap();
        let instances = root.path().join("sys/kernel/tracing/instances");
        fs::create_dir_all(&instances).unwrap();
        let instance = Instance::new(root.path(), None).unwrap();
        assert_eq!(fs::read_dir(&instances).unwrap().count(), 1);
        drop(instance);
        assert_eq!(fs::read_dir(&instances).unwrap().count(), 0);
    }

    #[test]
    fn no_tracefs_is_not_available() {
        let root = tempfile::tempdir().unwrap();
        let error = Instance::new(root.path(), None).err().unwrap();
        assert!(error.downcast_ref::<NotAvailable>().is_some());
    }

    #[test]
    fn every_way_to_lose_events_counts() {
        let stats = "entries: 5\noverrun: 1\ncommit overrun: 2\nbytes: 9\ndropped events: 4\nread events: 6\n";
        assert_eq!(overruns(stats), 7);
    }
}
