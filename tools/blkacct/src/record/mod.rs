// SPDX-License-Identifier: GPL-2.0
//! Recordings: samples in a file, and back (`Documentation/recording.rst`).
//!
//! | layer | modules |
//! |---|---|
//! | the command | [`command`], its [`child`], the [`name`] and the [`sink`] of what is recorded |
//! | a source of samples, of now or from a file | [`input`] |
//! | a file that is read | [`replay`], [`frames`], [`header`] |
//! | a file that is written | [`writer`] |
//! | a sample as bytes | [`payload`], [`cells`], [`changes`], [`varint`], [`frame`] |

mod cells;
mod changes;
mod child;
mod command;
mod frame;
mod frames;
mod header;
mod input;
mod name;
mod payload;
mod replay;
mod sink;
#[cfg(test)]
mod testing;
mod varint;
mod writer;

pub use command::run;
pub use header::Header;
pub use input::Input;
pub use name::duration;
pub use replay::{Index, Note, Replay};
pub use writer::{Encoder, Writer};
