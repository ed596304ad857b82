// SPDX-License-Identifier: GPL-2.0
//! `blkacct latency`: how long I/O takes, at the percentiles.

use std::io::{self, Write};

use acct::hist::{Counts, Latency};
use acct::sgrp::StatGroup;
use anyhow::{bail, Context};
use serde::Serialize;

use crate::cli::LatencyArgs;
use crate::device::Device;
use crate::histogram::{self, Summary, PERCENTILES};
use crate::repeat::Times;
use crate::table::{align, duration};

/// Columns of the longest bar.
const WIDTH: u64 = 40;

/// Runs the command.
///
/// # Errors
///
/// [`crate::exit::NotAvailable`] if the device is not in mode 2; a bio-based device, which has no
/// histograms.
pub fn run(args: &LatencyArgs) -> anyhow::Result<()> {
    let device = Device::find(&args.root, &args.disk)?;
    let times = Times {
        interval: args.interval,
        count: args.count,
    };
    let mut before = [Latency::default(); StatGroup::COUNT];
    times.repeat(|| {
        device.in_mode_2()?;
        let after = read(&device)?;
        let sides = sides(&before, &after);
        let mut out = io::stdout().lock();
        if args.json {
            serde_json::to_writer(&mut out, &sides.iter().map(row).collect::<Vec<_>>())?;
            writeln!(out)?;
        } else {
            table(&mut out, &device.name, &sides, args.histogram)?;
        }
        before = after;
        out.flush().context("standard output")
    })
}

fn read(device: &Device) -> anyhow::Result<[Latency; StatGroup::COUNT]> {
    let mut all = [Latency::default(); StatGroup::COUNT];
    for group in StatGroup::ALL {
        let Some(latency) = device.latency(group)? else {
            bail!(
                "{}: a bio-based device has no histograms: its driver tells the time of one I/O in jiffies only; \
                 `blkacct stat` has its mean",
                device.name
            );
        };
        all[group.index()] = latency;
    }
    Ok(all)
}

/// A histogram that is not empty.
struct Side {
    group: &'static str,
    name: &'static str,
    summary: Summary,
    counts: Counts,
}

/// Returns what was counted from `before` to `after`.
fn sides(before: &[Latency], after: &[Latency]) -> Vec<Side> {
    let mut sides = Vec::new();
    for group in StatGroup::ALL {
        let (a, b) = (&before[group.index()], &after[group.index()]);
        let device = b.device.map(|after| (a.device.unwrap_or_default(), after));
        let both = [("total", Some((a.total, b.total))), ("device", device)];
        for (name, counts) in both {
            let Some(counts) = counts.map(|(a, b)| histogram::grown(&a, &b)) else {
                continue;
            };
            sides.extend(histogram::summary(&counts).map(|summary| Side {
                group: group.name(),
                name,
                summary,
                counts,
            }));
        }
    }
    sides
}

fn table(out: &mut impl Write, device: &str, sides: &[Side], bars: bool) -> io::Result<()> {
    let mut heads = vec![device, "side", "count", "mean"];
    heads.extend(PERCENTILES.map(|(_, name)| name));
    heads.push("max");
    let rows = sides.iter().map(|side| {
        let summary = &side.summary;
        let mut row = vec![
            side.group.to_owned(),
            side.name.to_owned(),
            summary.count.to_string(),
            duration(summary.mean),
        ];
        row.extend(summary.percentiles.map(duration));
        row.push(duration(summary.max));
        row
    });
    align(out, &heads, rows.collect())?;
    for side in sides.iter().filter(|_| bars) {
        writeln!(out, "\n{} {}", side.group, side.name)?;
        let bars = histogram::bars(&side.counts);
        let most = bars.iter().map(|bar| bar.2).max().unwrap_or_default();
        let rows = bars.iter().map(|&(begin, end, count)| {
            // Rounded up, so that a single I/O shows.
            let columns = u128::from(count) * u128::from(WIDTH);
            let columns = columns.div_ceil(u128::from(most.max(1))) as usize;
            let end = match end {
                u64::MAX => "...".to_owned(),
                end => duration(end),
            };
            vec![
                format!("[{}, {end})", duration(begin)),
                count.to_string(),
                format!("{:<1$}", "#".repeat(columns), WIDTH as usize),
            ]
        });
        align(out, &["", "count", ""], rows.collect())?;
    }
    writeln!(out)
}

/// One histogram in JSON. All times are in ns.
#[derive(Serialize)]
struct Row<'a> {
    group: &'a str,
    side: &'a str,
    #[serde(flatten)]
    summary: Summary,
    /// Begin, end and count of each bucket with I/O.
    buckets: Vec<(u64, u64, u64)>,
}

fn row(side: &Side) -> Row<'_> {
    let bars = histogram::bars(&side.counts).into_iter();
    Row {
        group: side.group,
        side: side.name,
        summary: side.summary,
        buckets: bars.filter(|&(_, _, count)| count > 0).collect(),
    }
}
