// SPDX-License-Identifier: GPL-2.0
//! Traces a disk and takes the reports at the edges of the window.
//!
//! The trace begins before the first report and ends after the last, so every event of the window
//! is in it. What was in flight before the trace is known from the first report: it is clipped at
//! the window's edge, not dropped.

mod instance;
mod window;

pub use window::run;
