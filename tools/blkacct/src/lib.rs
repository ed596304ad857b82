// SPDX-License-Identifier: GPL-2.0
//! Shows exact block I/O accounting, and checks it against a trace.
//!
//! | layer | modules |
//! |---|---|
//! | what is asked | [`cli`], [`exit`] |
//! | the commands | [`check`] and its [`watch`]; [`stat`], [`latency`], [`paths`] |
//! | what is shown | [`sample`]s of devices, [`figures`] made of them, [`show`] prints |
//! | events | [`source`], [`live`] |
//! | the truth | [`oracle`] |
//! | what is reported | [`device`], [`snapshot`], [`diskstats`] |
//! | the verdict | [`judge`], [`invariants`], [`report`] |

pub mod check;
pub mod cli;
pub mod device;
pub mod diskstats;
pub mod exit;
pub mod figures;
pub mod invariants;
pub mod judge;
pub mod latency;
pub mod live;
pub mod oracle;
pub mod paths;
pub mod progress;
pub mod report;
pub mod sample;
pub mod show;
pub mod snapshot;
pub mod source;
pub mod stat;
pub mod watch;

use std::ffi::OsString;
use std::io::Write;

use clap::{CommandFactory, Parser};

use cli::{Cli, Command};
use exit::Exit;

/// Runs the tool with these arguments, the program's name first.
///
/// # Errors
///
/// What keeps the tool from doing what it was asked to; [`exit::of_error`] has the status for it.
pub fn run(args: impl IntoIterator<Item = OsString>) -> anyhow::Result<Exit> {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            error.print()?;
            let usage = error.use_stderr();
            return Ok(if usage { Exit::Usage } else { Exit::Ok });
        }
    };
    let shown = match cli.command {
        Some(Command::Check(args)) => return check::run(&args),
        Some(Command::Stat(args)) => stat::run(&args),
        Some(Command::Latency(args)) => latency::run(&args),
        Some(Command::Paths(args)) => paths::run(&args),
        None => {
            write!(std::io::stderr(), "{}", Cli::command().render_help())?;
            return Ok(Exit::Usage);
        }
    };
    match shown {
        // Who reads the reports has had enough of them.
        Err(error) if exit::is_broken_pipe(&error) => Ok(Exit::Ok),
        shown => shown.map(|()| Exit::Ok),
    }
}
