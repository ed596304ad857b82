// SPDX-License-Identifier: GPL-2.0
//! Checks block I/O accounting against a trace.
//!
//! | layer | modules |
//! |---|---|
//! | what is asked | [`cli`], [`check`], [`exit`] |
//! | events | [`source`], [`live`] |
//! | the truth | [`oracle`] |
//! | what is reported by others | [`snapshot`], [`diskstats`] |
//! | the verdict | [`judge`], [`report`] |

pub mod check;
pub mod cli;
pub mod diskstats;
pub mod exit;
pub mod judge;
pub mod live;
pub mod oracle;
pub mod progress;
pub mod report;
pub mod snapshot;
pub mod source;

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
    match cli.command {
        Some(Command::Check(args)) => check::run(&args),
        None => {
            write!(std::io::stderr(), "{}", Cli::command().render_help())?;
            Ok(Exit::Usage)
        }
    }
}
