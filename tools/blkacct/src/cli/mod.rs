// SPDX-License-Identifier: GPL-2.0
//! The command line.

mod record;
mod report;
mod stat;
mod switch;

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};

use crate::sample::interval;
pub use record::RecordArgs;
pub use report::ReportArgs;
pub use stat::{Output, StatArgs};
pub use switch::{ListArgs, SwitchArgs};

/// Nanosecond-exact block I/O accounting, and the proof of it.
#[derive(Debug, Parser)]
#[command(name = "blkacct", version, term_width = 100)]
#[command(
    after_help = "Exit status: 0 all is well, 1 error or unfit evidence, 2 usage,\n\
    3 the check failed, 4 not available here (module, tracefs or disk)."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Look for /sys below this directory
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    pub root: PathBuf,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compute exact figures from events and compare what is reported with them
    Check(CheckArgs),
    /// Show what iostat shows, exactly, and where the time of each device goes
    Stat(StatArgs),
    /// Show the latencies of a device in mode 2 at the percentiles
    Latency(LatencyArgs),
    /// Show the devices below a dm or md device side by side
    Paths(PathsArgs),
    /// Write what is read of all devices to a file, which the other commands take with --from
    Record(RecordArgs),
    /// Make a page with pictures of a recording, or of this machine for a while
    Report(ReportArgs),
    /// List the disks: mode, scheduler, and what is to be doubted
    List(ListArgs),
    /// Switch exact accounting on
    On(SwitchArgs),
    /// Switch exact accounting off: the kernel's own goes on
    Off(SwitchArgs),
}

/// Arguments of `latency`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_LATENCY)]
pub struct LatencyArgs {
    /// A disk or a partition: a name, a path in /dev, or MAJOR:MINOR
    pub disk: String,

    /// Seconds between reports
    #[arg(value_parser = interval)]
    pub interval: Option<Duration>,

    /// Number of reports
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,

    /// Draw the histograms
    #[arg(long, conflicts_with = "json")]
    pub histogram: bool,

    /// Show a recording instead of this machine; see `blkacct record`
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,

    /// Print JSON, an array a line for each report, with times as integers of ns
    #[arg(long)]
    pub json: bool,

    /// Look for /sys below this directory
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    pub root: PathBuf,
}

/// Arguments of `paths`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_PATHS)]
pub struct PathsArgs {
    /// A device that is made of others: dm-0, /dev/mapper/NAME, or MAJOR:MINOR
    pub device: String,

    /// Seconds between reports
    #[arg(value_parser = interval)]
    pub interval: Option<Duration>,

    /// Number of reports
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,

    /// Show a recording instead of this machine; see `blkacct record`
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,

    /// Print JSON, an object a line for each report, with times as integers of ns
    #[arg(long)]
    pub json: bool,

    /// Look for /sys below this directory
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    pub root: PathBuf,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true).args(["files", "live", "watch"])))]
#[command(after_help = AFTER_CHECK)]
pub struct CheckArgs {
    /// Cases, or one trace with --format; `-` is standard input
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// What the files are
    #[arg(long, value_enum, default_value_t = FileFormat::Case,
          conflicts_with_all = ["live", "watch"])]
    pub format: FileFormat,

    /// The whole disk to look at in a trace: a name, a path in /dev, or MAJOR:MINOR
    #[arg(long, value_name = "DISK", conflicts_with_all = ["live", "watch"])]
    pub disk: Option<String>,

    /// Copies of blkacct/stat from the beginning and the end of the window; give it twice
    #[arg(long, value_name = "FILE", conflicts_with_all = ["live", "watch"])]
    pub stat: Vec<PathBuf>,

    /// The output of perf script was printed with --show-lost-events: without a line that tells of a
    /// loss there was none
    #[arg(long, conflicts_with_all = ["live", "watch"])]
    pub losses_shown: bool,

    /// Trace this disk now, and check what blkacct and the kernel report of it
    #[arg(long, value_name = "DISK")]
    pub live: Option<String>,

    /// Read stat of this device again and again, and check that no two reads contradict each other
    #[arg(long, value_name = "DEVICE")]
    pub watch: Option<String>,

    /// How often to read it
    #[arg(long, value_name = "N", default_value_t = 1000, requires = "watch",
          value_parser = clap::value_parser!(u64).range(2..))]
    pub reads: u64,

    /// How long to trace
    #[arg(long, value_name = "N", default_value = "10", requires = "live", value_parser = seconds)]
    pub seconds: Duration,

    /// Check so many windows of that time, one after the other
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        requires = "live",
        hide = true
    )]
    pub windows: u64,

    /// Trace buffer for each CPU, in KiB
    #[arg(long, value_name = "KIB", default_value_t = 16384, requires = "live",
          value_parser = clap::value_parser!(u64).range(64..=4194304))]
    pub buffer_kb: u64,

    /// How far apart trace and accounting may read the clock for one event, in ns
    #[arg(long, value_name = "NS", default_value_t = 2000,
          value_parser = clap::value_parser!(u64).range(0..=1_000_000_000))]
    pub skew_ns: u64,

    /// Say also what io_ticks the algorithms of older kernels would have had
    #[arg(long, conflicts_with = "watch")]
    pub models: bool,

    /// Jiffies a second of those kernels
    #[arg(long, value_name = "HZ", default_value_t = 250, requires = "models",
          value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub hz: u64,

    /// Print JSON, with times as integers of ns
    #[arg(long, conflicts_with = "watch")]
    pub json: bool,

    /// Tell how far the trace has been read, even if standard error is no terminal
    #[arg(long)]
    pub progress: bool,

    /// Look for /sys and /proc below this directory
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    pub root: PathBuf,

    /// Use this tracefs instance, which exists, and keep it
    #[arg(long, value_name = "NAME", requires = "live", hide = true)]
    pub instance: Option<String>,
}

/// Reads how long a window is.
fn seconds(text: &str) -> Result<Duration, &'static str> {
    const RANGE: &str = "seconds from 0.01 to 86400, with decimals if need be";
    let seconds: f64 = text.parse().map_err(|_| RANGE)?;
    match (0.01..=86400.0).contains(&seconds) {
        true => Duration::try_from_secs_f64(seconds).map_err(|_| RANGE),
        false => Err(RANGE),
    }
}

/// The formats of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FileFormat {
    /// Cases: events with their expectations
    Case,
    /// `trace` or `trace_pipe` of tracefs
    Ftrace,
    /// Output of `perf script`, best with --ns
    PerfScript,
    /// Output of `blkparse`
    Blkparse,
}

const AFTER_CHECK: &str = "\
A trace needs the events block_io_start, block_io_done and block_rq_merge;
for the device side block_rq_issue, block_rq_requeue and block_rq_complete;
and for --stat the clock mono (trace-cmd record -C mono, perf record -k
CLOCK_MONOTONIC), and lines, of any event or disk, beyond both edges of the
window. A trace without starts or ends, or that does not reach over the
window, gives no figures, and says what to record. perf script tells of lost
events only with --show-lost-events: say --losses-shown if it was used.
blkparse output stands alone: its times count from the start of blktrace.

Exact from a trace: io_ticks, time_in_queue, ios. nsecs is exact if the I/O
in flight at the edges of the window can be told apart, and bounded if not.
A trace shows merged requests, not merged bios: merges is a lower bound.
Of flushes that the kernel makes itself only the time at the driver is
judged, of driver commands nothing.

A figure passes if reading the clock --skew-ns apart, for each event, can
explain its error; the column `allowed` is computed from the run's events.
What blkacct/anomalies says under bound_ns is added to the times. Two reads
of stat must also not contradict each other: no counter steps back, none
grows by more than what bounds it.
--models shows what kernels before 5.0, from 5.0, from 5.7 and from 6.10 on
count of these events, in jiffies, which are taken to begin at multiples of
their length. From 6.3 on a kernel also looks when it is read, which makes a
difference where a request hangs; that is modelled from 6.10 on.
Lost events, a trace that is cut off or out of order, or one without an
event of the disk never pass (status 1).";

const AFTER_LATENCY: &str = "\
For each group of I/O: `total` is from start to completion, `device` from the
last issue to completion. A time is the middle of its bucket, which is within
12.5 % of every time in it; what took less than 1024 ns is all in one.

The first report is of all I/O since mode 2 began, each further one of the
interval.";

const AFTER_PATHS: &str = "\
Counts and rates are of all I/O but the flushes that the block layer makes
itself. await is from start to completion, of it q2d before the driver has it
and d2c at the driver; `at driver` is how many it has now. The device itself
comes last: what its await has more than the paths' is spent above them.

The first report is of all I/O since mode 2 began and has no rates, each
further one is of the interval.";
