// SPDX-License-Identifier: GPL-2.0
//! Reports as CSV (RFC 4180, with plain newlines).

use std::io::{self, Write};

use super::{Layout, Report};
use crate::show::time;

/// What comes before the figures of a line.
const FIRST: [&str; 6] = ["time", "device", "dev", "diskseq", "id", "interval_s"];

/// Writes the head.
pub fn head(layout: &Layout) -> io::Result<Vec<u8>> {
    let mut cells: Vec<String> = FIRST.map(str::to_owned).to_vec();
    cells.extend(layout.columns.iter().map(|column| column.head(false)));
    line(&cells)
}

/// Writes a line for each device. What is not known is empty.
pub fn report(report: &Report, layout: &Layout) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    let time = time::utc(report.sample.wall_ns);
    for row in &report.rows {
        let identity = row.device.map(|device| &device.identity);
        let interval = row.window.ok().and_then(|window| window.interval_ns);
        let first = [
            Some(time.clone()),
            Some(row.label.trim_start().to_owned()),
            identity.and_then(|id| id.dev.clone()),
            identity.and_then(|id| Some(id.diskseq?.to_string())),
            identity.and_then(|id| id.by_id.first().or(id.wwn.as_ref()).cloned()),
            interval.map(seconds),
        ];
        let figures = layout.columns.iter().map(|column| {
            let window = row.window.ok()?;
            Some((column.figure)(&window)?.exact())
        });
        let cells: Vec<String> = first
            .into_iter()
            .chain(figures)
            .map(Option::unwrap_or_default)
            .collect();
        out.extend(line(&cells)?);
    }
    Ok(out)
}

/// Writes ns as seconds.
fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

fn line(cells: &[String]) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    for (place, cell) in cells.iter().enumerate() {
        let comma = if place > 0 { "," } else { "" };
        match cell.contains(['"', ',', '\n', '\r']) {
            true => write!(out, "{comma}\"{}\"", cell.replace('"', "\"\""))?,
            false => write!(out, "{comma}{cell}")?,
        }
    }
    out.push(b'\n');
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_cell_is_quoted() {
        let cells = ["a", "b,c", "say \"x\"", "", "two\nlines"].map(str::to_owned);
        let text = String::from_utf8(line(&cells).unwrap()).unwrap();
        assert_eq!(text, "a,\"b,c\",\"say \"\"x\"\"\",,\"two\nlines\"\n");
    }
}
