// SPDX-License-Identifier: GPL-2.0
//! The pictures of a disk, and the tables behind them.

use acct::hist::Counts;

use super::knee::knee;
use super::quantity::{spaced, Quantity, Unit};
use super::run::{Disk, Run};
use super::series::Step;
use super::svg::heatmap::heatmap;
use super::svg::line::{gaps, lines, stack};
use super::svg::scatter::scatter;
use super::svg::{elapsed, Span, Svg};
use super::table::Table;
use super::verdict::dots;
use crate::figures::histogram;
use crate::figures::saturation::{saturation, Unknown, Verdict};
use crate::show::table::duration;
use Quantity::{
    AtDriver, Depth, Driver, Errors, Idle, Queue, ReadBytes, Reads, Requeues, Stalled, Stock, Util,
    Whole, WriteBytes, Writes,
};

/// Rows of a table, at most.
const ROWS: usize = 30;

/// The names of the pictures, as `--svg` takes them, and their titles.
pub const NAMES: [(&str, &str); 9] = [
    ("iops", "Completed a second"),
    ("bytes", "Bytes a second"),
    ("latency", "Mean latency"),
    ("read-heatmap", "Latency of reads"),
    ("write-heatmap", "Latency of writes"),
    ("util", "Busy time"),
    ("depth", "Depth, mean"),
    ("faults", "Errors and requeues"),
    ("saturation", "Throughput against depth at the driver"),
];

/// A picture with its table.
pub struct Picture {
    /// The picture.
    pub svg: Svg,
    /// What it is made of.
    pub table: Table,
    /// What is to be said below it.
    pub note: String,
}

/// Draws a picture of a disk; none if there is none of this name.
pub fn picture(id: &str, name: &str, of: &str, run: &Run, disk: &Disk) -> Option<Picture> {
    let (_, title) = NAMES.iter().find(|(known, _)| *known == name)?;
    let steps = &disk.series.steps;
    let span = Span { ns: run.span_ns };
    let rows = || disk.series.at_most(ROWS);
    let is_split = steps.iter().any(|step| Queue.of(&step.sums).is_some());
    let new = |description: &str, height| {
        let mut svg = Svg::new(id, &format!("{of}: {title}"), description, height);
        if name != "saturation" {
            gaps(&mut svg, span, steps);
        }
        svg
    };
    let over_time = |description: &str, height, what: &[Quantity], least_top| {
        let mut svg = new(description, height);
        lines(&mut svg, span, steps, what, least_top);
        (svg, table(&rows(), what), String::new())
    };
    let (svg, table, note) = match name {
        "iops" => over_time(
            "reads and writes completed a second",
            120,
            &[Reads, Writes],
            0,
        ),
        "bytes" => over_time(
            "bytes read and written a second",
            120,
            &[ReadBytes, WriteBytes],
            0,
        ),
        "latency" if is_split => {
            let mut svg = new("mean time in the queue on top of that at the driver", 130);
            stack(&mut svg, span, steps, Driver, Queue);
            (svg, table(&rows(), &[Queue, Driver]), String::new())
        }
        "latency" => over_time("mean time from start to completion", 130, &[Whole], 0),
        "util" => {
            let what = [Util, Idle, Stock];
            let (svg, table, _) = over_time("busy time in percent", 130, &what, 10_000);
            let is_known = steps.iter().any(|step| Stock.of(&step.sums).is_some());
            let note = match is_known {
                true => "",
                false => {
                    "What the kernel's own counter would have said is not known: in mode 2 the \
                     module keeps it exact too. Load it with classic=0 to see."
                }
            };
            (svg, table, note.to_owned())
        }
        "depth" => over_time(
            "requests in flight and at the driver",
            120,
            &[Depth, AtDriver],
            0,
        ),
        "faults" => {
            let what = [Errors, Requeues];
            let (svg, mut data, _) = over_time("failed and given back", 90, &what, 1000);
            let stalled = table(&rows(), &[Stalled]);
            data.heads.extend(stalled.heads.into_iter().skip(1));
            for (row, more) in data.rows.iter_mut().zip(stalled.rows) {
                row.extend(more.into_iter().skip(1));
            }
            let sums = disk.whole().unwrap_or_default();
            let note = match sums.stalled_ns {
                0 => "No stall was seen: in each step with I/O something completed.".to_owned(),
                ns => format!(
                    "For {} I/O waited and nothing completed.",
                    spaced(&duration(ns))
                ),
            };
            (svg, data, note)
        }
        "saturation" => {
            let dots = dots(disk);
            let found = knee(&dots);
            let mut svg = new("a dot for each sample: depth, and what completed", 180);
            scatter(&mut svg, &dots, found.as_ref().map_err(|why| *why));
            let mut data = Table::new(&["Depth", "completed"]);
            let every = dots.len().div_ceil(ROWS).max(1);
            let mut sorted = dots;
            sorted.sort_unstable();
            data.rows = sorted
                .iter()
                .step_by(every)
                .map(|&(depth, rate)| vec![Unit::Depth.text(depth), Unit::Rate.text(rate)])
                .collect();
            let knee = match found {
                Ok(knee) => format!(
                    "Beyond a depth of {} more only waits. It is known to a half octave.",
                    Unit::Depth.text(knee.depth)
                ),
                Err(why) => format!("Where more depth brings no more is unknown: {why}."),
            };
            let note = format!("{} {knee}", elasticity(disk));
            (svg, data, note)
        }
        heat => {
            let group = usize::from(heat == "write-heatmap");
            let mut svg = new(
                "how many took how long, with the median and the 99th percentile",
                170,
            );
            heatmap(&mut svg, span, steps, group);
            (svg, percentiles(&rows(), group), String::new())
        }
    };
    Some(Picture { svg, table, note })
}

/// Returns the means of some quantities over time, and the least and the most of the first.
fn table(steps: &[Step], what: &[Quantity]) -> Table {
    let mut table = Table::new(&["From", "to"]);
    for what in what {
        table.heads.push(what.name().to_owned());
        table.heads.push("least".to_owned());
        table.heads.push("most".to_owned());
    }
    for step in steps {
        let mut row = vec![elapsed(step.begin), elapsed(step.end)];
        for &what in what {
            let text = |value: Option<u64>| value.map_or("-".to_owned(), |v| what.unit().text(v));
            row.push(text(what.of(&step.sums)));
            row.push(text(step.range(what).map(|range| range.0)));
            row.push(text(step.range(what).map(|range| range.1)));
        }
        table.rows.push(row);
    }
    table
}

/// Returns the percentiles over time.
fn percentiles(steps: &[Step], group: usize) -> Table {
    let mut table = Table::new(&["From", "to", "completed", "p50", "p99", "max"]);
    for step in steps {
        let counts = step.latencies[group].as_deref();
        let at = |hundredths| {
            let time = counts.and_then(|counts: &Counts| histogram::percentile(counts, hundredths));
            time.map_or("-".to_owned(), |ns| spaced(&duration(ns)))
        };
        let count: u64 = counts.map_or(0, |counts| counts.0.iter().sum());
        table.rows.push(vec![
            elapsed(step.begin),
            elapsed(step.end),
            count.to_string(),
            at(5000),
            at(9900),
            at(10_000),
        ]);
    }
    table
}

/// Says how much more depth brings.
fn elasticity(disk: &Disk) -> String {
    let found = match saturation(&disk.windows) {
        Ok(found) => found,
        Err(why) => {
            let why = match why {
                Unknown::NoDriverSide => "the driver's side is not counted",
                Unknown::TooFew => "too few samples with I/O",
                Unknown::DepthHardlyMoved => "depth hardly moved",
                Unknown::MixedSizes => "sizes or kinds of I/O changed",
                Unknown::Scattered => "throughput is scattered",
            };
            return format!("Elasticity: unknown, {why}.");
        }
    };
    let meaning = match found.verdict {
        Verdict::Headroom => "more depth brings more",
        Verdict::Near => "more depth brings some",
        Verdict::Saturated => "more depth only waits",
    };
    format!(
        "Elasticity {:.2} +- {:.2}, r2 {:.2}, over all: {meaning}.",
        found.elasticity, found.error, found.r_squared
    )
}
