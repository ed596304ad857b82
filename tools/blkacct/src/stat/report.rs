// SPDX-License-Identifier: GPL-2.0
//! What is shown of two samples.

use crate::cli::StatArgs;
use crate::exit::NotAvailable;
use crate::figures::{Gap, Window};
use crate::sample::{DeviceSample, Sample};

use super::labels::Labels;
use crate::terminal;

/// A report.
pub struct Report<'a> {
    /// The later sample.
    pub sample: &'a Sample,
    /// Devices in mode 2, and the group of all after them.
    pub rows: Vec<Row<'a>>,
}

/// A line of it.
pub struct Row<'a> {
    /// What it is called.
    pub label: String,
    /// The device; none of a group.
    pub device: Option<&'a DeviceSample>,
    /// Whether it is of the whole time in mode 2.
    pub since_mode_2: bool,
    /// What happened, or why nothing is known of it.
    pub window: Result<Window, Gap>,
}

impl<'a> Report<'a> {
    /// Compares two samples; without a first one it is of the whole time in mode 2. What is not
    /// there any more, and what cannot be compared, is told on standard error.
    ///
    /// # Errors
    ///
    /// [`NotAvailable`] if no device is in mode 2.
    pub fn new(
        last: Option<&Sample>,
        now: &'a Sample,
        args: &StatArgs,
        labels: &Labels,
    ) -> anyhow::Result<Self> {
        let mut rows = rows(last, now, labels)?;
        if let Some(last) = last {
            tell(last, now, &rows);
        }
        let group = args.group.as_ref().map(|group| {
            let windows: Vec<Window> = rows.iter().filter_map(|row| row.window.ok()).collect();
            Row {
                label: format!(" {group}"),
                device: None,
                since_mode_2: last.is_none(),
                window: Window::sum(&windows).ok_or(Gap::Mode),
            }
        });
        rows.retain(|row| {
            let idle = row.window.is_ok_and(|window| !window.is_active());
            !(args.only_group || args.omit_idle && idle)
        });
        rows.extend(group);
        Ok(Report { sample: now, rows })
    }
}

fn rows<'a>(
    last: Option<&Sample>,
    now: &'a Sample,
    labels: &Labels,
) -> anyhow::Result<Vec<Row<'a>>> {
    let mut rows = Vec::new();
    let mut refusal = None;
    for device in &now.devices {
        let stat = match device.counters() {
            Ok(stat) => stat,
            Err(error) => {
                refusal.get_or_insert(error);
                continue;
            }
        };
        let window = match last {
            Some(last) => Window::between(last, now, &device.identity.name),
            None => Ok(Window::since_mode_2(device.counted_ns, stat)),
        };
        rows.push(Row {
            label: labels.of(&device.identity),
            device: Some(device),
            since_mode_2: last.is_none(),
            window,
        });
    }
    if rows.is_empty() {
        return Err(match (refusal, &now.devices[..]) {
            // What one device lacks says all about it; of many, one does for an example.
            (Some(error), [_]) => error,
            (Some(_), _) => NotAvailable(
                "no device is in mode 2: blkacct on DISK, with the module loaded (modprobe \
                 blkacct); `blkacct list` shows what there is"
                    .to_owned(),
            ),
            (None, _) => NotAvailable("no such disk or partition".to_owned()),
        }
        .into());
    }
    Ok(rows)
}

/// Tells what is no longer as it was.
fn tell(last: &Sample, now: &Sample, rows: &[Row]) {
    for before in &last.devices {
        let name = &before.identity.name;
        match now.device(name).map(DeviceSample::counters) {
            None => terminal::tell(format_args!("{name}: gone")),
            Some(Err(error)) if before.stat.is_some() => terminal::tell(format_args!("{error}")),
            Some(_) => (),
        }
    }
    for row in rows {
        // A new one shows as such.
        if let (Some(device), Err(gap)) = (row.device, &row.window) {
            if !matches!(gap, Gap::New | Gap::Mode) {
                terminal::tell(format_args!("{}: {gap}", device.identity.name));
            }
        }
    }
}
