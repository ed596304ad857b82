// SPDX-License-Identifier: GPL-2.0
//! What `blkparse` and `blktrace` print beside the events: totals, and what was lost.

use super::scan::{self, Scan};
use super::Said;

/// How the lines of a table of totals begin.
const ROWS: [&[u8]; 19] = [
    b"CPU",
    b"Total",
    b"Reads Queued:",
    b"Read Dispatches:",
    b"Reads Requeued:",
    b"Reads Completed:",
    b"Read Merges:",
    b"Read depth:",
    b"PC Reads Queued:",
    b"PC Read Disp.:",
    b"PC Reads Req.:",
    b"PC Reads Compl.:",
    b"IO unplugs:",
    b"Timer unplugs:",
    b"Allocation wait:",
    b"Dispatch wait:",
    b"Completion wait:",
    b"Throughput",
    b"Events",
];

/// Reads a line that is no event; none if it is of neither tool.
pub fn line(line: &[u8]) -> Option<Said> {
    let text = line.trim_ascii();
    let mut scan = Scan(text);
    match scan.word() {
        b"" => return Some(Said::Nothing),
        b"Skips:" => return skips(scan),
        // `Input file sda.blktrace.0 added`
        b"Input" => return scan.expect(b"file").map(|()| Said::Nothing),
        b"===" => return text.ends_with(b"===").then_some(Said::Nothing),
        // `You have 12 (  3.4%) dropped events`, and the advice behind it.
        b"You" => return dropped(scan).map(Said::Lost),
        b"Consider" => return Some(Said::Nothing),
        _ => {}
    }
    if let Some(lost) = lost_of_total(text) {
        return Some(if lost > 0 {
            Said::Lost(lost)
        } else {
            Said::Over
        });
    }
    let total = ROWS.iter().any(|row| text.starts_with(row)) || is_process(text);
    total.then_some(Said::Over)
}

/// Reads `Skips: 3 forward (1,200 -   0.1%)`: sequence numbers that are missing, in so many places.
fn skips(mut scan: Scan<'_>) -> Option<Said> {
    grouped(scan.word())?;
    scan.expect(b"forward")?;
    Some(match grouped(scan.word().strip_prefix(b"(")?)? {
        0 => Said::Nothing,
        missing => Said::Lost(missing),
    })
}

fn dropped(mut scan: Scan<'_>) -> Option<u64> {
    scan.expect(b"have")?;
    let count = grouped(scan.word())?;
    scan.0.ends_with(b"dropped events").then_some(count)
}

/// Reads `Total:   120 events (dropped 0), ...` of blktrace.
fn lost_of_total(text: &[u8]) -> Option<u64> {
    let mut scan = Scan(text.strip_prefix(b"Total:")?);
    grouped(scan.word())?;
    scan.expect(b"events")?;
    scan.expect(b"(dropped")?;
    let word = scan.word();
    grouped(word.strip_suffix(b"),").or(word.strip_suffix(b")"))?)
}

/// Whether this heads the totals of a process: `fio (123)`, or `fio (123, ...)` of several.
fn is_process(text: &[u8]) -> bool {
    let inner = text.strip_suffix(b")").and_then(|text| {
        let open = text.iter().rposition(|&b| b == b'(')?;
        (open > 0 && text[open - 1] == b' ').then(|| &text[open + 1..])
    });
    inner.is_some_and(|inner| scan::number(inner.strip_suffix(b", ...").unwrap_or(inner)).is_some())
}

/// Reads a number whose thousands are set apart.
fn grouped(word: &[u8]) -> Option<u64> {
    let mut groups = word.split(|&b| b == b',');
    let first = scan::number(groups.next()?)?;
    groups.try_fold(first, |n, group| {
        let group = scan::number(group).filter(|_| group.len() == 3)?;
        n.checked_mul(1000)?.checked_add(group)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Said> {
        line(text.as_bytes())
    }

    #[test]
    fn totals_end_the_events() {
        for text in [
            "CPU0 (8,0):",
            "Total (sda):",
            " Reads Queued:           2,        8KiB\t Writes Queued:           0,        0KiB",
            " Read depth:             1        \t Write depth:             0",
            "fio (697)",
            "kworker/0:1 H (697, ...)",
            "Throughput (R/W): 1KiB/s / 0KiB/s",
            "Events (sda): 1,024 entries",
            "Total:     1024 events (dropped 0),       48 KiB data",
        ] {
            assert_eq!(read(text), Some(Said::Over), "{text}");
        }
    }

    #[test]
    fn what_comes_before_them_does_not() {
        for text in ["", "Input file sda.blktrace.3 added", "=== sda ==="] {
            assert_eq!(read(text), Some(Said::Nothing), "{text}");
        }
    }

    #[test]
    fn losses_are_told_with_thousands() {
        for (text, lost) in [
            ("Skips: 3 forward (12 -   0.1%)", 12),
            ("Skips: 1,234 forward (5,678 -  12.3%)", 5_678),
            ("Skips: 1,234,567 forward (7,654,321 -  12.3%)", 7_654_321),
            ("You have 1,520 ( 12.5%) dropped events", 1_520),
            ("Total:     1024 events (dropped 96),       48 KiB data", 96),
        ] {
            assert_eq!(read(text), Some(Said::Lost(lost)), "{text}");
        }
        assert_eq!(read("Skips: 0 forward (0 -   0.0%)"), Some(Said::Nothing));
    }

    #[test]
    fn anything_else_is_not_of_the_tools() {
        for text in [
            "nonsense",
            "Skips: some",
            "Skips: 1,2 forward (3",
            "f(697)",
            "fio (x)",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
