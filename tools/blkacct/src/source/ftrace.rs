// SPDX-License-Identifier: GPL-2.0
//! `trace` and `trace_pipe` of tracefs, and `trace-cmd report`.

use super::scan::{self, Scan};
use super::{block, context, Dev, Said, Unread};

const LOST: Unread = Unread::Expected("`CPU:n [LOST n EVENTS]` or `CPU:n [n EVENTS DROPPED]`");

/// Reads a line. A command's name may begin as what is no event, so that is looked for last.
pub fn line(line: &[u8], dev: Dev) -> Result<Said, Unread> {
    let error = match context::ftrace(line) {
        Ok(context) => return block::said(context, dev),
        Err(error) => error,
    };
    if line.first() == Some(&b'#') {
        return Ok(overwritten(line));
    }
    let text = line.trim_ascii();
    if text.starts_with(b"CPU:") {
        return lost(text).ok_or(LOST);
    }
    if is_between(text) {
        return Ok(Said::Nothing);
    }
    context::is_latency(line).and(Err(error))
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

/// Reads `CPU:3 [LOST 12 EVENTS]` and `CPU:3 [12 EVENTS DROPPED]`, and the forms without a number.
fn lost(line: &[u8]) -> Option<Said> {
    let mut scan = Scan(line);
    scan.word();
    let count = match scan.word() {
        b"[LOST" => scan.word(),
        b"[EVENTS" => b"EVENTS]",
        b"[SUBBUFFER" => return Some(Said::Nothing),
        word => word.strip_prefix(b"[")?,
    };
    match count {
        b"EVENTS]" => Some(Said::Lost(0)),
        count => Some(Said::Lost(scan::number(count)?)),
    }
}

/// Whether this stands between events: the head of `trace-cmd report`, or a frame of a stack.
fn is_between(text: &[u8]) -> bool {
    let idle = text.starts_with(b"CPU ") && text.ends_with(b" is empty");
    let head = [&b"cpus="[..], b"version = ", b"=> "]
        .iter()
        .any(|head| text.starts_with(head));
    text.is_empty() || idle || head || matches!(text, b"=>" | b"<stack trace>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Kind;

    const DEV: Dev = Dev { major: 8, minor: 0 };

    fn read(text: &str) -> Result<Said, Unread> {
        line(text.as_bytes(), DEV)
    }

    #[test]
    fn an_event_is_read() {
        let text = "     kworker/2:1-77      [002] d..1.    12.345678: block_rq_merge: 8,0 WS 8192 () 64 + 16 be,0,4 [kworker/2:1]";
        let Ok(Said::Event(event)) = read(text) else {
            panic!("no event");
        };
        assert_eq!((event.kind, event.on.pid), (Kind::Merge, 77));
    }

    #[test]
    fn losses_are_told() {
        for (text, lost) in [
            ("CPU:0 [LOST 123 EVENTS]", 123),
            ("CPU:0 [LOST EVENTS]", 0),
            ("CPU:2 [17 EVENTS DROPPED]", 17),
            ("CPU:2 [EVENTS DROPPED]", 0),
            ("  CPU:2 [EVENTS DROPPED]", 0),
            ("# entries-in-buffer/entries-written: 100/150   #P:2", 50),
        ] {
            assert_eq!(read(text), Ok(Said::Lost(lost)), "{text}");
        }
        let whole = "# entries-in-buffer/entries-written: 150/150   #P:2";
        assert_eq!(read(whole), Ok(Said::Nothing));
        assert_eq!(read("CPU:0 [LOST some EVENTS]"), Err(LOST));
    }

    #[test]
    fn heads_and_stacks_are_no_events() {
        for text in [
            "",
            "# tracer: nop",
            "cpus=4",
            "version = 6",
            "CPU 3 is empty",
            " => submit_bio_noacct",
            "=> submit_bio_noacct (ffffffff9a2c5d10)",
            "<stack trace>",
        ] {
            assert_eq!(read(text), Ok(Said::Nothing), "{text}");
        }
        let text = "    kworker/2:1-77  [002] d..1.    12.345678: <stack trace>";
        assert!(matches!(read(text), Ok(Said::Elsewhere { .. })));
        assert!(read("submit_bio_noacct").is_err());
    }
}
