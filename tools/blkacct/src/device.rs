// SPDX-License-Identifier: GPL-2.0
//! Disks and partitions, as sysfs has them, and the files that the module adds.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use acct::hist::Latency;
use acct::sgrp::StatGroup;
use acct::wire::Stat;
use anyhow::Context;

use crate::exit::NotAvailable;
use crate::snapshot;

/// A disk or a partition.
#[derive(Clone, Debug)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Its directory in sysfs.
    dir: PathBuf,
    /// Its disk's.
    disk: PathBuf,
}

impl Device {
    /// Finds a device by its name, or by its path in `/dev`, links of which are followed.
    ///
    /// # Errors
    ///
    /// [`NotAvailable`] if there is no such disk or partition.
    pub fn find(root: &Path, name: &str) -> Result<Self, NotAvailable> {
        let name = match name.strip_prefix("/dev/") {
            Some(rest) => fs::canonicalize(root.join("dev").join(rest))
                .ok()
                .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
                .unwrap_or_else(|| rest.to_owned()),
            None => name.to_owned(),
        };
        Device::all(root)
            .into_iter()
            .find(|device| device.name == name)
            .ok_or_else(|| NotAvailable(format!("{name}: no such disk or partition")))
    }

    /// Returns every disk, each followed by its partitions, in the order of their names.
    pub fn all(root: &Path) -> Vec<Self> {
        let mut devices = Vec::new();
        for (name, disk) in entries(&root.join("sys/block")) {
            let partitions: Vec<Device> = entries(&disk)
                .into_iter()
                .filter(|(_, dir)| dir.join("partition").exists())
                .map(|(name, dir)| Device {
                    name,
                    dir,
                    disk: disk.clone(),
                })
                .collect();
            devices.push(Device {
                name,
                dir: disk.clone(),
                disk,
            });
            devices.extend(partitions);
        }
        devices
    }

    /// Whether it is a partition.
    pub fn is_partition(&self) -> bool {
        self.dir != self.disk
    }

    /// Whether it is a partition of this disk.
    pub fn is_on(&self, disk: &str) -> bool {
        self.is_partition() && self.disk.file_name().is_some_and(|name| name == disk)
    }

    /// Returns the path of one of the module's files.
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.join("blkacct").join(name)
    }

    /// Succeeds if the device is in mode 2.
    ///
    /// # Errors
    ///
    /// [`NotAvailable`] with what puts it there; what the system says if the mode cannot be read.
    pub fn in_mode_2(&self) -> anyhow::Result<()> {
        let switch = self.file("iostats");
        let mode = match fs::read_to_string(&switch) {
            Ok(mode) => mode,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(NotAvailable(format!(
                    "{}: not there: the module is not loaded (modprobe blkacct), or does not take this disk",
                    self.dir.join("blkacct").display()
                ))
                .into())
            }
            Err(error) => return Err(error).context(switch.display().to_string()),
        };
        if mode.trim() != "2" {
            return Err(NotAvailable(format!(
                "{}: iostats is {}, not 2: echo 2 > {}",
                self.name,
                mode.trim(),
                self.disk.join("blkacct/iostats").display()
            ))
            .into());
        }
        Ok(())
    }

    /// Reads `stat`.
    ///
    /// # Errors
    ///
    /// A device that is gone, or a file that is not what it should be.
    pub fn stat(&self) -> anyhow::Result<Stat> {
        snapshot::stat(&self.file("stat"))
    }

    /// Returns for how long it has been in mode 2, in ns; none if the module does not tell.
    pub fn counted_ns(&self) -> Option<u64> {
        let text = fs::read_to_string(self.file("counted_ns")).ok()?;
        text.trim_end().parse().ok()
    }

    /// Reads the histograms of a group; none on a bio-based device, which has none.
    ///
    /// # Errors
    ///
    /// As [`Device::stat`].
    pub fn latency(&self, group: StatGroup) -> anyhow::Result<Option<Latency>> {
        let read = snapshot::latency(&self.file(&format!("latency_{}", group.name())));
        match read {
            Err(error) if has_no_histograms(&error) => Ok(None),
            read => read.map(Some),
        }
    }

    /// Returns the names of the devices below, of a dm or md device.
    pub fn below(&self) -> Vec<String> {
        let slaves = entries(&self.disk.join("slaves")).into_iter();
        slaves.map(|(name, _)| name).collect()
    }
}

/// Whether an error says that the device is no longer there.
pub fn is_gone(error: &anyhow::Error) -> bool {
    system_error(error).is_some_and(|error| {
        error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(libc::ENODEV)
    })
}

fn has_no_histograms(error: &anyhow::Error) -> bool {
    system_error(error).and_then(io::Error::raw_os_error) == Some(libc::EOPNOTSUPP)
}

fn system_error(error: &anyhow::Error) -> Option<&io::Error> {
    error.chain().find_map(|cause| cause.downcast_ref())
}

/// Returns the entries of a directory by name, none if it cannot be read.
fn entries(dir: &Path) -> Vec<(String, PathBuf)> {
    let mut entries: Vec<_> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| {
            (
                entry.file_name().to_string_lossy().into_owned(),
                entry.path(),
            )
        })
        .collect();
    entries.sort();
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_told_apart() {
        let said = |code| {
            let error: anyhow::Result<()> = Err(io::Error::from_raw_os_error(code).into());
            error.context("sda").unwrap_err()
        };
        assert!(is_gone(&said(libc::ENODEV)) && is_gone(&said(libc::ENOENT)));
        assert!(!is_gone(&said(libc::EOPNOTSUPP)) && !is_gone(&said(libc::EACCES)));
        assert!(has_no_histograms(&said(libc::EOPNOTSUPP)));
        assert!(!has_no_histograms(&said(libc::ENODEV)));
    }
}
