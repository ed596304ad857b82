// SPDX-License-Identifier: GPL-2.0
//! `blkacct report`: a run on one page, with pictures.
//!
//! | layer | modules |
//! |---|---|
//! | samples over time | [`run`] of disks; [`series`] of steps, each with [`sums`]; [`clock`] |
//! | what it means | [`quantity`], [`knee`], [`layers`], [`verdict`], [`compare`] |
//! | what is seen | [`pictures`] drawn by [`svg`], [`table`], and [`html`] around them |

mod clock;
mod compare;
mod html;
mod knee;
mod layers;
mod pictures;
mod quantity;
mod run;
mod series;
mod sums;
mod svg;
mod table;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod verdict;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use anyhow::{bail, Context};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::cli::ReportArgs;
use crate::exit::{Exit, NotAvailable};
use crate::record::Input;
use crate::sample::{Choice, Times};
use crate::{snapshot, terminal};
use run::Run;

/// The colours of the pictures.
const PICTURE_CSS: &str = include_str!("picture.css");

/// Runs the command.
///
/// # Errors
///
/// [`NotAvailable`] if a disk that is named is not there, or nothing is known of any; what the
/// system says.
pub fn run(args: &ReportArgs) -> anyhow::Result<Exit> {
    if let Some(name) = &args.svg {
        if !pictures::NAMES.iter().any(|(known, _)| known == name) {
            let names = pictures::NAMES.map(|(known, _)| known).join(", ");
            terminal::tell(format_args!(
                "--svg {name}: there is no such picture, but {names}"
            ));
            return Ok(Exit::Usage);
        }
    }
    let mut names = args.words.clone();
    let times = Times::take_from(&mut names)?;
    let is_live = args.from.is_none() && args.compare.is_empty();
    if is_live && (times.interval.is_none() || times.count.is_some_and(|count| count < 2)) {
        terminal::tell(
            "report: what is it to be of? Give --from FILE (see blkacct record), or an interval \
             and a count of 2 or more: blkacct report 1 60",
        );
        return Ok(Exit::Usage);
    }
    let runs = match &args.compare[..] {
        [] => vec![gather(args, args.from.as_deref(), &names, times)?],
        files => {
            let runs = files
                .iter()
                .map(|file| gather(args, Some(file), &names, times));
            runs.collect::<anyhow::Result<Vec<Run>>>()?
        }
    };
    let text = match &args.svg {
        Some(name) => one_picture(name, &runs)?,
        None => html::page(&runs, !names.is_empty()),
    };
    write(&args.output, &text)?;
    Ok(Exit::Ok)
}

/// Takes in all samples of a recording, or of this machine.
fn gather(
    args: &ReportArgs,
    from: Option<&Path>,
    names: &[String],
    times: Times,
) -> anyhow::Result<Run> {
    let mut input = Input::open(from, &args.root)?;
    let mut choice = Choice {
        below: !names.is_empty(),
        ..Choice::default()
    };
    for name in names {
        choice.names.push(input.find(name)?);
    }
    let mut run = Run::default();
    match &input {
        Input::Recording(replay) => {
            run.title = replay.path().display().to_string();
            run.host = replay.header().map(|header| header.host.clone());
            run.kernel = replay.header().map(|header| header.kernel.clone());
        }
        Input::Live(root) => {
            let line = |file: &str| {
                let text = snapshot::text(&root.join("proc/sys/kernel").join(file)).ok()?;
                Some(text.trim().to_owned())
            };
            run.host = line("hostname");
            run.kernel = line("osrelease");
            run.title = run.host.clone().unwrap_or("this machine".to_owned());
        }
    }
    let mut source = input.source(choice, true, times);
    if from.is_none() {
        // One who has seen enough gets the page of what there is.
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register_conditional_default(signal, stop.clone())?;
            signal_hook::flag::register(signal, stop.clone())?;
        }
        source.until(stop);
    }
    while let Some(sample) = source.next()? {
        run.take(sample);
    }
    if run.disks.is_empty() {
        let mut why = run.left_out.values();
        bail!(NotAvailable(format!(
            "{}: nothing is known of any disk: {}",
            run.title,
            why.next()
                .map_or("there are not two samples of one", String::as_str)
        )));
    }
    Ok(run)
}

/// Draws a picture of the busiest disk.
fn one_picture(name: &str, runs: &[Run]) -> anyhow::Result<String> {
    let of = |run| -> Option<String> {
        let run: &Run = run;
        let (disk_name, disk) = run.busiest(1).into_iter().next()?;
        let picture = pictures::picture("picture", name, disk_name, run, disk)?;
        Some(picture.svg.end(Some(PICTURE_CSS)) + "\n")
    };
    runs.first().and_then(of).context("nothing to draw")
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    if path == Path::new("-") {
        let mut out = terminal::out();
        out.write_all(text.as_bytes())?;
        return Ok(out.flush()?);
    }
    fs::write(path, text).with_context(|| path.display().to_string())?;
    let size = text.len().div_ceil(1000);
    let mut out = terminal::out();
    writeln!(out, "{}: {size} kB", path.display())?;
    Ok(out.flush()?)
}
