// SPDX-License-Identifier: GPL-2.0
//! `blkacct record`: samples go into a file, or into a ring in memory.

use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::{getrlimit, setrlimit, Resource};

use super::child::{Child, Event, Events};
use super::name::Name;
use super::sink::Sink;
use crate::cli::RecordArgs;
use crate::device::Device;
use crate::exit::Exit;
use crate::progress::Progress;
use crate::sample::{Choice, Live, Pace, Sample, Times};

/// Between samples, if nothing else is asked for.
const INTERVAL: Duration = Duration::from_secs(1);

/// Runs the command.
///
/// # Errors
///
/// [`crate::exit::NotAvailable`] if a device that is named is not here; what the system says, of
/// files and of the command to run.
pub fn run(args: &RecordArgs) -> anyhow::Result<Exit> {
    let mut names = args.words.clone();
    let mut times = Times::take_from(&mut names)?;
    times.interval.get_or_insert(INTERVAL);
    for name in &names {
        Device::find(&args.root, name)?;
    }
    let choice = Choice {
        names,
        partitions: args.all,
        below: true,
    };
    open_many_files();
    // Before anything else is begun: a signal from now on is not lost.
    let events = Events::new()?;
    let mut live = Live::new(&args.root, choice, true);
    let first = live.read()?;
    tell_modes(&first);
    let mut recorder = Recorder {
        sink: Sink::new(args, &first)?,
        progress: Progress::new(args.progress),
        pace: Pace::new(times, Instant::now()),
        end: args.duration.map(|time| Instant::now() + time),
        live,
        child: None,
        events,
    };
    recorder.pace.due(Instant::now())?;
    recorder.sink.write(first)?;
    if !args.command.is_empty() {
        match Child::spawn(&args.command) {
            Ok(child) => recorder.child = Some(child),
            Err(error) => {
                crate::terminal::tell(format_args!(
                    "{}: {error}",
                    args.command[0].to_string_lossy()
                ));
                recorder.sink.discard();
                let not_found = error.kind() == std::io::ErrorKind::NotFound;
                return Ok(Exit::Of(if not_found { 127 } else { 126 }));
            }
        }
    }
    let recorded = recorder.record();
    recorder.progress.done();
    // The command goes on, whatever has become of its recording.
    let recorded = recorded.and_then(|()| recorder.sink.finish());
    let Some(child) = &mut recorder.child else {
        return recorded.map(|()| Exit::Ok);
    };
    if let Err(error) = &recorded {
        crate::terminal::tell(format_args!("{error:#}"));
    }
    let status = child.wait(&recorder.events)?;
    Ok(Exit::Of(match (recorded, status) {
        (Err(_), 0) => 1,
        (_, status) => status,
    }))
}

/// Takes as many files as this process may have: those of a disk, up to 14, stay open, and the usual
/// limit of 1024 is there for the sake of programs that use select(2).
fn open_many_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If they are too few, the first that is one too many is named.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Says so if there is nothing to record but the kernel's own figures.
fn tell_modes(first: &Sample) {
    let is_2 = first.devices.iter().any(|device| device.mode == Some(2));
    if !is_2 {
        crate::terminal::tell(
            "no device is in mode 2, so only the kernel's own figures are recorded: \
             echo 2 > /sys/block/DISK/queue/iostats, with the module loaded (modprobe blkacct)",
        );
    }
}

struct Recorder {
    live: Live,
    pace: Pace,
    /// When to end.
    end: Option<Instant>,
    sink: Sink,
    events: Events,
    child: Option<Child>,
    progress: Progress,
}

impl Recorder {
    /// Takes one sample after the other, until there is a reason to end.
    fn record(&mut self) -> anyhow::Result<()> {
        loop {
            let Some(due) = self.pace.due(Instant::now())? else {
                return Ok(());
            };
            let ends = self.end.is_some_and(|end| end <= due);
            let is_last = self.wait(self.end.filter(|_| ends).unwrap_or(due))? || ends;
            let sample = self.live.read()?;
            self.sink.write(sample)?;
            self.progress.show(|| self.sink.so_far());
            if is_last {
                return Ok(());
            }
        }
    }

    /// Waits until then; true if the recording ends before.
    fn wait(&mut self, due: Instant) -> anyhow::Result<bool> {
        loop {
            let left = due.saturating_duration_since(Instant::now());
            let event = match self.events.within(left) {
                Ok(event) => event,
                Err(RecvTimeoutError::Timeout) => return Ok(false),
                Err(error) => return Err(error).context("signals"),
            };
            match (event, &mut self.child) {
                (Event::Save, None) => self.sink.save(),
                (Event::Save, Some(_)) if self.sink.is_ring() => self.sink.save(),
                (event, Some(child)) => {
                    if child.take(event)? {
                        return Ok(true);
                    }
                }
                (Event::Interrupt | Event::End(_), None) => return Ok(true),
                (Event::Child, None) => (),
            }
        }
    }
}

/// Where the name of a file comes from.
pub(super) fn name(args: &RecordArgs) -> Name {
    match &args.output {
        Some(path) => Name::Given(path.clone()),
        None => Name::Time,
    }
}
