// SPDX-License-Identifier: GPL-2.0
//! Arguments of `on`, `off` and `list`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `on` and `off`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_SWITCH)]
pub struct SwitchArgs {
    /// Disks by name, path in /dev or MAJOR:MINOR; `all` are all that can be switched
    #[arg(value_name = "DISK", required = true)]
    pub disks: Vec<String>,

    /// Look for /sys below this directory
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    pub root: PathBuf,
}

/// Arguments of `list`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_LIST)]
pub struct ListArgs {
    /// Disks by name, path in /dev or MAJOR:MINOR; all without one
    #[arg(value_name = "DISK")]
    pub disks: Vec<String>,

    /// Print JSON, an object
    #[arg(long)]
    pub json: bool,

    /// Look for /sys below this directory
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    pub root: PathBuf,
}

const AFTER_SWITCH: &str = "\
A switch needs root. It drains the queue of a disk first, so that each request
is counted in one mode: new I/O waits for that long, five seconds at most. All
disks are tried, and the status is that of the first that refused: 4 if it can
not be switched here, 1 on any other error.";

const AFTER_LIST: &str = "\
mode     2 exact, 1 the kernel's own, 0 none, - not the module's
can be   the modes it takes, as far as can be told without trying
doubts   what makes figures of it less than exact, and what helps";
