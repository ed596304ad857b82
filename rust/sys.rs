// SPDX-License-Identifier: GPL-2.0

//! Safe wrappers of what the `kernel` crate does not wrap yet.
//!
//! The only place of the module that uses `unsafe` and [`kernel::bindings`]. Each file wraps one
//! thing of the kernel, argues from type invariants, and knows nothing of accounting.

#![allow(unsafe_code)]

pub(crate) mod atomic;
pub(crate) mod attribute;
pub(crate) mod bdev;
pub(crate) mod bio_acct;
pub(crate) mod class_interface;
pub(crate) mod clock;
pub(crate) mod disk_lock;
#[cfg(CONFIG_KUNIT)]
pub(crate) mod fake;
pub(crate) mod ftrace;
mod helpers;
mod listener;
pub(crate) mod percpu;
mod preempt;
pub(crate) mod published;
pub(crate) mod queue;
pub(crate) mod queue_iostats;
pub(crate) mod repeat;
pub(crate) mod request;
pub(crate) mod stat_files;
pub(crate) mod tracepoint;
pub(crate) mod wrapped;
