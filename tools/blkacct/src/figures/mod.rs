// SPDX-License-Identifier: GPL-2.0
//! What samples come to: figures, each with its rule and its error beside it.
//!
//! | module | figures |
//! |---|---|
//! | [`gap`] | whether two samples can be compared at all |
//! | [`window`] | growth of the counters, and rates and means of it |
//! | [`histogram`] | percentiles |
//! | [`blame`] | what could hold requests back |
//! | [`saturation`] | whether more depth brings more completions |
//! | [`queue`] | percentiles of the time before the driver has a request |
//! | [`layer`] | what a stacked device adds |
//! | [`stock`] | what the kernel's own counters say |
//! | [`stall`] | time with I/O in flight and nothing completing |

pub mod blame;
pub mod gap;
pub mod histogram;
pub mod layer;
pub mod queue;
pub mod saturation;
pub mod stall;
pub mod stock;
pub mod window;

pub use gap::Gap;
pub use stall::Stall;
pub use stock::Stock;
pub use window::{Tally, Window};
