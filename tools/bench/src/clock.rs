// SPDX-License-Identifier: GPL-2.0

//! The processor's own counter, the cheapest clock that all threads share.
//!
//! Both contenders read the time once at a start and once at an end.

use acct::nsec::{self, Nsec};

/// A clock whose unit is that of the counter: nobody here looks at what is counted.
#[derive(Default)]
pub struct Clock(quanta::Clock);

impl nsec::Clock for Clock {
    #[inline]
    fn now(&self) -> Nsec {
        Nsec(self.0.raw())
    }
}
