// SPDX-License-Identifier: GPL-2.0
//! The verdict on the times at the driver.
//!
//! The module reads them before `time_ns`, in the same read, so that how long the reads took adds
//! to what they may differ by: once to the busy time, and for each request at the driver to the
//! integral.

use acct::wire::DeviceSide;

use super::field::{around, Field, Unit};
use super::Reported;
use crate::oracle::account::{Figures, Tally};
use crate::oracle::Reading;
use crate::source::Group;

/// Compares the truth with what was reported; nothing without issues in the trace.
pub fn fields(reading: &Reading, reported: &Reported, (skew, bound): (u64, u64)) -> Vec<Field> {
    let Some(figures) = &reading.driver else {
        return Vec::new();
    };
    let both = reported
        .stat
        .and_then(|(a, b)| Some((a.device?, b.device?)));
    let grown = |get: &dyn Fn(&DeviceSide) -> u64| {
        both.map(|(before, after)| get(&after).wrapping_sub(get(&before)))
    };
    let most = both.map_or(0, |(a, b)| a.in_flight.max(b.in_flight));
    let (shortest, longest) = figures.io_ticks_range;
    let ticks = bound.saturating_add(reported.read_ns);
    let queue = figures
        .time_in_queue_slack
        .saturating_add(bound)
        .saturating_add(reported.read_ns.saturating_mul(most.saturating_add(1)));
    let total = |get: fn(&Tally) -> u64| figures.groups.iter().map(get).sum::<u64>();
    let requeues = total(|tally| tally.requeues);
    let edge_requeues = total(|tally| tally.edge_requeues);
    let busy = (
        shortest.saturating_sub(ticks),
        longest.saturating_add(ticks),
    );
    let mut fields = vec![
        Field::new("device_ticks", Unit::Ns, figures.io_ticks, 0)
            .iostats2(grown(&|device| device.ticks))
            .allowed(Some(busy)),
        Field::new("device_time_in_queue", Unit::Ns, figures.time_in_queue, 0)
            .iostats2(grown(&|device| device.time_in_queue))
            .allowed(around(figures.time_in_queue, queue)),
        Field::new(
            "device_in_flight at the end",
            Unit::Count,
            figures.in_flight,
            0,
        )
        .iostats2(both.map(|(_, after)| after.in_flight))
        .allowed(around(figures.in_flight, figures.edge_changes)),
        Field::new("requeues", Unit::Count, requeues, 0)
            .iostats2(grown(&|device| device.requeues))
            .allowed(around(requeues, edge_requeues)),
    ];
    for group in Group::ALL {
        let tally = &figures.groups[group as usize];
        let open = reading.driver_slack[group as usize];
        let slack = slack(figures, group, skew)
            .saturating_add(open)
            .saturating_add(bound);
        let name = format!("{group} device_nsecs");
        let mut field = Field::new(&name, Unit::Ns, tally.nsecs, open)
            .iostats2(grown(&|device| device.nsecs[group as usize]))
            .allowed(around(tally.nsecs, slack).filter(|_| tally.unseen == 0));
        field.group = Some(group);
        fields.push(field);
    }
    if figures.surplus_ends > 0 {
        fields.iter_mut().for_each(|field| field.allowed = None);
    }
    fields
}

/// Returns what the sum of a group's stays may differ by through the clock and the window's edges.
fn slack(figures: &Figures, group: Group, skew: u64) -> u64 {
    let tally = &figures.groups[group as usize];
    let stays = tally.ios.saturating_add(tally.edge_ios);
    let each = skew.saturating_mul(2).saturating_mul(stays);
    each.saturating_add(tally.edge_nsecs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::{Oracle, Truth};
    use crate::source::{rwbs, Event, Kind, On};
    use acct::wire::Stat;

    /// A read from 10 to 60, at the driver from 20 to 30 and, after a requeue, from 40 to 60.
    fn truth() -> Truth {
        let mut oracle = Oracle::window(0, 0);
        oracle.close(100, (0, 0));
        for (time, kind) in [
            (10, Kind::Start),
            (20, Kind::Issue),
            (30, Kind::Requeue),
            (40, Kind::Issue),
            (60, Kind::Done),
        ] {
            let rwbs = rwbs::parse(b"R").unwrap();
            oracle.event(&Event {
                time,
                kind,
                rwbs,
                sector: 8,
                sectors: 8,
                on: On::default(),
                failed: false,
            });
        }
        oracle.finish()
    }

    fn reported(change: impl Fn(&mut DeviceSide)) -> Reported {
        let mut device = DeviceSide {
            ticks: 30,
            time_in_queue: 30,
            requeues: 1,
            ..DeviceSide::default()
        };
        device.nsecs[0] = 30;
        change(&mut device);
        let stat = |device| Stat {
            device: Some(device),
            ..Stat::default()
        };
        Reported {
            stat: Some((stat(DeviceSide::default()), stat(device))),
            ..Reported::default()
        }
    }

    /// Returns the names of what is wrong.
    fn wrong(reported: &Reported) -> Vec<String> {
        let mut fields = fields(&truth().readings[0], reported, (0, 0));
        fields.iter_mut().for_each(Field::judge);
        let wrong = fields.into_iter().filter(|field| field.ok == Some(false));
        wrong.map(|field| field.name).collect()
    }

    #[test]
    fn what_is_right_passes_and_what_is_wrong_is_named() {
        assert!(wrong(&reported(|_| {})).is_empty());
        assert_eq!(wrong(&reported(|d| d.ticks += 1)), ["device_ticks"]);
        assert_eq!(
            wrong(&reported(|d| d.time_in_queue -= 1)),
            ["device_time_in_queue"]
        );
        assert_eq!(
            wrong(&reported(|d| d.in_flight += 1)),
            ["device_in_flight at the end"]
        );
        assert_eq!(wrong(&reported(|d| d.requeues += 1)), ["requeues"]);
        assert_eq!(wrong(&reported(|d| d.nsecs[0] -= 1)), ["read device_nsecs"]);
    }

    #[test]
    fn the_time_of_the_reads_is_allowed_for() {
        let mut reported = reported(|d| {
            d.ticks += 5;
            d.time_in_queue -= 5;
        });
        assert_eq!(wrong(&reported).len(), 2);
        reported.read_ns = 5;
        assert!(wrong(&reported).is_empty());
    }

    #[test]
    fn a_stat_without_a_device_side_is_not_judged() {
        let mut reported = reported(|_| {});
        reported.stat.as_mut().unwrap().1.device = None;
        assert!(fields(&truth().readings[0], &reported, (0, 0))
            .iter()
            .all(|field| field.iostats2.is_none()));
    }
}
