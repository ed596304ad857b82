// SPDX-License-Identifier: GPL-2.0
//! `blkacct paths`: the devices below a stacked one, side by side.

use std::io::{self, Write};

use acct::hist::Counts;
use acct::sgrp::StatGroup;
use serde::Serialize;

use crate::cli::PathsArgs;
use crate::exit::NotAvailable;
use crate::figures::layer::{self, Layer};
use crate::figures::{histogram, Tally, Window};
use crate::record::Input;
use crate::sample::{Choice, DeviceSample, Sample, Times};
use crate::show::table::{align, dash, duration, ratio};
use crate::terminal;

/// Runs the command.
///
/// # Errors
///
/// [`NotAvailable`] if the device has nothing below it, or is not in mode 2; what the system says.
pub fn run(args: &PathsArgs) -> anyhow::Result<()> {
    let mut input = Input::open(args.from.as_deref(), &args.root)?;
    let upper = input.find(&args.device)?;
    let times = Times {
        interval: args.interval,
        count: args.count,
    };
    let choice = Choice {
        names: vec![upper.clone()],
        partitions: false,
        below: true,
    };
    let mut source = input.source(choice, true, times);
    let mut last = None;
    while let Some(sample) = source.next()? {
        let report = Report::new(&upper, last.as_ref(), &sample)?;
        let mut out = terminal::out();
        if args.json {
            serde_json::to_writer(&mut out, &report)?;
            writeln!(out)?;
        } else {
            report.table(&mut out)?;
        }
        out.flush()?;
        last = Some(sample);
    }
    Ok(())
}

/// Returns the times at the driver of all I/O, if they are counted.
fn at_driver(device: &DeviceSample) -> Option<Counts> {
    let groups = StatGroup::ALL.into_iter().filter(|&group| is_io(group));
    let counts: Vec<Counts> = groups
        .filter_map(|group| device.latencies.of(group)?.device)
        .collect();
    (!counts.is_empty()).then(|| histogram::sum(counts.iter()))
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
    /// What the device itself adds to the mean latency.
    own: Option<Layer>,
    /// Devices that are not in mode 2, and what puts them there.
    left_out: Vec<String>,
}

/// One device; times are in ns.
#[derive(Default, Serialize)]
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
    /// A device over the time between two samples, or up to the second; one whose samples do not
    /// compare has no more than its name.
    fn new(before: Option<&DeviceSample>, after: &DeviceSample, window: Option<&Window>) -> Self {
        let mut line = Line {
            device: after.identity.name.clone(),
            ..Line::default()
        };
        let Some(window) = window else {
            return line;
        };
        let (grown, io): (_, Tally) = (window.grown(), window.tally(is_io));
        let counts = at_driver(after).map(|after| {
            let before = before.and_then(at_driver);
            histogram::grown(&before.unwrap_or_default(), &after)
        });
        line.interval_ns = window.interval_ns;
        line.ios = io.ios;
        line.bytes = window.tally(moves_data).sectors.saturating_mul(512);
        line.latency = io.latency();
        (line.q2d, line.d2c) = (io.q2d(), io.d2c());
        line.d2c_p99 = counts.and_then(|counts| histogram::percentile(&counts, 9900));
        line.device_in_flight = grown.device.map(|device| device.in_flight);
        line.errors = grown.errors;
        line.requeues = grown.device.map(|device| device.requeues);
        line
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
    fn new(upper: &str, last: Option<&Sample>, now: &Sample) -> anyhow::Result<Self> {
        let gone = || NotAvailable(format!("{upper}: gone"));
        let top = now.device(upper).ok_or_else(gone)?;
        let slaves = &top.identity.slaves;
        if slaves.is_empty() {
            return Err(NotAvailable(format!("{upper}: no device below it: not dm or md?")).into());
        }
        top.counters()?;
        let mut report = Report::default();
        let mut windows = Vec::new();
        let legs = slaves.iter().filter_map(|name| now.device(name));
        for device in legs.chain([top]) {
            let name = &device.identity.name;
            let stat = match device.counters() {
                Ok(stat) => stat,
                Err(error) => {
                    report.left_out.push(error.to_string());
                    continue;
                }
            };
            let window = match last {
                None => Some(Window::new(None, stat)),
                Some(last) => match Window::between(last, now, name) {
                    Ok(window) => Some(window),
                    Err(gap) => {
                        report.left_out.push(format!("{name}: {gap}"));
                        None
                    }
                },
            };
            windows.push(window);
            let before = last.and_then(|last| last.device(name));
            report
                .lines
                .push(Line::new(before, device, window.as_ref()));
        }
        report.share(upper);
        // A leg that is not counted, or not comparable, may have had any of the I/O.
        if report.left_out.is_empty() {
            let windows: Option<Vec<Window>> = windows.into_iter().collect();
            let split = windows.as_deref().and_then(<[Window]>::split_last);
            report.own = split.and_then(|(upper, legs)| layer::own_share(upper, legs));
        }
        Ok(report)
    }

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
        if let (Some(own), Some(upper)) = (self.own, self.lines.last()) {
            let sign = if own.own_ns < 0 { "-" } else { "" };
            writeln!(
                out,
                "{} adds {sign}{}, give or take {}",
                terminal::line(&upper.device),
                duration(own.own_ns.unsigned_abs()),
                duration(own.error_ns)
            )?;
        }
        for left_out in &self.left_out {
            writeln!(out, "note: {}", terminal::line(left_out))?;
        }
        writeln!(out)
    }
}
