// SPDX-License-Identifier: GPL-2.0
//! One window: start, first report, events, last report, the rest of the events.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use acct::wire::{Anomalies, Stat};
use anyhow::{bail, Context};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::instance::Instance;
use crate::cli::CheckArgs;
use crate::device::{self, Device};
use crate::diskstats::{self, Diskstats};
use crate::invariants::{self, Violation};
use crate::judge::Reported;
use crate::oracle::{Oracle, Truth};
use crate::progress::Progress;
use crate::snapshot;
use crate::source::{Dev, Evidence, Format, Stream};

/// How long the trace runs before the window: I/O in flight when it begins should be over by then.
const LEAD: Duration = Duration::from_millis(100);
/// How often the pipe is looked at. At a million events a second it gathers some 10 MB in between.
const PERIOD: Duration = Duration::from_millis(50);

/// Traces `disk` for the time that `args` says.
///
/// # Errors
///
/// [`crate::exit::NotAvailable`] if the module, the mode or tracefs is missing; a signal; what the
/// system says.
pub fn run(disk: &str, args: &CheckArgs) -> anyhow::Result<(Truth, Evidence, Reported)> {
    let device = Device::find_disk(&args.root, disk)?;
    let dev = device::in_a_trace(&args.root, disk)?;
    let files = Files::of(&device, dev, &args.root)?;
    let stop = catch_signals()?;
    let instance = Instance::new(&args.root, args.instance.as_deref())?;
    instance.start(dev, args.buffer_kb)?;
    let pipe = instance.pipe()?;
    sleep(LEAD, &stop)?;

    let before = files.read()?;
    let mut oracle = Oracle::window(before.stat.time_ns, args.skew_ns);
    oracle.errors_are_shown();
    if args.models {
        oracle.model(args.hz);
    }
    let progress = Progress::new(args.progress);
    let mut stream = Stream::new("trace_pipe", pipe, Format::Ftrace, dev, progress);
    let deadline = Instant::now() + Duration::from_secs(args.seconds);
    let mut reads = Reads::default();
    reads.check(&before.stat);
    while Instant::now() < deadline {
        reads.check(&snapshot::stat(&files.stat)?);
        stream.read(&mut |event| oracle.event(&event))?;
        sleep(
            PERIOD.min(deadline.saturating_duration_since(Instant::now())),
            &stop,
        )?;
    }
    let after = files.read()?;
    if after.stat.time_ns <= before.stat.time_ns {
        bail!("{}: its time does not advance", files.stat.display());
    }
    reads.check(&after.stat);
    if let Some((before, after)) = before.stat.device.zip(after.stat.device) {
        oracle.counted_at_driver((before.in_flight, after.in_flight));
    }
    oracle.close(
        after.stat.time_ns,
        (before.stat.in_flight, after.stat.in_flight),
    );
    // What is within the skew of the window's end belongs to the evidence.
    thread::sleep(Duration::from_nanos(args.skew_ns));
    instance.stop()?;
    let mut sink = |event| oracle.event(&event);
    stream.read(&mut sink)?;
    let mut evidence = stream.finish(&mut sink);
    let lost = instance.lost()?;
    evidence.lossy |= lost > 0;
    evidence.lost = evidence.lost.max(lost);
    let reported = Reported {
        stat: Some((before.stat, after.stat)),
        anomalies: Some((before.anomalies, after.anomalies)),
        diskstats: Some((before.diskstats, after.diskstats)),
        read_ns: before.took_ns.saturating_add(after.took_ns),
        violations: reads.violations.iter().map(Violation::to_string).collect(),
        classic: files.classic,
    };
    Ok((oracle.finish(), evidence, reported))
}

/// Returns a flag that signals raise, so that the instance is removed on the way out.
fn catch_signals() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("signal handler")?;
    }
    Ok(stop)
}

/// Sleeps for a short time, so that a signal is not kept waiting; fails if there was one.
fn sleep(time: Duration, stop: &AtomicBool) -> anyhow::Result<()> {
    thread::sleep(time);
    // ORDERING: Relaxed. The flag carries nothing but itself.
    if stop.load(Ordering::Relaxed) {
        bail!("stopped by a signal before the window was over");
    }
    Ok(())
}

/// The reads of `stat` in a window, each held against the one before.
#[derive(Default)]
struct Reads {
    last: Option<Stat>,
    violations: Vec<Violation>,
}

impl Reads {
    fn check(&mut self, stat: &Stat) {
        if let Some(last) = self.last.replace(*stat) {
            self.violations.extend(invariants::check(&last, stat));
        }
    }
}

/// Where the reports are.
struct Files {
    disk: Dev,
    stat: PathBuf,
    anomalies: PathBuf,
    diskstats: PathBuf,
    /// What `classic` says.
    classic: bool,
}

/// The reports at one edge.
struct Edge {
    stat: Stat,
    /// How long it took to read, in ns.
    took_ns: u64,
    anomalies: Anomalies,
    diskstats: Diskstats,
}

impl Files {
    fn of(device: &Device, disk: Dev, root: &Path) -> anyhow::Result<Self> {
        device.in_mode_2()?;
        Ok(Files {
            disk,
            stat: device.file("stat"),
            anomalies: device.file("anomalies"),
            diskstats: root.join("proc/diskstats"),
            // An older module has no such file.
            classic: snapshot::text(&device.file("classic")).is_ok_and(|text| text.trim() == "1"),
        })
    }

    fn read(&self) -> anyhow::Result<Edge> {
        let begun = Instant::now();
        let stat = snapshot::stat(&self.stat)?;
        let took_ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let diskstats = File::open(&self.diskstats)
            .and_then(|file| diskstats::read(file, self.disk))
            .with_context(|| self.diskstats.display().to_string())?
            .with_context(|| {
                let Dev { major, minor } = self.disk;
                format!("{}: no line of {major} {minor}", self.diskstats.display())
            })?;
        Ok(Edge {
            stat,
            took_ns,
            anomalies: snapshot::anomalies(&self.anomalies)?,
            diskstats,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_in_the_middle_is_found() {
        let read = |time_ns, io_ticks| Stat {
            time_ns,
            io_ticks,
            time_in_queue: io_ticks,
            ..Stat::default()
        };
        let mut reads = Reads::default();
        for stat in [read(10, 0), read(20, 5), read(30, 10), read(40, 10)] {
            reads.check(&stat);
        }
        assert_eq!(reads.violations, []);
        // First and last alone would do.
        let mut reads = Reads::default();
        for stat in [read(10, 0), read(20, 9), read(30, 8), read(40, 10)] {
            reads.check(&stat);
        }
        let told: Vec<String> = reads.violations.iter().map(Violation::to_string).collect();
        let want =
            ["io_ticks", "time_in_queue"].map(|name| format!("{name} steps back from 9 to 8"));
        assert_eq!(told, want);
    }
}
