// SPDX-License-Identifier: GPL-2.0
//! One window: start, first report, events, last report, the rest of the events.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use acct::wire::{Anomalies, Stat};
use anyhow::{bail, Context};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::instance::Instance;
use crate::check;
use crate::cli::CheckArgs;
use crate::diskstats::{self, Diskstats};
use crate::exit::NotAvailable;
use crate::judge::Reported;
use crate::oracle::{Oracle, Truth};
use crate::progress::Progress;
use crate::snapshot;
use crate::source::{Evidence, Format, Stream};

/// How long the trace runs before the window: what is in flight when it begins should be over by then.
const LEAD: Duration = Duration::from_millis(100);
/// How often the pipe is looked at. At a million events a second it gathers some 10 MB in between.
const PERIOD: Duration = Duration::from_millis(50);

/// Traces `disk` for the time that `args` says.
///
/// # Errors
///
/// [`NotAvailable`] if the module, the mode or tracefs is missing; a signal; what the system says.
pub fn run(disk: &str, args: &CheckArgs) -> anyhow::Result<(Truth, Evidence, Reported)> {
    let dev = check::device(disk, &args.root)?;
    let files = Files::find(disk, &args.root)?;
    let stop = catch_signals()?;
    let instance = Instance::new(&args.root, args.instance.as_deref())?;
    instance.start(dev, args.buffer_kb)?;
    let pipe = instance.pipe()?;
    sleep(LEAD, &stop)?;

    let before = files.read()?;
    let mut oracle = Oracle::window(before.stat.time_ns, args.skew_ns);
    let progress = Progress::new(args.progress);
    let mut stream = Stream::new("trace_pipe", pipe, Format::Ftrace, dev, progress);
    let deadline = Instant::now() + Duration::from_secs(args.seconds);
    while Instant::now() < deadline {
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

/// Sleeps in short steps, so that a signal is not kept waiting.
fn sleep(time: Duration, stop: &AtomicBool) -> anyhow::Result<()> {
    thread::sleep(time);
    // ORDERING: Relaxed. The flag carries nothing but itself.
    if stop.load(Ordering::Relaxed) {
        bail!("stopped by a signal before the window was over");
    }
    Ok(())
}

/// Where the reports are.
struct Files {
    disk: String,
    stat: PathBuf,
    anomalies: PathBuf,
    diskstats: PathBuf,
    /// What `classic` says.
    classic: bool,
}

/// The reports at one edge.
struct Edge {
    stat: Stat,
    anomalies: Anomalies,
    diskstats: Diskstats,
}

impl Files {
    fn find(disk: &str, root: &Path) -> anyhow::Result<Self> {
        let dir = root.join("sys/block").join(disk).join("blkacct");
        if !dir.is_dir() {
            return Err(NotAvailable(format!(
                "{}: not there: the module is not loaded (modprobe blkacct), or does not take this disk",
                dir.display()
            ))
            .into());
        }
        let switch = dir.join("iostats");
        let mode = fs::read_to_string(&switch).with_context(|| switch.display().to_string())?;
        if mode.trim() != "2" {
            return Err(NotAvailable(format!(
                "{disk}: iostats is {}, not 2: echo 2 > {}",
                mode.trim(),
                switch.display()
            ))
            .into());
        }
        Ok(Files {
            disk: disk.to_owned(),
            stat: dir.join("stat"),
            anomalies: dir.join("anomalies"),
            diskstats: root.join("proc/diskstats"),
            // An older module has no such file.
            classic: fs::read_to_string(dir.join("classic")).is_ok_and(|text| text.trim() == "1"),
        })
    }

    fn read(&self) -> anyhow::Result<Edge> {
        let stat = snapshot::stat(&self.stat)?;
        let text = fs::read_to_string(&self.diskstats)
            .with_context(|| self.diskstats.display().to_string())?;
        let diskstats = diskstats::parse(&text, &self.disk)
            .with_context(|| format!("{}: no line of {}", self.diskstats.display(), self.disk))?;
        Ok(Edge {
            stat,
            anomalies: snapshot::anomalies(&self.anomalies)?,
            diskstats,
        })
    }
}
