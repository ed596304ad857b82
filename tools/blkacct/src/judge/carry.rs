// SPDX-License-Identifier: GPL-2.0
//! What a trace can carry: whether it has the events, and the time, that the figures need.
//!
//! This is known before there are figures, and without it there are none.

use super::Reported;
use crate::oracle::Truth;
use crate::source::{Evidence, Format, Kind};

/// What `--stat` asks for: from and to, in ns.
pub type Window = (u64, u64);

/// Returns why a trace of `format` cannot carry figures of `disk`, in the window if one is given.
pub fn unfit(
    format: Format,
    evidence: &Evidence,
    disk: &str,
    window: Option<Window>,
    skew: u64,
) -> Vec<String> {
    let mut reasons = Vec::new();
    reasons.extend(missing(format, evidence, disk));
    if let Some(window) = window {
        reasons.extend(uncovered(evidence, window, skew));
    }
    reasons
}

/// Returns which event the trace lacks. An end of any disk shows that ends are recorded: a request
/// may hang. Starts are another matter, for a disk may be of a kind that has none.
fn missing(format: Format, evidence: &Evidence, disk: &str) -> Option<String> {
    let (of_disk, of_any) = (evidence.of_disk, evidence.of_any);
    let blktrace = format == Format::Blkparse;
    let (start, end) = match blktrace {
        true => ("G (a request is allocated)", "C (a completion)"),
        false => ("block_io_start", "block_io_done"),
    };
    let none = evidence.events == 0;
    if of_any.is_empty() || none && of_any.has(Kind::Start) && of_any.has(format.end()) {
        // That there is nothing of the disk is a doubt of its own.
        return None;
    }
    let bios = of_disk.has(Kind::Queue)
        && ![Kind::Issue, Kind::Done, Kind::Merge, Kind::MergeOrGrow]
            .iter()
            .any(|&kind| of_disk.has(kind));
    let started = if none { of_any } else { of_disk }.has(Kind::Start);
    if !started && bios && of_any.has(Kind::Start) {
        return Some(format!(
            "the trace has no {start} of {disk}, only bios: a disk that is made of others (dm, md) \
             has none; check the disks below it"
        ));
    }
    if !started {
        let hint = match (blktrace, bios) {
            (true, true) => "; a disk that is made of others (dm, md) has none: trace those",
            (true, false) => "",
            (false, true) => {
                "; a disk that is made of others (dm, md) has none: trace those; kernels before \
                 6.5 have none, use blktrace there"
            }
            (false, false) => "; kernels before 6.5 have none, use blktrace there",
        };
        return Some(format!(
            "the trace has no {start} of {disk}, so that nothing tells when its requests begin; \
             record it: {}{hint}",
            command(format)
        ));
    }
    if !of_any.has(format.end()) {
        return Some(format!(
            "the trace has no {end}, so that nothing tells when requests end; record it: {}",
            command(format)
        ));
    }
    None
}

/// Returns the command that records what is needed.
fn command(format: Format) -> &'static str {
    match format {
        Format::Ftrace => {
            "trace-cmd record -C mono -e block:block_io_start -e block:block_io_done \
             -e block:block_rq_merge -e block:block_rq_issue -e block:block_rq_requeue \
             -e block:block_rq_complete"
        }
        Format::PerfScript => {
            "perf record -a -k CLOCK_MONOTONIC -e block:block_io_start -e block:block_io_done \
             -e block:block_rq_merge -e block:block_rq_issue -e block:block_rq_requeue \
             -e block:block_rq_complete"
        }
        Format::Blkparse => "blktrace -d DEVICE, without -a",
    }
}

/// Returns which part of the window no line of the trace reaches.
fn uncovered(evidence: &Evidence, (from, to): Window, skew: u64) -> Option<String> {
    const REMEDY: &str = "a line of any disk or event shows that it ran: record also \
                          sched:sched_process_exec and sched:sched_process_exit, and take the \
                          copies with cp while it runs";
    let Some((first, last)) = evidence.span else {
        return Some(
            "no line of the trace has a time, so that it shows nothing of the window".to_owned(),
        );
    };
    let s = |ns: u64| format!("{}.{:09} s", ns / 1_000_000_000, ns % 1_000_000_000);
    if last < from || first > to {
        return Some(format!(
            "the trace is of another time than the window: from {} to {}, and the window from {} \
             to {}; is its clock mono (trace-cmd record -C mono, perf record -k CLOCK_MONOTONIC and \
             perf script without --reltime), and are all of one boot?",
            s(first),
            s(last),
            s(from),
            s(to)
        ));
    }
    let late = first.saturating_sub(from);
    let early = to.saturating_sub(last);
    match (late > skew, early > skew) {
        (true, true) => Some(format!(
            "the trace begins {} after the window does and ends {} before it, as far as its lines \
             show; {REMEDY}",
            s(late),
            s(early)
        )),
        (true, false) => Some(format!(
            "the trace begins {} after the window does, as far as its lines show; {REMEDY}",
            s(late)
        )),
        (false, true) => Some(format!(
            "the trace ends {} before the window does, as far as its lines show; {REMEDY}",
            s(early)
        )),
        (false, false) => None,
    }
}

/// Returns what a file may lack without a line that says so, so that a figure that differs from it
/// is no failure of the module.
pub fn unseen(truth: &Truth, evidence: &Evidence, reported: &Reported) -> Option<String> {
    let file = evidence.file?;
    if !file.losses_shown && !evidence.lossy {
        return Some(
            "perf script tells of lost events only with --show-lost-events; print the trace with \
             it, and say so with --losses-shown"
                .to_owned(),
        );
    }
    let merges = [Kind::Merge, Kind::MergeOrGrow].map(|kind| evidence.of_any.has(kind));
    let figures = truth.figures();
    let told = reported.stat.as_ref().map(|(_, after)| after.in_flight);
    let stay =
        told.is_some_and(|told| figures.in_flight > told.saturating_add(figures.edge_changes));
    if stay && !merges.contains(&true) {
        return Some(format!(
            "the trace leaves {} requests in flight and has no block_rq_merge: if that was not \
             recorded, requests that others absorbed have no end; record it: {}",
            figures.in_flight,
            command(file.format)
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Kinds;

    fn kinds(kinds: &[Kind]) -> Kinds {
        let mut all = Kinds::default();
        kinds.iter().for_each(|&kind| all.add(kind));
        all
    }

    fn evidence(of_disk: &[Kind], of_any: &[Kind]) -> Evidence {
        Evidence {
            events: of_disk.len() as u64,
            of_disk: kinds(of_disk),
            of_any: kinds(&[of_disk, of_any].concat()),
            ..Evidence::default()
        }
    }

    fn reason(format: Format, of_disk: &[Kind], of_any: &[Kind]) -> Option<String> {
        let mut reasons = unfit(format, &evidence(of_disk, of_any), "sda", None, 0);
        assert!(reasons.len() < 2);
        reasons.pop()
    }

    #[test]
    fn starts_and_ends_are_enough() {
        use Kind::{Complete, Done, Start};
        for format in [Format::Ftrace, Format::PerfScript] {
            assert_eq!(reason(format, &[Start, Done], &[]), None);
            // A request hangs; the ends of others are there.
            assert_eq!(reason(format, &[Start], &[Done]), None);
            // An idle disk.
            assert_eq!(reason(format, &[], &[Start, Done]), None);
            assert_eq!(reason(format, &[], &[]), None);
        }
        assert_eq!(reason(Format::Blkparse, &[Start, Complete], &[]), None);
    }

    #[test]
    fn the_event_that_is_missing_is_named_with_the_command_that_records_it() {
        use Kind::{Complete, Done, Issue, Queue, Start};
        let says = |format, of_disk: &[Kind], of_any: &[Kind], parts: &[&str]| {
            let reason = reason(format, of_disk, of_any).unwrap_or_default();
            for part in parts {
                assert!(reason.contains(part), "{part}: {reason}");
            }
        };
        let start = ["no block_io_start of sda", "trace-cmd record -C mono"];
        says(Format::Ftrace, &[Done], &[], &start);
        says(Format::Ftrace, &[Issue, Complete], &[], &start);
        says(Format::Ftrace, &[], &[Issue, Complete], &start);
        // Of one disk the starts are not recorded.
        says(Format::Ftrace, &[Issue, Done], &[Start], &start);
        let end = ["no block_io_done", "perf record -a -k CLOCK_MONOTONIC"];
        says(Format::PerfScript, &[Start], &[], &end);
        says(Format::PerfScript, &[Start, Issue, Complete], &[], &end);
        says(
            Format::Blkparse,
            &[Issue, Complete],
            &[],
            &["no G ", "without -a"],
        );
        says(
            Format::Blkparse,
            &[Queue, Start, Issue],
            &[],
            &["no C ", "without -a"],
        );
        says(
            Format::Blkparse,
            &[Queue, Complete],
            &[],
            &["no G ", "dm, md"],
        );
        let below = ["only bios", "check the disks below"];
        says(Format::Blkparse, &[Queue, Complete], &[Start], &below);
        says(Format::Ftrace, &[Queue], &[Start, Done], &below);
    }

    fn window(span: Option<(u64, u64)>) -> String {
        let evidence = Evidence {
            span,
            ..Evidence::default()
        };
        let reasons = unfit(Format::Ftrace, &evidence, "sda", Some((100, 200)), 5);
        reasons.join("; ")
    }

    #[test]
    fn a_trace_reaches_over_both_edges_of_its_window() {
        for span in [(0, 300), (100, 200), (105, 195)] {
            assert_eq!(window(Some(span)), "", "{span:?}");
        }
        for (span, says) in [
            ((106, 200), "begins 0.000000006 s after the window does, as"),
            ((100, 194), "ends 0.000000006 s before the window does"),
            (
                (120, 130),
                "begins 0.000000020 s after the window does and ends 0.000000070 s",
            ),
            ((0, 99), "of another time than the window"),
            ((201, 300), "of another time than the window"),
        ] {
            assert!(
                window(Some(span)).contains(says),
                "{span:?}: {}",
                window(Some(span))
            );
        }
        assert!(window(None).contains("no line of the trace has a time"));
    }
}
