// SPDX-License-Identifier: GPL-2.0
//! The files of one device.

use std::io;
use std::str::FromStr;
use std::sync::Arc;

use acct::hist::Latency;
use acct::sgrp::StatGroup;
use acct::wire::Stat;
use anyhow::Context;
use rustix::time::ClockId;

use super::{named, now, Again, Identity};
use crate::device::{is_gone, Device};
use crate::sample::{DeviceSample, KernelStat, Latencies};

/// Reads one device.
pub struct Reader {
    identity: Arc<Identity>,
    mode: Again,
    stat: Again,
    counted_ns: Again,
    anomalies: Again,
    classic: Again,
    latencies: Option<[Histogram; StatGroup::COUNT]>,
}

/// The histograms of a group, with what they were.
struct Histogram {
    file: Again,
    last: Option<Arc<Latency>>,
    /// Of the group, when they were last read.
    ios: Option<u64>,
    /// They were read once more after the group's I/O stood still, and will not change until it
    /// goes on: a histogram may be counted a moment after the I/O.
    settled: bool,
}

impl Reader {
    /// Will read this device, with its histograms or without.
    pub fn new(device: &Device, identity: Arc<Identity>, histograms: bool) -> Self {
        let file = |name: &str| Again::new(device.file(name));
        let latency = |group: StatGroup| Histogram {
            file: file(&format!("latency_{}", group.name())),
            last: None,
            ios: None,
            settled: false,
        };
        Reader {
            identity,
            mode: file("iostats"),
            stat: file("stat"),
            counted_ns: file("counted_ns"),
            anomalies: file("anomalies"),
            classic: file("classic"),
            latencies: histograms.then(|| StatGroup::ALL.map(latency)),
        }
    }

    /// Returns the device's name.
    pub fn name(&self) -> &str {
        &self.identity.name
    }

    /// Takes what has been found out about a device of this name. If it is another one, all
    /// that is known of the old one is forgotten.
    pub fn recognize(&mut self, identity: Arc<Identity>) {
        if !self.identity.is_same(&identity) {
            self.forget();
        }
        if self.identity != identity {
            self.identity = identity;
        }
    }

    fn forget(&mut self) {
        for histogram in self.latencies.iter_mut().flatten() {
            (histogram.last, histogram.ios) = (None, None);
        }
    }

    /// Reads all; none if the device has gone while it was read.
    ///
    /// # Errors
    ///
    /// What the system says else, or a file that is not what it should be.
    pub fn read(&mut self, kernel: Option<KernelStat>) -> anyhow::Result<Option<DeviceSample>> {
        let mut sample = DeviceSample {
            identity: self.identity.clone(),
            mode: None,
            took_ns: 0,
            stat: None,
            counted_ns: None,
            anomalies: None,
            latencies: Latencies::default(),
            classic: None,
            kernel,
        };
        sample.mode = match text(&mut self.mode) {
            Ok(text) => Some(text.trim().parse().context("no mode")).transpose(),
            Err(error) if is_gone(&error) => return Ok(Some(sample)),
            Err(error) => Err(error),
        }
        .with_context(|| self.mode.path().display().to_string())?;
        if sample.mode != Some(2) {
            return Ok(Some(sample));
        }
        match self.counters(&mut sample) {
            Ok(()) => Ok(Some(sample)),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn counters(&mut self, sample: &mut DeviceSample) -> anyhow::Result<()> {
        let begin = now(ClockId::Monotonic);
        let stat: Stat = parsed(&mut self.stat)?;
        sample.counted_ns = optional(&mut self.counted_ns)?;
        sample.took_ns = now(ClockId::Monotonic).saturating_sub(begin);
        sample.anomalies = optional(&mut self.anomalies)?;
        sample.classic = optional::<u8>(&mut self.classic)?.map(|classic| classic == 1);
        for (group, histogram) in StatGroup::ALL
            .into_iter()
            .zip(self.latencies.iter_mut().flatten())
        {
            let ios = stat.groups[group.index()].ios;
            sample.latencies.0[group.index()] = histogram.read(ios)?;
        }
        sample.stat = Some(stat);
        Ok(())
    }
}

impl Histogram {
    fn read(&mut self, ios: u64) -> anyhow::Result<Option<Arc<Latency>>> {
        let stands_still = self.ios == Some(ios);
        if !(stands_still && self.settled) {
            self.last = match parsed(&mut self.file) {
                Ok(latency) => Some(Arc::new(latency)),
                Err(error) if has_none(&error) => None,
                Err(error) => return Err(error),
            };
            (self.ios, self.settled) = (Some(ios), stands_still);
        }
        Ok(self.last.clone())
    }
}

/// Whether an error says that a bio-based device has no histograms.
fn has_none(error: &anyhow::Error) -> bool {
    let cause = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<io::Error>());
    cause.and_then(io::Error::raw_os_error) == Some(libc::EOPNOTSUPP)
}

fn text(file: &mut Again) -> anyhow::Result<String> {
    let read = file.read().map(str::to_owned).map_err(anyhow::Error::from);
    named(file, read)
}

fn parsed<T>(file: &mut Again) -> anyhow::Result<T>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    let parsed = text(file)?.trim_end().parse();
    parsed.with_context(|| format!("{}:1: is it blkacct's file?", file.path().display()))
}

/// Reads a file that the module need not have.
fn optional<T>(file: &mut Again) -> anyhow::Result<Option<T>>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    match parsed(file) {
        Ok(value) => Ok(Some(value)),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(error),
    }
}
