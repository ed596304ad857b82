// SPDX-License-Identifier: GPL-2.0
//! The verdict: truth beside report, field by field, and what each may differ by.
//!
//! [`crate::oracle`] states the rule and computes its parts. Here they become one range per field,
//! `allowed`. The module's `clamped` events (its clock was behind an earlier event) widen the ranges of
//! the two times by one skew each.

use acct::wire::{Anomalies, Stat};
use serde::Serialize;

use crate::diskstats::Diskstats;
use crate::oracle::Truth;
use crate::source::{Evidence, Group};

/// What a field counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Events.
    Count,
}

/// One field, from all who report it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Field {
    /// Its name, with the group in front if it has one.
    pub name: String,
    /// What it counts.
    pub unit: Unit,
    /// What the events say; none if a trace does not show it.
    pub truth: Option<u64>,
    /// What blkacct says.
    pub iostats2: Option<u64>,
    /// What the kernel says, in its own resolution.
    pub iostats1: Option<u64>,
    /// What blkacct may say, least and most; none if it is not judged.
    pub allowed: Option<(u64, u64)>,
    /// Whether blkacct is right, if that was asked.
    pub ok: Option<bool>,
}

impl Field {
    /// Fills in the verdict.
    fn judge(&mut self) {
        self.ok = self
            .allowed
            .zip(self.iostats2)
            .map(|((low, high), found)| (low..=high).contains(&found));
    }
}

/// What was reported over the window, beside the trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reported {
    /// Blkacct's `stat` at both edges.
    pub stat: Option<(Stat, Stat)>,
    /// Its `anomalies`.
    pub anomalies: Option<(Anomalies, Anomalies)>,
    /// The kernel's line.
    pub diskstats: Option<(Diskstats, Diskstats)>,
    /// The module keeps the kernel's own busy time exact too.
    pub classic: bool,
}

impl Reported {
    fn clamped(&self) -> u64 {
        self.anomalies.map_or(0, |(before, after)| {
            after.clamped.wrapping_sub(before.clamped)
        })
    }
}

/// Compares the truth with what was reported.
pub fn fields(truth: &Truth, reported: &Reported, skew: u64) -> Vec<Field> {
    let figures = &truth.figures;
    let stat = reported.stat.as_ref();
    let classic = reported.diskstats.as_ref();
    let of_stat = |get: fn(&Stat) -> u64| stat.map(|(a, b)| get(b).wrapping_sub(get(a)));
    let of_classic =
        |get: &dyn Fn(&Diskstats) -> u64| classic.map(|(a, b)| get(b).wrapping_sub(get(a)));
    let clamped = skew.saturating_mul(reported.clamped());
    let edge = figures.edge_changes;
    let mut fields = vec![
        Field {
            name: "io_ticks".to_owned(),
            unit: Unit::Ns,
            truth: Some(figures.io_ticks),
            iostats2: of_stat(|s| s.io_ticks),
            iostats1: of_classic(&|d| d.io_ticks_ms.saturating_mul(1_000_000)),
            allowed: Some((
                figures.io_ticks_range.0.saturating_sub(clamped),
                figures.io_ticks_range.1.saturating_add(clamped),
            )),
            ok: None,
        },
        Field {
            name: "time_in_queue".to_owned(),
            unit: Unit::Ns,
            truth: Some(figures.time_in_queue),
            iostats2: of_stat(|s| s.time_in_queue),
            iostats1: of_classic(&|d| d.time_in_queue_ms.saturating_mul(1_000_000)),
            allowed: around(
                figures.time_in_queue,
                figures.time_in_queue_slack.saturating_add(clamped),
            ),
            ok: None,
        },
        Field {
            name: "in_flight at the end".to_owned(),
            unit: Unit::Count,
            truth: Some(figures.in_flight),
            iostats2: stat.map(|(_, after)| after.in_flight),
            iostats1: classic.map(|(_, after)| after.in_flight),
            allowed: around(figures.in_flight, edge),
            ok: None,
        },
    ];
    for group in Group::ALL {
        fields.extend(of_group(truth, reported, group, skew));
    }
    fields.iter_mut().for_each(Field::judge);
    fields
}

/// Returns the fields of a group that has any.
fn of_group(truth: &Truth, reported: &Reported, group: Group, skew: u64) -> Vec<Field> {
    let tally = &truth.figures.groups[group as usize];
    let stat = reported.stat.as_ref().map(|(before, after)| {
        let (a, b) = (
            &before.groups[group as usize],
            &after.groups[group as usize],
        );
        let of = |get: fn(&acct::wire::Group) -> u64| get(b).wrapping_sub(get(a));
        [of(|g| g.ios), of(|g| g.merges), of(|g| g.nsecs)]
    });
    // The kernel's other groups are not of the same I/O: its writes hold all that is not a read or a
    // discard.
    let classic = reported.diskstats.as_ref().and_then(|(before, after)| {
        let (a, b) = (
            before.groups.get(group as usize)?,
            after.groups.get(group as usize)?,
        );
        let ns = b.ms.wrapping_sub(a.ms).saturating_mul(1_000_000);
        Some([
            b.ios.wrapping_sub(a.ios),
            b.merges.wrapping_sub(a.merges),
            ns,
        ])
    });
    let figures = [tally.ios, tally.merges, tally.nsecs];
    if figures == [0; 3] && stat.unwrap_or_default() == [0; 3] {
        return Vec::new();
    }
    let told = !matches!(group, Group::Flush | Group::DrvIn | Group::DrvOut);
    let each = skew
        .saturating_mul(2)
        .saturating_mul(tally.ios.saturating_add(tally.edge_ios));
    let nsecs_slack = each
        .saturating_add(tally.edge_nsecs)
        .saturating_add(truth.slack[group as usize]);
    let allowed = [
        around(tally.ios, tally.edge_ios),
        Some((tally.merges.saturating_sub(tally.edge_merges), u64::MAX)),
        around(tally.nsecs, nsecs_slack).filter(|_| tally.unseen == 0),
    ];
    let names = [
        ("ios", Unit::Count),
        ("merges", Unit::Count),
        ("nsecs", Unit::Ns),
    ];
    names
        .into_iter()
        .enumerate()
        .map(|(i, (name, unit))| Field {
            name: format!("{group} {name}"),
            unit,
            truth: told.then_some(figures[i]),
            iostats2: stat.map(|stat| stat[i]),
            iostats1: classic.map(|classic| classic[i]),
            allowed: allowed[i].filter(|_| told),
            ok: None,
        })
        .collect()
}

fn around(value: u64, slack: u64) -> Option<(u64, u64)> {
    Some((value.saturating_sub(slack), value.saturating_add(slack)))
}

/// Returns why the evidence cannot carry a verdict; a run with a reason never passes.
pub fn doubts(truth: &Truth, evidence: &Evidence, reported: &Reported) -> Vec<String> {
    let mut doubts = Vec::new();
    if evidence.events == 0 {
        doubts.push(
            "the trace names no event of the disk; are --disk and the trace's events right?"
                .to_owned(),
        );
    } else if truth.figures.changes == 0 {
        doubts
            .push("no event of the disk lies in the window; is the trace's clock mono?".to_owned());
    }
    if evidence.lossy {
        let lost = match evidence.lost {
            0 => "events".to_owned(),
            n => format!("{n} events"),
        };
        doubts.push(format!(
            "the trace lost {lost}; give it a larger buffer (--buffer-kb)"
        ));
    }
    if evidence.cut {
        doubts.push("the trace stops in the middle of a line; it is not complete".to_owned());
    }
    if truth.figures.surplus_ends > 0 {
        let n = truth.figures.surplus_ends;
        doubts.push(format!("{n} ends have no start: events are missing from the trace, or blkacct missed I/O in flight"));
    }
    if truth.unclear_flushes > 0 {
        let n = truth.unclear_flushes;
        doubts.push(format!("{n} completions may be the middle or the end of a flush sequence: two writes began at one sector"));
    }
    if let Some((before, after)) = reported.anomalies {
        for (name, count) in [
            ("orphans", after.orphans.wrapping_sub(before.orphans)),
            (
                "lost_starts",
                after.lost_starts.wrapping_sub(before.lost_starts),
            ),
        ] {
            if count > 0 {
                doubts.push(format!(
                    "blkacct itself reports {count} {name} in the window"
                ));
            }
        }
    }
    if let Some((before, after)) = &reported.stat {
        let driver = [Group::DrvIn as usize, Group::DrvOut as usize];
        let counted = driver
            .iter()
            .any(|&g| after.groups[g].ios != before.groups[g].ios);
        if counted {
            doubts.push("driver commands are counted, which a trace does not show: echo 0 > queue/iostats_passthrough".to_owned());
        }
        if before.in_flight.saturating_add(truth.figures.edge_changes)
            < truth.figures.in_flight_before
        {
            let (told, seen) = (before.in_flight, truth.figures.in_flight_before);
            doubts.push(format!(
                "blkacct reports {told} requests in flight at the beginning, the trace {seen}"
            ));
        }
    }
    doubts
}

/// Returns what a reader should know, and what is no reason to doubt.
pub fn notes(truth: &Truth, reported: &Reported) -> Vec<String> {
    let mut notes = Vec::new();
    if reported.classic {
        notes.push("the module keeps io_ticks of /proc/diskstats exact in mode 2 (blkacct/classic is 1), so iostats=1 shows that".to_owned());
    }
    if truth.figures.unseen > 0 {
        let n = truth.figures.unseen;
        notes.push(format!("{n} requests were in flight when the trace began: counted from the window's edge, their nsecs unknown"));
    }
    if truth.driver_commands > 0 {
        let n = truth.driver_commands;
        notes.push(format!("{n} driver commands are left out"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Oracle;

    fn truth() -> Truth {
        let mut oracle = Oracle::window(0, 0);
        oracle.close(100, (0, 0));
        oracle.finish()
    }

    /// Returns whether one of the doubts says `what`.
    fn doubted(truth: &Truth, reported: &Reported, what: &str) -> bool {
        let evidence = Evidence {
            events: 1,
            ..Evidence::default()
        };
        doubts(truth, &evidence, reported)
            .iter()
            .any(|doubt| doubt.contains(what))
    }

    #[test]
    fn what_a_trace_cannot_show_is_a_doubt() {
        let mut truth = truth();
        let mut reported = Reported {
            stat: Some(Default::default()),
            ..Reported::default()
        };
        assert!(!doubted(&truth, &reported, "driver commands"));
        reported.stat.as_mut().unwrap().1.groups[Group::DrvOut as usize].ios = 1;
        assert!(doubted(&truth, &reported, "driver commands"));
        truth.figures.surplus_ends = 1;
        assert!(doubted(&truth, &reported, "1 ends have no start"));
        truth.unclear_flushes = 1;
        assert!(doubted(&truth, &reported, "flush sequence"));
        truth.figures.in_flight_before = 1;
        assert!(doubted(
            &truth,
            &reported,
            "reports 0 requests in flight at the beginning, the trace 1"
        ));
    }

    #[test]
    fn clamped_events_widen_the_times() {
        let after = Anomalies {
            clamped: 3,
            ..Anomalies::default()
        };
        let reported = Reported {
            stat: Some(Default::default()),
            anomalies: Some((Anomalies::default(), after)),
            ..Reported::default()
        };
        let fields = fields(&truth(), &reported, 10);
        assert_eq!(fields[0].allowed, Some((0, 30)));
        assert_eq!(fields[1].allowed, Some((0, 30)));
        assert_eq!(fields[2].allowed, Some((0, 0)));
    }
}
