// SPDX-License-Identifier: GPL-2.0
//! Random histories of a small block layer, to judge `blkacct check` by.
//!
//! A [`plan::Plan`] is drawn by proptest, a [`world::World`] carries it out as the kernel's blk-mq
//! would, and [`print`] writes down what each tracer would show of it. [`truth`] keeps its books by
//! the requests themselves, which no trace shows. Nothing here is shared with the checker, which
//! [`verdict`] runs as a command.

pub mod driver;
pub mod event;
pub mod flush;
pub mod merge;
pub mod plan;
pub mod print;
pub mod said;
pub mod stat;
pub mod submit;
pub mod survey;
pub mod truth;
pub mod verdict;
pub mod world;
