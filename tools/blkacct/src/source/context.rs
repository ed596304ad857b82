// SPDX-License-Identifier: GPL-2.0
//! Who, where, when: what stands in front of an event's text.
//!
//! ```text
//!              fio-123     [001] d..1.    12.345678: block_io_start: ...
//!              fio-123     (    123) [001] d..1.    12.345678: block_io_start: ...
//!              fio-123       1d..1.    12.345678: block_io_start: ...
//!              fio   123 [001]    12.345678901:          1 block:block_io_start: ...
//! ```
//!
//! A command's name may hold any character, and its columns may be gone. But it has 15 characters
//! at most, too few for all that stands between the name and the event. So the first place of a
//! line that has all of it is the right one, whatever the name looks like.

use super::scan::{self, Scan};
use super::{On, Unread};

/// The front of an event.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// When, in ns.
    pub time: u64,
    /// Where.
    pub on: On,
    /// The event's name, as it is printed.
    pub name: &'a [u8],
    /// What follows the name.
    pub text: Scan<'a>,
}

/// The clocks of ftrace that count something else than ns print no point.
const TICKS: Unread = Unread::Refused(
    "the times are counts of the clocks counter, uptime or x86-tsc and no seconds; \
     record with another: echo mono > trace_clock, or trace-cmd record -C mono",
);
const LATENCY: Unread = Unread::Refused(
    "the times are those of the latency format; print without it: echo 0 > options/latency-format",
);
const FTRACE: Unread = Unread::Expected("`command-pid [cpu] seconds: event: ...`");
const PERF: Unread = Unread::Expected("`command tid [cpu] seconds: event: ...`");
const NO_TASK: Unread = Unread::Refused(
    "the events have no thread; print it: perf script -F comm,tid,cpu,time,event,trace",
);
const NO_TIME: Unread = Unread::Refused(
    "the events have no time; print it: perf script -F comm,tid,cpu,time,event,trace",
);

/// Finds the front of a line of `trace`, `trace_pipe` or `trace-cmd report`.
pub fn ftrace(line: &[u8]) -> Result<Context<'_>, Unread> {
    let mut ticks = false;
    for open in memchr::memchr_iter(b'[', line) {
        let Some((cpu, rest)) = bracketed(&line[open..]) else {
            continue;
        };
        let Some(pid) = pid_of_name(&line[..open]) else {
            continue;
        };
        match when(rest) {
            When::At(time, text) => return Ok(named(time, On { cpu, pid }, text)),
            When::Ticks => ticks = true,
            When::No => {}
        }
    }
    unbracketed(line).ok_or(if ticks { TICKS } else { FTRACE })
}

/// Finds the front of a line of `perf script`.
pub fn perf(line: &[u8]) -> Result<Context<'_>, Unread> {
    let mut nobody = false;
    for open in memchr::memchr_iter(b'[', line) {
        let Some((cpu, rest)) = bracketed(&line[open..]) else {
            continue;
        };
        let When::At(time, text) = when(rest) else {
            continue;
        };
        match thread(&line[..open]) {
            Some(pid) => match counted(time, On { cpu, pid }, text) {
                Some(context) => return Ok(context),
                None => continue,
            },
            None if record(text) => return counted(time, On { cpu, pid: 0 }, text).ok_or(PERF),
            None => nobody = true,
        }
    }
    without_cpu(line).map_err(|missing| if nobody { NO_TASK } else { missing })
}

/// Reads `[cpu]` and a blank; returns what follows.
fn bracketed(text: &[u8]) -> Option<(u32, &[u8])> {
    let inner = text.get(1..)?;
    let len = inner.iter().take(8).position(|&b| b == b']')?;
    let rest = inner.get(len + 1..)?;
    if !matches!(rest.first(), Some(b' ' | b'\t')) {
        return None;
    }
    // `perf` writes -1 for a record that is of no CPU.
    let digits = inner[..len].strip_prefix(b"-").unwrap_or(&inner[..len]);
    Some((scan::number(digits)?.try_into().ok()?, rest))
}

enum When<'a> {
    At(u64, Scan<'a>),
    Ticks,
    No,
}

/// Reads the flags, which are there or not by an option of the trace, and the time.
fn when(rest: &[u8]) -> When<'_> {
    let mut scan = Scan(rest);
    let mut word = scan.word();
    if !word.ends_with(b":") {
        word = scan.word();
    }
    let Some(word) = word.strip_suffix(b":") else {
        return When::No;
    };
    match (scan::seconds(word), scan::number(word)) {
        (Some(time), _) if exact(word) => When::At(time, scan),
        (_, Some(_)) => When::Ticks,
        _ => When::No,
    }
}

/// Whether a time has the digits of us or ns; fewer have room in a command's name.
fn exact(word: &[u8]) -> bool {
    let point = word.iter().position(|&b| b == b'.');
    point.is_some_and(|point| word.len() - point > 6)
}

/// Returns the number behind the last dash in front of the CPU; the thread group may follow it.
fn pid_of_name(front: &[u8]) -> Option<u32> {
    let mut front = front.trim_ascii_end();
    if let Some(group) = front.strip_suffix(b")") {
        let tail = &group[group.len().saturating_sub(12)..];
        let len = tail.iter().rev().position(|&b| b == b'(')?;
        front = group[..group.len() - len - 1].trim_ascii_end();
    }
    let len = digits_at_end(front);
    let dash = front.len().checked_sub(len + 1)?;
    (front[dash] == b'-').then(|| scan::number(&front[dash + 1..])?.try_into().ok())?
}

fn digits_at_end(text: &[u8]) -> usize {
    let tail = text.iter().rev().take(12);
    tail.take_while(|b| b.is_ascii_digit()).count()
}

/// Returns the thread that `perf` writes in front of the CPU: `tid` or `pid/tid`.
fn thread(front: &[u8]) -> Option<u32> {
    let front = front.trim_ascii_end();
    let len = digits_at_end(front);
    let before = front[..front.len() - len].last();
    if !matches!(before, None | Some(b' ' | b'\t' | b'/')) {
        return None;
    }
    scan::number(&front[front.len() - len..])?.try_into().ok()
}

/// Takes the event's name. `trace-cmd report --ts-diff` writes the time since the line before in
/// front of it.
fn named(time: u64, on: On, mut text: Scan<'_>) -> Context<'_> {
    let mut name = text.word();
    if name.starts_with(b"(+") && name.ends_with(b")") {
        name = text.word();
    }
    Context {
        time,
        on,
        name,
        text,
    }
}

/// As [`named`], of `perf`: a period may stand in front of the name, which ends with a colon unless
/// it is that of a record.
fn counted(time: u64, on: On, text: Scan<'_>) -> Option<Context<'_>> {
    let mut without = text;
    let period = scan::number(without.word()).is_some();
    let context = named(time, on, if period { without } else { text });
    (context.name.ends_with(b":") || record(text)).then_some(context)
}

/// Whether a record of `perf` itself follows, which may be of no thread.
fn record(mut text: Scan<'_>) -> bool {
    text.word().starts_with(b"PERF_RECORD_")
}

/// Finds the front of a line of `trace-cmd report -l`, where the flags follow the CPU's number.
fn unbracketed(line: &[u8]) -> Option<Context<'_>> {
    let (mut before, mut last): (&[u8], &[u8]) = (b"", b"");
    let mut scan = Scan(line);
    loop {
        let word = scan.word();
        if word.is_empty() {
            return None;
        }
        let time = word.strip_suffix(b":").filter(|time| exact(time));
        if let Some(time) = time.and_then(scan::seconds) {
            let digits = last.iter().take_while(|b| b.is_ascii_digit()).count();
            let flags = last.len() > digits;
            let cpu = scan::number(&last[..digits]).and_then(|cpu| cpu.try_into().ok());
            if let (true, Some(cpu), Some(pid)) = (flags, cpu, pid_of_name(before)) {
                return Some(named(time, On { cpu, pid }, scan));
            }
        }
        (before, last) = (last, word);
    }
}

/// Finds the front of a line of `perf script -F` without `cpu`.
fn without_cpu(line: &[u8]) -> Result<Context<'_>, Unread> {
    let mut missing = PERF;
    let mut scan = Scan(line);
    let mut last: &[u8] = b"";
    loop {
        let word = scan.word();
        if word.is_empty() {
            return Err(missing);
        }
        let event = word.starts_with(b"block:block_") && word.ends_with(b":");
        let time = word.strip_suffix(b":").filter(|time| exact(time));
        if let Some(time) = time.and_then(scan::seconds) {
            match thread(last) {
                Some(pid) => match counted(time, On { cpu: 0, pid }, scan) {
                    Some(context) => return Ok(context),
                    None => missing = PERF,
                },
                None => missing = NO_TASK,
            }
        } else if event && missing == PERF {
            missing = NO_TIME;
        }
        last = word;
    }
}

/// Whether a line is of the latency format of `trace`.
pub fn is_latency(line: &[u8]) -> Result<(), Unread> {
    let mut scan = Scan(line);
    let mut last: &[u8] = b"";
    loop {
        let word = scan.word();
        if word.is_empty() {
            return Ok(());
        }
        let us = last.iter().take_while(|b| b.is_ascii_digit()).count();
        if us > 0 && matches!(&last[us..], b"us" | b"us!" | b"us+" | b"us#") && word == b":" {
            return Err(LATENCY);
        }
        last = word;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: fn(&str) -> (u64, u32, u32, &str) = |line| {
        let context = ftrace(line.as_bytes()).unwrap_or_else(|error| panic!("{line}: {error:?}"));
        let name = std::str::from_utf8(context.name).unwrap();
        (context.time, context.on.cpu, context.on.pid, name)
    };
    const PRINTED: fn(&str) -> (u64, u32, u32, &str) = |line| {
        let context = perf(line.as_bytes()).unwrap_or_else(|error| panic!("{line}: {error:?}"));
        let name = std::str::from_utf8(context.name).unwrap();
        (context.time, context.on.cpu, context.on.pid, name)
    };
    const NS: u64 = 12_345_678_000;

    #[test]
    fn ftrace_is_read_with_and_without_columns_flags_and_thread_groups() {
        for line in [
            "            dbus-42      [003] d..1.    12.345678: block_io_start: x",
            "dbus-42 [003] d..1. 12.345678: block_io_start: x",
            "            dbus-42      [003]    12.345678: block_io_start:       x",
            "            dbus-42      (     42) [003] d..1.    12.345678: block_io_start: x",
            "            dbus-42      (-------) [003] d..1    12.345678: block_io_start: x",
            "\tdbus-42\t[003]\td..1.\t12.345678:\tblock_io_start:\tx",
            "            dbus-42      [003] d..1.    12.345678000: block_io_start: x",
            "            dbus-42        3d..1.    12.345678: block_io_start: x",
            "            dbus-42      [003]    12.345678: (+410)   block_io_start:       x",
            "  disks:           dbus-42    [003] ..... 12.345678: block_io_start: x",
        ] {
            assert_eq!(READ(line), (NS, 3, 42, "block_io_start:"), "{line}");
        }
    }

    #[test]
    fn a_command_may_be_called_anything() {
        // None is longer than the 15 characters that the kernel keeps.
        for name in [
            "",
            "a b",
            "-",
            "-9",
            "[7]",
            "x-1 [0] 1.0: e:",
            "[7] 1.000000: -",
            "-1 [0] 1.000000",
            "-1 [0] d 1.000:",
            "-1 [0] 1.000: ",
            "-1 [0] 1.000: x",
            "-1 0. 1.000000:",
            "-1 (1) [0] 1: b",
            "k:1-events [x]:",
        ] {
            assert!(name.len() <= 15, "{name}");
            for line in [
                format!("{name:>16}-42      [003] d..1.    12.345678: block_io_start: x [{name}]"),
                format!("{name}-42 [003] 12.345678: block_io_start: x [{name}]"),
                format!("{name}-42 (  41) [003] d..1. 12.345678: block_io_start: x [{name}]"),
            ] {
                assert_eq!(READ(&line), (NS, 3, 42, "block_io_start:"), "{line}");
            }
            for line in [
                format!("{name:>16}    42 [003]    12.345678: block:block_io_start: x [{name}]"),
                format!("{name} 41/42 [003] 12.345678: block:block_io_start: x [{name}]"),
            ] {
                assert_eq!(
                    PRINTED(&line),
                    (NS, 3, 42, "block:block_io_start:"),
                    "{line}"
                );
            }
        }
    }

    #[test]
    fn perf_is_read_with_the_fields_that_matter() {
        for (line, cpu) in [
            (
                "dbus    42 [003]    12.345678000: block:block_io_start: x",
                3,
            ),
            ("   42 [003]    12.345678: block:block_io_start: x", 3),
            (
                "dbus    40/42    [003]    12.345678: block:block_io_start: x",
                3,
            ),
            (
                "dbus    42 [003]    12.345678:          1 block:block_io_start: x",
                3,
            ),
            ("dbus    42    12.345678: block:block_io_start: x", 0),
        ] {
            assert_eq!(
                PRINTED(line),
                (NS, cpu, 42, "block:block_io_start:"),
                "{line}"
            );
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_for_its_reason() {
        let refused = |found: Result<Context<'_>, Unread>, why: &str| match found {
            Err(Unread::Refused(text)) => assert!(text.contains(why), "{text}"),
            _ => panic!("{why}"),
        };
        let ticks = "dbus-42 [003] d..1. 123456789012: block_io_start: x";
        refused(ftrace(ticks.as_bytes()), "counter, uptime or x86-tsc");
        let nobody = "dbus [003] 12.345678: block:block_io_start: x";
        refused(perf(nobody.as_bytes()), "no thread");
        let nobody = "dbus 12.345678: block:block_io_start: x";
        refused(perf(nobody.as_bytes()), "no thread");
        let timeless = "dbus 42 [003] block:block_io_start: x";
        refused(perf(timeless.as_bytes()), "no time");
        let latency = b"  dbus-42        1d..1. 1520us : block_io_start: x";
        assert_eq!(is_latency(latency), Err(LATENCY));
        assert_eq!(is_latency(ticks.as_bytes()), Ok(()));
    }

    #[test]
    fn what_is_broken_is_not_read() {
        for line in [
            "dbus",
            "dbus-42 [003] d..1.",
            "dbus-42 [003] d..1. 12.345678",
            "dbus-42 [003] d..1. twelve: block_io_start: x",
            "dbus [003] d..1. 12.345678: block_io_start: x",
            "dbus-42 [] d..1. 12.345678: block_io_start: x",
            "dbus-42 [99999999999] d..1. 12.345678: block_io_start: x",
        ] {
            assert!(matches!(ftrace(line.as_bytes()), Err(FTRACE)), "{line}");
        }
    }
}
