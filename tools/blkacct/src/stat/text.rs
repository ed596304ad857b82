// SPDX-License-Identifier: GPL-2.0
//! A report as a table.

use std::io::{self, Write};

use super::{Layout, Report};
use crate::show::table::{align, dash};
use crate::show::time;

/// Writes a report, with an empty line after it.
pub fn report(report: &Report, layout: &Layout) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    if layout.time {
        writeln!(out, "{}", time::local(report.sample.wall_ns))?;
    }
    let mut heads = vec!["Device".to_owned()];
    heads.extend(
        layout
            .columns
            .iter()
            .map(|column| column.head(layout.style.mega)),
    );
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let rows = report.rows.iter().map(|row| {
        let cells = layout.columns.iter().map(|column| {
            let figure = row.window.ok().and_then(|window| (column.figure)(&window));
            dash(figure.map(|figure| figure.text(layout.style)))
        });
        std::iter::once(row.label.clone()).chain(cells).collect()
    });
    align(&mut out, &heads, rows.collect())?;
    writeln!(out)?;
    Ok(out)
}
