// SPDX-License-Identifier: GPL-2.0
//! What a file is that is not the text it was taken for.

use super::{Dev, Format, Said};

/// How files that are no text begin, and what to do with them.
const FILES: [(&[u8], &str); 11] = [
    (
        b"\x17\x08\x44tracing",
        "a file of trace-cmd; print it: trace-cmd report -t -i FILE",
    ),
    (b"PERFILE2", PERF),
    (b"2ELIFREP", PERF),
    (b"PERFFILE", PERF),
    (b"\x1f\x8b", "compressed; unpack it first: gzip -dc FILE"),
    (b"\xfd7zXZ\0", "compressed; unpack it first: xz -dc FILE"),
    (
        b"\x28\xb5\x2f\xfd",
        "compressed; unpack it first: zstd -dc FILE",
    ),
    (b"BZh", "compressed; unpack it first: bzip2 -dc FILE"),
    (
        b"\x04\x22\x4d\x18",
        "compressed; unpack it first: lz4 -dc FILE",
    ),
    (b"\xff\xfe", WIDE),
    (b"\xfe\xff", WIDE),
];
const PERF: &str = "a file of perf; print it: perf script -F comm,tid,cpu,time,event,trace --ns \
     --show-lost-events -i FILE";
const WIDE: &str = "text in UTF-16; convert it first: iconv -f UTF-16 -t UTF-8 FILE";
const BLKTRACE: &str = "a file of blktrace, one CPU's; print all of them: blkparse -i NAME";
const BINARY: &str = "no text; a trace is the printed form of what was recorded";

/// The mark that some editors put in front of UTF-8.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Returns what a file is that begins like this, if it is of a kind that others print.
pub fn known(head: &[u8]) -> Option<&'static str> {
    // blktrace's magic number in either order of bytes; the lowest is its version.
    let version = match head {
        [version, b't', b'a', b'e', ..] | [b'e', b'a', b't', version, ..] => Some(*version),
        _ => None,
    };
    if version.is_some_and(|version| version < b' ') {
        return Some(BLKTRACE);
    }
    let file = FILES.iter().find(|(magic, _)| head.starts_with(magic));
    file.map(|&(_, what)| what)
}

/// Returns the beginning of a text without the mark in front of it, or what else it is.
pub fn text(head: &[u8]) -> Result<&[u8], &'static str> {
    match known(head) {
        Some(what) => Err(what),
        None if head.contains(&0) => Err(BINARY),
        None => Ok(head.strip_prefix(BOM).unwrap_or(head)),
    }
}

/// Names the file in what is to be done with it. `blkparse` takes the name that blktrace's files of
/// all CPUs have in common.
pub fn advice(what: &str, name: &str) -> String {
    let common = name.find(".blktrace.").map_or(name, |end| &name[..end]);
    what.replace("FILE", name).replace("NAME", common)
}

/// Returns the other format that a line is of.
pub fn other(line: &[u8], taken_for: Format, dev: Dev) -> Option<Format> {
    [Format::Ftrace, Format::PerfScript, Format::Blkparse]
        .into_iter()
        .filter(|&format| format != taken_for)
        .find(|format| {
            let said = format.parse(line, dev);
            matches!(said, Ok(Said::Event(_) | Said::Elsewhere { .. }))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_no_text_are_known() {
        for (head, what) in [
            (&b"\x17\x08\x44tracing6\0"[..], "trace-cmd report"),
            (b"PERFILE2\x68\0", "perf script"),
            (b"2ELIFREP\0", "perf script"),
            (b"\x07tae\x01\0", "blkparse -i"),
            (b"\x08tae\x01\0", "blkparse -i"),
            (b"eat\x07\0\0", "blkparse -i"),
            (b"\x1f\x8b\x08", "gzip -dc"),
            (b"\xfd7zXZ\0", "xz -dc"),
            (b"\x28\xb5\x2f\xfd", "zstd -dc"),
            (b"\xff\xfe8\0,\0", "iconv"),
            (b"ab\0", "no text"),
        ] {
            let Err(said) = text(head) else {
                panic!("{what}");
            };
            assert!(said.contains(what), "{said}");
        }
    }

    #[test]
    fn advice_names_the_file() {
        let advice = |name| advice(BLKTRACE, name);
        assert!(advice("/t/sdc.blktrace.3").ends_with("blkparse -i /t/sdc"));
        assert!(advice("-").ends_with("blkparse -i -"));
        assert!(super::advice(PERF, "x").ends_with("--show-lost-events -i x"));
    }

    #[test]
    fn text_is_text_with_or_without_a_mark() {
        assert_eq!(text(b"\xef\xbb\xbf# x"), Ok(&b"# x"[..]));
        assert_eq!(text(b"eat it"), Ok(&b"eat it"[..]));
        assert_eq!(text(b""), Ok(&b""[..]));
    }

    #[test]
    fn a_line_of_another_format_is_known() {
        let dev = Dev { major: 8, minor: 0 };
        let lines = [
            (
                Format::Ftrace,
                "fio-1 [000] 1.000000: block_io_start: 8,0 R 0 () 8 + 8 [fio]",
            ),
            (
                Format::PerfScript,
                "fio 1 [000] 1.000000: block:block_io_start: 8,0 R 0 () 8 + 8 [fio]",
            ),
            (Format::Blkparse, "8,0 1 1 0.000000100 5 G R 8 + 8 [x]"),
        ];
        for (format, line) in lines {
            for (taken_for, _) in lines {
                let wanted = (format != taken_for).then_some(format);
                assert_eq!(other(line.as_bytes(), taken_for, dev), wanted, "{line}");
            }
        }
        assert_eq!(other(b"nonsense", Format::Ftrace, dev), None);
    }
}
