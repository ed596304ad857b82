// SPDX-License-Identifier: GPL-2.0
//! The command `blkacct` under another name: a test can run only what its own package builds.

use std::process::ExitCode;

fn main() -> ExitCode {
    match blkacct::run(std::env::args_os()) {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprintln!("blkacct: {error:#}");
            blkacct::exit::of_error(&error)
        }
    }
}
