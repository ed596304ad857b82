// SPDX-License-Identifier: GPL-2.0
//! What a layer above others adds to the time of an I/O, by [`figures::layer`], which has the rule
//! and the error. It is of the time since the last gap of any of them, if that is one time.

use acct::sgrp::StatGroup;

use super::quantity::{short, spaced};
use super::run::Run;
use super::table::Table;
use crate::figures::{self, Tally, Window};
use crate::show::table::duration;

/// Returns a row for each device that is made of others.
pub fn layers(run: &Run) -> Table {
    let mut table = Table::new(&[
        "Device",
        "made of",
        "its own share",
        "give or take",
        "await",
        "await below",
        "I/O",
        "I/O below",
    ]);
    for (name, disk) in &run.disks {
        let names = &disk.identity.slaves;
        if names.is_empty() {
            continue;
        }
        let upper = disk.ends.as_ref();
        let lower = names.iter().map(|name| {
            let ends = run.disks.get(name)?.ends.as_ref()?;
            (ends.times == upper?.times).then_some(ends.window)
        });
        let lower: Option<Vec<Window>> = lower.collect();
        let layer = upper
            .zip(lower.as_ref())
            .and_then(|(upper, lower)| figures::layer::own_share(&upper.window, lower));
        let above = upper.map(|ends| ends.window.tally(|group| group != StatGroup::Flush));
        let below = lower.and_then(|lower| Window::sum(&lower));
        let below = below.map(|sum| sum.tally(|group| group != StatGroup::Flush));
        let unknown = || "unknown".to_owned();
        let time = |ns: Option<u64>| ns.map_or_else(unknown, |ns| spaced(&duration(ns)));
        let count = |tally: Option<Tally>| {
            tally.map_or_else(unknown, |tally| short(u128::from(tally.ios) * 1000))
        };
        let own = layer.map_or_else(unknown, |layer| {
            let sign = if layer.own_ns < 0 { "-" } else { "" };
            format!("{sign}{}", spaced(&duration(layer.own_ns.unsigned_abs())))
        });
        table.rows.push(vec![
            name.clone(),
            names.join(" "),
            own,
            time(layer.map(|layer| layer.error_ns)),
            time(above.and_then(|tally| tally.latency())),
            time(below.and_then(|tally| tally.latency())),
            count(above),
            count(below),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::testing::history;
    use std::sync::Arc;

    #[test]
    fn a_layers_share_is_what_it_has_more_than_those_below() {
        let mut run = history(2, 10, &[]);
        let make = |slave: &str, run: &mut Run| {
            let disk = run.disks.get_mut("sda").unwrap();
            Arc::make_mut(&mut disk.identity).slaves = vec![slave.to_owned()];
        };
        make("sdb", &mut run);
        let rows = layers(&run).rows;
        assert_eq!(rows.len(), 1);
        assert!(rows[0].iter().all(|cell| cell != "unknown"), "{rows:?}");
        make("sdz", &mut run);
        assert_eq!(layers(&run).rows[0][2], "unknown");
    }
}
