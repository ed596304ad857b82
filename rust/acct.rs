// SPDX-License-Identifier: GPL-2.0

//! The accounting core: what an I/O event does to the numbers, and how they are read.
//!
//! The core is pure. It has no unsafe code, allocates nothing, uses no float and knows no kernel
//! type but the atomics that [`sync`] picks. The module compiles it on the kernel's atomics, the
//! host crate `tools/acct` on `core`'s or loom's, so what is proved there is what runs here.
//!
//! | layer | modules |
//! |---|---|
//! | time | [`nsec`] |
//! | busy clock | `word`, [`root`], [`leaf`], [`extended`], and [`busy`], which explains the algorithm |
//! | tallies | [`sgrp`], [`slot`], [`device`], [`hist`]; [`bios`], [`window`] for bio-based devices |
//! | reading | [`snap`], [`wire`], [`periods`] |
//!
//! Counters and times wrap or saturate explicitly everywhere: the kernel panics on overflow.

pub mod bios;
pub mod busy;
pub mod device;
pub mod extended;
pub mod hist;
pub mod leaf;
pub mod nsec;
pub mod periods;
pub mod root;
pub mod sgrp;
pub mod slot;
pub mod snap;
mod sync;
pub mod window;
pub mod wire;
mod word;
