// SPDX-License-Identifier: GPL-2.0
//! One window: start, first report, events, last report, the rest of the events.

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, Context};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::edge::{Files, Reads};
use super::instance::Instance;
use crate::cli::CheckArgs;
use crate::device::{self, Device};
use crate::invariants::Violation;
use crate::judge::Reported;
use crate::oracle::{Oracle, Truth};
use crate::progress::Progress;
use crate::source::{Dev, Evidence, Format, Stream};

/// How long the trace runs before the window: I/O in flight when it begins should be over by then.
const LEAD: Duration = Duration::from_millis(100);
/// How long it runs after the window: an event that began in it is told of, though its CPU stands
/// still meanwhile.
const TAIL: Duration = Duration::from_millis(50);
/// How often the pipe is looked at. At a million events a second it gathers some 10 MB in between.
const PERIOD: Duration = Duration::from_millis(50);

/// What windows on one disk share.
pub struct Session {
    dev: Dev,
    files: Files,
    stop: Arc<AtomicBool>,
    /// Closed before the instance goes, which could not be removed otherwise.
    pipe: File,
    instance: Instance,
}

impl Session {
    /// Makes ready to trace `disk`.
    ///
    /// # Errors
    ///
    /// [`crate::exit::NotAvailable`] if the module, the mode or tracefs is missing; what the system
    /// says.
    pub fn open(disk: &str, args: &CheckArgs) -> anyhow::Result<Self> {
        let device = Device::find_disk(&args.root, disk)?;
        let dev = device::in_a_trace(&args.root, disk)?;
        let files = Files::of(&device, dev, &args.root)?;
        let stop = catch_signals()?;
        let instance = Instance::new(&args.root, args.instance.as_deref())?;
        let pipe = instance.pipe()?;
        instance.set_up(dev, args.buffer_kb)?;
        Ok(Session {
            dev,
            files,
            stop,
            pipe,
            instance,
        })
    }

    /// Traces the disk for the time that `args` says.
    ///
    /// # Errors
    ///
    /// A signal; what the system says.
    pub fn window(&mut self, args: &CheckArgs) -> anyhow::Result<(Truth, Evidence, Reported)> {
        let files = &self.files;
        let lost_before = self.instance.lost()?;
        self.instance.start()?;
        self.sleep(LEAD)?;

        let mut reads = Reads::default();
        let before = files.edge(&mut reads)?;
        let mut oracle = Oracle::window(before.edge(), args.skew_ns);
        oracle.errors_are_shown();
        if args.models {
            oracle.model(args.hz);
        }
        let progress = Progress::new(args.progress);
        let mut stream = Stream::new("trace_pipe", &self.pipe, Format::Ftrace, self.dev, progress);
        let deadline = Instant::now() + args.seconds;
        while Instant::now() < deadline {
            files.read(&mut reads)?;
            // A busy disk makes events faster than they can be read: what is left waits.
            let go_on = || Instant::now() < deadline && !self.is_stopped();
            stream.read_while(go_on, &mut |event| oracle.event(&event))?;
            self.sleep(PERIOD.min(deadline.saturating_duration_since(Instant::now())))?;
        }
        let after = files.edge(&mut reads)?;
        if after.stat.time_ns <= before.stat.time_ns {
            bail!("{}: its time does not advance", files.stat().display());
        }
        if let Some((before, after)) = before.stat.device.zip(after.stat.device) {
            oracle.counted_at_driver((before.in_flight, after.in_flight));
        }
        oracle.close(after.edge(), (before.stat.in_flight, after.stat.in_flight));
        // What is within the skew of the window's end belongs to the evidence.
        thread::sleep(TAIL.max(Duration::from_nanos(args.skew_ns)));
        self.instance.stop()?;
        let mut sink = |event| oracle.event(&event);
        stream.read(&mut sink)?;
        let mut evidence = stream.finish(&mut sink);
        let lost = self.instance.lost()?.saturating_sub(lost_before);
        evidence.lossy |= lost > 0;
        evidence.lost = evidence.lost.max(lost);
        let took = before.took_ns.saturating_add(after.took_ns);
        let reported = Reported {
            stat: Some((before.stat, after.stat)),
            anomalies: Some((before.anomalies, after.anomalies)),
            diskstats: Some((before.diskstats, after.diskstats)),
            // Where a total was ahead of another it stays so, for every later read.
            read_ns: took.saturating_add(reads.longest_ns),
            violations: reads.violations.iter().map(Violation::to_string).collect(),
            classic: files.classic,
        };
        Ok((oracle.finish(), evidence, reported))
    }

    fn is_stopped(&self) -> bool {
        // ORDERING: Relaxed. The flag carries nothing but itself.
        self.stop.load(Ordering::Relaxed)
    }

    /// Sleeps for a short time, so that a signal is not kept waiting; fails if there was one.
    fn sleep(&self, time: Duration) -> anyhow::Result<()> {
        thread::sleep(time);
        if self.is_stopped() {
            bail!("stopped by a signal before the window was over");
        }
        Ok(())
    }
}

/// Returns a flag that signals raise, so that the instance is removed on the way out.
fn catch_signals() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("signal handler")?;
    }
    Ok(stop)
}
