// SPDX-License-Identifier: GPL-2.0
//! Traces that are not: any bytes, and lines of real traces with faults. Nothing may panic or hang, and
//! an error names the line.

use blkacct::diskstats;
use blkacct::oracle::Oracle;
use blkacct::progress::Progress;
use blkacct::source::{Dev, Format, Stream};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, Index};

/// The disk of all traces.
const DEV: Dev = Dev {
    major: 8,
    minor: 32,
};

const TRACES: [(Format, &str); 6] = [
    (Format::Ftrace, include_str!("data/sda.ftrace")),
    (Format::Ftrace, include_str!("data/cmd.ftrace")),
    (Format::PerfScript, include_str!("data/sda.perf")),
    (Format::PerfScript, include_str!("data/chains.perf")),
    (Format::Blkparse, include_str!("data/sda.blkparse")),
    (Format::Blkparse, include_str!("data/totals.blkparse")),
];

const FORMATS: [Format; 3] = [Format::Ftrace, Format::PerfScript, Format::Blkparse];

/// Words that may stand in the wrong place.
const WORDS: [&str; 14] = [
    "0",
    "18446744073709551615",
    "18446744073709551616",
    "18446744073.709551615",
    "99999999999999999999.123456:",
    "8,0",
    "8,4294967296",
    "-1",
    "+",
    "FWFS",
    "[0]",
    "block_rq_issue:",
    "M",
    "",
];

/// A fault in a line.
#[derive(Clone, Debug)]
enum Fault {
    /// One byte is another.
    Byte(Index, u8),
    /// The line ends early.
    Cut(Index),
    /// A word is missing.
    Drop(Index),
    /// A word is another.
    Word(Index, &'static str),
}

fn fault() -> impl Strategy<Value = Fault> {
    let at = any::<Index>;
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Fault::Byte(at, byte)),
        at().prop_map(Fault::Cut),
        at().prop_map(Fault::Drop),
        (at(), select(&WORDS[..])).prop_map(|(at, word)| Fault::Word(at, word)),
    ]
}

/// Puts a fault into a line; it stays one line.
fn spoil(line: &mut Vec<u8>, fault: &Fault) {
    if line.is_empty() {
        return;
    }
    let mut with_word = |at: &Index, word: &[u8]| {
        let mut words: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
        let place = at.index(words.len());
        words[place] = word;
        *line = words.join(&b' ');
    };
    match fault {
        Fault::Byte(at, byte) => {
            let place = at.index(line.len());
            line[place] = if *byte == b'\n' { b' ' } else { *byte };
        }
        Fault::Cut(at) => line.truncate(at.index(line.len())),
        Fault::Drop(at) => with_word(at, b""),
        Fault::Word(at, word) => with_word(at, word.as_bytes()),
    }
}

/// Reads a whole trace to its figures; returns the error's message.
fn read(format: Format, text: &[u8]) -> Result<(), String> {
    let mut oracle = Oracle::whole(1_000);
    let mut stream = Stream::new("t", text, format, DEV, Progress::new(false));
    let mut sink = |event| oracle.event(&event);
    let result = stream.read(&mut sink);
    stream.finish(&mut sink);
    oracle.finish();
    result.map_err(|error| error.to_string())
}

/// Returns the line that a message names.
fn line_of(message: &str) -> Option<usize> {
    message.split(':').nth(1)?.parse().ok()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_a_trace_or_an_error_with_its_line(bytes in vec(any::<u8>(), 0..400)) {
        for format in FORMATS {
            if let Err(message) = read(format, &bytes) {
                let lines = bytes.split(|&byte| byte == b'\n').count();
                let line = line_of(&message);
                prop_assert!(line.is_some_and(|line| (1..=lines).contains(&line)), "{message}");
            }
        }
    }

    #[test]
    fn a_fault_in_a_trace_is_harmless_or_an_error_with_its_line(
        which in select(&TRACES[..]),
        at in any::<Index>(),
        faults in vec(fault(), 1..4),
    ) {
        let (format, text) = which;
        let text = text.replace("8,0 ", "8,32 ");
        prop_assert_eq!(read(format, text.as_bytes()), Ok(()));
        let mut lines: Vec<Vec<u8>> = text.lines().map(|line| line.as_bytes().to_vec()).collect();
        let place = at.index(lines.len());
        for fault in &faults {
            spoil(&mut lines[place], fault);
        }
        let mut text = lines.join(&b'\n');
        text.push(b'\n');
        // Few lines: all of them are within the window in which the order does not matter.
        if let Err(message) = read(format, &text) {
            let line = line_of(&message).unwrap_or_default();
            // The head of blkparse's totals tells of the lines behind it that they are no events.
            // A time of perf that is too late makes the next one step back.
            let later = format != Format::Ftrace && line > place + 1;
            prop_assert!(line == place + 1 || later, "{message}");
        }
    }

    #[test]
    fn lines_of_all_formats_in_any_order_are_a_trace_or_an_error_with_its_line(
        picks in vec((select(&TRACES[..]), any::<Index>(), vec(fault(), 0..2)), 0..40),
    ) {
        let mut text = Vec::new();
        for ((_, trace), at, faults) in &picks {
            let lines: Vec<&str> = trace.lines().collect();
            let mut line = lines[at.index(lines.len())].replace("8,0 ", "8,32 ").into_bytes();
            for fault in faults {
                spoil(&mut line, fault);
            }
            text.extend_from_slice(&line);
            text.push(b'\n');
        }
        for format in FORMATS {
            if let Err(message) = read(format, &text) {
                let line = line_of(&message);
                prop_assert!(line.is_some_and(|line| (1..=picks.len()).contains(&line)), "{message}");
            }
        }
    }

    #[test]
    fn a_fault_in_diskstats_gives_no_figures_or_some(
        faults in vec(fault(), 0..4),
        bytes in vec(any::<u8>(), 0..200),
    ) {
        let mut line = b"   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17".to_vec();
        for fault in &faults {
            spoil(&mut line, fault);
        }
        for text in [&line, &bytes] {
            prop_assert!(diskstats::read(text.as_slice(), DEV).is_ok());
        }
    }
}
