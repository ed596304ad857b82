// SPDX-License-Identifier: GPL-2.0
//! Shows exact block I/O accounting, and checks it against a trace.
//!
//! | layer | modules |
//! |---|---|
//! | what is asked, and how it is told | [`cli`], [`exit`], [`terminal`] |
//! | the commands | [`check`] and its [`watch`]; [`stat`], [`latency`], [`paths`]; [`list`], [`switch`]; [`page`] for `report` |
//! | what is shown | [`sample`]s of devices, of now or [`record`]ed; [`figures`] made of them, [`show`] prints |
//! | events | [`source`], [`live`] |
//! | the truth | [`oracle`] |
//! | what is reported | [`device`], [`snapshot`], [`copies`], [`diskstats`] |
//! | the verdict | [`judge`], [`invariants`], [`report`] |

pub mod check;
pub mod cli;
pub mod copies;
pub mod device;
pub mod diskstats;
pub mod exit;
pub mod figures;
pub mod invariants;
pub mod judge;
pub mod latency;
pub mod list;
pub mod live;
pub mod oracle;
pub mod page;
pub mod paths;
pub mod progress;
pub mod record;
pub mod report;
pub mod sample;
pub mod show;
pub mod snapshot;
pub mod source;
pub mod stat;
pub mod switch;
pub mod terminal;
pub mod watch;

use std::ffi::OsString;

use anyhow::Context;
use clap::Parser;

use cli::{Cli, Command};
use exit::Exit;

/// Runs the tool with these arguments, the program's name first.
///
/// # Errors
///
/// What keeps the tool from doing what it was asked to; [`exit::of_error`] has the status for it.
pub fn run(args: impl IntoIterator<Item = OsString>) -> anyhow::Result<Exit> {
    match command(args) {
        // Who reads the reports has had enough of them.
        Err(error) if exit::is_broken_pipe(&error) => Ok(Exit::Ok),
        ended => ended,
    }
}

fn command(args: impl IntoIterator<Item = OsString>) -> anyhow::Result<Exit> {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => {
            terminal::tell_all(error.render());
            return Ok(Exit::Usage);
        }
        Err(help) => {
            help.print().context("standard output")?;
            return Ok(Exit::Ok);
        }
    };
    match cli.command {
        Some(Command::Check(args)) => return check::run(&args),
        Some(Command::Stat(args)) => stat::run(&args)?,
        Some(Command::Latency(args)) => latency::run(&args)?,
        Some(Command::Paths(args)) => paths::run(&args)?,
        Some(Command::Record(args)) => return record::run(&args),
        Some(Command::Report(args)) => return page::run(&args),
        Some(Command::List(args)) => list::run(&args)?,
        Some(Command::On(args)) => switch::run(&args, switch::Mode::Exact)?,
        Some(Command::Off(args)) => switch::run(&args, switch::Mode::Kernel)?,
        None => list::next(&cli.root)?,
    }
    Ok(Exit::Ok)
}
