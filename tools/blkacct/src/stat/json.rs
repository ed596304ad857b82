// SPDX-License-Identifier: GPL-2.0
//! A report as a line of JSON. Documentation/output.rst has its members.

use acct::sgrp::Classic;
use serde::Serialize;
use serde_json::{Map, Value};

use super::report::Row;
use super::{Layout, Report};
use crate::figures::{blame, Stall, Stock, Tally};
use crate::sample::Identity;
use crate::show::time;

/// The version of the members: raised when one changes its meaning or goes.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Line<'a> {
    schema: &'static str,
    version: u32,
    time: String,
    time_ns: u64,
    boot_id: &'a str,
    devices: Vec<Device<'a>>,
}

/// A device, or the group of all. All times are in ns.
#[derive(Serialize)]
struct Device<'a> {
    device: &'a str,
    identity: Option<&'a Identity>,
    mode: Option<u8>,
    since_mode_2: bool,
    gap: Option<String>,
    #[serde(flatten)]
    grown: Option<Grown>,
}

#[derive(Serialize)]
struct Grown {
    clock_ns: u64,
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
    idle_suspects: Vec<String>,
    requeues: Option<u64>,
    stall: Option<Stall>,
    stock: Option<Stock>,
    figures: Map<String, Value>,
    error: Option<Error>,
}

/// How wrong the figures can be.
#[derive(Serialize)]
struct Error {
    /// The counters of one device were being read for this long.
    read_ns: u64,
    /// What went wrong since mode 2 began can have moved any time by this much.
    bound_ns: Option<u64>,
}

/// Writes a report.
pub fn report(report: &Report, layout: &Layout) -> serde_json::Result<Vec<u8>> {
    let sample = report.sample;
    let line = Line {
        schema: "blkacct-stat",
        version: VERSION,
        time: time::utc(sample.wall_ns),
        time_ns: sample.wall_ns,
        boot_id: &sample.boot_id,
        devices: report.rows.iter().map(|row| device(row, layout)).collect(),
    };
    let mut out = serde_json::to_vec(&line)?;
    out.push(b'\n');
    Ok(out)
}

fn device<'a>(row: &'a Row, layout: &Layout) -> Device<'a> {
    let sample = row.device;
    Device {
        device: row.label.trim_start(),
        identity: sample.map(|device| &*device.identity),
        mode: sample.and_then(|device| device.mode),
        since_mode_2: row.since_mode_2,
        gap: row.window.err().map(|gap| gap.to_string()),
        grown: row.window.ok().map(|window| {
            let grown = window.grown();
            let figure = |column: &crate::show::columns::Column| {
                let figure = (column.figure)(&window).map(|figure| figure.value());
                (column.head(false), figure.into())
            };
            Grown {
                clock_ns: grown.time_ns,
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
                idle_suspects: sample
                    .map(|device| blame::suspects(&device.identity.queue, &window))
                    .unwrap_or_default(),
                requeues: grown.device.map(|device| device.requeues),
                stall: window.stall(),
                stock: window.stock,
                figures: layout.columns.iter().map(figure).collect(),
                error: sample.map(|device| Error {
                    read_ns: device.took_ns,
                    bound_ns: device.anomalies.map(|anomalies| anomalies.bound_ns),
                }),
            }
        }),
    }
}
