// SPDX-License-Identifier: GPL-2.0
//! What samples come to: figures, each with its rule and its error beside it.
//!
//! | module | figures |
//! |---|---|
//! | [`gap`] | whether two samples can be compared at all |
//! | [`window`] | growth of the counters, and rates and means of it |
//! | [`histogram`] | percentiles |

pub mod gap;
pub mod histogram;
pub mod window;

pub use gap::Gap;
pub use window::{Tally, Window};
