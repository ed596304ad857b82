// SPDX-License-Identifier: GPL-2.0
//! `blkacct stat`: what iostat shows, exactly, and where the time of each device goes.

mod csv;
mod json;
mod labels;
mod report;
mod sysstat;
mod text;

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::cli::StatArgs;
use crate::exit::is_broken_pipe;
use crate::record::Input;
use crate::sample::{Choice, Source, Times};
use crate::show::columns::{self, Column};
use crate::show::print;
use crate::show::quantity::Style;
use labels::Labels;
use report::Report;

/// How reports are printed.
struct Layout {
    columns: Vec<Column>,
    style: Style,
    /// Whether the time is said.
    time: bool,
}

/// Runs the command.
///
/// # Errors
///
/// [`crate::exit::NotAvailable`] if there is no device in mode 2, or none is left; what the system
/// says.
pub fn run(args: &StatArgs) -> anyhow::Result<()> {
    let (choice, mut times) = wanted(args)?;
    // One that goes later is told of, and no reason to leave the others.
    let mut input = Input::open(args.from.as_deref(), &args.root)?;
    for name in &choice.names {
        input.find(name)?;
    }
    if args.omit_first && times.interval.is_some() {
        times.count = times.count.map(|count| count.saturating_add(1));
    }
    let labels = Labels::new(args)?;
    let layout = Layout::new(args);
    let mut source = input.source(choice, false, times);
    let mut frame = Frame::new(args, &layout, source.as_mut())?;
    let mut last = None;
    let shown = loop {
        let sample = match source.next() {
            Ok(Some(sample)) => sample,
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        };
        let report = match Report::new(last.as_ref(), &sample, args, &labels) {
            Ok(report) => report,
            Err(error) => break Err(error),
        };
        let skipped = args.omit_first && last.is_none() && times.interval.is_some();
        if !skipped {
            if let Err(error) = frame.show(&report, &layout) {
                break Err(error);
            }
        }
        last = Some(sample);
    };
    match shown {
        // Nobody is there to read the end.
        Err(error) if is_broken_pipe(&error) => Err(error),
        shown => frame.end().and(shown),
    }
}

/// Returns the devices and times that the words name.
fn wanted(args: &StatArgs) -> anyhow::Result<(Choice, Times)> {
    let mut words = args.words.clone();
    let mut partitions = args.all || args.partitions.is_some();
    let mut of_option = Vec::new();
    match args.partitions.as_deref() {
        None | Some("ALL") => (),
        // `-p 2` is all partitions each two seconds, as iostat reads it.
        Some(word)
            if word
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.') =>
        {
            words.insert(0, word.to_owned());
        }
        Some(list) => of_option.extend(list.split(',').map(str::to_owned)),
    }
    let times = Times::take_from(&mut words)?;
    let all = words.iter().any(|word| word == "ALL");
    words.retain(|word| word != "ALL");
    words.extend(of_option);
    partitions |= all;
    let choice = Choice {
        names: if all { Vec::new() } else { words },
        partitions,
        below: false,
    };
    Ok((choice, times))
}

impl Layout {
    fn new(args: &StatArgs) -> Self {
        // A program has no use for a short line.
        let extended = args.extended || args.csv || args.json;
        let mut columns = match extended {
            true => columns::EXTENDED.to_vec(),
            false => columns::PLAIN.to_vec(),
        };
        match extended {
            true => columns.extend(columns::OWN),
            false => columns.extend(columns::SHORT),
        }
        if args.stock {
            columns.extend(columns::STOCK);
        }
        Layout {
            columns,
            style: Style {
                digits: args.dec.into(),
                mega: args.mega,
                human: args.human,
            },
            time: args.time,
        }
    }
}

/// What is around the reports.
enum Frame {
    Text,
    Csv,
    Json,
    Sysstat(sysstat::Frame),
}

impl Frame {
    fn new(args: &StatArgs, layout: &Layout, source: &mut dyn Source) -> anyhow::Result<Self> {
        if args.output.is_some() {
            // The document is closed, whatever ends the run; only a kill cannot be caught.
            let stop = Arc::new(AtomicBool::new(false));
            for signal in [SIGINT, SIGTERM, SIGHUP] {
                signal_hook::flag::register(signal, stop.clone())?;
            }
            source.until(stop);
            return Ok(Frame::Sysstat(sysstat::Frame::default()));
        }
        Ok(match (args.csv, args.json) {
            (true, _) => {
                print(&csv::head(layout)?)?;
                Frame::Csv
            }
            (_, true) => Frame::Json,
            _ => Frame::Text,
        })
    }

    fn show(&mut self, report: &Report, layout: &Layout) -> anyhow::Result<()> {
        print(&match self {
            Frame::Text => text::report(report, layout)?,
            Frame::Csv => csv::report(report, layout)?,
            Frame::Json => json::report(report, layout)?,
            Frame::Sysstat(frame) => frame.report(report, layout)?,
        })
    }

    fn end(self) -> anyhow::Result<()> {
        match self {
            Frame::Sysstat(frame) => print(&frame.end()),
            _ => Ok(()),
        }
    }
}
