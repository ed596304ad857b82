// SPDX-License-Identifier: GPL-2.0
//! Reports as JSON in the shape of `iostat -d -o JSON`: one document, that is closed at the end.

use std::io::Write;

use serde_json::{json, Map, Value};

use super::{Layout, Report};
use crate::show::time;

/// The document around the reports.
#[derive(Default)]
pub struct Frame {
    begun: bool,
}

impl Frame {
    /// Writes a report, and before the first what the document begins with.
    pub fn report(&mut self, report: &Report, layout: &Layout) -> anyhow::Result<Vec<u8>> {
        let mut out = Vec::new();
        match self.begun {
            false => write!(out, "{}", head(report))?,
            true => write!(out, ",")?,
        }
        self.begun = true;
        let disks: Vec<Value> = report
            .rows
            .iter()
            .filter_map(|row| {
                let window = row.window.as_ref().ok()?;
                let mut disk = Map::new();
                disk.insert("disk_device".to_owned(), row.label.trim_start().into());
                for column in &layout.columns {
                    let Some(name) = column.json(layout.style.mega) else {
                        continue;
                    };
                    let figure = (column.figure)(window).map(|figure| figure.rounded(layout.style));
                    disk.insert(name, figure.into());
                }
                Some(disk.into())
            })
            .collect();
        let mut statistics = Map::new();
        if layout.time {
            statistics.insert(
                "timestamp".to_owned(),
                time::local(report.sample.wall_ns).into(),
            );
        }
        statistics.insert("disk".to_owned(), disks.into());
        serde_json::to_writer(&mut out, &statistics)?;
        writeln!(out)?;
        Ok(out)
    }

    /// Writes the end of the document, if it has begun.
    pub fn end(&self) -> Vec<u8> {
        match self.begun {
            true => b"]}]}}\n".to_vec(),
            false => Vec::new(),
        }
    }
}

fn head(report: &Report) -> String {
    let uname = rustix::system::uname();
    let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get());
    let host = json!({
        "nodename": text(uname.nodename()),
        "sysname": text(uname.sysname()),
        "release": text(uname.release()),
        "machine": text(uname.machine()),
        "number-of-cpus": cpus,
        "date": time::date(report.sample.wall_ns),
    });
    // The object is left open for the reports.
    let host = host.to_string();
    let host = host.strip_suffix('}').unwrap_or(&host);
    format!("{{\"sysstat\": {{\"hosts\": [\n{host}, \"statistics\": [\n")
}
