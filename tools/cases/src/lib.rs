// SPDX-License-Identifier: GPL-2.0
//! The case format: block events with a known right answer.
//!
//! A case is plain data here. Nothing in this crate knows what the right answer is or how to reach
//! it, so the accounting core, the checker and the guest tests can all replay the same files
//! without sharing an algorithm. `tools/testing/cases/README.md` states the format.
//!
//! # Examples
//!
//! ```
//! let case = cases::parse("0 S 1 d0 R 8\n5 E 1 d0 R 8\nexpect d0 busy=5\n")?;
//! assert_eq!(case.steps.len(), 3);
//! # Ok::<(), cases::ParseError>(())
//! ```

mod model;
mod parse;
mod table;

pub use model::{Case, Event, Expect, Io, Key, Op, Step, What};
pub use parse::{parse, read, Fault, ParseError, Steps};
pub use table::table;
