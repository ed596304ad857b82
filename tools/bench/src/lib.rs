// SPDX-License-Identifier: GPL-2.0

//! What it costs to keep the busy time: the core, and what it is measured against.
//!
//! | | modules |
//! |---|---|
//! | the contenders | [`core`], [`plain`] |
//! | the clock they share | [`clock`] |
//! | the load | [`load`] |

pub mod clock;
pub mod core;
pub mod load;
pub mod plain;

use acct::nsec::Clock as _;

/// Keeps the busy time of one device, for threads that each have a CPU and a hardware queue.
pub trait Account: Sync {
    /// Begins an I/O of this thread.
    fn start(&self, thread: usize, clock: &clock::Clock);

    /// Ends an I/O that this thread began.
    fn end(&self, thread: usize, clock: &clock::Clock);

    /// Returns the busy time so far, in the clock's unit; nothing is in flight.
    fn busy(&self) -> u64;
}

/// Accounts for nothing: what a load takes that only reads the clock.
pub struct Nothing;

impl Account for Nothing {
    #[inline]
    fn start(&self, _: usize, clock: &clock::Clock) {
        std::hint::black_box(clock.now());
    }

    #[inline]
    fn end(&self, _: usize, clock: &clock::Clock) {
        std::hint::black_box(clock.now());
    }

    fn busy(&self) -> u64 {
        0
    }
}
