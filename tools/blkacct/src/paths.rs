// SPDX-License-Identifier: GPL-2.0
//! `blkacct paths`: the devices below a stacked one, side by side.

use std::collections::BTreeMap;
use std::io::{self, Write};

use acct::hist::Counts;
use acct::sgrp::StatGroup;
use acct::wire::Stat;
use anyhow::Context;
use serde::Serialize;

use crate::cli::PathsArgs;
use crate::device::{is_gone, Device};
use crate::exit::NotAvailable;
use crate::histogram;
use crate::invariants;
use crate::repeat::Times;
use crate::table::{align, dash, duration, ratio};
use crate::window::{Tally, Window};

/// Runs the command.
///
/// # Errors
///
/// [`NotAvailable`] if the device has nothing below it, or is not in mode 2; what the system says.
pub fn run(args: &PathsArgs) -> anyhow::Result<()> {
    let upper = Device::find(&args.root, &args.device)?;
    let times = Times {
        interval: args.interval,
        count: args.count,
    };
    let mut last = BTreeMap::new();
    times.repeat(|| {
        let names = upper.below();
        if names.is_empty() {
            let name = &upper.name;
            return Err(NotAvailable(format!("{name}: no device below it: not dm or md?")).into());
        }
        upper.in_mode_2()?;
        let mut report = Report::default();
        let mut now = BTreeMap::new();
        for name in names.iter().chain([&upper.name]) {
            let read = Device::find(&args.root, name)
                .map_err(anyhow::Error::from)
                .and_then(|device| read(&device));
            match read {
                Ok(after) => {
                    let line = Line::new(name, last.get(name), &after);
                    report.lines.push(line);
                    now.insert(name.clone(), after);
                }
                Err(error) if error.is::<NotAvailable>() || is_gone(&error) => {
                    report.left_out.push(format!("{error:#}"));
                }
                Err(error) => return Err(error),
            }
        }
        last = now;
        report.share(&upper.name);
        let mut out = io::stdout().lock();
        if args.json {
            serde_json::to_writer(&mut out, &report)?;
            writeln!(out)?;
        } else {
            report.table(&mut out)?;
        }
        out.flush().context("standard output")
    })
}

/// `stat`, and the times at the driver of all I/O, if they are counted.
type Read = (Stat, Option<Counts>);

fn read(device: &Device) -> anyhow::Result<Read> {
    device.in_mode_2()?;
    let stat = device.stat()?;
    let mut groups = Vec::new();
    for group in StatGroup::ALL.into_iter().filter(|&group| is_io(group)) {
        groups.extend(device.latency(group)?.and_then(|latency| latency.device));
    }
    let counts = (!groups.is_empty()).then(|| histogram::sum(groups.iter()));
    Ok((stat, counts))
}

/// What is I/O of a path's user: all but the flushes that the block layer makes itself.
fn is_io(group: StatGroup) -> bool {
    group != StatGroup::Flush
}

/// What moves the data that it names.
fn moves_data(group: StatGroup) -> bool {
    use StatGroup::{DrvIn, DrvOut, Read, Write, ZoneAppend};
    matches!(group, Read | Write | ZoneAppend | DrvIn | DrvOut)
}

/// All paths, and the upper device last.
#[derive(Default, Serialize)]
struct Report {
    lines: Vec<Line>,
    /// Devices that are not in mode 2, and what puts them there.
    left_out: Vec<String>,
}

/// One device; times are in ns.
#[derive(Serialize)]
struct Line {
    device: String,
    interval_ns: Option<u64>,
    ios: u64,
    /// Of the I/O of all paths, in millionths; none for the upper device.
    share_ppm: Option<u64>,
    bytes: u64,
    latency: Option<u64>,
    q2d: Option<u64>,
    d2c: Option<u64>,
    d2c_p99: Option<u64>,
    device_in_flight: Option<u64>,
    errors: Option<u64>,
    requeues: Option<u64>,
}

impl Line {
    fn new(name: &str, before: Option<&Read>, after: &Read) -> Self {
        let before = before.filter(|(stat, _)| !invariants::steps_back(stat, &after.0));
        let window = Window::new(before.map(|(stat, _)| stat), &after.0);
        let (grown, io): (_, Tally) = (window.grown(), window.tally(is_io));
        let counts = after.1.map(|after| {
            let before = before.and_then(|(_, counts)| *counts);
            histogram::grown(&before.unwrap_or_default(), &after)
        });
        Line {
            device: name.to_owned(),
            interval_ns: window.interval_ns,
            ios: io.ios,
            share_ppm: None,
            bytes: window.tally(moves_data).sectors.saturating_mul(512),
            latency: io.latency(),
            q2d: io.q2d(),
            d2c: io.d2c(),
            d2c_p99: counts.and_then(|counts| histogram::percentile(&counts, 9900)),
            device_in_flight: grown.device.map(|device| device.in_flight),
            errors: grown.errors,
            requeues: grown.device.map(|device| device.requeues),
        }
    }

    fn row(&self) -> Vec<String> {
        let rate = |count| ratio(count, self.interval_ns?, 1_000_000_000, 2);
        let number = |n: Option<u64>| n.map(|n| n.to_string());
        let cells = [
            Some(self.ios.to_string()),
            self.share_ppm.and_then(|ppm| ratio(ppm, 1_000_000, 100, 1)),
            rate(self.ios),
            rate(self.bytes / 1024),
            self.latency.map(duration),
            self.q2d.map(duration),
            self.d2c.map(duration),
            self.d2c_p99.map(duration),
            number(self.device_in_flight),
            number(self.errors),
            number(self.requeues),
        ];
        std::iter::once(self.device.clone())
            .chain(cells.map(dash))
            .collect()
    }
}

impl Report {
    /// Fills in what part of the I/O of all paths each has.
    fn share(&mut self, upper: &str) {
        let paths = self.lines.iter_mut().filter(|line| line.device != upper);
        let paths: Vec<&mut Line> = paths.collect();
        let all: u128 = paths.iter().map(|line| u128::from(line.ios)).sum();
        for line in paths {
            let share = (u128::from(line.ios) * 1_000_000).checked_div(all);
            line.share_ppm = share.and_then(|ppm| u64::try_from(ppm).ok());
        }
    }

    fn table(&self, out: &mut impl Write) -> io::Result<()> {
        const HEADS: [&str; 12] = [
            "Device",
            "ios",
            "%share",
            "io/s",
            "kB/s",
            "await",
            "q2d",
            "d2c",
            "d2c p99",
            "at driver",
            "errors",
            "requeues",
        ];
        align(out, &HEADS, self.lines.iter().map(Line::row).collect())?;
        for left_out in &self.left_out {
            writeln!(out, "note: {left_out}")?;
        }
        writeln!(out)
    }
}
