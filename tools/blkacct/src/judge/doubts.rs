// SPDX-License-Identifier: GPL-2.0
//! What the evidence is worth.

use acct::wire::Stat;

use super::Reported;
use crate::oracle::late::StoodStill;
use crate::oracle::Truth;
use crate::source::{Evidence, Group, Kind};

/// Returns what a trace says against itself, whatever its figures are.
pub fn of_trace(evidence: &Evidence) -> Vec<String> {
    let mut doubts = Vec::new();
    if evidence.lossy {
        let lost = match evidence.lost {
            0 => "events".to_owned(),
            n => format!("{n} events"),
        };
        doubts.push(format!(
            "the trace lost {lost}; give it a larger buffer (--buffer-kb; trace-cmd record -b, \
             perf record -m, blktrace -b)"
        ));
    }
    if evidence.cut {
        doubts.push("the trace stops in the middle of a line; it is not complete".to_owned());
    }
    doubts
}

/// Returns why the evidence cannot carry a verdict; a run with a reason never passes.
pub fn doubts(truth: &Truth, evidence: &Evidence, reported: &Reported) -> Vec<String> {
    let mut doubts = Vec::new();
    let driver = truth.readings[0].driver.map_or(0, |driver| driver.changes);
    let changes = truth.figures().changes + driver;
    // Of an idle disk a trace has nothing; that it shows the events of others tells that it would.
    let idle = is_idle(reported) && shows_others(evidence);
    if evidence.events == 0 && !idle {
        doubts.push(
            "the trace names no event of the disk; are --disk and the trace's events right?"
                .to_owned(),
        );
    } else if changes == 0 && !idle {
        doubts
            .push("no event of the disk lies in the window; is the trace's clock mono?".to_owned());
    }
    doubts.extend(of_trace(evidence));
    let surplus = truth.readings.iter().map(|one| one.figures.surplus_ends);
    if let Some(n) = surplus.min().filter(|&n| n > 0) {
        doubts.push(format!("{n} ends have no start: events are missing from the trace, or blkacct missed I/O in flight"));
    }
    if let Some((before, after)) = &reported.stat {
        let driver = [Group::DrvIn as usize, Group::DrvOut as usize];
        let counted = driver
            .iter()
            .any(|&g| after.groups[g].ios != before.groups[g].ios);
        if counted {
            doubts.push("driver commands are counted, which a trace does not show: echo 0 > queue/iostats_passthrough".to_owned());
        }
        if before
            .in_flight
            .saturating_add(truth.figures().edge_changes)
            < truth.figures().in_flight_before
        {
            let (told, seen) = (before.in_flight, truth.figures().in_flight_before);
            doubts.push(format!(
                "blkacct reports {told} requests in flight at the beginning, the trace {seen}"
            ));
        }
    }
    doubts
}

/// Whether blkacct reports that nothing happened in the window.
fn is_idle(reported: &Reported) -> bool {
    reported.stat.as_ref().is_some_and(|(before, after)| {
        let ios = |stat: &Stat| stat.groups.map(|group| group.ios);
        ios(before) == ios(after)
            && before.io_ticks == after.io_ticks
            && (before.in_flight, after.in_flight) == (0, 0)
    })
}

/// Whether the trace has starts and ends of some disk.
fn shows_others(evidence: &Evidence) -> bool {
    let has = |kind| evidence.of_any.has(kind);
    has(Kind::Start) && (has(Kind::Done) || has(Kind::Complete))
}

/// Returns what a reader should know, and what is no reason to doubt.
pub fn notes(truth: &Truth, reported: &Reported) -> Vec<String> {
    let mut notes = Vec::new();
    if reported.classic {
        notes.push("the module keeps io_ticks of /proc/diskstats exact in mode 2 (blkacct/classic is 1), so iostats=1 shows that".to_owned());
    }
    if truth.stood_still.times > 0 {
        let StoodStill { times, ns } = truth.stood_still;
        notes.push(format!("{times} times a CPU stood still between two events, {ns} ns in all: so much more may the times differ by"));
    }
    for (name, count) in [
        ("clamped", reported.anomaly(|anomalies| anomalies.clamped)),
        ("orphans", reported.anomaly(|anomalies| anomalies.orphans)),
        (
            "lost_starts",
            reported.anomaly(|anomalies| anomalies.lost_starts),
        ),
    ] {
        if count > 0 {
            let bound = reported.bound();
            notes.push(format!(
                "blkacct itself reports {count} {name} in the window, and a bound_ns of {bound}"
            ));
        }
    }
    let driver = truth.readings[0].driver;
    if driver.is_some_and(|driver| driver.surplus_ends > 0) {
        notes.push("the trace has more returns from the driver than it had requests: the times at the driver are not judged".to_owned());
    }
    if truth.figures().unseen > 0 {
        let n = truth.figures().unseen;
        notes.push(format!("{n} requests were in flight when the trace began: counted from the window's edge, their nsecs unknown"));
    }
    if truth.readings.len() > 1 {
        let n = truth.open;
        notes.push(format!("{n} events can be read in two ways, such as the end of a request or the middle of a flush sequence: figures are ranges that hold both; block_rq_complete in the trace tells most of them apart"));
    }
    if truth.flushes_never_end {
        notes.push("the trace shows flushes go to the driver and not how they end: the times at the driver are not judged; add block_rq_complete".to_owned());
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
    use acct::wire::Anomalies;

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
        truth.readings[0].figures.surplus_ends = 1;
        assert!(doubted(&truth, &reported, "1 ends have no start"));
        truth.readings[0].figures.in_flight_before = 1;
        assert!(doubted(
            &truth,
            &reported,
            "reports 0 requests in flight at the beginning, the trace 1"
        ));
    }

    #[test]
    fn anomalies_are_no_doubt_but_noted() {
        let after = Anomalies {
            orphans: 2,
            bound_ns: 30,
            ..Anomalies::default()
        };
        let reported = Reported {
            anomalies: Some((Anomalies::default(), after)),
            ..Reported::default()
        };
        assert!(!doubted(&truth(), &reported, "orphans"));
        let notes = notes(&truth(), &reported);
        assert_eq!(
            notes,
            ["blkacct itself reports 2 orphans in the window, and a bound_ns of 30"]
        );
    }
}
