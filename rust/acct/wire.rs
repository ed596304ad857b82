// SPDX-License-Identifier: GPL-2.0

//! The text of the sysfs files, written by the module and read by the tool.
//!
//! `Display` writes a whole file with its newline; `FromStr` reads one. Numbers are unsigned
//! decimals of 64 bits.

mod anomalies;
mod in_flight;
mod stat;

use core::fmt;
use core::str::SplitAsciiWhitespace;

use super::sgrp::StatGroup;
pub use anomalies::Anomalies;
pub use in_flight::InFlight;
pub use stat::{
    DeviceSide,
    Group,
    Stat, //
};

/// Why a text cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// The field at fault.
    pub field: Field,
    /// What is wrong with it.
    pub fault: Fault,
}

/// The name of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// One that stands alone.
    Named(&'static str),
    /// A count of a group.
    Of(StatGroup, &'static str),
}

/// What can be wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not there.
    Missing,
    /// It is not an unsigned 64-bit decimal.
    NotANumber,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::Of(group, name) => write!(f, "{}.{name}", group.name()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = match self.fault {
            Fault::Missing => "is missing",
            Fault::NotANumber => "is not a number",
        };
        write!(f, "field {} {fault}", self.field)
    }
}

impl core::error::Error for Error {}

/// Returns the error of a field that is not there.
pub(super) fn missing(name: &'static str) -> Error {
    Error {
        field: Field::Named(name),
        fault: Fault::Missing,
    }
}

/// Reads the number in `text` as `field`.
fn number(text: Option<&str>, field: Field) -> Result<u64, Error> {
    let text = text.ok_or(Error {
        field,
        fault: Fault::Missing,
    })?;
    // `u64::from_str` takes a leading plus sign, which no file has.
    match text.parse() {
        Ok(value) if !text.starts_with('+') => Ok(value),
        _ => Err(Error {
            field,
            fault: Fault::NotANumber,
        }),
    }
}

pub(super) fn named(
    words: &mut SplitAsciiWhitespace<'_>,
    name: &'static str,
) -> Result<u64, Error> {
    number(words.next(), Field::Named(name))
}

/// What the tests of the files share.
#[cfg(any(test, CONFIG_KUNIT))]
mod testing {
    use super::*;

    /// Accepts one text and nothing else.
    struct Expect<'a>(&'a str);

    impl fmt::Write for Expect<'_> {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 = self.0.strip_prefix(text).ok_or(fmt::Error)?;
            Ok(())
        }
    }

    pub(super) fn writes(value: &dyn fmt::Display, text: &str) -> bool {
        let mut rest = Expect(text);
        fmt::write(&mut rest, format_args!("{value}")).is_ok() && rest.0.is_empty()
    }

    pub(super) fn fault<T>(result: Result<T, Error>, text: &str) -> bool {
        result.is_err_and(|error| writes(&error, text))
    }
}
