// SPDX-License-Identifier: GPL-2.0
//! What must hold between any two reads of `stat`, whatever the disk does.
//!
//! The rules are those of the ABI text. They need no trace: a disk that breaks one is accounted
//! wrongly, however fast or slow it is.

use std::fmt;

use acct::sgrp::StatGroup;
use acct::wire::Stat;

/// A rule that two reads break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A counter is less than it was.
    StepsBack {
        /// The counter.
        field: String,
        /// What it was.
        from: u64,
        /// What it is.
        to: u64,
    },
    /// A counter grew by more than one that bounds it.
    Outgrows {
        /// The counter.
        field: &'static str,
        /// By how much it grew.
        by: u64,
        /// The one that bounds it.
        bound: &'static str,
        /// By how much that grew.
        bound_by: u64,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::StepsBack { field, from, to } => {
                write!(f, "{field} steps back from {from} to {to}")
            }
            Violation::Outgrows {
                field,
                by,
                bound,
                bound_by,
            } => write!(f, "{field} grows by {by}, {bound} only by {bound_by}"),
        }
    }
}

/// Checks two reads of one device in the order in which they were taken.
pub fn check(before: &Stat, after: &Stat) -> Vec<Violation> {
    let mut violations: Vec<Violation> = counters(before)
        .into_iter()
        .zip(counters(after))
        .filter(|((_, from), (_, to))| to < from)
        .map(|((field, from), (_, to))| Violation::StepsBack { field, from, to })
        .collect();
    let grown = |get: fn(&Stat) -> Option<u64>| get(after)?.checked_sub(get(before)?);
    let mut within = |(field, by): Growth, (bound, bound_by): Growth| {
        if let Some((by, bound_by)) = by.zip(bound_by).filter(|(by, bound_by)| by > bound_by) {
            violations.push(Violation::Outgrows {
                field,
                by,
                bound,
                bound_by,
            });
        }
    };
    let time = ("time_ns", grown(|s| Some(s.time_ns)));
    let io = ("io_ticks", grown(|s| Some(s.io_ticks)));
    let queue = ("time_in_queue", grown(|s| Some(s.time_in_queue)));
    let device = ("device_ticks", grown(|s| Some(s.device?.ticks)));
    let device_queue = (
        "device_time_in_queue",
        grown(|s| Some(s.device?.time_in_queue)),
    );
    within(io, time);
    within(io, queue);
    within(device, io);
    within(device, device_queue);
    violations
}

/// Whether a counter is less than it was: the two reads are not of one device's life.
pub fn steps_back(before: &Stat, after: &Stat) -> bool {
    let steps_back = |violation: &Violation| matches!(violation, Violation::StepsBack { .. });
    check(before, after).iter().any(steps_back)
}

/// A field, and by how much it grew if it is there and did not step back.
type Growth = (&'static str, Option<u64>);

/// Returns every field that never steps back, by name.
fn counters(stat: &Stat) -> Vec<(String, u64)> {
    let mut counters = vec![
        ("time_ns".to_owned(), stat.time_ns),
        ("io_ticks".to_owned(), stat.io_ticks),
        ("time_in_queue".to_owned(), stat.time_in_queue),
    ];
    for group in StatGroup::ALL {
        let (name, counts) = (group.name(), &stat.groups[group.index()]);
        counters.extend([
            (format!("{name} ios"), counts.ios),
            (format!("{name} merges"), counts.merges),
            (format!("{name} sectors"), counts.sectors),
            (format!("{name} nsecs"), counts.nsecs),
        ]);
    }
    counters.extend(stat.errors.map(|errors| ("errors".to_owned(), errors)));
    if let Some(device) = &stat.device {
        counters.extend([
            ("device_ticks".to_owned(), device.ticks),
            ("device_time_in_queue".to_owned(), device.time_in_queue),
            ("requeues".to_owned(), device.requeues),
        ]);
        let nsecs = StatGroup::ALL.into_iter().zip(device.nsecs);
        counters.extend(nsecs.map(|(group, ns)| (format!("{} device_nsecs", group.name()), ns)));
    }
    counters
}

#[cfg(test)]
mod tests {
    use super::*;
    use acct::wire::DeviceSide;

    /// A stat line in which every field is there, and later ones have more of everything.
    fn stat(n: u64) -> Stat {
        let fields: Vec<String> = (0..54).map(|_| (1000 + n).to_string()).collect();
        fields.join(" ").parse().unwrap()
    }

    fn told(before: &Stat, after: &Stat) -> Vec<String> {
        check(before, after)
            .iter()
            .map(Violation::to_string)
            .collect()
    }

    #[test]
    fn a_slow_but_honest_disk_is_silent() {
        // One request for the whole second, and nothing ends.
        let busy = |ns: u64| Stat {
            time_ns: 5_000_000_000 + ns,
            io_ticks: ns,
            time_in_queue: ns,
            in_flight: 1,
            device: Some(DeviceSide {
                ticks: ns,
                time_in_queue: ns,
                in_flight: 1,
                ..DeviceSide::default()
            }),
            ..Stat::default()
        };
        assert_eq!(check(&busy(0), &busy(1_000_000_000)), []);
        // In-flight may go either way, and nothing may happen.
        let mut idle = busy(1_000_000_000);
        idle.in_flight = 0;
        idle.device.as_mut().unwrap().in_flight = 0;
        assert_eq!(check(&busy(1_000_000_000), &idle), []);
        assert_eq!(check(&stat(0), &stat(7)), []);
    }

    #[test]
    fn a_disk_without_a_device_side_is_judged_by_the_rest() {
        let without = |n| {
            let mut stat = stat(n);
            (stat.errors, stat.device) = (None, None);
            stat
        };
        assert_eq!(check(&without(0), &without(7)), []);
        let mut wrong = without(7);
        wrong.io_ticks += 1;
        assert_eq!(check(&without(0), &wrong).len(), 2);
    }

    #[test]
    fn every_counter_that_steps_back_is_named() {
        let names = counters(&stat(0));
        assert_eq!(names.len(), 52, "all fields but two in-flight");
        for (place, (name, _)) in names.iter().enumerate() {
            // The counters in the order of the file, which has in_flight fourth and 44th.
            let field = place + usize::from(place >= 3) + usize::from(place >= 42);
            let text = stat(0).to_string();
            let mut words: Vec<&str> = text.split_whitespace().collect();
            words[field] = "999";
            let less = words.join(" ").parse().unwrap();
            let told = told(&stat(0), &less);
            assert_eq!(told, [format!("{name} steps back from 1000 to 999")]);
        }
    }

    #[test]
    fn every_bound_that_is_passed_is_named() {
        let (before, honest) = (stat(0), stat(7));
        let mut after = honest;
        after.io_ticks += 1;
        after.time_in_queue += 1;
        assert_eq!(
            told(&before, &after),
            ["io_ticks grows by 8, time_ns only by 7"]
        );
        let mut after = honest;
        after.time_in_queue -= 1;
        assert_eq!(
            told(&before, &after),
            ["io_ticks grows by 7, time_in_queue only by 6"]
        );
        let mut after = honest;
        after.device.as_mut().unwrap().ticks += 1;
        after.device.as_mut().unwrap().time_in_queue += 1;
        assert_eq!(
            told(&before, &after),
            ["device_ticks grows by 8, io_ticks only by 7"]
        );
        let mut after = honest;
        after.device.as_mut().unwrap().time_in_queue -= 1;
        assert_eq!(
            told(&before, &after),
            ["device_ticks grows by 7, device_time_in_queue only by 6"]
        );
    }
}
