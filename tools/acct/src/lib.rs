// SPDX-License-Identifier: GPL-2.0

//! The accounting core of blkacct, built for the host.
//!
//! The source is the module's, in `rust/acct/`. This crate exists to prove it: its tests replay
//! known cases, compare it with a reference model and explore its interleavings with loom.

#![cfg_attr(not(any(test, loom)), no_std)]
#![forbid(unsafe_code)]

// An inline module, so that `acct.rs` finds its children in `acct/` as it does in the kernel's build.
#[path = "../../../rust"]
mod module {
    pub mod acct;
}

pub use module::acct::*;
