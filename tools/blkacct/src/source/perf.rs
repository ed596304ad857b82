// SPDX-License-Identifier: GPL-2.0
//! `perf script`, with or without `--ns`.

use super::scan::{self, Scan};
use super::{block, context, Dev, Said, Unread};

/// Reads a line. A command's name may begin as what is no event, so that is looked for last.
pub fn line(line: &[u8], dev: Dev) -> Result<Said, Unread> {
    let mut context = match context::perf(line) {
        Ok(context) => context,
        Err(error) => return between(line).ok_or(error),
    };
    if context.name.starts_with(b"PERF_RECORD_LOST") {
        // Lost samples are told without a number by older versions.
        let count = context.text.expect(b"lost").and(context.text.number());
        return Ok(Said::Lost(count.unwrap_or(0)));
    }
    if context.name.starts_with(b"PERF_RECORD_") {
        // What was there before the recording is told at the time zero.
        return Ok(Said::Nothing);
    }
    block::said(context, dev)
}

/// Reads what stands between events: frames of a call chain, and what `perf` says on its way out
/// when both of its outputs are one file.
fn between(line: &[u8]) -> Option<Said> {
    if matches!(line.first(), Some(b'#' | b'\t')) {
        return Some(Said::Nothing);
    }
    let text = line.trim_ascii();
    let mut scan = Scan(text);
    match scan.word() {
        b"" | b"Warning:" => return Some(Said::Nothing),
        // `Processed 10 events and lost 2 chunks!`
        b"Processed" => {
            scan.number()?;
            return text.ends_with(b"!").then_some(Said::Lost(0));
        }
        b"Check" => return text.ends_with(b"overload!").then_some(Said::Nothing),
        _ => {}
    }
    let indented = line.first() == Some(&b' ');
    let address = Scan(text).word();
    let hex = address.len() >= 4 && address.iter().all(u8::is_ascii_hexdigit);
    let frame = hex && text.ends_with(b")") || text.ends_with(b"(inlined)");
    (indented && (frame || is_place(text))).then_some(Said::Nothing)
}

/// Whether this is the place of a frame in its source: `file.c:12`.
fn is_place(text: &[u8]) -> bool {
    let colon = text.iter().rposition(|&b| b == b':');
    let line = colon.and_then(|colon| scan::number(&text[colon + 1..]));
    line.is_some() && !text.contains(&b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEV: Dev = Dev { major: 8, minor: 0 };

    fn read(text: &str) -> Result<Said, Unread> {
        line(text.as_bytes(), DEV)
    }

    #[test]
    fn an_event_is_read_in_ns() {
        let text = "     kworker/2:1    77 [002]    12.345678901:         block:block_io_start: 8,0 R 4096 () 64 + 8 none,0,0 [kworker/2:1]";
        let Ok(Said::Event(event)) = read(text) else {
            panic!("no event");
        };
        assert_eq!((event.time, event.on.cpu), (12_345_678_901, 2));
    }

    #[test]
    fn losses_are_told() {
        for (text, lost) in [
            (
                "  fio   9 [001]    12.345678901: PERF_RECORD_LOST lost 7",
                7,
            ),
            (
                " :-1   -1 [-01]    12.345678901: PERF_RECORD_LOST lost 7",
                7,
            ),
            (
                "  fio   9 [001]    12.345678901: PERF_RECORD_LOST_SAMPLES",
                0,
            ),
            (
                "  fio   9 [001]    12.345678901: PERF_RECORD_LOST_SAMPLES lost 3",
                3,
            ),
            ("Processed 31 events and lost 2 chunks!", 0),
        ] {
            assert_eq!(read(text), Ok(Said::Lost(lost)), "{text}");
        }
    }

    #[test]
    fn call_chains_and_other_records_are_no_events() {
        for text in [
            "",
            "# cmdline : perf record -e block:*",
            "\tffffffff9a2c5d10 submit_bio_noacct+0x140 ([kernel.kallsyms])",
            "\t    7f31c2 [unknown] ([unknown])",
            "\tsubmit_bio_noacct",
            "        ffffffff9a2c5d10 submit_bio_noacct+0x140 ([kernel.kallsyms])",
            "                 submit_bio (inlined)",
            "  blk-core.c:812",
            "perf-exec     0     0.000000: PERF_RECORD_COMM: perf-exec:19565/19565",
            "dd   42 [001]  7.100000: PERF_RECORD_MMAP2 42/42: [0x5000(0x4000) @ 0x2000]: r-xp /bin/dd",
            "Warning:",
            "Check IO/CPU overload!",
        ] {
            assert_eq!(read(text), Ok(Said::Nothing), "{text}");
        }
        for text in [
            "ffffffff9a2c5d10 submit_bio_noacct ([kernel.kallsyms])",
            "   fio 9 12.345 block_io_start (x)",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
