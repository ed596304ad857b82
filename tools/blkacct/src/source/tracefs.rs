// SPDX-License-Identifier: GPL-2.0
//! The block tracepoints as text: `trace`/`trace_pipe` of tracefs, and `perf script`.
//!
//! Both print `<who> [<cpu>] <when>: <event>: <text>`; the text is the kernel's
//! (`include/trace/events/block.h`; `block_rq_requeue`, `block_rq_complete` and
//! `block_rq_error` lack the bytes):
//!
//! ```text
//!  fio-123     [001] d..1.    12.345678: block_io_start: 8,0 R 4096 () 1234 + 8 none,0,0 [fio]
//!  fio     123 [001]    12.345678901: block:block_io_start: 8,0 R 4096 () 1234 + 8 none,0,0 [fio]
//! ```
//!
//! The end of a request is `block_io_done`. Only where the kernel keeps no statistics does a flush
//! that it makes itself have none, so `block_rq_complete` is read for flushes.
//!
//! The command's name may hold any character, `[` and `:` too, so the search for the CPU starts
//! behind the 16 columns that hold the name.

use super::scan::{self, Scan};
use super::{rwbs, Dev, Event, Group, Kind, On, Said};

/// Columns that both formats give the command's name.
const COMM_WIDTH: usize = 16;

/// Reads a line of `trace` or `trace_pipe`.
pub fn ftrace(line: &[u8], dev: Dev) -> Result<Said, &'static str> {
    if line.first() == Some(&b'#') {
        return Ok(overwritten(line));
    }
    if line.starts_with(b"CPU:") {
        return lost(line).ok_or("`CPU:n [LOST n EVENTS]`");
    }
    event(line, b"", dev)
}

/// Reads a line of `perf script`, with or without `--ns`.
pub fn perf_script(line: &[u8], dev: Dev) -> Result<Said, &'static str> {
    if line.first() == Some(&b'#') {
        return Ok(Said::Nothing);
    }
    event(line, b"block:", dev)
}

/// Reads the header line that tells how many entries were written and how many are left.
fn overwritten(line: &[u8]) -> Said {
    let mut scan = Scan(&line[1..]);
    if scan.word() != b"entries-in-buffer/entries-written:" {
        return Said::Nothing;
    }
    let word = scan.word();
    let counts = word.iter().position(|&b| b == b'/').and_then(|slash| {
        let left = scan::number(&word[..slash])?;
        Some((left, scan::number(&word[slash + 1..])?))
    });
    match counts {
        Some((left, written)) if written > left => Said::Lost(written - left),
        _ => Said::Nothing,
    }
}

/// Reads `CPU:3 [LOST 12 EVENTS]`, and the form without a number.
fn lost(line: &[u8]) -> Option<Said> {
    let mut scan = Scan(line);
    scan.word();
    scan.expect(b"[LOST")?;
    match scan.word() {
        b"EVENTS]" => Some(Said::Lost(0)),
        count => Some(Said::Lost(scan::number(count)?)),
    }
}

fn event(line: &[u8], prefix: &[u8], dev: Dev) -> Result<Said, &'static str> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(Said::Nothing);
    }
    const SHAPE: &str = "`command-pid [cpu] seconds: event: ...`";
    let (when, mut text) = context(line).ok_or(SHAPE)?;
    let name = text.word();
    if name.starts_with(b"PERF_RECORD_LOST") {
        text.expect(b"lost").ok_or("`PERF_RECORD_LOST lost n`")?;
        return Ok(Said::Lost(text.number().unwrap_or(0)));
    }
    let name = name.strip_prefix(prefix).unwrap_or(name);
    let kind = match name {
        b"block_io_start:" => Kind::Start,
        b"block_io_done:" => Kind::Done,
        b"block_rq_merge:" => Kind::Merge,
        b"block_rq_issue:" => Kind::Issue,
        b"block_rq_requeue:" => Kind::Requeue,
        b"block_rq_complete:" => Kind::Complete,
        b"block_rq_error:" => Kind::Error,
        _ => return Ok(Said::Nothing),
    };
    request(text, dev, kind, when).ok_or("`major,minor rwbs [bytes] () sector + sectors ...`")
}

/// Finds the CPU and the time; returns the time and what follows it.
fn context(line: &[u8]) -> Option<(u64, Scan<'_>)> {
    let mut at = if line.len() > COMM_WIDTH {
        COMM_WIDTH
    } else {
        0
    };
    let cpu = loop {
        at += line[at..].iter().position(|&b| b == b'[')? + 1;
        let len = line[at..].iter().position(|&b| !b.is_ascii_digit())?;
        if len > 0 && line[at + len] == b']' {
            break at + len + 1;
        }
    };
    let mut scan = Scan(&line[cpu..]);
    // The flags of the interrupt state are there or not, by an option of the trace.
    let mut when = scan.word();
    if !when.ends_with(b":") {
        when = scan.word();
    }
    Some((scan::seconds(when.strip_suffix(b":")?)?, scan))
}

/// Reads what the events have in common.
fn request(mut text: Scan<'_>, dev: Dev, kind: Kind, time: u64) -> Option<Said> {
    if scan::dev(text.word())? != dev {
        return Some(Said::Nothing);
    }
    let rwbs = rwbs::parse(text.word())?;
    if kind == Kind::Complete && rwbs.group != Some(Group::Flush) {
        return Some(Said::Nothing);
    }
    let mut word = text.word();
    if let Some(_bytes) = scan::number(word) {
        word = text.word();
    }
    if word != b"()" {
        return None;
    }
    let sector = text.number()?;
    text.expect(b"+")?;
    let sectors = text.number()?;
    sector.checked_add(sectors)?;
    Some(Said::Event(Event {
        time,
        kind,
        rwbs,
        sector,
        sectors,
        on: On::default(),
        failed: false,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEV: Dev = Dev { major: 8, minor: 0 };

    fn ftrace_event(line: &str) -> Event {
        match ftrace(line.as_bytes(), DEV) {
            Ok(Said::Event(event)) => event,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reads_the_three_events() {
        let start = ftrace_event(
            "             fio-123     [001] d..1.    12.345678: block_io_start: 8,0 R 4096 () 1234 + 8 none,0,0 [fio]",
        );
        assert_eq!((start.time, start.kind), (12_345_678_000, Kind::Start));
        assert_eq!((start.sector, start.sectors), (1234, 8));
        assert_eq!(start.rwbs.group, Some(Group::Read));
        let done = ftrace_event(
            "          <idle>-0       [000] ..s2.    12.400000: block_io_done: 8,0 R 0 () 1234 + 0 none,0,0 [swapper/0]",
        );
        assert_eq!((done.kind, done.sectors), (Kind::Done, 0));
        let merge = ftrace_event(
            "   kworker/u8:1-77      [003] .....    12.350000: block_rq_merge: 8,0 WS 8192 () 64 + 16 be,0,4 [kworker/u8:1]",
        );
        assert_eq!(
            (merge.kind, merge.sector, merge.sectors),
            (Kind::Merge, 64, 16)
        );
    }

    #[test]
    fn reads_what_the_driver_does() {
        let issue = ftrace_event(
            "             fio-123     [001] d..1.    12.345678: block_rq_issue: 8,0 R 4096 () 1234 + 8 none,0,0 [fio]",
        );
        assert_eq!((issue.kind, issue.sector), (Kind::Issue, 1234));
        let requeue = ftrace_event(
            "    kworker/1:1H-60      [001] .....    12.345678: block_rq_requeue: 8,0 W () 1234 + 8 none,0,0 [0]",
        );
        assert_eq!((requeue.kind, requeue.sectors), (Kind::Requeue, 8));
        let flushed = ftrace_event(
            "          <idle>-0       [000] d.h1.    12.345678: block_rq_complete: 8,0 FF () 0 + 0 none,0,0 [0]",
        );
        assert_eq!(
            (flushed.kind, flushed.rwbs.group),
            (Kind::Complete, Some(Group::Flush))
        );
        let failed = ftrace_event(
            "          <idle>-0       [000] d.h1.    12.345678: block_rq_error: 8,0 R () 1234 + 8 none,0,0 [-5]",
        );
        assert_eq!((failed.kind, failed.sector), (Kind::Error, 1234));
        // The end of others is block_io_done.
        let other = b"          <idle>-0       [000] d.h1.    12.345678: block_rq_complete: 8,0 R () 1234 + 8 none,0,0 [0]";
        assert_eq!(ftrace(other, DEV), Ok(Said::Nothing));
    }

    #[test]
    fn reads_a_trace_without_flags_and_ioprio() {
        let event = ftrace_event("             fio-123     [001]    12.345678: block_io_start: 8,0 R 4096 () 1234 + 8 [fio]");
        assert_eq!(event.sector, 1234);
    }

    #[test]
    fn a_command_may_be_called_anything() {
        let event = ftrace_event(
            "  [7] 1.000000: -9       [001] d..1.    12.345678: block_io_start: 8,0 R 4096 () 1234 + 8 none,0,0 [[7] 1.000000: ]",
        );
        assert_eq!(event.time, 12_345_678_000);
    }

    #[test]
    fn skips_what_is_not_ours() {
        let other = b"             fio-123     [001] d..1.    12.345678: block_io_start: 8,16 R 4096 () 1234 + 8 none,0,0 [fio]";
        assert_eq!(ftrace(other, DEV), Ok(Said::Nothing));
        let event = b"             fio-123     [001] d..1.    12.345678: block_rq_insert: 8,0 R 4096 () 1234 + 8 none,0,0 [fio]";
        assert_eq!(ftrace(event, DEV), Ok(Said::Nothing));
        assert_eq!(ftrace(b"# tracer: nop", DEV), Ok(Said::Nothing));
        assert_eq!(ftrace(b"", DEV), Ok(Said::Nothing));
    }

    #[test]
    fn tells_losses() {
        assert_eq!(ftrace(b"CPU:0 [LOST 123 EVENTS]", DEV), Ok(Said::Lost(123)));
        assert_eq!(ftrace(b"CPU:0 [LOST EVENTS]", DEV), Ok(Said::Lost(0)));
        let header = b"# entries-in-buffer/entries-written: 100/150   #P:2";
        assert_eq!(ftrace(header, DEV), Ok(Said::Lost(50)));
        let header = b"# entries-in-buffer/entries-written: 150/150   #P:2";
        assert_eq!(ftrace(header, DEV), Ok(Said::Nothing));
        let perf = b"             fio   123 [001]    12.345678901: PERF_RECORD_LOST lost 7";
        assert_eq!(perf_script(perf, DEV), Ok(Said::Lost(7)));
    }

    #[test]
    fn reads_perf_script_in_ns() {
        let line = b"             fio   123 [001]    12.345678901:         block:block_io_start: 8,0 R 4096 () 1234 + 8 none,0,0 [fio]";
        let Ok(Said::Event(event)) = perf_script(line, DEV) else {
            panic!("not an event");
        };
        assert_eq!(event.time, 12_345_678_901);
    }

    #[test]
    fn refuses_broken_lines() {
        for line in [
            "fio",
            "             fio-123     [001] d..1.    12.345678",
            "             fio-123     [001] d..1.    12.345678: block_io_start:",
            "             fio-123     [001] d..1.    12.345678: block_io_start: 8,0 R 4096 () 1234 +",
            "             fio-123     [001] d..1.    12.345678: block_io_start: 8,0 Q 4096 () 1234 + 8",
            "             fio-123     [001] d..1.    twelve: block_io_start: 8,0 R 4096 () 1234 + 8",
        ] {
            assert!(ftrace(line.as_bytes(), DEV).is_err(), "{line}");
        }
    }
}
