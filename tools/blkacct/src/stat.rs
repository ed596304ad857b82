// SPDX-License-Identifier: GPL-2.0
//! `blkacct stat`: where the time of each device goes.

use std::collections::BTreeMap;
use std::io::{self, Write};

use acct::sgrp::Classic;
use acct::wire::Stat;
use anyhow::Context;
use serde::Serialize;

use crate::cli::StatArgs;
use crate::device::{is_gone, Device};
use crate::exit::NotAvailable;
use crate::invariants;
use crate::repeat::Times;
use crate::table::{align, dash, ratio};
use crate::window::{Tally, Window};

/// Runs the command.
///
/// # Errors
///
/// [`NotAvailable`] if there is no device in mode 2, or none is left; what the system says.
pub fn run(args: &StatArgs) -> anyhow::Result<()> {
    let mut names = args.words.clone();
    let times = Times::take_from(&mut names)?;
    // One that goes later is told of, and no reason to leave the others.
    for name in &names {
        Device::find(&args.root, name)?;
    }
    let mut watch = Watch::default();
    times.repeat(|| {
        let windows = watch.look(&devices(args, &names)?)?;
        let mut out = io::stdout().lock();
        if args.json {
            json(&mut out, &windows)?;
        } else {
            table(&mut out, &windows)?;
        }
        out.flush().context("standard output")
    })
}

/// Returns the devices to look at, those out of mode 2 included.
fn devices(args: &StatArgs, names: &[String]) -> anyhow::Result<Vec<Device>> {
    let mut devices = Device::all(&args.root);
    if names.is_empty() {
        devices.retain(|device| args.all || !device.is_partition());
        return Ok(devices);
    }
    let mut wanted = Vec::new();
    for name in names {
        let named = Device::find(&args.root, name).map(|device| device.name);
        let name = named.unwrap_or_else(|_| name.clone());
        let parts = devices
            .iter()
            .filter(|device| device.name == name || (args.all && device.is_on(&name)));
        wanted.extend(parts.cloned());
    }
    Ok(wanted)
}

/// The devices that are looked at, with what was last read of each.
#[derive(Default)]
struct Watch {
    last: BTreeMap<String, Stat>,
}

impl Watch {
    /// Reads all devices that are in mode 2. One that was there before and is not any more is named
    /// on standard error.
    fn look(&mut self, devices: &[Device]) -> anyhow::Result<Vec<(String, Window)>> {
        let mut windows = Vec::new();
        let mut now = BTreeMap::new();
        let mut refusal = None;
        for device in devices {
            let read = device.in_mode_2().and_then(|()| device.stat());
            let stat = match read {
                Ok(stat) => stat,
                Err(error) if error.is::<NotAvailable>() || is_gone(&error) => {
                    if self.last.contains_key(&device.name) {
                        eprintln!("blkacct: {error:#}");
                    }
                    refusal.get_or_insert(error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let mut before = self.last.remove(&device.name);
            if before.is_some_and(|before| invariants::steps_back(&before, &stat)) {
                eprintln!("blkacct: {}: another device has this name now", device.name);
                before = None;
            }
            let window = match &before {
                Some(before) => Window::new(Some(before), &stat),
                None => Window::since_mode_2(device.counted_ns(), &stat),
            };
            windows.push((device.name.clone(), window));
            now.insert(device.name.clone(), stat);
        }
        for name in self
            .last
            .keys()
            .filter(|name| !devices.iter().any(|d| d.name == **name))
        {
            eprintln!("blkacct: {name}: gone");
        }
        self.last = now;
        if windows.is_empty() {
            return Err(match (refusal, devices) {
                // What one device lacks says all about it; of many, one does for an example.
                (Some(error), [_]) => error,
                (Some(_), _) => NotAvailable(
                    "no device is in mode 2: echo 2 > /sys/block/DISK/queue/iostats, \
                     with the module loaded (modprobe blkacct)"
                        .to_owned(),
                )
                .into(),
                (None, _) => NotAvailable("no such disk or partition".to_owned()).into(),
            });
        }
        Ok(windows)
    }
}

const HEADS: [&str; 15] = [
    "Device", "r/s", "w/s", "%util", "aqu-sz", "depth", "r_await", "r_q2d", "r_d2c", "w_await",
    "w_q2d", "w_d2c", "%idlq", "errors", "requeues",
];

fn table(out: &mut impl Write, windows: &[(String, Window)]) -> io::Result<()> {
    let rows = windows.iter().map(|(name, window)| row(name, window));
    align(out, &HEADS, rows.collect())?;
    writeln!(out)
}

fn row(name: &str, window: &Window) -> Vec<String> {
    let grown = window.grown();
    let (read, write) = (
        window.classic(Classic::Read),
        window.classic(Classic::Write),
    );
    let ms = |ns: Option<u64>| ratio(ns?, 1_000_000, 1, 3);
    let split = |tally: &Tally| [ms(tally.latency()), ms(tally.q2d()), ms(tally.d2c())];
    let rates = [
        window.per_second(read.ios),
        window.per_second(write.ios),
        window.percent(grown.io_ticks),
        window.mean(grown.time_in_queue),
        ratio(grown.time_in_queue, grown.io_ticks, 1, 2),
    ];
    let faults = [
        window.idle_while_queued().and_then(|ns| window.percent(ns)),
        grown.errors.map(|n| n.to_string()),
        grown.device.map(|device| device.requeues.to_string()),
    ];
    let cells = rates
        .into_iter()
        .chain(split(&read))
        .chain(split(&write))
        .chain(faults);
    std::iter::once(name.to_owned())
        .chain(cells.map(dash))
        .collect()
}

/// One device in JSON. All times are in ns.
#[derive(Serialize)]
struct Row<'a> {
    device: &'a str,
    time_ns: u64,
    interval_ns: Option<u64>,
    io_ticks: u64,
    time_in_queue: u64,
    in_flight: u64,
    read: Tally,
    write: Tally,
    discard: Tally,
    flush: Tally,
    errors: Option<u64>,
    device_ticks: Option<u64>,
    device_time_in_queue: Option<u64>,
    device_in_flight: Option<u64>,
    idle_while_queued: Option<u64>,
    requeues: Option<u64>,
}

fn json(out: &mut impl Write, windows: &[(String, Window)]) -> io::Result<()> {
    let rows: Vec<Row> = windows
        .iter()
        .map(|(name, window)| {
            let grown = window.grown();
            Row {
                device: name,
                time_ns: grown.time_ns,
                interval_ns: window.interval_ns,
                io_ticks: grown.io_ticks,
                time_in_queue: grown.time_in_queue,
                in_flight: grown.in_flight,
                read: window.classic(Classic::Read),
                write: window.classic(Classic::Write),
                discard: window.classic(Classic::Discard),
                flush: window.classic(Classic::Flush),
                errors: grown.errors,
                device_ticks: grown.device.map(|device| device.ticks),
                device_time_in_queue: grown.device.map(|device| device.time_in_queue),
                device_in_flight: grown.device.map(|device| device.in_flight),
                idle_while_queued: window.idle_while_queued(),
                requeues: grown.device.map(|device| device.requeues),
            }
        })
        .collect();
    serde_json::to_writer(&mut *out, &rows)?;
    writeln!(out)
}
