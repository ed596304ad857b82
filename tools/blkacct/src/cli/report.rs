// SPDX-License-Identifier: GPL-2.0
//! Arguments of `report`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `report`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_REPORT)]
#[command(
    override_usage = "blkacct report [OPTIONS] [DISK]... INTERVAL COUNT\n       \
    blkacct report [OPTIONS] --from FILE [DISK]...\n       \
    blkacct report [OPTIONS] --compare A B [DISK]..."
)]
pub struct ReportArgs {
    /// Disks by any of their names, all without one; then, without a recording, the seconds between
    /// samples, and their number
    #[arg(value_name = "DISK|INTERVAL|COUNT")]
    pub words: Vec<String>,

    /// Take the samples from a recording; see `blkacct record`
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,

    /// Put two recordings side by side: before and after
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with = "from")]
    pub compare: Vec<PathBuf>,

    /// Where to write; `-` is standard output
    #[arg(
        short,
        long,
        value_name = "FILE",
        default_value = "blkacct-report.html",
        default_value_if("svg", clap::builder::ArgPredicate::IsPresent, "-")
    )]
    pub output: PathBuf,

    /// Write one picture of one disk instead: iops, bytes, latency, read-heatmap, write-heatmap,
    /// util, depth, faults or saturation
    #[arg(long, value_name = "NAME", conflicts_with = "compare")]
    pub svg: Option<String>,

    /// Look for /sys and /proc below this directory
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    pub root: PathBuf,
}

const AFTER_REPORT: &str = "\
The page is one file that needs nothing else: no script, no font, no network.
It is light or dark as the browser is, and prints. Behind each picture is its
table. A time of which nothing is known (the disk was away, the machine was
suspended, the mode was another) is a gap in each line.

A long run is thinned out: a line is the mean of its step, and the band around
it reaches from the least to the most of what was sampled in it.

Pictures are drawn of the eight disks with the most busy time, or of those that
are named; the tables have all.";
