// SPDX-License-Identifier: GPL-2.0
//! Disks and partitions, as sysfs has them, and the files that the module adds.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use acct::hist::Latency;
use acct::sgrp::StatGroup;
use acct::wire::Stat;
use anyhow::Context;

use crate::exit::NotAvailable;
use crate::snapshot;
use crate::source::Dev;
use crate::terminal::quoted;

/// A disk or a partition.
#[derive(Clone, Debug)]
pub struct Device {
    /// Its name as `/dev` and `/proc/diskstats` have it: `cciss/c0d0`, not `cciss!c0d0`.
    pub name: String,
    /// Its directory in sysfs.
    dir: PathBuf,
    /// Its disk's.
    disk: PathBuf,
}

impl Device {
    /// Finds a disk or a partition by its name (`sda`, `cciss/c0d0` or `cciss!c0d0`), by a path of
    /// its node (`/dev/sda`, `/dev/disk/by-id/...`, links of which are followed), or by its number
    /// (`8:0`).
    ///
    /// # Errors
    ///
    /// [`NotAvailable`] if there is no such disk or partition.
    pub fn find(root: &Path, name: &str) -> Result<Self, NotAvailable> {
        let devices = Device::all(root);
        let named = |name: &str| {
            let name = with_slash(name);
            devices.iter().find(|device| device.name == name)
        };
        let numbered = |dev: Dev| devices.iter().find(|device| device.dev() == Some(dev));
        let found = match number(name) {
            Some(dev) => numbered(dev),
            None => named(name).or_else(|| match node(root, name)? {
                Node::Number(dev) => numbered(dev),
                Node::Name(name) => named(&name),
            }),
        };
        found.cloned().ok_or_else(|| {
            NotAvailable(format!(
                "{name}: no such disk or partition: give a name of /sys/block, a path of /dev or \
                 MAJOR:MINOR"
            ))
        })
    }

    /// Finds a whole disk as [`Device::find`] does.
    ///
    /// # Errors
    ///
    /// [`NotAvailable`] if there is none, or it is a partition, whose events name the disk.
    pub fn find_disk(root: &Path, name: &str) -> Result<Self, NotAvailable> {
        Device::find(root, name)?.whole_disk(name)
    }

    fn whole_disk(self, name: &str) -> Result<Self, NotAvailable> {
        if self.is_partition() {
            let disk = file_name(&self.disk);
            return Err(NotAvailable(format!(
                "{name}: a partition, and a trace names only disks: give {disk}"
            )));
        }
        Ok(self)
    }

    /// Returns every disk, each followed by its partitions, in the order of their names.
    pub fn all(root: &Path) -> Vec<Self> {
        let mut devices = Vec::new();
        for disk in entries(&root.join("sys/block")) {
            let partitions = entries(&disk)
                .into_iter()
                .filter(|dir| dir.join("partition").exists());
            let dirs: Vec<PathBuf> = std::iter::once(disk.clone()).chain(partitions).collect();
            devices.extend(dirs.into_iter().map(|dir| Device {
                name: file_name(&dir),
                dir,
                disk: disk.clone(),
            }));
        }
        devices
    }

    /// Returns its number; none if it has no node, as the paths of a native NVMe multipath disk.
    pub fn dev(&self) -> Option<Dev> {
        number(snapshot::text(&self.dir.join("dev")).ok()?.trim())
    }

    /// Whether it is a partition.
    pub fn is_partition(&self) -> bool {
        self.dir != self.disk
    }

    /// Whether it is a partition of this disk.
    pub fn is_on(&self, disk: &str) -> bool {
        self.is_partition() && file_name(&self.disk) == disk
    }

    /// Returns its directory in sysfs.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns its disk's directory in sysfs, which is its own if it is a disk.
    pub fn disk_dir(&self) -> &Path {
        &self.disk
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
        let mode = match snapshot::text(&switch) {
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
                quoted(mode.trim()),
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
        let text = snapshot::text(&self.file("counted_ns")).ok()?;
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
        let slaves = entries(&self.disk.join("slaves"));
        slaves.iter().map(|dir| file_name(dir)).collect()
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

/// Returns the number by which events name a disk. One that is given as a number need not be here:
/// the trace may be of another machine.
///
/// # Errors
///
/// As [`Device::find_disk`]; a disk without a number.
pub fn in_a_trace(root: &Path, disk: &str) -> Result<Dev, NotAvailable> {
    if let Some(dev) = number(disk) {
        return Ok(dev);
    }
    let here = |NotAvailable(why)| {
        NotAvailable(format!(
            "{why}; the number may be of a disk that is not here"
        ))
    };
    let found = Device::find(root, disk).map_err(here)?;
    let found = found.whole_disk(disk)?;
    found.dev().ok_or_else(|| {
        NotAvailable(format!(
            "{disk}: has no number in {}, and no events",
            found.dir.join("dev").display()
        ))
    })
}

/// Reads `MAJOR:MINOR`, or as traces have it `MAJOR,MINOR`.
fn number(text: &str) -> Option<Dev> {
    let (major, minor) = text.split_once([':', ','])?;
    Some(Dev {
        major: major.parse().ok()?,
        minor: minor.parse().ok()?,
    })
}

/// What a path in `/dev` leads to.
enum Node {
    /// A block device.
    Number(Dev),
    /// A name in `/dev`, for want of a block device: below another root there may be none.
    Name(String),
}

/// Follows a path, or a name below `/dev`.
fn node(root: &Path, name: &str) -> Option<Node> {
    let dev = root.join("dev");
    let path = match name.strip_prefix('/') {
        Some(path) => root.join(path),
        None => dev.join(name),
    };
    let (Ok(path), Ok(dev)) = (fs::canonicalize(path), fs::canonicalize(dev)) else {
        return name
            .strip_prefix("/dev/")
            .map(|rest| Node::Name(rest.to_owned()));
    };
    let status = fs::metadata(&path).ok()?;
    if status.file_type().is_block_device() {
        return Some(Node::Number(Dev {
            major: libc::major(status.rdev()),
            minor: libc::minor(status.rdev()),
        }));
    }
    let name = path.strip_prefix(dev).ok()?;
    Some(Node::Name(name.to_string_lossy().into_owned()))
}

/// Returns the name of a device whose directory in sysfs is this one.
fn file_name(dir: &Path) -> String {
    with_slash(&dir.file_name().unwrap_or_default().to_string_lossy())
}

/// Spells a name as `/dev` does. A file name has no slash, so that sysfs has `!` for it.
fn with_slash(name: &str) -> String {
    name.replace('!', "/")
}

/// Returns the entries of a directory in the order of their names, none if it cannot be read.
fn entries(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut entries: Vec<_> = entries.map(|entry| entry.path()).collect();
    entries.sort();
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    const SDA: Dev = Dev { major: 8, minor: 0 };

    /// A root with `sda`, its `sda1`, `cciss/c0d0`, and a link to the latter.
    fn root() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let put = |file: &str, text: &str| {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("sys/block/sda/dev", "8:0\n");
        put("sys/block/sda/sda1/dev", "8:1\n");
        put("sys/block/sda/sda1/partition", "1\n");
        put("sys/block/cciss!c0d0/dev", "104:0\n");
        put("dev/sda", "");
        put("dev/null", "");
        put("dev/cciss/c0d0", "");
        put("dev/disk/by-id/x", "");
        let link = root.path().join("dev/disk/by-id/scsi-1");
        std::os::unix::fs::symlink("../../cciss/c0d0", link).unwrap();
        root
    }

    #[test]
    fn a_device_is_found_by_every_name_that_it_has() {
        let root = root();
        let find = |name: &str| {
            Device::find(root.path(), name)
                .map(|device| device.name)
                .ok()
        };
        for name in ["sda", "/dev/sda", "8:0", "8,0"] {
            assert_eq!(find(name).as_deref(), Some("sda"), "{name}");
        }
        // A node need not be there.
        for name in ["sda1", "/dev/sda1", "8:1"] {
            assert_eq!(find(name).as_deref(), Some("sda1"), "{name}");
        }
        for name in [
            "cciss/c0d0",
            "cciss!c0d0",
            "/dev/cciss/c0d0",
            "/dev/cciss!c0d0",
            "/dev/disk/by-id/scsi-1",
            "disk/by-id/scsi-1",
            "104:0",
        ] {
            assert_eq!(find(name).as_deref(), Some("cciss/c0d0"), "{name}");
        }
        for name in [
            "",
            "/",
            "sdb",
            "/dev/sdb",
            "/dev/null",
            "8:2",
            "a:0",
            "../sda",
        ] {
            assert_eq!(find(name), None, "{name}");
        }
    }

    #[test]
    fn a_trace_names_disks_and_those_of_elsewhere_by_number() {
        let root = root();
        let number = |name: &str| in_a_trace(root.path(), name).map_err(|error| error.0);
        assert_eq!(number("/dev/sda"), Ok(SDA));
        assert_eq!(
            number("259:7"),
            Ok(Dev {
                major: 259,
                minor: 7
            })
        );
        assert!(number("sda1").unwrap_err().contains("give sda"));
        let elsewhere = "MAJOR:MINOR; the number may be of a disk that is not here";
        assert!(number("sdb").unwrap_err().contains(elsewhere));
        let of_root = Device::find_disk(root.path(), "8:1");
        assert!(of_root.unwrap_err().0.contains("give sda"));
    }

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
