// SPDX-License-Identifier: GPL-2.0
//! What the module reports: `stat`, `anomalies` and the histograms, read with the module's own
//! code.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::str::FromStr;

use acct::hist::Latency;
use acct::wire::{Anomalies, Stat};
use anyhow::Context;

/// No file of sysfs is longer: it has one page, which is 64 KiB at most.
pub const LONGEST: usize = 64 * 1024;

/// Reads `stat`.
///
/// # Errors
///
/// A file that cannot be read, or a field that is not what it should be; both are named.
pub fn stat(path: &Path) -> anyhow::Result<Stat> {
    parse(path)
}

/// Reads `anomalies`.
///
/// # Errors
///
/// As [`stat`].
pub fn anomalies(path: &Path) -> anyhow::Result<Anomalies> {
    parse(path)
}

/// Reads `latency_<group>`.
///
/// # Errors
///
/// As [`stat`].
pub fn latency(path: &Path) -> anyhow::Result<Latency> {
    parse(path)
}

/// Reads a file of sysfs, or a copy of one.
///
/// # Errors
///
/// What the system says; a file that is too long or not text.
pub fn text(path: &Path) -> io::Result<String> {
    let bytes = bytes(path)?;
    as_text(&bytes, LONGEST).map(str::to_owned)
}

/// Reads a file of sysfs that need not be text.
///
/// # Errors
///
/// What the system says.
pub fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    file.take(LONGEST as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns what was read as text.
///
/// # Errors
///
/// Text that is longer than `longest`, or is none.
pub fn as_text(bytes: &[u8], longest: usize) -> io::Result<&str> {
    let refusal = match std::str::from_utf8(bytes) {
        _ if bytes.len() > longest => format!("more than {} KiB", longest / 1024),
        Ok(text) => return Ok(text),
        Err(_) => "not text".to_owned(),
    };
    Err(io::Error::new(ErrorKind::InvalidData, refusal))
}

fn parse<T: FromStr<Err = acct::wire::Error>>(path: &Path) -> anyhow::Result<T> {
    let name = path.display();
    let text = text(path).with_context(|| format!("{name}"))?;
    text.parse::<T>()
        .with_context(|| format!("{name}:1: is it a copy of blkacct's file?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_too_long_is_not_read_to_its_end() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let name = file.path().display();
        let told = || format!("{:#}", stat(file.path()).unwrap_err());
        let empty = format!("{name}:1: is it a copy of blkacct's file?: field time_ns is missing");
        assert_eq!(told(), empty);
        file.as_file().set_len(1 << 28).unwrap();
        assert_eq!(told(), format!("{name}: more than 64 KiB"));
        assert_eq!(bytes(file.path()).unwrap().len(), LONGEST + 1);
    }
}
