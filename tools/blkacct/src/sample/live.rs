// SPDX-License-Identifier: GPL-2.0
//! This machine, read again and again through files that stay open.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use rustix::time::{clock_gettime, ClockId};

use super::again::Again;
use super::choice::Choice;
use super::identity::{self, Identity};
use super::{cgroup, kernel, Sample};
use crate::device::Device;
use crate::snapshot;

mod reader;

use reader::Reader;

/// For how long names and settings of a device are taken to be what they were.
const FRESH: Duration = Duration::from_secs(5);

/// Reads this machine, or what is below another root.
pub struct Live {
    root: PathBuf,
    choice: Choice,
    histograms: bool,
    boot_id: Arc<str>,
    diskstats: Again,
    /// Which devices there were, in the kernel's own list, when they were last looked for.
    listed: Option<Vec<String>>,
    looked: Option<Instant>,
    readers: Vec<Reader>,
}

impl Live {
    /// Will read these devices, with their histograms or without.
    pub fn new(root: &std::path::Path, choice: Choice, histograms: bool) -> Self {
        let boot_id = snapshot::text(&root.join("proc/sys/kernel/random/boot_id"));
        Live {
            boot_id: boot_id.unwrap_or_default().trim().into(),
            diskstats: Again::list(root.join("proc/diskstats")),
            root: root.to_owned(),
            choice,
            histograms,
            listed: None,
            looked: None,
            readers: Vec::new(),
        }
    }

    /// Reads all that was asked for. A device that has gone is not in the sample.
    ///
    /// # Errors
    ///
    /// What the system says of a file that should be readable, or a file that is not what it should
    /// be; both are named.
    pub fn read(&mut self) -> anyhow::Result<Sample> {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let (begin_ns, since_boot) = (now(ClockId::Monotonic), now(ClockId::Boottime));
        // Where there is no such list, devices are looked for each time.
        let list = self.diskstats.read().unwrap_or_default();
        let kernel = kernel::parse(list);
        let names: Vec<String> = kernel.keys().map(|name| (*name).to_owned()).collect();
        let is_fresh = self.looked.is_some_and(|looked| looked.elapsed() < FRESH);
        if names.is_empty() || !is_fresh || self.listed.as_ref() != Some(&names) {
            let old = std::mem::take(&mut self.readers);
            self.readers = look(&self.root, &self.choice, self.histograms, old);
            self.listed = Some(names);
            self.looked = Some(Instant::now());
        }
        let mut devices = Vec::with_capacity(self.readers.len());
        let mut lost = false;
        for reader in &mut self.readers {
            let read = reader.read(kernel.get(reader.name()).copied())?;
            lost |= read.is_none();
            devices.extend(read);
        }
        if lost {
            self.looked = None;
        }
        Ok(Sample {
            boot_id: self.boot_id.clone(),
            wall_ns: nanos(wall.unwrap_or_default()),
            begin_ns,
            end_ns: now(ClockId::Monotonic),
            suspended_ns: since_boot.saturating_sub(begin_ns),
            devices,
        })
    }
}

/// Looks for the devices that were chosen. One that was there before keeps its files.
fn look(
    root: &std::path::Path,
    choice: &Choice,
    histograms: bool,
    old: Vec<Reader>,
) -> Vec<Reader> {
    let by_id = identity::links(root, "by-id");
    let limits = cgroup::limits(root);
    let devices = Device::all(root);
    let identities: Vec<Arc<Identity>> = devices
        .iter()
        .map(|device| {
            let mut identity = Identity::read(device, &by_id);
            let disk = identity::dev(device.disk_dir());
            let limits = disk.and_then(|dev| limits.get(&dev).cloned());
            identity.queue.cgroup_limits = limits.unwrap_or_default();
            Arc::new(identity)
        })
        .collect();
    let chosen = choice.resolved(root).of(&identities);
    let mut old: BTreeMap<String, Reader> = old
        .into_iter()
        .map(|reader| (reader.name().to_owned(), reader))
        .collect();
    let mut readers = Vec::new();
    for ((device, identity), chosen) in devices.iter().zip(identities).zip(chosen) {
        if !chosen {
            continue;
        }
        let known = old.remove(&identity.name).map(|mut reader| {
            reader.recognize(identity.clone());
            reader
        });
        readers.push(known.unwrap_or_else(|| Reader::new(device, identity, histograms)));
    }
    readers
}

fn now(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let whole = u64::try_from(time.tv_sec).unwrap_or_default();
    let rest = u64::try_from(time.tv_nsec).unwrap_or_default();
    whole.saturating_mul(1_000_000_000).saturating_add(rest)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Names a file in an error.
fn named<T>(file: &Again, read: anyhow::Result<T>) -> anyhow::Result<T> {
    read.with_context(|| file.path().display().to_string())
}

#[cfg(test)]
mod tests;
