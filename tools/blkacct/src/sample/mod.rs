// SPDX-License-Identifier: GPL-2.0
//! What all commands that show something look at: samples of devices, and where they come from.
//!
//! A [`Sample`] is what was read of all devices at one time. A [`Source`] gives one after the
//! other: [`Paced`] reads this machine, a recording gives back what was read before. Figures are
//! made of two samples, in [`crate::figures`].

mod again;
mod cgroup;
mod choice;
mod identity;
mod kernel;
mod live;
mod paced;
#[cfg(test)]
pub mod testing;
mod text;
mod times;

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use acct::hist::Latency;
use acct::sgrp::StatGroup;
use acct::wire::{Anomalies, Stat};
use serde::{Deserialize, Serialize};

use crate::exit::NotAvailable;
pub use choice::Choice;
pub use identity::{links, Identity, Queue};
pub use kernel::{KernelGroup, KernelStat};
pub use live::Live;
pub use paced::Paced;
pub use times::{interval, Pace, Times};

/// What was read of all devices at one time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The kernel's name for this run of it. Clocks and counters of two runs have nothing in common.
    pub boot_id: Arc<str>,
    /// Wall clock before the read, in ns since 1970 UTC.
    pub wall_ns: u64,
    /// `CLOCK_MONOTONIC` before the read, in ns.
    pub begin_ns: u64,
    /// `CLOCK_MONOTONIC` after the read, in ns.
    pub end_ns: u64,
    /// For how long the machine has been suspended since it was booted, in ns. `CLOCK_MONOTONIC`
    /// stands still meanwhile.
    pub suspended_ns: u64,
    /// The devices, each disk followed by its partitions, in the order of their names.
    pub devices: Vec<DeviceSample>,
}

impl Sample {
    /// Returns the device of this name, as [`Identity::name`] has it.
    pub fn device(&self, name: &str) -> Option<&DeviceSample> {
        self.devices
            .iter()
            .find(|device| device.identity.name == name)
    }
}

/// What was read of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceSample {
    /// Which device it is, and how its queue is set.
    pub identity: Arc<Identity>,
    /// The accounting mode, 0 to 2; none if the module is not loaded or does not take the device.
    pub mode: Option<u8>,
    /// For how long `stat` and `counted_ns` were being read, in ns.
    pub took_ns: u64,
    /// The module's counters; none out of mode 2, where they stand still.
    #[serde(with = "text::option")]
    pub stat: Option<Stat>,
    /// For how long the device has been in mode 2, in ns; none if the module does not tell.
    pub counted_ns: Option<u64>,
    /// What did not go as it should; none out of mode 2.
    #[serde(with = "text::option")]
    pub anomalies: Option<Anomalies>,
    /// Histograms.
    pub latencies: Latencies,
    /// Whether the kernel's own `io_ticks` are the module's in mode 2; none if it does not tell.
    pub classic: Option<bool>,
    /// The kernel's own figures.
    pub kernel: Option<KernelStat>,
}

/// Histograms of a device, by [`StatGroup::index`]; none of a bio-based device, out of mode 2, or if
/// they were not asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latencies(
    #[serde(with = "text::latencies")] pub [Option<Arc<Latency>>; StatGroup::COUNT],
);

impl Latencies {
    /// Returns the histograms of a group.
    pub fn of(&self, group: StatGroup) -> Option<&Latency> {
        self.0[group.index()].as_deref()
    }

    /// Whether there is none at all.
    pub fn are_none(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
}

impl DeviceSample {
    /// Returns the counters of a device in mode 2.
    ///
    /// # Errors
    ///
    /// [`NotAvailable`] with what puts it there.
    pub fn counters(&self) -> Result<&Stat, NotAvailable> {
        let (name, disk) = (&self.identity.name, self.identity.sysfs_disk());
        match (self.mode, &self.stat) {
            (_, Some(stat)) => Ok(stat),
            (None, None) => Err(NotAvailable(format!(
                "/sys/block/{disk}/blkacct: not there: the module is not loaded (modprobe blkacct), \
                 or does not take this disk"
            ))),
            (Some(mode), None) => Err(NotAvailable(format!(
                "{name}: iostats is {mode}, not 2: blkacct on {}",
                disk.replace('!', "/")
            ))),
        }
    }
}

/// Where samples come from.
pub trait Source {
    /// Returns the next sample; none when there are no more.
    ///
    /// # Errors
    ///
    /// What the system says, or a file that is not what it should be.
    fn next(&mut self) -> anyhow::Result<Option<Sample>>;

    /// Ends the samples, even while one is waited for, when `stop` is set. A source that waits for
    /// none need not look.
    fn until(&mut self, _stop: Arc<AtomicBool>) {}
}
