// SPDX-License-Identifier: GPL-2.0
//! What the tests of the command share.

use std::path::PathBuf;

use assert_cmd::Command;

/// Returns the command with `check` and these arguments.
pub fn check(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blkacct"));
    command.current_dir(data("")).arg("check").args(args);
    command
}

/// Returns the path of a file in `tests/data`.
pub fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}
