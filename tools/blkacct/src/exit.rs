// SPDX-License-Identifier: GPL-2.0
//! How the tool ends.

use std::process::ExitCode;

/// The exit status of a run that did what it was asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is well, or nobody wants to know any more.
    Ok,
    /// The command line is wrong. clap uses the same number.
    Usage,
    /// The numbers are wrong.
    CheckFailed,
    /// What another command ended with, which was run.
    Of(u8),
}

/// What is needed is not on this machine; the message says how to get it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotAvailable(pub String);

/// The status of an error that is none of the above.
const ERROR: u8 = 1;
/// The status of [`NotAvailable`]; kselftest takes the same number for a skip.
const NOT_AVAILABLE: u8 = 4;

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Ok => 0,
            Exit::Usage => 2,
            Exit::CheckFailed => 3,
            Exit::Of(status) => status,
        })
    }
}

/// Whether an error says that nobody reads what is printed.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kinds = error.chain().filter_map(|cause| {
        let json = cause.downcast_ref::<serde_json::Error>();
        let io = cause.downcast_ref::<std::io::Error>();
        io.map(std::io::Error::kind)
            .or_else(|| json.and_then(serde_json::Error::io_error_kind))
    });
    kinds
        .into_iter()
        .any(|kind| kind == std::io::ErrorKind::BrokenPipe)
}

/// Passes over a reader that has left: what is to be found out is found out all the same, and the
/// status tells.
///
/// # Errors
///
/// All others of the output.
pub fn unless_closed(printed: std::io::Result<()>) -> std::io::Result<()> {
    match printed {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}

/// Returns the exit status of an error.
pub fn of_error(error: &anyhow::Error) -> ExitCode {
    let not_available = error.downcast_ref::<NotAvailable>().is_some();
    ExitCode::from(if not_available { NOT_AVAILABLE } else { ERROR })
}
