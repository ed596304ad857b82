// SPDX-License-Identifier: GPL-2.0

//! How a request holds the busy clocks of its accounts: through the leaf of its hardware queue, or
//! directly on a disk with a single one.
//!
//! Which of these it is, is decided once per event; each has code of its own, straight-line, that
//! keeps what it needs in registers.

use super::Account;

/// How a request holds the busy clock.
pub(crate) trait Route {
    /// Returns whether it does so directly.
    fn is_direct(account: &Account, hardware_queue: u32) -> bool;
}

/// Directly.
pub(crate) struct Direct;

/// Through the leaf of its hardware queue.
pub(crate) struct OnLeaf;

/// In one way or the other.
pub(crate) struct Either;

impl Route for Direct {
    #[inline(always)]
    fn is_direct(_: &Account, _: u32) -> bool {
        true
    }
}

impl Route for OnLeaf {
    #[inline(always)]
    fn is_direct(_: &Account, _: u32) -> bool {
        false
    }
}

impl Route for Either {
    #[inline(always)]
    fn is_direct(account: &Account, hardware_queue: u32) -> bool {
        account.is_direct(hardware_queue)
    }
}
