// SPDX-License-Identifier: GPL-2.0
//! What the module reports: `stat`, `anomalies` and the histograms, read with the module's own
//! code.

use std::fs;
use std::path::Path;
use std::str::FromStr;

use acct::hist::Latency;
use acct::wire::{Anomalies, Stat};
use anyhow::Context;

/// Reads a copy of `stat`.
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

fn parse<T: FromStr<Err = acct::wire::Error>>(path: &Path) -> anyhow::Result<T> {
    let text = fs::read_to_string(path).with_context(|| format!("{}", path.display()))?;
    text.parse::<T>()
        .with_context(|| format!("{}:1: is it a copy of blkacct's file?", path.display()))
}
