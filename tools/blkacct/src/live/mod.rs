// SPDX-License-Identifier: GPL-2.0
//! Traces a disk and takes the reports at the edges of the window.
//!
//! The trace begins before the first report and ends after the last, so every event of the window
//! is in it. What was in flight before the trace is known from the first report: it is clipped at
//! the window's edge, not dropped.
//!
//! A read of the reports takes time, and what happens meanwhile is in them or not. How long it took
//! is measured, and the verdict knows of it ([`crate::oracle::edge`]).

mod edge;
mod instance;
mod stale;
mod window;

pub use window::Session;
