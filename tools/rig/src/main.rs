// SPDX-License-Identifier: GPL-2.0
//! The command `rig`: the loads that fio cannot make, each with a busy time that follows from its
//! parameters.
//!
//! | layer | modules |
//! |---|---|
//! | what is asked | [`cli`] |
//! | the loads | [`paced`], [`together`] |
//! | what they stand on | [`clock`], [`disk`], [`prng`] |
//! | what was done | [`report`] |

mod cli;
mod clock;
mod disk;
mod paced;
mod prng;
mod report;
mod together;

use std::io::Write;

use anyhow::Context;
use clap::Parser;

use cli::{Cli, Command};
use disk::Disk;

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let open = || Disk::open(&cli.disk).with_context(|| cli.disk.display().to_string());
    let report = match &cli.command {
        Command::Together(plan) => {
            let mut disks = Vec::new();
            for _ in 0..plan.threads {
                disks.push(open()?);
            }
            together::run(plan, disks.iter_mut().map(|disk| || disk.read()).collect())?
        }
        Command::Paced(plan) => {
            let mut disk = open()?;
            paced::run(plan, || disk.read())?
        }
    };
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, &report)?;
    writeln!(out).context("standard output")
}
