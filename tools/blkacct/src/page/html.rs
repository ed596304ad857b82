// SPDX-License-Identifier: GPL-2.0
//! The page itself.

use acct::sgrp::StatGroup;

use super::layers::layers;
use super::pictures::{picture, NAMES};
use super::quantity::{short, spaced, Quantity};
use super::run::{Disk, Run};
use super::svg::{elapsed, escaped};
use super::table::Table;
use super::{compare, verdict, PICTURE_CSS};
use crate::figures::histogram;
use crate::show::table::duration;
use crate::show::time::utc;

/// Disks that are drawn, if none is named.
const DRAWN: usize = 8;

const STYLE: &str = include_str!("style.css");

/// Returns the page of a run, or of two that are compared. `all` draws every disk.
pub fn page(runs: &[Run], all: bool) -> String {
    let title = match runs {
        [run] => format!("blkacct report: {}", run.title),
        runs => {
            let titles: Vec<&str> = runs.iter().map(|run| run.title.as_str()).collect();
            format!("blkacct report: {}", titles.join(" against "))
        }
    };
    let title = escaped(&title);
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; img-src data:\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <link rel=\"icon\" href=\"data:,\"><title>{title}</title>\n\
         <style>\n{PICTURE_CSS}{STYLE}</style></head>\n<body><header><h1>{title}</h1>\n"
    );
    if let [before, after] = runs {
        html += &format!(
            "<p class=\"verdict\">{}</p>",
            escaped(&compare::verdict(before, after))
        );
        html += "</header>\n<main><section><h2>Side by side</h2>";
        html += &compare::table(before, after).html();
        html += "</section>\n";
    } else {
        for run in runs {
            html += &format!(
                "<p class=\"verdict\">{}</p>",
                escaped(&verdict::of_run(run))
            );
        }
        html += "</header>\n<main>";
    }
    for (n, run) in runs.iter().enumerate() {
        html += &section(run, n, runs.len() > 1, all);
    }
    html + "</main></body></html>\n"
}

fn section(run: &Run, n: usize, is_titled: bool, all: bool) -> String {
    let mut html = "<section>".to_owned();
    if is_titled {
        html += &format!(
            "<h2>{}</h2><p>{}</p>",
            escaped(&run.title),
            escaped(&verdict::of_run(run))
        );
    }
    html += &facts(&[
        ("Machine", run.host.clone()),
        ("Kernel", run.kernel.clone()),
        ("Begin", Some(utc(run.wall_ns))),
        (
            "Length",
            Some(format!(
                "{} in {} samples",
                elapsed(run.span_ns),
                run.samples
            )),
        ),
    ]);
    let drawn = run.busiest(if all { usize::MAX } else { DRAWN });
    html += "<nav aria-label=\"Disks\"><ul>";
    for (place, (name, _)) in drawn.iter().enumerate() {
        html += &format!("<li><a href=\"#d{n}-{place}\">{}</a></li>", escaped(name));
    }
    html += "</ul></nav><h3>All disks</h3>";
    html += &overview(run).html();
    if drawn.len() < run.disks.len() {
        html += &format!(
            "<p class=\"dim\">Pictures are of the {} with the most busy time; name others to see \
             them.</p>",
            drawn.len()
        );
    }
    let layers = layers(run);
    if !layers.rows.is_empty() {
        html += "<h3>Layers</h3>";
        html += &layers.html();
    }
    if !run.left_out.is_empty() {
        let mut table = Table::new(&["Nothing is known of", "because"]);
        table.rows = run
            .left_out
            .iter()
            .map(|(a, b)| vec![a.clone(), b.clone()])
            .collect();
        html += &table.html();
    }
    html += "</section>\n";
    for (place, (name, disk)) in drawn.iter().enumerate() {
        html += &disk_section(&format!("d{n}-{place}"), name, run, disk);
    }
    html
}

fn overview(run: &Run) -> Table {
    let what = [
        Quantity::Reads,
        Quantity::Writes,
        Quantity::ReadBytes,
        Quantity::WriteBytes,
        Quantity::Whole,
        Quantity::Queue,
        Quantity::Driver,
        Quantity::Util,
        Quantity::Idle,
        Quantity::Depth,
        Quantity::Stalled,
    ];
    let mut table = Table::new(&[
        "Disk", "reads", "writes", "read", "written", "await", "Q2D", "D2C", "%util", "%idlq",
        "depth", "stalled", "errors", "requeues",
    ]);
    for (name, disk) in &run.disks {
        let sums = disk.whole().unwrap_or_default();
        let mut row = vec![name.clone()];
        row.extend(what.map(|what| {
            let value = what.of(&sums);
            value.map_or("-".to_owned(), |value| what.unit().text(value))
        }));
        for count in [sums.errors, sums.requeues] {
            row.push(count.map_or("-".to_owned(), |n| n.to_string()));
        }
        table.rows.push(row);
    }
    table
}

fn disk_section(id: &str, name: &str, run: &Run, disk: &Disk) -> String {
    let shown = escaped(name);
    let mut html = format!("<section id=\"{id}\"><h2>{shown}</h2>");
    let said = verdict::of_disk(name, disk).join(" ");
    html += &format!("<p>{}</p>", escaped(&said));
    html += &identity(disk);
    for (picture_name, _) in NAMES {
        let svg_id = format!("{id}-{picture_name}");
        let Some(picture) = picture(&svg_id, picture_name, name, run, disk) else {
            continue;
        };
        html += &format!("<figure>{}", picture.svg.end(None));
        if !picture.note.is_empty() {
            html += &format!("<figcaption>{}</figcaption>", escaped(&picture.note));
        }
        html += "<details><summary>Table</summary>";
        html += &picture.table.html();
        html += "</details></figure>\n";
    }
    html += "<h3>Percentiles of the whole time</h3>";
    html += &percentiles(disk).html();
    html += &bounds(disk);
    html + "</section>\n"
}

/// Returns who a disk is.
fn identity(disk: &Disk) -> String {
    let id = &disk.identity;
    let queue = &id.queue;
    let number = |n: Option<u64>| n.map(|n| n.to_string());
    let size = id
        .sectors
        .map(|n| format!("{}B", short(u128::from(n) * 512_000)));
    let suspects = (!disk.suspects.is_empty()).then(|| disk.suspects.join(", "));
    let gaps: Vec<String> = disk
        .gaps
        .iter()
        .map(|(at, gap)| format!("before {}: {gap}", elapsed(*at)))
        .collect();
    let more = disk.gap_count - disk.gaps.len() as u64;
    let gaps = match (gaps.is_empty(), more) {
        (true, _) => None,
        (false, 0) => Some(gaps.join("; ")),
        (false, more) => Some(format!("{}; and {more} more", gaps.join("; "))),
    };
    facts(&[
        ("Number", id.dev.clone()),
        ("Model", id.model.clone()),
        ("Serial number", id.serial.clone()),
        ("WWN", id.wwn.clone()),
        ("Name of dm", id.dm_name.clone()),
        ("md level", id.md_level.clone()),
        ("Size", size),
        ("Scheduler", queue.scheduler.clone()),
        ("nr_requests", number(queue.nr_requests)),
        ("Queue depth", number(queue.depth)),
        ("Hardware queues", number(queue.hardware_queues)),
        ("Can hold requests back", suspects),
        ("Not known", gaps),
    ])
}

fn facts(facts: &[(&str, Option<String>)]) -> String {
    let mut html = "<dl>".to_owned();
    for (name, value) in facts {
        if let Some(value) = value {
            html += &format!("<dt>{name}</dt><dd>{}</dd>", escaped(value));
        }
    }
    html + "</dl>"
}

fn percentiles(disk: &Disk) -> Table {
    let mut table = Table::new(&["Group", "time", "completed", "mean"]);
    let heads = histogram::PERCENTILES.map(|(_, name)| name.to_owned());
    table.heads.extend(heads);
    table.heads.push("max".to_owned());
    for group in StatGroup::ALL {
        let Some((total, device)) = &disk.latencies[group.index()] else {
            continue;
        };
        let both = [
            ("from the start", Some(total)),
            ("at the driver", device.as_ref()),
        ];
        for (name, counts) in both {
            let Some(summary) = counts.and_then(histogram::summary) else {
                continue;
            };
            let time = |ns: u64| spaced(&duration(ns));
            let mut row = vec![
                group.name().to_owned(),
                name.to_owned(),
                summary.count.to_string(),
            ];
            row.push(time(summary.mean));
            row.extend(summary.percentiles.map(time));
            row.push(time(summary.max));
            table.rows.push(row);
        }
    }
    table
}

/// Says by how much the figures can be wrong.
fn bounds(disk: &Disk) -> String {
    let anomalies = disk
        .anomalies
        .map(|a| match a.clamped + a.orphans + a.lost_starts {
            0 => "none: every event was placed where it was".to_owned(),
            n => format!(
                "{n}, which can have moved any time by {} at most",
                duration(a.bound_ns)
            ),
        });
    let read = format!(
        "up to {} for one read of the counters, so a time or an integral at the edge of the page can \
         be off by that, times the depth",
        spaced(&duration(disk.took_ns))
    );
    let mut html = "<h3>What the figures can be off by</h3>".to_owned();
    html += &facts(&[
        ("Counts, busy time, queue time", Some(read)),
        (
            "Percentiles",
            Some("12.5 %, half a bucket; below 1024 ns they are one".to_owned()),
        ),
        (
            "Stalls",
            Some("what is shorter than an interval is not seen".to_owned()),
        ),
        ("Anomalies", anomalies.or(Some("unknown".to_owned()))),
    ]);
    html
}
