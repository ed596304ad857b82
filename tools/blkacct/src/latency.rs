// SPDX-License-Identifier: GPL-2.0
//! `blkacct latency`: how long I/O takes, at the percentiles.

use std::io::{self, Write};

use acct::hist::Counts;
use acct::sgrp::StatGroup;
use anyhow::bail;
use serde::Serialize;

use crate::cli::LatencyArgs;
use crate::exit::NotAvailable;
use crate::figures::histogram::{self, Summary, PERCENTILES};
use crate::figures::{queue, Gap};
use crate::record::Input;
use crate::sample::{Choice, Latencies, Sample, Times};
use crate::show::table::{align, duration};
use crate::terminal;

/// Columns of the longest bar.
const WIDTH: u64 = 40;

/// Runs the command.
///
/// # Errors
///
/// [`crate::exit::NotAvailable`] if the device is not in mode 2; a bio-based device, which has no
/// histograms.
pub fn run(args: &LatencyArgs) -> anyhow::Result<()> {
    let mut input = Input::open(args.from.as_deref(), &args.root)?;
    let name = input.find(&args.disk)?;
    let times = Times {
        interval: args.interval,
        count: args.count,
    };
    let choice = Choice {
        names: vec![name.clone()],
        ..Choice::default()
    };
    let mut source = input.source(choice, true, times);
    let mut last: Option<Sample> = None;
    while let Some(sample) = source.next()? {
        let after = latencies(&sample, &name)?;
        let before = match &last {
            None => Some(Latencies::default()),
            Some(last) => match Gap::between(last, &sample, &name) {
                Ok((before, _)) => Some(before.latencies.clone()),
                Err(gap) => {
                    terminal::tell(format_args!("{name}: {gap}"));
                    None
                }
            },
        };
        let sides = before
            .map(|before| sides(&before, after))
            .unwrap_or_default();
        let mut out = terminal::out();
        if args.json {
            serde_json::to_writer(&mut out, &sides.iter().map(row).collect::<Vec<_>>())?;
            writeln!(out)?;
        } else {
            table(&mut out, &name, &sides, args.histogram)?;
        }
        out.flush()?;
        last = Some(sample);
    }
    Ok(())
}

/// Returns the histograms of a device that has some.
fn latencies<'a>(sample: &'a Sample, name: &str) -> anyhow::Result<&'a Latencies> {
    let gone = || NotAvailable(format!("{name}: gone"));
    let device = sample.device(name).ok_or_else(gone)?;
    device.counters()?;
    if device.latencies.are_none() {
        bail!(
            "{name}: a bio-based device has no histograms: its driver tells the time of one I/O \
             in jiffies only; `blkacct stat` has its mean"
        );
    }
    Ok(&device.latencies)
}

/// A histogram that is not empty.
struct Side {
    group: &'static str,
    name: &'static str,
    summary: Summary,
    counts: Counts,
    /// Of the whole times, the times at the driver.
    driver: Option<Counts>,
}

/// Returns what was counted from `before` to `after`.
fn sides(before: &Latencies, after: &Latencies) -> Vec<Side> {
    let mut sides = Vec::new();
    for group in StatGroup::ALL {
        let Some(b) = after.of(group) else {
            continue;
        };
        let a = before.of(group).copied().unwrap_or_default();
        let device = b.device.map(|after| (a.device.unwrap_or_default(), after));
        let driver = device.map(|(a, b)| histogram::grown(&a, &b));
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
                driver: driver.filter(|_| name == "total"),
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
    /// Between what the percentiles of the time in the queue lie; with the whole times.
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_percentiles: Option<Vec<Option<queue::Between>>>,
}

fn row(side: &Side) -> Row<'_> {
    let bars = histogram::bars(&side.counts).into_iter();
    Row {
        group: side.group,
        side: side.name,
        summary: side.summary,
        buckets: bars.filter(|&(_, _, count)| count > 0).collect(),
        queue_percentiles: side.driver.map(|driver| {
            let all = PERCENTILES.iter();
            all.map(|&(hundredths, _)| queue::percentile(&side.counts, &driver, hundredths))
                .collect()
        }),
    }
}
