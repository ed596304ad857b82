// SPDX-License-Identifier: GPL-2.0

//! The core, with a leaf per thread, on lines of their own as in the module.

use acct::busy::Busy;
use acct::leaf::Leaves;
use acct::nsec::{Clock as _, Nsec};

use crate::clock::Clock;
use crate::Account;

/// A device with so many hardware queues.
pub struct Core {
    busy: Busy,
    leaves: Vec<Leaves>,
}

impl Core {
    /// Makes a device with a hardware queue for each possible CPU.
    pub fn new(cpus: usize) -> Self {
        Self {
            busy: Busy::default(),
            leaves: (0..cpus).map(|_| Leaves::default()).collect(),
        }
    }
}

impl Account for Core {
    #[inline]
    fn start(&self, thread: usize, clock: &Clock) {
        let arrival = self.busy.start(&self.leaves[thread].io);
        arrival.commit(clock.now(), clock);
    }

    #[inline]
    fn end(&self, thread: usize, clock: &Clock) {
        let departure = self.busy.end(&self.leaves[thread].io);
        departure.commit(clock.now(), clock);
    }

    fn busy(&self) -> u64 {
        self.busy.read(&|| Nsec(0)).1
    }
}
