// SPDX-License-Identifier: GPL-2.0
//! `blkacct stat`: where the time of each device goes.

use std::io::{self, Write};

use acct::sgrp::Classic;
use serde::Serialize;

use crate::cli::StatArgs;
use crate::exit::NotAvailable;
use crate::figures::{Tally, Window};
use crate::record::Input;
use crate::sample::{Choice, Sample, Times};
use crate::show::table::{align, dash, ratio};
use crate::terminal;

/// Runs the command.
///
/// # Errors
///
/// [`NotAvailable`] if there is no device in mode 2, or none is left; what the system says.
pub fn run(args: &StatArgs) -> anyhow::Result<()> {
    let mut names = args.words.clone();
    let times = Times::take_from(&mut names)?;
    // One that goes later is told of, and no reason to leave the others.
    let mut input = Input::open(args.from.as_deref(), &args.root)?;
    for name in &names {
        input.find(name)?;
    }
    let choice = Choice {
        names,
        partitions: args.all,
        below: false,
    };
    let mut source = input.source(choice, false, times);
    let mut last = None;
    while let Some(sample) = source.next()? {
        let rows = rows(last.as_ref(), &sample)?;
        let mut out = terminal::out();
        if args.json {
            json(&mut out, &rows)?;
        } else {
            table(&mut out, &rows)?;
        }
        out.flush()?;
        last = Some(sample);
    }
    Ok(())
}

/// A device in mode 2, and what happened on it; none if nothing is known of the time.
type Row<'a> = (&'a str, Option<Window>);

/// Returns what happened on each device. One that was there before and is not any more is named on
/// standard error.
fn rows<'a>(last: Option<&Sample>, now: &'a Sample) -> anyhow::Result<Vec<Row<'a>>> {
    let mut rows = Vec::new();
    let mut refusal = None;
    for device in &now.devices {
        let name = device.identity.name.as_str();
        let stat = match device.counters() {
            Ok(stat) => stat,
            Err(error) => {
                let before = last.and_then(|last| last.device(name));
                if before.is_some_and(|before| before.stat.is_some()) {
                    terminal::tell(format_args!("{error}"));
                }
                refusal.get_or_insert(error);
                continue;
            }
        };
        let Some(last) = last else {
            rows.push((name, Some(Window::since_mode_2(device.counted_ns, stat))));
            continue;
        };
        let window = match Window::between(last, now, name) {
            Ok(window) => Some(window),
            Err(gap) => {
                terminal::tell(format_args!("{name}: {gap}"));
                None
            }
        };
        rows.push((name, window));
    }
    for device in last.iter().flat_map(|last| &last.devices) {
        if now.device(&device.identity.name).is_none() {
            terminal::tell(format_args!("{}: gone", device.identity.name));
        }
    }
    if rows.is_empty() {
        return Err(match (refusal, &now.devices[..]) {
            // What one device lacks says all about it; of many, one does for an example.
            (Some(error), [_]) => error,
            (Some(_), _) => NotAvailable(
                "no device is in mode 2: echo 2 > /sys/block/DISK/queue/iostats, \
                 with the module loaded (modprobe blkacct)"
                    .to_owned(),
            ),
            (None, _) => NotAvailable("no such disk or partition".to_owned()),
        }
        .into());
    }
    Ok(rows)
}

const HEADS: [&str; 15] = [
    "Device", "r/s", "w/s", "%util", "aqu-sz", "depth", "r_await", "r_q2d", "r_d2c", "w_await",
    "w_q2d", "w_d2c", "%idlq", "errors", "requeues",
];

fn table(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    let rows = rows.iter().map(|(name, window)| match window {
        Some(window) => row(name, window),
        None => unknown(name),
    });
    align(out, &HEADS, rows.collect())?;
    writeln!(out)
}

fn unknown(name: &str) -> Vec<String> {
    let mut row = vec![name.to_owned()];
    row.resize(HEADS.len(), "-".to_owned());
    row
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
struct Object<'a> {
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

fn json(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    let rows: Vec<Object> = rows
        .iter()
        .filter_map(|(name, window)| Some((name, window.as_ref()?)))
        .map(|(name, window)| {
            let grown = window.grown();
            Object {
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
