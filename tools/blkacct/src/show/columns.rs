// SPDX-License-Identifier: GPL-2.0
//! The columns of `stat`: iostat's, in its order and by its names, and blkacct's own after them.

use acct::sgrp::Classic;

use super::quantity::{Quantity, Unit};
use crate::figures::{Tally, Window};

/// A column.
#[derive(Clone, Copy)]
pub struct Column {
    /// Its head. In iostat's heads `kB` stands for the unit of sizes.
    pub head: &'static str,
    /// Its name in JSON of sysstat's shape, if that has it.
    pub json: Option<&'static str>,
    /// Its figure; none if it is not known.
    pub figure: fn(&Window) -> Option<Quantity>,
}

impl Column {
    /// Returns the head with the unit that is asked for.
    pub fn head(&self, mega: bool) -> String {
        match mega {
            true => self.head.replace("kB", "MB"),
            false => self.head.to_owned(),
        }
    }

    /// Returns the name in JSON of sysstat's shape.
    pub fn json(&self, mega: bool) -> Option<String> {
        let name = self.json?;
        Some(match mega {
            true => name.replace("kB", "MB"),
            false => name.to_owned(),
        })
    }
}

use Classic::{Discard, Flush, Read, Write};

/// iostat's columns without `-x`.
pub const PLAIN: [Column; 7] = [
    iostat("tps", "tps", |w| {
        rate(
            w,
            [Read, Write, Discard]
                .map(|g| w.classic(g).ios)
                .iter()
                .sum(),
        )
    }),
    iostat("kB_read/s", "kB_read/s", |w| size_rate(w, Read)),
    iostat("kB_wrtn/s", "kB_wrtn/s", |w| size_rate(w, Write)),
    iostat("kB_dscd/s", "kB_dscd/s", |w| size_rate(w, Discard)),
    iostat("kB_read", "kB_read", |w| total(w, Read)),
    iostat("kB_wrtn", "kB_wrtn", |w| total(w, Write)),
    iostat("kB_dscd", "kB_dscd", |w| total(w, Discard)),
];

/// iostat's columns with `-x`.
pub const EXTENDED: [Column; 22] = [
    iostat("r/s", "r/s", |w| rate(w, w.classic(Read).ios)),
    iostat("rkB/s", "rkB/s", |w| size_rate(w, Read)),
    iostat("rrqm/s", "rrqm/s", |w| rate(w, w.classic(Read).merges)),
    iostat("%rrqm", "rrqm", |w| merged(w, Read)),
    iostat("r_await", "r_await", |w| await_of(w, Read)),
    iostat("rareq-sz", "rareq-sz", |w| mean_size(w, Read)),
    iostat("w/s", "w/s", |w| rate(w, w.classic(Write).ios)),
    iostat("wkB/s", "wkB/s", |w| size_rate(w, Write)),
    iostat("wrqm/s", "wrqm/s", |w| rate(w, w.classic(Write).merges)),
    iostat("%wrqm", "wrqm", |w| merged(w, Write)),
    iostat("w_await", "w_await", |w| await_of(w, Write)),
    iostat("wareq-sz", "wareq-sz", |w| mean_size(w, Write)),
    iostat("d/s", "d/s", |w| rate(w, w.classic(Discard).ios)),
    iostat("dkB/s", "dkB/s", |w| size_rate(w, Discard)),
    iostat("drqm/s", "drqm/s", |w| rate(w, w.classic(Discard).merges)),
    iostat("%drqm", "drqm", |w| merged(w, Discard)),
    iostat("d_await", "d_await", |w| await_of(w, Discard)),
    iostat("dareq-sz", "dareq-sz", |w| mean_size(w, Discard)),
    iostat("f/s", "f/s", |w| rate(w, w.classic(Flush).ios)),
    iostat("f_await", "f_await", |w| await_of(w, Flush)),
    iostat("aqu-sz", "aqu-sz", |w| {
        over_time(w, w.grown().time_in_queue, 1, Unit::Number)
    }),
    iostat("%util", "util", |w| {
        over_time(w, w.grown().io_ticks, 100, Unit::Percent)
    }),
];

/// What blkacct has beyond iostat without `-x`, where a line is short.
pub const SHORT: [Column; 9] = [
    EXTENDED[21],
    EXTENDED[20],
    EXTENDED[4],
    own("r_d2c", |w| part_ms(&w.classic(Read), Tally::d2c_sum)),
    EXTENDED[10],
    own("w_d2c", |w| part_ms(&w.classic(Write), Tally::d2c_sum)),
    OWN[6],
    OWN[9],
    OWN[10],
];

/// What blkacct has beyond iostat with `-x`.
pub const OWN: [Column; 11] = [
    own("depth", |w| {
        let grown = w.grown();
        quotient(grown.time_in_queue, grown.io_ticks, 1, Unit::Number)
    }),
    own("r_q2d", |w| part_ms(&w.classic(Read), Tally::q2d_sum)),
    own("r_d2c", |w| part_ms(&w.classic(Read), Tally::d2c_sum)),
    own("w_q2d", |w| part_ms(&w.classic(Write), Tally::q2d_sum)),
    own("w_d2c", |w| part_ms(&w.classic(Write), Tally::d2c_sum)),
    own("%drv", |w| {
        over_time(w, w.grown().device?.ticks, 100, Unit::Percent)
    }),
    own("%idlq", |w| {
        over_time(w, w.idle_while_queued()?, 100, Unit::Percent)
    }),
    own("atdrv", |w| {
        Some(Quantity::count(w.grown().device?.in_flight))
    }),
    own("%stall", |w| {
        over_time(w, w.stall()?.certain_ns, 100, Unit::Percent)
    }),
    own("errors", |w| Some(Quantity::count(w.grown().errors?))),
    own("requeues", |w| {
        Some(Quantity::count(w.grown().device?.requeues))
    }),
];

/// What the kernel's own counters say, with `--stock`.
pub const STOCK: [Column; 2] = [
    own("k_%util", |w| {
        let stock = w.stock?;
        let ns = u128::from(stock.io_ticks_ms?) * 1_000_000;
        Quantity::new(ns * 100, stock.interval_ns.into(), Unit::Percent)
    }),
    own("k_aqu-sz", |w| {
        let stock = w.stock?;
        let ns = u128::from(stock.time_in_queue_ms?) * 1_000_000;
        Quantity::new(ns, stock.interval_ns.into(), Unit::Number)
    }),
];

const fn iostat(
    head: &'static str,
    json: &'static str,
    figure: fn(&Window) -> Option<Quantity>,
) -> Column {
    Column {
        head,
        json: Some(json),
        figure,
    }
}

const fn own(head: &'static str, figure: fn(&Window) -> Option<Quantity>) -> Column {
    Column {
        head,
        json: None,
        figure,
    }
}

fn quotient(part: u64, whole: u64, scale: u128, unit: Unit) -> Option<Quantity> {
    Quantity::new(u128::from(part) * scale, whole.into(), unit)
}

fn over_time(window: &Window, part: u64, scale: u128, unit: Unit) -> Option<Quantity> {
    let devices = if unit == Unit::Percent {
        window.devices
    } else {
        1
    };
    let whole = window.interval_ns?.saturating_mul(devices);
    quotient(part, whole, scale, unit)
}

fn rate(window: &Window, count: u64) -> Option<Quantity> {
    over_time(window, count, 1_000_000_000, Unit::Number)
}

/// A sector is half a KiB.
fn size_rate(window: &Window, group: Classic) -> Option<Quantity> {
    let sectors = window.classic(group).sectors;
    over_time(window, sectors, 500_000_000, Unit::Kib)
}

fn total(window: &Window, group: Classic) -> Option<Quantity> {
    Quantity::new(window.classic(group).sectors.into(), 2, Unit::Total)
}

/// iostat has no share, no time and no size of nothing: it shows zero.
fn or_zero(quantity: Option<Quantity>, unit: Unit) -> Option<Quantity> {
    Some(quantity.unwrap_or(Quantity::zero(unit)))
}

fn merged(window: &Window, group: Classic) -> Option<Quantity> {
    let Tally { ios, merges, .. } = window.classic(group);
    let all = ios.saturating_add(merges);
    or_zero(quotient(merges, all, 100, Unit::Percent), Unit::Percent)
}

fn await_of(window: &Window, group: Classic) -> Option<Quantity> {
    let tally = window.classic(group);
    or_zero(part_ms(&tally, |tally| Some(tally.nsecs)), Unit::Number)
}

fn mean_size(window: &Window, group: Classic) -> Option<Quantity> {
    let Tally { ios, sectors, .. } = window.classic(group);
    or_zero(
        quotient(sectors, ios.saturating_mul(2), 1, Unit::Size),
        Unit::Size,
    )
}

/// The mean of a time, in ms.
fn part_ms(tally: &Tally, part: fn(&Tally) -> Option<u64>) -> Option<Quantity> {
    let whole = u128::from(tally.ios) * 1_000_000;
    Quantity::new(part(tally)?.into(), whole, Unit::Number)
}
