// SPDX-License-Identifier: GPL-2.0

//! The reader's side of a total: all 64 bits of it, and never a step back.
//!
//! A root keeps 42 bits of its busy total, and a snapshot may catch an event half way and be a few
//! nanoseconds ahead. Readers share one `Extended` per total, which remembers the largest value
//! that any of them returned. It lies on a line of its own: I/O writes nothing here.

use super::nsec::Nsec;
use super::sync::{
    Acquire,
    Atomic,
    Full,
    Relaxed, //
};

/// The last value returned of a total of which `BITS` bits are known.
///
/// It must see the total at least once while that grows by `2^(BITS - 1)`: 36 minutes of busy time
/// for the 42 bits of a root. The module reads every device more often than that. But a clock can
/// jump, as that of a guest which was stopped; so where the total is one of time it may be twice
/// that, all but what a step back can be, as long as the clock has gone on by as much.
#[derive(Debug)]
#[repr(align(64))]
pub struct Extended<const BITS: u32> {
    seen: Atomic<u64>,
    /// The time of the latest reading that has come here.
    at: Atomic<u64>,
}

impl<const BITS: u32> Default for Extended<BITS> {
    fn default() -> Self {
        Self {
            seen: Atomic::new(0),
            at: Atomic::new(0),
        }
    }
}

impl<const BITS: u32> Extended<BITS> {
    const MASK: u64 = u64::MAX >> (u64::BITS - BITS);
    const HALF: u64 = 1 << (BITS - 1);
    /// A step back is shorter: for how long an event can be held up. 4 s of 42 bits.
    const STEP_BACK: u64 = Self::MASK >> 10;

    /// Returns the total whose low bits are `low`, or the one last returned if that is larger.
    pub fn extend(&self, low: u64) -> u64 {
        self.extend_by(low, 0)
    }

    /// As [`Self::extend`], for a total of time, which was read at `now`: it cannot have grown by
    /// more than has passed.
    pub fn extend_at(&self, low: u64, now: Nsec) -> u64 {
        self.extend_by(low, self.passed(now))
    }

    /// Returns the time since the latest reading before this one; zero for one that is older.
    fn passed(&self, now: Nsec) -> u64 {
        // ORDERING: Relaxed. Where another is found the word carries itself, and see `extend_by`.
        let mut at = self.at.load(Relaxed);
        loop {
            let passed = now.since(Nsec(at));
            if passed == 0 {
                return 0;
            }
            // ORDERING: Full. The release half puts it before the total that follows.
            match self.at.cmpxchg(at, now.0, Full) {
                Ok(_) => return passed,
                Err(other) => at = other,
            }
        }
    }

    /// Takes the total for larger where it is ahead by less than half of its bits, or by no more
    /// than `passed`.
    fn extend_by(&self, low: u64, passed: u64) -> u64 {
        // ORDERING: Acquire, by which nobody sees a total without the time of its reading: who has
        // an older reading finds that no time has passed.
        let mut seen = self.seen.load(Acquire);
        loop {
            let ahead = low.wrapping_sub(seen) & Self::MASK;
            let jumped = ahead <= passed.min(Self::MASK - Self::STEP_BACK);
            if ahead == 0 || (ahead >= Self::HALF && !jumped) {
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
    fn a_jump_of_the_clock_is_no_step_back() {
        let total = Extended::<42>::default();
        let minute = 60_000_000_000;
        assert_eq!(total.extend_at(5, Nsec(1000)), 5);
        let jump = 50 * minute;
        assert_eq!(total.extend_at(5 + jump, Nsec(1000 + jump)), 5 + jump);
        // Busy for all of a time that wraps.
        let low = (5 + 2 * jump) & ((1 << 42) - 1);
        assert_eq!(total.extend_at(low, Nsec(1000 + 2 * jump)), 5 + 2 * jump);
    }

    #[test]
    fn a_step_back_is_none_forward_however_long_ago_the_last_reading_was() {
        let total = Extended::<42>::default();
        let day = 86_400_000_000_000;
        assert_eq!(total.extend_at(1000, Nsec(day)), 1000);
        // An event that was held up, and then nothing for a day.
        assert_eq!(total.extend_at(990, Nsec(2 * day)), 1000);
        // Another reader, of about the first one's time.
        assert_eq!(total.extend_at(980, Nsec(2 * day)), 1000);
    }

    #[test]
    fn a_value_below_zero_is_zero() {
        let total = Extended::<64>::default();
        assert_eq!(total.extend(u64::MAX), 0);
        assert_eq!(total.extend(3), 3);
    }
}
