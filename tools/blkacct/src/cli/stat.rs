// SPDX-License-Identifier: GPL-2.0
//! Arguments of `stat`: those of iostat, and some more.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Arguments of `stat`.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
#[command(override_usage = "blkacct stat [OPTIONS] [DISK]... [INTERVAL [COUNT]]")]
pub struct StatArgs {
    /// Disks or partitions by name, path in /dev or MAJOR:MINOR, all disks without one; then the
    /// seconds between reports (0.1 is one), and their number
    #[arg(value_name = "DISK|INTERVAL|COUNT")]
    pub words: Vec<String>,

    /// Show iostat's extended columns, and all of blkacct's own after them
    #[arg(short = 'x', long)]
    pub extended: bool,

    /// Show devices: this is what stat does, and there for who types it
    #[arg(short = 'd')]
    pub devices: bool,

    /// Sizes in KiB, as without it
    #[arg(short = 'k', conflicts_with = "mega")]
    pub kilo: bool,

    /// Sizes in MiB
    #[arg(short = 'm')]
    pub mega: bool,

    /// Leave out the first report, which is of the whole time in mode 2
    #[arg(short = 'y')]
    pub omit_first: bool,

    /// Leave out devices that did nothing
    #[arg(short = 'z')]
    pub omit_idle: bool,

    /// Print the time of each report
    #[arg(short = 't')]
    pub time: bool,

    /// Show the partitions of these devices, or of all
    #[arg(short = 'p', value_name = "DISK[,...]|ALL", num_args = 0..=1, default_missing_value = "ALL")]
    pub partitions: Option<String>,

    /// Show partitions, too
    #[arg(long)]
    pub all: bool,

    /// Sum the devices up in a line of this name
    #[arg(short = 'g', value_name = "NAME")]
    pub group: Option<String>,

    /// Show nothing but that line
    #[arg(short = 'H', requires = "group")]
    pub only_group: bool,

    /// Show mapped devices by the names that the device mapper gives them
    #[arg(short = 'N')]
    pub mapped: bool,

    /// Show devices by a name that stays: ID, LABEL, PATH, UUID or another directory by-* of
    /// /dev/disk
    #[arg(short = 'j', value_name = "KIND", conflicts_with = "mapped")]
    pub persistent: Option<String>,

    /// Sizes with the unit that suits them
    #[arg(long)]
    pub human: bool,

    /// Digits behind the point
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=2))]
    pub dec: u8,

    /// Show the kernel's own %util and aqu-sz beside, where they are not blkacct's
    #[arg(long)]
    pub stock: bool,

    /// Print JSON in the shape of sysstat
    #[arg(short = 'o', value_name = "JSON", value_enum, ignore_case = true,
          conflicts_with_all = ["csv", "json"])]
    pub output: Option<Output>,

    /// Print CSV: a head, then a line for each device and report
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,

    /// Print JSON, an object a line for each report, with counters as integers of ns
    #[arg(long)]
    pub json: bool,

    /// Show a recording instead of this machine; see `blkacct record`
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,

    /// Look for /sys below this directory
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    pub root: PathBuf,
}

/// What `-o` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// JSON
    #[value(name = "JSON")]
    Json,
}

const AFTER: &str = "\
The first report is of the whole time in mode 2, each further one of the
interval. A device of which nothing is known in an interval has dashes: it
came, was out of mode 2, or another has its name now.

iostat's columns come first, in its order, with its names and rules. Then:

depth         requests in flight, mean over the busy time
r_q2d, ...    of the mean latency in ms, the part in the queue: from start to
              issue
r_d2c, ...    the part at the driver: from issue to completion
%drv          time with at least one request at the driver
%idlq         idle while queued: requests waited and the driver had none
atdrv         requests at the driver at the end
%stall        time with I/O in flight, in an interval in which none completed
errors        requests that failed
requeues      requests that the driver gave back undone
k_%util, ...  with --stock: what the kernel counts itself

Without the module's device side (device=0, bio-based disks) there is no split.
Documentation/output.rst has the columns of --csv and the members of --json.";
