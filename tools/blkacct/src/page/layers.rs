// SPDX-License-Identifier: GPL-2.0
//! What a layer above others adds to the time of an I/O.
//!
//! Rule: the mean latency of the upper device less that of all I/O of those right below it. Error:
//! nothing tells which I/O below belongs to which above; where a layer splits or joins I/O, or
//! answers before those below do, the two are not means of the same I/O, and the counts beside it
//! show that.

use super::quantity::{short, spaced};
use super::run::Run;
use super::table::Table;
use crate::show::table::duration;

/// Returns a row for each device that is made of others.
pub fn layers(run: &Run) -> Table {
    let mut table = Table::new(&[
        "Device",
        "made of",
        "await",
        "await below",
        "its own share",
        "I/O",
        "I/O below",
    ]);
    for (name, disk) in &run.disks {
        let below = &disk.identity.slaves;
        if below.is_empty() {
            continue;
        }
        let above = disk.whole().map(|sums| sums.all);
        let parts = below
            .iter()
            .map(|name| Some(run.disks.get(name)?.whole()?.all));
        let parts: Option<Vec<_>> = parts.collect();
        let sum = parts.map(|parts| {
            let ios = parts.iter().map(|tally| tally.ios).sum::<u64>();
            let nsecs: u128 = parts.iter().map(|tally| u128::from(tally.nsecs)).sum();
            (ios, nsecs)
        });
        let await_below =
            sum.and_then(|(ios, nsecs)| u64::try_from(nsecs.checked_div(ios.into())?).ok());
        let await_above = above.and_then(|tally| tally.latency());
        let own = await_above.zip(await_below).map(|(above, below)| {
            let sign = if above < below { "-" } else { "" };
            format!("{sign}{}", spaced(&duration(above.abs_diff(below))))
        });
        let time = |ns: Option<u64>| ns.map_or("unknown".to_owned(), |ns| spaced(&duration(ns)));
        let count = |ios: Option<u64>| {
            ios.map_or("unknown".to_owned(), |ios| short(u128::from(ios) * 1000))
        };
        table.rows.push(vec![
            name.clone(),
            below.join(" "),
            time(await_above),
            time(await_below),
            own.unwrap_or("unknown".to_owned()),
            count(above.map(|tally| tally.ios)),
            count(sum.map(|(ios, _)| ios)),
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
        assert_ne!(rows[0][4], "unknown");
        make("sdz", &mut run);
        assert_eq!(layers(&run).rows[0][4], "unknown");
    }
}
