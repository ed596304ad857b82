// SPDX-License-Identifier: GPL-2.0
//! `blkacct list`: the disks, and what is to be doubted; and what to do next.

use std::io::Write;
use std::path::Path;

use serde::Serialize;

use crate::cli::ListArgs;
use crate::device::Device;
use crate::exit::NotAvailable;
use crate::figures::blame;
use crate::sample::{Choice, DeviceSample, Identity, Live};
use crate::show::print;
use crate::show::quantity::{Quantity, Style, Unit};
use crate::show::table::{align, dash};
use crate::switch::is_bio_based;

/// Runs the command.
///
/// # Errors
///
/// [`NotAvailable`] for a disk that is not there; what the system says.
pub fn run(args: &ListArgs) -> anyhow::Result<()> {
    for name in &args.disks {
        Device::find(&args.root, name)?;
    }
    let disks = disks(&args.root, args.disks.clone())?;
    let mut out = Vec::new();
    if args.json {
        serde_json::to_writer(&mut out, &List::new(&disks))?;
        writeln!(out)?;
    } else {
        let heads = [
            "Disk",
            "mode",
            "can be",
            "size",
            "scheduler",
            "requests",
            "queues",
            "name",
        ];
        align(&mut out, &heads, disks.iter().map(Disk::row).collect())?;
        for disk in &disks {
            for doubt in &disk.doubts {
                writeln!(out, "{}: {doubt}", disk.identity.name)?;
            }
        }
    }
    print(&out)
}

/// Says what to do next.
///
/// # Errors
///
/// [`NotAvailable`] if the module is not loaded; what the system says.
pub fn next(root: &Path) -> anyhow::Result<()> {
    let disks = disks(root, Vec::new())?;
    let in_mode = |mode| {
        let disks = disks.iter().filter(|disk| disk.mode == mode);
        disks
            .map(|disk| disk.identity.name.as_str())
            .collect::<Vec<_>>()
    };
    if in_mode(None).len() == disks.len() {
        return Err(NotAvailable(
            "the module is not loaded: modprobe blkacct (`blkacct check FILE` needs none; \
             `blkacct --help` has all commands)"
                .to_owned(),
        )
        .into());
    }
    let exact = in_mode(Some(2));
    let mut out = Vec::new();
    match exact.first() {
        None => {
            writeln!(out, "No disk is counted exactly yet. Next, as root:\n")?;
            writeln!(out, "  blkacct on all            all disks that can be")?;
        }
        Some(disk) => {
            writeln!(out, "Counted exactly: {}. Next:\n", exact.join(", "))?;
            writeln!(
                out,
                "  blkacct stat -x 1         iostat's figures, exact, each second"
            )?;
            writeln!(
                out,
                "  blkacct latency {disk:<10}percentiles and histograms"
            )?;
            writeln!(
                out,
                "  blkacct check --live {disk}  proof, against a trace, as root"
            )?;
        }
    }
    writeln!(
        out,
        "  blkacct list              all disks, and what is to be doubted"
    )?;
    writeln!(out, "  blkacct --help            all commands")?;
    print(&out)
}

fn disks(root: &Path, names: Vec<String>) -> anyhow::Result<Vec<Disk>> {
    let choice = Choice {
        names,
        ..Choice::default()
    };
    let sample = Live::new(root, choice, false).read()?;
    let loaded = Device::all(root)
        .iter()
        .any(|device| device.file("iostats").exists());
    let disks = sample.devices.into_iter();
    Ok(disks
        .map(|device| {
            let dir = root.join("sys/block").join(device.identity.sysfs_disk());
            Disk::new(&device, is_bio_based(&dir), loaded)
        })
        .collect())
}

/// All of it in JSON.
#[derive(Serialize)]
struct List<'a> {
    schema: &'static str,
    version: u32,
    disks: &'a [Disk],
}

impl<'a> List<'a> {
    fn new(disks: &'a [Disk]) -> Self {
        List {
            schema: "blkacct-list",
            version: 1,
            disks,
        }
    }
}

/// A disk or a partition.
#[derive(Serialize)]
struct Disk {
    identity: Identity,
    mode: Option<u8>,
    bio_based: bool,
    can_be: String,
    doubts: Vec<String>,
    /// What is set on the queue and can hold requests back.
    holds_back: Vec<String>,
}

/// Bio-based drivers that account their I/O, by the beginning of their disks' names.
const ACCOUNTING: [&str; 7] = ["dm-", "md", "zram", "bcache", "drbd", "pmem", "nvme"];

impl Disk {
    fn new(device: &DeviceSample, bio_based: bool, loaded: bool) -> Self {
        let name = &device.identity.name;
        let accounts = ACCOUNTING.iter().any(|begin| name.starts_with(begin));
        let can_be = match (device.mode, bio_based) {
            (None, _) => "-",
            (Some(2), _) | (_, false) => "0 1 2",
            (_, true) if accounts => "0 1 2",
            (_, true) => "0 1",
        };
        Disk {
            identity: (*device.identity).clone(),
            mode: device.mode,
            bio_based,
            can_be: can_be.to_owned(),
            doubts: doubts(device, bio_based, loaded),
            holds_back: blame::set(&device.identity.queue),
        }
    }

    fn row(&self) -> Vec<String> {
        let (id, number) = (&self.identity, |n: Option<u64>| {
            dash(n.map(|n| n.to_string()))
        });
        let human = Style {
            human: true,
            ..Style::default()
        };
        let size = id
            .sectors
            .and_then(|n| Quantity::new(n.into(), 2, Unit::Kib));
        let name = id
            .dm_name
            .as_ref()
            .or(id.by_id.first())
            .or(id.model.as_ref());
        vec![
            id.name.clone(),
            dash(self.mode.map(|mode| mode.to_string())),
            self.can_be.clone(),
            dash(size.map(|size| size.text(human))),
            dash(id.queue.scheduler.clone().filter(|_| !self.bio_based)),
            number(id.queue.nr_requests.filter(|_| !self.bio_based)),
            number(id.queue.hardware_queues),
            dash(name.or(id.backing_file.as_ref()).cloned()),
        ]
    }
}

/// Returns what makes figures of a device less than exact.
fn doubts(device: &DeviceSample, bio_based: bool, loaded: bool) -> Vec<String> {
    let name = &device.identity.name;
    let Some(mode) = device.mode else {
        return vec![match loaded {
            true => {
                "the module does not take it: it is hidden, or its removal has begun".to_owned()
            }
            false => "the module is not loaded: modprobe blkacct".to_owned(),
        }];
    };
    let mut doubts = Vec::new();
    let mut doubt = |text: String| doubts.push(text);
    match mode {
        2 => (),
        0 => doubt(format!("nothing is counted: blkacct on {name}")),
        _ => doubt(format!("the kernel's own figures only: blkacct on {name}")),
    }
    if device.classic == Some(false) {
        doubt(
            "/proc/diskstats and iostat have the kernel's own io_ticks: classic=0, or no ftrace"
                .to_owned(),
        );
    }
    if device.stat.is_some_and(|stat| stat.device.is_none()) && !bio_based {
        doubt("the driver's share is not counted: the module was loaded with device=0".to_owned());
    }
    if let Some(anomalies) = device.anomalies {
        let counts = [
            (
                anomalies.clamped,
                "times went backwards: the clocks of two CPUs differ",
            ),
            (anomalies.orphans, "requests ended whose start was not seen"),
            (anomalies.lost_starts, "requests began whose end never came"),
            (
                anomalies.late_starts,
                "starts were told of late by a dm target that holds I/O back",
            ),
        ];
        for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
            doubt(format!("{count} {what}"));
        }
        if anomalies.bound_ns > 0 {
            doubt(format!(
                "any time can be off by {} ns for that",
                anomalies.bound_ns
            ));
        }
    }
    doubts
}
