// SPDX-License-Identifier: GPL-2.0
//! The verdict: truth beside report, field by field, and what each may differ by.
//!
//! [`crate::oracle`] states the rule and computes its parts. Here they become one range per field,
//! `allowed`. What the module itself says its anomalies can have made a time differ by, `bound_ns`,
//! widens the ranges of all times, and its orphans those of the counts.

mod device;
mod doubts;

pub use doubts::{doubts, notes};

use acct::wire::{Anomalies, Stat};
use serde::Serialize;

use crate::diskstats::Diskstats;
use crate::oracle::Truth;
use crate::source::Group;

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
#[derive(Clone, Debug, Default)]
pub struct Reported {
    /// Blkacct's `stat` at both edges.
    pub stat: Option<(Stat, Stat)>,
    /// Its `anomalies`.
    pub anomalies: Option<(Anomalies, Anomalies)>,
    /// The kernel's line.
    pub diskstats: Option<(Diskstats, Diskstats)>,
    /// What must hold between any two reads of `stat` and does not.
    pub violations: Vec<String>,
    /// How long the two reads took together, in ns: `time_ns` is of some moment in each.
    pub read_ns: u64,
    /// The module keeps the kernel's own busy time exact too.
    pub classic: bool,
}

impl Reported {
    /// Returns how much an anomaly grew.
    fn anomaly(&self, get: fn(&Anomalies) -> u64) -> u64 {
        self.anomalies.map_or(0, |(before, after)| {
            get(&after).saturating_sub(get(&before))
        })
    }

    /// Returns what the anomalies of the window can have made any time differ by, in ns.
    fn bound(&self) -> u64 {
        self.anomaly(|anomalies| anomalies.bound_ns)
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
    let bound = reported.bound();
    let edge = figures.edge_changes;
    let mut fields = vec![
        Field {
            name: "io_ticks".to_owned(),
            unit: Unit::Ns,
            truth: Some(figures.io_ticks),
            iostats2: of_stat(|s| s.io_ticks),
            iostats1: of_classic(&|d| d.io_ticks_ms.saturating_mul(1_000_000)),
            allowed: Some((
                figures.io_ticks_range.0.saturating_sub(bound),
                figures.io_ticks_range.1.saturating_add(bound),
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
                figures
                    .time_in_queue_slack
                    .saturating_add(bound)
                    .saturating_add(reported.read_ns),
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
    // Of a bio-based device nobody counts them.
    let errors = stat.and_then(|(a, b)| Some(b.errors?.wrapping_sub(a.errors?)));
    fields.extend(truth.errors.map(|counted| Field {
        name: "errors".to_owned(),
        unit: Unit::Count,
        truth: Some(counted.inside),
        iostats2: errors,
        iostats1: None,
        allowed: around(counted.inside, counted.edge),
        ok: None,
    }));
    for group in Group::ALL {
        fields.extend(of_group(truth, reported, group, skew));
    }
    fields.extend(device::fields(truth, reported, skew));
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
    // The kernel's other groups are not of the same I/O: its writes hold all that is not a read or
    // a discard.
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
    // An orphan's I/O may be of any group, and of it nothing is counted.
    let orphans = reported.anomaly(|anomalies| anomalies.orphans);
    let nsecs_slack = each
        .saturating_add(tally.edge_nsecs)
        .saturating_add(reported.bound())
        .saturating_add(truth.slack[group as usize]);
    let allowed = [
        around(tally.ios, tally.edge_ios.saturating_add(orphans)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::errors::Counted;
    use crate::oracle::Oracle;

    fn truth() -> Truth {
        let mut oracle = Oracle::window(0, 0);
        oracle.close(100, (0, 0));
        oracle.finish()
    }

    fn errors(truth: &Truth, before: u64, after: u64) -> Option<Option<bool>> {
        let stat = |errors| Stat {
            errors: Some(errors),
            ..Stat::default()
        };
        let reported = Reported {
            stat: Some((stat(before), stat(after))),
            ..Reported::default()
        };
        let fields = fields(truth, &reported, 10);
        let field = fields.iter().find(|field| field.name == "errors")?;
        Some(field.ok)
    }

    #[test]
    fn errors_are_judged_where_the_trace_shows_them() {
        assert_eq!(errors(&truth(), 3, 4), None);
        let mut truth = truth();
        truth.errors = Some(Counted { inside: 2, edge: 0 });
        assert_eq!(errors(&truth, 3, 5), Some(Some(true)));
        assert_eq!(errors(&truth, 3, 4), Some(Some(false)));
        assert_eq!(errors(&truth, 3, 6), Some(Some(false)));
        truth.errors = Some(Counted { inside: 2, edge: 1 });
        assert_eq!(errors(&truth, 3, 6), Some(Some(true)));
    }

    #[test]
    fn the_bound_widens_the_times_and_orphans_the_counts() {
        let after = Anomalies {
            orphans: 1,
            bound_ns: 30,
            ..Anomalies::default()
        };
        let mut reported = Reported {
            stat: Some(Default::default()),
            anomalies: Some((Anomalies::default(), after)),
            ..Reported::default()
        };
        reported.stat.as_mut().unwrap().1.groups[0].ios = 1;
        let fields = fields(&truth(), &reported, 10);
        assert_eq!(fields[0].allowed, Some((0, 30)));
        assert_eq!(fields[1].allowed, Some((0, 30)));
        assert_eq!(fields[2].allowed, Some((0, 0)));
        assert_eq!(
            (fields[3].name.as_str(), fields[3].allowed),
            ("read ios", Some((0, 1)))
        );
        assert_eq!(fields[5].allowed, Some((0, 30)));
    }
}
