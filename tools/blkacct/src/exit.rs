// SPDX-License-Identifier: GPL-2.0
//! How the tool ends.

use std::process::ExitCode;

/// The exit status of a run that did what it was asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Ok = 0,
    /// The command line is wrong. clap uses the same number.
    Usage = 2,
    /// The numbers are wrong.
    CheckFailed = 3,
}

/// What the check needs is not on this machine; the message says how to get it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotAvailable(pub String);

/// The status of an error that is none of the above.
const ERROR: u8 = 1;
/// The status of [`NotAvailable`]; kselftest takes the same number for a skip.
const NOT_AVAILABLE: u8 = 4;

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// Returns the exit status of an error.
pub fn of_error(error: &anyhow::Error) -> ExitCode {
    let not_available = error.downcast_ref::<NotAvailable>().is_some();
    ExitCode::from(if not_available { NOT_AVAILABLE } else { ERROR })
}
