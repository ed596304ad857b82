// SPDX-License-Identifier: GPL-2.0
//! The command line.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};

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
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compute exact figures from events and compare what is reported with them
    Check(CheckArgs),
}

/// Arguments of `check`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true).args(["files", "live"])))]
#[command(after_help = AFTER_CHECK)]
pub struct CheckArgs {
    /// Cases, or one trace with --format; `-` is standard input
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// What the files are
    #[arg(long, value_enum, default_value_t = FileFormat::Case, conflicts_with = "live")]
    pub format: FileFormat,

    /// The whole disk to look at in a trace: a name, or MAJOR:MINOR
    #[arg(long, value_name = "DISK", conflicts_with = "live")]
    pub disk: Option<String>,

    /// Copies of blkacct/stat from the beginning and the end of the window; give it twice
    #[arg(long, value_name = "FILE", conflicts_with = "live")]
    pub stat: Vec<PathBuf>,

    /// Trace this disk now, and check what blkacct and the kernel report of it
    #[arg(long, value_name = "DISK")]
    pub live: Option<String>,

    /// How long to trace
    #[arg(long, value_name = "N", default_value_t = 10, requires = "live",
          value_parser = clap::value_parser!(u64).range(1..=86400))]
    pub seconds: u64,

    /// Trace buffer for each CPU, in KiB
    #[arg(long, value_name = "KIB", default_value_t = 16384, requires = "live",
          value_parser = clap::value_parser!(u64).range(64..=4194304))]
    pub buffer_kb: u64,

    /// How far apart trace and accounting may read the clock for one event, in ns
    #[arg(long, value_name = "NS", default_value_t = 2000,
          value_parser = clap::value_parser!(u64).range(0..=1_000_000_000))]
    pub skew_ns: u64,

    /// Print JSON, with times as integers of ns
    #[arg(long)]
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
A trace needs the events block_io_start, block_io_done and block_rq_merge,
and for --stat the clock mono (perf record -k CLOCK_MONOTONIC). blkparse
output stands alone: its times count from the start of blktrace.

Exact from a trace: io_ticks, time_in_queue, ios. nsecs is exact if the I/O
in flight at the edges of the window can be told apart, and bounded if not.
A trace shows merged requests, not merged bios: merges is a lower bound.
Flush commands of the kernel and driver commands are not judged.

A figure passes if reading the clock --skew-ns apart, for each event, can
explain its error; the column `allowed` is computed from the run's events.
Lost events, a trace that is cut off or out of order, or one without an
event of the disk never pass (status 1).";
