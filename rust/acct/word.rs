// SPDX-License-Identifier: GPL-2.0

//! The word at the root of the busy clock, and what can become of it.
//!
//! `version:8 | x:42 | rank:14`. While nobody holds the root, `x` is the busy total `B`. While it
//! has been held since time `T`, `x` is `B - T`, so the total at time `t` is `x + t`. A period
//! begins with `x - t` and ends with `x + t`, and everything else leaves `x` alone. All of it is
//! modulo 2^42 ns, 73 minutes; [`Extended`](super::extended::Extended) restores 64 bits.
//!
//! A time that is shifted into its place reaches into the version, too, and so does what is
//! borrowed there and carried. That does no harm: version and `x` are one number of 50 bits, to
//! which every arrival adds 2^42 (the version is raised), and a period takes its begin from it and
//! adds its end. Two words of the same rank are then the same only after a multiple of 256
//! arrivals, or with 73 minutes of idle or busy time between them, to the ns.
//!
//! The rank is not quite the number of holders:
//!
//! | rank | holders | |
//! |---|---|---|
//! | 0 | 0 | idle |
//! | 1 | 1 | *sole*: nobody else has arrived since this rank was set |
//! | 2 | 1 | *shared*: others have come and gone |
//! | n > 2 | n - 1 | |
//!
//! What rank and version are for is in [`root`](super::root).

use super::nsec::Nsec;

/// Width of the busy total in the root's word.
pub(super) const TOTAL_BITS: u32 = 42;
/// Width of the rank.
const RANK_BITS: u32 = 14;

const RANK_MASK: u64 = (1 << RANK_BITS) - 1;
const TOTAL_MASK: u64 = (1 << TOTAL_BITS) - 1;
const VERSION: u64 = 1 << (TOTAL_BITS + RANK_BITS);

/// The highest rank.
pub(super) const MAX_RANK: u64 = RANK_MASK;
/// Nobody holds the root.
pub(super) const IDLE: u64 = 0;
/// One holder, and nobody else has arrived since this rank was set.
pub(super) const SOLE: u64 = 1;
/// One holder, after others have come and gone.
pub(super) const SHARED: u64 = 2;

/// The root's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word(pub(super) u64);

impl Word {
    pub(super) const fn rank(self) -> u64 {
        self.0 & RANK_MASK
    }

    const fn x(self) -> u64 {
        self.0 >> RANK_BITS & TOTAL_MASK
    }

    /// Returns a word of rank *shared* with rank *sole*.
    pub(super) const fn made_sole(self) -> Self {
        Self(self.0.wrapping_sub(SHARED - SOLE))
    }

    /// Returns the word when another holder has arrived.
    #[inline(always)]
    pub(super) const fn joined(self) -> Self {
        // From 1 to 3; otherwise to the next.
        let step = 1 + (self.rank() == SOLE) as u64;
        Self(self.0.wrapping_add(VERSION + step))
    }

    /// Returns the word when one of several holders has departed.
    #[inline(always)]
    pub(super) const fn left(self) -> Self {
        Self(self.0.wrapping_sub(1))
    }

    /// Returns an idle word's successor when the first holder arrives at `t`.
    #[inline(always)]
    pub(super) const fn begun(self, t: Nsec) -> Self {
        Self(
            self.0
                .wrapping_sub(t.0 << RANK_BITS)
                .wrapping_add(VERSION + SOLE),
        )
    }

    /// Returns the successor of a word of rank *sole* when its holder departs at `t`.
    #[inline(always)]
    pub(super) const fn ended(self, t: Nsec) -> Self {
        Self(self.0.wrapping_add(t.0 << RANK_BITS).wrapping_sub(SOLE))
    }

    /// Returns the successor of a word that is held when all holders depart at `t`.
    pub(super) const fn all_left(self, t: Nsec) -> Self {
        Self(self.0.wrapping_sub(self.rank().wrapping_sub(SOLE))).ended(t)
    }

    /// Returns the number of holders.
    pub(super) const fn holders(self) -> u64 {
        match self.rank() {
            IDLE => 0,
            SOLE | SHARED => 1,
            rank => rank - 1,
        }
    }

    /// Returns the busy total at `t`, modulo 2^42 ns.
    pub(super) const fn total(self, t: Nsec) -> u64 {
        match self.rank() {
            IDLE => self.x(),
            _ => self.x().wrapping_add(t.0) & TOTAL_MASK,
        }
    }

    /// Returns whether the total runs, or rests, from the same origin in both words.
    pub(super) const fn same_span(self, other: Self) -> bool {
        self.x() == other.x() && (self.rank() == IDLE) == (other.rank() == IDLE)
    }
}

/// Returns an idle root's word with this busy total.
#[cfg(any(test, CONFIG_KUNIT))]
pub(super) const fn idle_word(total: u64) -> u64 {
    total << RANK_BITS
}

#[cfg(any(test, CONFIG_KUNIT))]
#[cfg_attr(CONFIG_KUNIT, kernel::macros::kunit_tests(blkacct_word))]
mod tests {
    use super::*;

    const IDLE_WORD: Word = Word(idle_word(TOTAL_MASK));

    #[test]
    fn a_turn_and_its_return_charge_the_time_between() {
        let busy = IDLE_WORD.begun(Nsec(1000));
        assert_eq!(busy.rank(), SOLE);
        assert_eq!(busy.total(Nsec(1007)), 6);
        let idle = busy.ended(Nsec(1007));
        assert_eq!(idle.rank(), IDLE);
        assert_eq!(idle.total(Nsec(2000)), 6);
    }

    #[test]
    fn a_time_beyond_the_words_bits_makes_no_difference() {
        let late = 3 * (TOTAL_MASK + 1) + (1 << 60);
        let busy = IDLE_WORD.begun(Nsec(late));
        assert_eq!(busy.total(Nsec(late + 7)), 6);
        assert_eq!(busy.ended(Nsec(late + 7)).total(Nsec(0)), 6);
    }

    #[test]
    fn all_holders_leave_at_once() {
        let sole = IDLE_WORD.begun(Nsec(1000));
        let four = sole.joined().joined();
        for (word, holders) in [
            (sole, 1),
            (four.left().left(), 1),
            (four.left(), 2),
            (four, 3),
        ] {
            assert_eq!(word.holders(), holders);
            let idle = word.all_left(Nsec(1007));
            assert_eq!((idle.rank(), idle.holders()), (IDLE, 0));
            assert_eq!(idle.total(Nsec(2000)), 6);
        }
    }

    #[test]
    fn who_comes_and_goes_changes_the_rank_and_not_the_total() {
        let sole = IDLE_WORD.begun(Nsec(1000));
        let three = sole.joined();
        let four = three.joined();
        assert_eq!((three.rank(), four.rank()), (3, 4));
        assert_eq!(four.left().left().rank(), SHARED);
        assert_eq!(four.left().left().made_sole().rank(), SOLE);
        for word in [three, four, four.left(), four.left().left().made_sole()] {
            assert!(word.same_span(sole));
            assert_eq!(word.total(Nsec(1007)), 6);
            assert!(word != sole);
        }
    }

    #[test]
    fn every_arrival_makes_another_word() {
        let sole = IDLE_WORD.begun(Nsec(1000));
        let mut word = sole;
        for _ in 1..256 {
            word = word.joined().left().made_sole();
            assert!(word != sole);
        }
        // As does one in a new period, even at the very time at which the last one ended.
        assert!(sole.ended(Nsec(1000)).begun(Nsec(1000)) != sole);
    }
}
