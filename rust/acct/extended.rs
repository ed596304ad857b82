// SPDX-License-Identifier: GPL-2.0

//! The reader's side of a total: all 64 bits of it, and never a step back.
//!
//! A root keeps 42 bits of its busy total, and a snapshot may catch an event half way and be a few
//! nanoseconds ahead. Readers share one `Extended` per total, which remembers the largest value
//! that any of them returned. It lies on a line of its own: I/O writes nothing here.

use super::sync::{
    Atomic,
    Full,
    Relaxed, //
};

/// The last value returned of a total of which `BITS` bits are known.
///
/// It must see the total at least once while that grows by `2^(BITS - 1)`: 36 minutes of busy time
/// for the 42 bits of a root. The module reads every device more often than that.
#[derive(Debug)]
#[repr(align(64))]
pub struct Extended<const BITS: u32> {
    seen: Atomic<u64>,
}

impl<const BITS: u32> Default for Extended<BITS> {
    fn default() -> Self {
        Self {
            seen: Atomic::new(0),
        }
    }
}

impl<const BITS: u32> Extended<BITS> {
    const MASK: u64 = u64::MAX >> (u64::BITS - BITS);
    const HALF: u64 = 1 << (BITS - 1);

    /// Returns the total whose low bits are `low`, or the one last returned if that is larger.
    pub fn extend(&self, low: u64) -> u64 {
        // ORDERING: Relaxed, here and below but for success. The value carries itself.
        let mut seen = self.seen.load(Relaxed);
        loop {
            let ahead = low.wrapping_sub(seen) & Self::MASK;
            if ahead == 0 || ahead >= Self::HALF {
                return seen;
            }
            let total = seen.wrapping_add(ahead);
            // ORDERING: Full. A reader that comes after this one sees at least what it returned.
            match self.seen.cmpxchg(seen, total, Full) {
                Ok(_) => return total,
                Err(other) => seen = other,
            }
        }
    }
}

#[cfg(any(test, CONFIG_KUNIT))]
#[cfg_attr(CONFIG_KUNIT, kernel::macros::kunit_tests(blkacct_extended))]
mod tests {
    use super::*;

    #[test]
    fn a_wrap_is_carried() {
        let total = Extended::<8>::default();
        assert_eq!(total.extend(100), 100);
        assert_eq!(total.extend(200), 200);
        assert_eq!(total.extend(44), 300);
        assert_eq!(total.extend(144), 400);
    }

    #[test]
    fn an_older_value_does_not_step_back() {
        let total = Extended::<44>::default();
        assert_eq!(total.extend(1000), 1000);
        assert_eq!(total.extend(990), 1000);
        assert_eq!(total.extend(1001), 1001);
    }

    #[test]
    fn a_value_below_zero_is_zero() {
        let total = Extended::<64>::default();
        assert_eq!(total.extend(u64::MAX), 0);
        assert_eq!(total.extend(3), 3);
    }
}
