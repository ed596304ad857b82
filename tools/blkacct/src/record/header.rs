// SPDX-License-Identifier: GPL-2.0
//! The first line of a recording, which tells how to read the rest.

use acct::hist::BUCKETS;
use acct::sgrp::StatGroup;
use serde::{Deserialize, Serialize};

/// What a recording begins with, before the checksum.
pub const MAGIC: &[u8] = b"blkacct-recording ";
/// The version that this tool writes, and the last that it reads.
pub const VERSION: u32 = 1;
/// Longer lines are none.
pub const LONGEST: usize = 64 * 1024;

/// The header, in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format.
    pub version: u32,
    /// The version of the tool that wrote it.
    pub blkacct: String,
    /// When it was begun, in ns since 1970 UTC.
    pub wall_ns: u64,
    /// The name of the machine.
    pub host: String,
    /// The release of its kernel.
    pub kernel: String,
    /// The groups of I/O, in the order of their counters.
    pub groups: Vec<String>,
    /// Buckets of a histogram.
    pub buckets: usize,
}

/// Of a later version no more than this can be known.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// Why a line is no header.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Fault {
    /// The file is of another kind.
    #[error("is no recording of blkacct: it begins with {0}")]
    Kind(String),
    /// The line is damaged.
    #[error("the header is damaged")]
    Damaged,
    /// It is newer than this tool.
    #[error("is a recording of version {0}, and this tool reads up to version {VERSION}: use a later blkacct")]
    Later(u32),
    /// Its counters are not those of this tool.
    #[error("has other groups or buckets than this tool: use the blkacct that wrote it, {0}")]
    Shape(String),
}

impl Header {
    /// A header of a recording that begins now.
    pub fn new(wall_ns: u64, host: String, kernel: String) -> Self {
        Header {
            version: VERSION,
            blkacct: env!("CARGO_PKG_VERSION").to_owned(),
            wall_ns,
            host,
            kernel,
            groups: StatGroup::ALL.map(|group| group.name().to_owned()).into(),
            buckets: BUCKETS,
        }
    }

    /// Returns the line, with its end: the magic, the checksum of the JSON, and the JSON.
    pub fn line(&self) -> Vec<u8> {
        // Plain strings and numbers always have a JSON.
        let json = serde_json::to_string(self).unwrap_or_default();
        let sum = crc32fast::hash(json.as_bytes());
        [MAGIC, format!("{sum:08x} {json}\n").as_bytes()].concat()
    }

    /// Reads a line without its end.
    ///
    /// # Errors
    ///
    /// Why it is not one.
    pub fn read(line: &[u8]) -> Result<Self, Fault> {
        let Some(rest) = line.strip_prefix(MAGIC) else {
            return Err(Fault::Kind(kind(line)));
        };
        let text = std::str::from_utf8(rest).map_err(|_| Fault::Damaged)?;
        let (sum, json) = text.split_once(' ').ok_or(Fault::Damaged)?;
        if sum != format!("{:08x}", crc32fast::hash(json.as_bytes())) {
            return Err(Fault::Damaged);
        }
        let Version { version } = serde_json::from_str(json).map_err(|_| Fault::Damaged)?;
        if version > VERSION {
            return Err(Fault::Later(version));
        }
        let header: Header = serde_json::from_str(json).map_err(|_| Fault::Damaged)?;
        let ours = Header::new(0, String::new(), String::new());
        if (&header.groups, header.buckets) != (&ours.groups, ours.buckets) {
            return Err(Fault::Shape(header.blkacct));
        }
        Ok(header)
    }
}

/// Says what a file is that is no recording.
fn kind(begin: &[u8]) -> String {
    const KINDS: [(&[u8], &str); 8] = [
        (b"\x1f\x8b", "gzip data: unpack it first (zcat)"),
        (b"\x28\xb5\x2f\xfd", "zstd data: unpack it first (zstdcat)"),
        (b"\xfd7zXZ\0", "xz data: unpack it first (xzcat)"),
        (
            b"PERFILE2",
            "perf data: `blkacct check --format perf-script` reads what perf script prints",
        ),
        (
            b"# tracer:",
            "a trace: `blkacct check --format ftrace` reads it",
        ),
        (b"\x7fELF", "a program"),
        (b"{", "JSON"),
        (b"<", "a page"),
    ];
    if begin.is_empty() {
        return "nothing, it is empty".to_owned();
    }
    let known = KINDS.iter().find(|(magic, _)| begin.starts_with(magic));
    known.map_or_else(
        || format!("\"{}\"", begin[..begin.len().min(16)].escape_ascii()),
        |(_, name)| (*name).to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header::new(7, "host".to_owned(), "7.2.0".to_owned())
    }

    fn signed(json: &str) -> Vec<u8> {
        let sum = crc32fast::hash(json.as_bytes());
        [MAGIC, format!("{sum:08x} {json}").as_bytes()].concat()
    }

    #[test]
    fn a_header_comes_back_and_no_byte_of_it_can_change() {
        let line = header().line();
        let line = line.strip_suffix(b"\n").unwrap();
        assert_eq!(Header::read(line).unwrap(), header());
        for place in 0..line.len() {
            let mut flipped = line.to_vec();
            flipped[place] ^= 1;
            let fault = Header::read(&flipped).unwrap_err();
            let is_kind = matches!(fault, Fault::Kind(_));
            assert!(is_kind || fault == Fault::Damaged, "{place}: {fault}");
            assert_eq!(is_kind, place < MAGIC.len());
        }
    }

    #[test]
    fn a_later_version_and_other_files_are_named() {
        let fault = |line: &[u8]| Header::read(line).unwrap_err().to_string();
        let later = signed(r#"{"version":2,"new":true}"#);
        assert!(fault(&later).contains("version 2"), "{}", fault(&later));
        let mut other = header();
        other.buckets = 7;
        let line = other.line();
        assert!(fault(line.strip_suffix(b"\n").unwrap()).contains("other groups or buckets"));
        assert!(fault(b"\x1f\x8b\x08").contains("gzip"));
        assert!(fault(b"").contains("empty"));
        assert!(fault(b"\0\x01hello").contains(r#""\x00\x01hello""#));
    }
}
