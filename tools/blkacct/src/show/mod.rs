// SPDX-License-Identifier: GPL-2.0
//! How figures are printed.

pub mod columns;
pub mod quantity;
pub mod table;
pub mod time;

use std::io::Write;

use crate::terminal;

/// Prints a report in one piece, so that one who is killed, or who kills, has whole reports.
///
/// # Errors
///
/// Those of standard output.
pub fn print(report: &[u8]) -> anyhow::Result<()> {
    let mut out = terminal::out();
    out.write_all(report)?;
    Ok(out.flush()?)
}
