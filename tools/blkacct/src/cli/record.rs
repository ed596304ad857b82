// SPDX-License-Identifier: GPL-2.0
//! Arguments of `record`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::record::duration;

/// Arguments of `record`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_RECORD)]
#[command(
    override_usage = "blkacct record [OPTIONS] [DISK]... [INTERVAL [COUNT]] [-- COMMAND [ARG]...]"
)]
pub struct RecordArgs {
    /// Disks or partitions by name, path in /dev or MAJOR:MINOR, all disks without one; then the
    /// seconds between samples, 1 without it, and their number
    #[arg(value_name = "DISK|INTERVAL|COUNT")]
    pub words: Vec<String>,

    /// Run this, record until it ends, and end with its status
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,

    /// Where to; without it blkacct-TIME.rec in this directory
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write over FILE if it is there
    #[arg(long, requires = "output")]
    pub overwrite: bool,

    /// Record for this long: 90, 10m, 1h30m
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,

    /// Keep the last TIME in memory, and write it at each SIGUSR1, to a file of its own
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub keep: Option<Duration>,

    /// Keep no more than this in memory
    #[arg(long, value_name = "MIB", default_value_t = 512, requires = "keep",
          value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub memory: u64,

    /// Record partitions, too
    #[arg(long)]
    pub all: bool,

    /// Tell how much has been recorded, even if standard error is no terminal
    #[arg(long)]
    pub progress: bool,

    /// Look for /sys and /proc below this directory
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    pub root: PathBuf,
}

const AFTER_RECORD: &str = "\
What is recorded is shown with --from FILE by the other commands, as if it
were now. A disk out of mode 2 has only the kernel's own figures.

It ends at COUNT, after --for, with COMMAND or by a signal (SIGINT, SIGTERM,
SIGHUP); a last sample is taken then. While COMMAND runs, SIGTERM and SIGHUP
are passed on to it, and SIGINT is left to it. Its status is passed on, and
128 + N if signal N killed it; 126 and 127 if it cannot be run.

A sample of a busy disk takes 250 to 400 bytes. A recording that is killed, or
runs out of disk, ends with its last whole sample.";
