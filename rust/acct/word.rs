// SPDX-License-Identifier: GPL-2.0

//! The word at the root of the busy clock, and what can become of it.
//!
//! `rank:12 | version:8 | x:44`. While nobody holds the root, `x` is the busy total `B`. While it
//! has been held since time `T`, `x` is `T - B`, so the total at time `t` is `t - x`. Both turns
//! are the same step, `x := t - x`, and everything else leaves `x` alone. All of it is modulo 2^44
//! ns, 4.9 hours; [`Extended`](super::extended::Extended) restores 64 bits.
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
//! The version is raised by every arrival. What rank and version are for is in
//! [`root`](super::root).

use super::nsec::Nsec;

/// Width of the busy total in the root's word.
pub(super) const TOTAL_BITS: u32 = 44;

const VERSION_BITS: u32 = 8;
const RANK_SHIFT: u32 = TOTAL_BITS + VERSION_BITS;

const TOTAL_MASK: u64 = (1 << TOTAL_BITS) - 1;
const VERSION_MASK: u64 = ((1 << VERSION_BITS) - 1) << TOTAL_BITS;
const VERSION: u64 = 1 << TOTAL_BITS;

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
        self.0 >> RANK_SHIFT
    }

    pub(super) const fn x(self) -> u64 {
        self.0 & TOTAL_MASK
    }

    /// Returns the word with another rank.
    pub(super) const fn ranked(self, rank: u64) -> Self {
        Self(rank << RANK_SHIFT | self.0 & (VERSION_MASK | TOTAL_MASK))
    }

    /// Returns the word with the next version.
    pub(super) const fn renewed(self) -> Self {
        Self(self.0 & !VERSION_MASK | self.0.wrapping_add(VERSION) & VERSION_MASK)
    }

    /// Returns an idle word's successor when the first holder arrives at `t`: turned, with rank
    /// *sole* and the next version.
    #[inline(always)]
    pub(super) const fn begun(self, t: Nsec) -> Self {
        Self(
            SOLE << RANK_SHIFT
                | self.0.wrapping_add(VERSION) & VERSION_MASK
                | t.0.wrapping_sub(self.0) & TOTAL_MASK,
        )
    }

    /// Returns the successor when the last holder departs at `t`: turned, with rank *idle*.
    #[inline(always)]
    pub(super) const fn ended(self, t: Nsec) -> Self {
        Self(self.0 & VERSION_MASK | t.0.wrapping_sub(self.0) & TOTAL_MASK)
    }

    /// Returns the busy total at `t`, modulo 2^44 ns.
    pub(super) const fn total(self, t: Nsec) -> u64 {
        match self.rank() {
            IDLE => self.x(),
            _ => t.0.wrapping_sub(self.x()) & TOTAL_MASK,
        }
    }

    /// Returns whether the total runs, or rests, from the same origin in both words.
    pub(super) const fn same_span(self, other: Self) -> bool {
        self.x() == other.x() && (self.rank() == IDLE) == (other.rank() == IDLE)
    }
}

#[cfg(any(test, CONFIG_KUNIT))]
#[cfg_attr(CONFIG_KUNIT, kernel::macros::kunit_tests(blkacct_word))]
mod tests {
    use super::*;

    impl Word {
        fn turned_for_test(self, t: Nsec) -> Self {
            Self(self.0 & !TOTAL_MASK | t.0.wrapping_sub(self.x()) & TOTAL_MASK)
        }
    }

    #[test]
    fn a_turn_and_its_return_charge_the_time_between() {
        let idle = Word(TOTAL_MASK);
        let busy = idle.begun(Nsec(1000));
        assert_eq!(busy.total(Nsec(1007)), 6);
        assert_eq!(busy.ended(Nsec(1007)).total(Nsec(2000)), 6);
    }

    #[test]
    fn the_fields_keep_out_of_each_other() {
        let word = Word(u64::MAX);
        assert_eq!(word.renewed().x(), word.x());
        assert_eq!(word.renewed().rank(), word.rank());
        assert_eq!(
            word.ended(Nsec(5)),
            word.ranked(IDLE).turned_for_test(Nsec(5))
        );
        let first = word.ranked(IDLE);
        let turned = first.ranked(SOLE).renewed().turned_for_test(Nsec(5));
        assert_eq!(first.begun(Nsec(5)), turned);
        assert_eq!(word.ranked(IDLE).x(), word.x());
        assert!(word.renewed() != word);
    }
}
