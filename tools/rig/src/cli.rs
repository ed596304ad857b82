// SPDX-License-Identifier: GPL-2.0
//! The command line. Each load's arguments are its plan.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Loads whose busy time follows from their parameters: single 4 KiB direct reads, well timed
#[derive(Debug, Parser)]
#[command(name = "rig", version, term_width = 100)]
#[command(
    after_help = "Only reads. Prints what was done as one JSON object, times in ns of CLOCK_MONOTONIC."
)]
pub struct Cli {
    /// The disk, or a regular file
    #[arg(long, value_name = "DEVICE")]
    pub disk: PathBuf,

    /// The load
    #[command(subcommand)]
    pub command: Command,
}

/// The loads.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Pinned threads that each read once, all at the same instant, after a long idle time
    Together(Together),
    /// One read at a time, with a pause behind each or at a fixed pace
    Paced(Paced),
}

/// Arguments of `together`.
#[derive(Clone, Debug, Args)]
pub struct Together {
    /// Threads, on CPUs 0, 1, ...
    #[arg(long, value_name = "N", default_value_t = 4,
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: u32,

    /// From one instant to the next, in ms
    #[arg(long, value_name = "MS", default_value_t = 400,
          value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    pub every_ms: u64,

    /// How many instants
    #[arg(long, value_name = "N", default_value_t = 60,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,

    /// How long before an instant to wake up and begin to spin, in us
    #[arg(long, value_name = "US", default_value_t = 2000)]
    pub spin_us: u64,
}

/// Arguments of `paced`.
#[derive(Clone, Debug, Args)]
#[command(group(clap::ArgGroup::new("pace").required(true).args(["think_us", "every_us"])))]
pub struct Paced {
    /// How many reads
    #[arg(long, value_name = "N", default_value_t = 1000,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub ios: u32,

    /// Pause from the end of a read to the start of the next, in us
    #[arg(long, value_name = "US")]
    pub think_us: Option<u64>,

    /// Lengthen each pause by a random 0 to so many us
    #[arg(long, value_name = "US", default_value_t = 0, requires = "think_us")]
    pub jitter_us: u64,

    /// Seed of the random pauses: the same seed gives the same pauses
    #[arg(long, value_name = "N", default_value_t = 1, requires = "think_us")]
    pub seed: u64,

    /// From the start of a read to the start of the next, in us; late starts do not add up
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(u64).range(1..))]
    pub every_us: Option<u64>,

    /// Start at multiples of --every-us on CLOCK_MONOTONIC plus so many us; the kernel's tick is at
    /// multiples of its own length
    #[arg(long, value_name = "US", default_value_t = 0, requires = "every_us")]
    pub phase_us: u64,

    /// How long before a read is due to wake up and begin to spin, in us: 0 starts it when the
    /// wake-up comes
    #[arg(long, value_name = "US", default_value_t = 0)]
    pub spin_us: u64,
}
