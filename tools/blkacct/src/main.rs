// SPDX-License-Identifier: GPL-2.0
//! The command `blkacct`: runs the library and maps its result to an exit status.

use std::process::ExitCode;

fn main() -> ExitCode {
    match blkacct::run(std::env::args_os()) {
        Ok(exit) => exit.into(),
        Err(error) => {
            blkacct::terminal::tell(format_args!("{error:#}"));
            blkacct::exit::of_error(&error)
        }
    }
}
