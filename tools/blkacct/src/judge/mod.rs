// SPDX-License-Identifier: GPL-2.0
//! The verdict: truth beside report, field by field, and what each may differ by.
//!
//! [`crate::oracle`] states the rule and computes its parts. Here they become one range per field,
//! `allowed`. What the module itself says its anomalies can have made a time differ by, `bound_ns`,
//! widens the ranges of all times, and its orphans those of the counts.

pub mod carry;
mod device;
mod doubts;
mod field;

pub use doubts::{doubts, notes, of_trace};
pub use field::{Field, Unit};

use crate::diskstats::Diskstats;
use crate::oracle::{Reading, Truth};
use crate::source::Group;
use acct::wire::{Anomalies, Stat};
use field::around;

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

/// Compares the truth with what was reported. Where the events can be read in two ways, each field
/// has the range of both.
pub fn fields(truth: &Truth, reported: &Reported, skew: u64) -> Vec<Field> {
    // What any time may differ by.
    let bound = reported.bound().saturating_add(truth.stood_still.ns);
    let read = |reading: &Reading| {
        let mut fields = of_all(reading, reported, bound);
        fields.extend(errors(truth, reported));
        for group in Group::ALL {
            fields.extend(of_group(reading, reported, group, (skew, bound)));
        }
        fields.extend(device::fields(reading, reported, (skew, bound)));
        fields
    };
    let mut readings = truth.readings.iter().map(read);
    let mut fields = readings.next().unwrap_or_default();
    for other in readings {
        for (field, other) in fields.iter_mut().zip(&other) {
            field.join(other);
        }
    }
    let of = |field: &Field| field.group.map(|group| (group, field.of_driver()));
    let silent = |some: &Field| {
        let mut all = fields.iter().filter(|field| of(field) == of(some));
        some.group.is_some() && all.all(Field::is_nothing)
    };
    let silent: Vec<bool> = fields.iter().map(silent).collect();
    let mut silent = silent.iter();
    fields.retain(|_| silent.next() == Some(&false));
    fields.iter_mut().for_each(Field::judge);
    fields
}

/// Returns the fields of the device as a whole.
fn of_all(reading: &Reading, reported: &Reported, bound: u64) -> Vec<Field> {
    let figures = &reading.figures;
    let stat = reported.stat.as_ref();
    let classic = reported.diskstats.as_ref();
    let of_stat = |get: fn(&Stat) -> u64| stat.map(|(a, b)| get(b).wrapping_sub(get(a)));
    let of_classic = |get: fn(&Diskstats) -> u64| {
        classic.map(|(a, b)| get(b).wrapping_sub(get(a)).saturating_mul(1_000_000))
    };
    let (shortest, longest) = figures.io_ticks_range;
    let queue_slack = figures
        .time_in_queue_slack
        .saturating_add(bound)
        .saturating_add(reported.read_ns);
    vec![
        Field::new("io_ticks", Unit::Ns, figures.io_ticks, 0)
            .iostats2(of_stat(|s| s.io_ticks))
            .iostats1(of_classic(|d| d.io_ticks_ms))
            .allowed(Some((
                shortest.saturating_sub(bound),
                longest.saturating_add(bound),
            ))),
        Field::new("time_in_queue", Unit::Ns, figures.time_in_queue, 0)
            .iostats2(of_stat(|s| s.time_in_queue))
            .iostats1(of_classic(|d| d.time_in_queue_ms))
            .allowed(around(figures.time_in_queue, queue_slack)),
        Field::new("in_flight at the end", Unit::Count, figures.in_flight, 0)
            .iostats2(stat.map(|(_, after)| after.in_flight))
            .iostats1(classic.map(|(_, after)| after.in_flight))
            .allowed(around(figures.in_flight, figures.edge_changes)),
    ]
}

/// Returns the field of the errors, if the trace shows them.
fn errors(truth: &Truth, reported: &Reported) -> Option<Field> {
    let counted = truth.errors?;
    // Of a bio-based device nobody counts them.
    let errors = |(a, b): (Stat, Stat)| Some(b.errors?.wrapping_sub(a.errors?));
    let field = Field::new("errors", Unit::Count, counted.inside, 0)
        .iostats2(reported.stat.and_then(errors))
        .allowed(around(counted.inside, counted.edge));
    Some(field)
}

/// Returns the fields of a group.
fn of_group(
    reading: &Reading,
    reported: &Reported,
    group: Group,
    (skew, bound): (u64, u64),
) -> [Field; 3] {
    let tally = &reading.figures.groups[group as usize];
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
    let told = !matches!(group, Group::Flush | Group::DrvIn | Group::DrvOut);
    let each = skew
        .saturating_mul(2)
        .saturating_mul(tally.ios.saturating_add(tally.edge_ios));
    // An orphan's I/O may be of any group, and of it nothing is counted.
    let orphans = reported.anomaly(|anomalies| anomalies.orphans);
    let open = reading.slack[group as usize];
    let nsecs_slack = each
        .saturating_add(tally.edge_nsecs)
        .saturating_add(bound)
        .saturating_add(open);
    let ios = Field::new(&format!("{group} ios"), Unit::Count, tally.ios, 0)
        .allowed(around(tally.ios, tally.edge_ios.saturating_add(orphans)));
    let merges = Field::new(&format!("{group} merges"), Unit::Count, tally.merges, 0).allowed(
        Some((tally.merges.saturating_sub(tally.edge_merges), u64::MAX)),
    );
    let nsecs = Field::new(&format!("{group} nsecs"), Unit::Ns, tally.nsecs, open)
        .allowed(around(tally.nsecs, nsecs_slack).filter(|_| tally.unseen == 0));
    let mut fields = [ios, merges, nsecs];
    for (i, field) in fields.iter_mut().enumerate() {
        field.group = Some(group);
        field.iostats2 = stat.map(|stat| stat[i]);
        field.iostats1 = classic.map(|classic| classic[i]);
        if !told {
            (field.truth, field.range, field.allowed) = (None, None, None);
        }
    }
    fields
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
    fn a_cpu_that_stood_still_widens_the_times() {
        let mut truth = truth();
        truth.stood_still.ns = 40;
        let stat = Some(Default::default());
        let reported = Reported {
            stat,
            ..Reported::default()
        };
        let fields = fields(&truth, &reported, 10);
        assert_eq!(fields[0].allowed, Some((0, 40)));
        assert_eq!(fields[1].allowed, Some((0, 40)));
        assert_eq!(fields[2].allowed, Some((0, 0)));
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
