// SPDX-License-Identifier: GPL-2.0
//! Which device it is, and how its queue is set.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::device::Device;
use crate::snapshot;

/// Names of a device, and its place among the others. What it does not have, or does not tell, is
/// none or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Identity {
    /// The kernel's name, as `/dev` has it: `sda`, `cciss/c0d0`.
    pub name: String,
    /// Its number, `MAJOR:MINOR`.
    pub dev: Option<String>,
    /// The number of its disk among all that this kernel has had; no other gets the same.
    pub diskseq: Option<u64>,
    /// The name that the device mapper gives it.
    pub dm_name: Option<String>,
    /// The device mapper's own identity of it; begins with `CRYPT-`, `LVM-` and the like.
    pub dm_uuid: Option<String>,
    /// The level of an md array.
    pub md_level: Option<String>,
    /// What lies below a loop device.
    pub backing_file: Option<String>,
    /// The disk's model.
    pub model: Option<String>,
    /// The disk's serial number.
    pub serial: Option<String>,
    /// The disk's name in the world.
    pub wwn: Option<String>,
    /// Its names in `/dev/disk/by-id`.
    pub by_id: Vec<String>,
    /// Its size, in sectors of 512 bytes.
    pub sectors: Option<u64>,
    /// The disk that it is a partition of.
    pub partition_of: Option<String>,
    /// What it is made of.
    pub slaves: Vec<String>,
    /// What is made of it.
    pub holders: Vec<String>,
    /// How the disk's queue is set.
    pub queue: Queue,
}

/// How a disk's queue is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Queue {
    /// The scheduler in use; none on a bio-based disk, where there is none to have.
    pub scheduler: Option<String>,
    /// Requests that the scheduler, or without one each hardware queue, can hold.
    pub nr_requests: Option<u64>,
    /// What the driver takes at once, where it tells (SCSI).
    pub depth: Option<u64>,
    /// Hardware queues.
    pub hardware_queues: Option<u64>,
    /// The latency that writeback throttling aims at, in us; 0 if it is off.
    pub wbt_lat_usec: Option<u64>,
    /// Whether it is a rotating disk, as far as the kernel knows.
    pub rotational: Option<bool>,
    /// Limits that cgroups put on the disk, each with its file.
    pub cgroup_limits: Vec<String>,
}

impl Identity {
    /// Reads what `/sys` and `/dev` below `root` say. `by_id` is what [`links`] returned.
    pub fn read(device: &Device, by_id: &BTreeMap<String, Vec<String>>) -> Self {
        let (dir, disk) = (device.dir(), device.disk_dir());
        let first = |files: &[&str]| files.iter().find_map(|file| line(&disk.join(file)));
        let name_of =
            |dir: &Path| with_slash(&dir.file_name().unwrap_or_default().to_string_lossy());
        Identity {
            name: device.name.clone(),
            dev: dev(dir),
            diskseq: number(&disk.join("diskseq")),
            dm_name: line(&dir.join("dm/name")),
            dm_uuid: line(&dir.join("dm/uuid")),
            md_level: line(&dir.join("md/level")),
            backing_file: line(&disk.join("loop/backing_file")),
            model: first(&["device/model"]),
            serial: first(&["serial", "device/serial"]).or_else(|| vpd_serial(disk)),
            wwn: first(&["wwid", "device/wwid"]),
            by_id: by_id.get(&device.name).cloned().unwrap_or_default(),
            sectors: number(&dir.join("size")),
            partition_of: device.is_partition().then(|| name_of(disk)),
            slaves: names(&dir.join("slaves")),
            holders: names(&dir.join("holders")),
            queue: Queue::read(disk),
        }
    }

    /// Whether both are of the same device, whatever has been set on it meanwhile.
    pub fn is_same(&self, other: &Self) -> bool {
        let key = |id: &Self| {
            (
                id.name.clone(),
                id.dev.clone(),
                id.diskseq,
                id.dm_uuid.clone(),
            )
        };
        key(self) == key(other)
    }

    /// Whether this is one of its names, with or without the directory that has it.
    pub fn is_called(&self, name: &str) -> bool {
        let bare = name.strip_prefix("/dev/").unwrap_or(name);
        let by_id = bare.strip_prefix("disk/by-id/").unwrap_or(bare);
        let mapped = bare.strip_prefix("mapper/").unwrap_or(bare);
        with_slash(bare) == self.name
            || self.dev.as_deref() == Some(name)
            || self.dm_name.as_deref() == Some(mapped)
            || self.by_id.iter().any(|id| id == by_id)
    }

    /// The disk's name in sysfs, where a slash cannot be.
    pub fn sysfs_disk(&self) -> String {
        let disk = self.partition_of.as_ref().unwrap_or(&self.name);
        disk.replace('/', "!")
    }
}

impl Queue {
    fn read(disk: &Path) -> Self {
        let queue = disk.join("queue");
        let scheduler = line(&queue.join("scheduler")).and_then(|line| in_use(&line));
        Queue {
            scheduler,
            nr_requests: number(&queue.join("nr_requests")),
            depth: number(&disk.join("device/queue_depth")),
            hardware_queues: Some(names(&disk.join("mq")).len() as u64).filter(|&n| n > 0),
            wbt_lat_usec: number(&queue.join("wbt_lat_usec")),
            rotational: number(&queue.join("rotational")).map(|n: u8| n == 1),
            cgroup_limits: Vec::new(),
        }
    }
}

/// Returns the choice in brackets, or the only one.
fn in_use(line: &str) -> Option<String> {
    let begin = line.split_once('[').map(|(_, rest)| rest);
    let chosen = begin.and_then(|rest| Some(rest.split_once(']')?.0));
    Some(chosen.unwrap_or(line).to_owned())
}

/// Returns the names in a directory of `/dev/disk`, by the name of the device that they lead to.
pub fn links(root: &Path, kind: &str) -> BTreeMap<String, Vec<String>> {
    let dir = root.join("dev/disk").join(kind);
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let entries = fs::read_dir(&dir).into_iter().flatten().flatten();
    for entry in entries {
        let Ok(target) = fs::read_link(entry.path()) else {
            continue;
        };
        // ../../sda, and ../../cciss/c0d0.
        let target = target.to_string_lossy().into_owned();
        let name = target.trim_start_matches("../").to_owned();
        let link = entry.file_name().to_string_lossy().into_owned();
        all.entry(name).or_default().push(link);
    }
    for links in all.values_mut() {
        links.sort();
    }
    all
}

/// Reads the unit serial number of a SCSI disk, which follows four bytes.
fn vpd_serial(disk: &Path) -> Option<String> {
    let page = snapshot::bytes(&disk.join("device/vpd_pg80")).ok()?;
    let text = String::from_utf8_lossy(page.get(4..)?).trim().to_owned();
    Some(text).filter(|text| !text.is_empty())
}

/// Returns the number of the device of a directory in sysfs.
pub fn dev(dir: &Path) -> Option<String> {
    line(&dir.join("dev"))
}

/// Spells a name as `/dev` does.
fn with_slash(name: &str) -> String {
    name.replace('!', "/")
}

/// Reads a line that is not empty.
fn line(path: &Path) -> Option<String> {
    let text = snapshot::text(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn number<T: FromStr>(path: &Path) -> Option<T> {
    line(path)?.parse().ok()
}

/// Returns the names in a directory, sorted; none if it cannot be read.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .map(|entry| with_slash(&entry.file_name().to_string_lossy()))
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn a_disk_and_its_partition_tell_who_they_are() {
        let root = root(&[
            ("sys/block/sda/dev", "8:0\n"),
            ("sys/block/sda/diskseq", "9\n"),
            ("sys/block/sda/device/model", "QEMU HARDDISK   \n"),
            ("sys/block/sda/device/vpd_pg80", "\0\u{1}\0\u{5} S/N1"),
            ("sys/block/sda/device/queue_depth", "32\n"),
            (
                "sys/block/sda/queue/scheduler",
                "none [mq-deadline] kyber\n",
            ),
            ("sys/block/sda/queue/nr_requests", "256\n"),
            ("sys/block/sda/queue/rotational", "0\n"),
            ("sys/block/sda/mq/0/nr_tags", "1\n"),
            ("sys/block/sda/mq/1/nr_tags", "1\n"),
            ("sys/block/sda/sda1/partition", "1\n"),
            ("sys/block/sda/sda1/dev", "8:1\n"),
            ("sys/block/sda/sda1/holders/dm-0/x", ""),
            ("dev/disk/by-id/x", ""),
        ]);
        let link = |id: &str, target: &str| {
            let id = root.path().join("dev/disk/by-id").join(id);
            std::os::unix::fs::symlink(target, id).unwrap();
        };
        link("wwn-0x5", "../../sda");
        link("wwn-0x5-part1", "../../sda1");
        let ids = links(root.path(), "by-id");
        let devices = Device::all(root.path());
        let read: Vec<Identity> = devices
            .iter()
            .map(|device| Identity::read(device, &ids))
            .collect();
        let [disk, part] = &read[..] else {
            panic!("{read:?}");
        };
        assert_eq!(disk.dev.as_deref(), Some("8:0"));
        assert_eq!((disk.diskseq, part.diskseq), (Some(9), Some(9)));
        assert_eq!(disk.model.as_deref(), Some("QEMU HARDDISK"));
        assert_eq!(disk.serial.as_deref(), Some("S/N1"));
        assert_eq!(disk.by_id, ["wwn-0x5"]);
        let queue = Queue {
            scheduler: Some("mq-deadline".to_owned()),
            nr_requests: Some(256),
            depth: Some(32),
            hardware_queues: Some(2),
            rotational: Some(false),
            ..Queue::default()
        };
        assert_eq!((&disk.queue, &part.queue), (&queue, &queue));
        assert_eq!(part.partition_of.as_deref(), Some("sda"));
        assert_eq!(part.holders, ["dm-0"]);
        for name in [
            "sda1",
            "/dev/sda1",
            "8:1",
            "wwn-0x5-part1",
            "/dev/disk/by-id/wwn-0x5-part1",
        ] {
            assert!(part.is_called(name) && !disk.is_called(name), "{name}");
        }
        assert_eq!(part.sysfs_disk(), "sda");
    }

    #[test]
    fn what_is_set_does_not_make_it_another_device() {
        let device = Identity {
            name: "sda".to_owned(),
            diskseq: Some(9),
            ..Identity::default()
        };
        let mut set = device.clone();
        set.queue.scheduler = Some("bfq".to_owned());
        assert!(device.is_same(&set));
        set.diskseq = Some(10);
        assert!(!device.is_same(&set));
    }

    #[test]
    fn a_mapped_device_has_its_mapped_name() {
        let root = root(&[
            ("sys/block/dm-0/dm/name", "vg-root\n"),
            ("sys/block/dm-0/queue/scheduler", "none\n"),
            ("sys/block/dm-0/slaves/cciss!c0d0/x", ""),
        ]);
        let device = &Device::all(root.path())[0];
        let identity = Identity::read(device, &links(root.path(), "by-id"));
        assert!(identity.is_called("vg-root") && identity.is_called("/dev/mapper/vg-root"));
        assert_eq!(identity.slaves, ["cciss/c0d0"]);
        assert_eq!(identity.queue.scheduler.as_deref(), Some("none"));
    }
}
