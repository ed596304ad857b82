// SPDX-License-Identifier: GPL-2.0

//! A leaf of the busy clock: the requests in flight on one hardware queue.
//!
//! The tree is that of SNZI (Ellen, Lev, Luchangco and Moir, "SNZI: scalable nonzero indicators",
//! PODC 2007): a leaf is a counter that stands for one hold of the root while it is above zero, so
//! that only its way from and to zero touches the root.
//!
//! SNZI marks a leaf on its way up with the count 1/2, and whoever finds that helps. Here a start
//! that finds zero takes hold of the root first and counts itself after that; if another start got
//! there before it, its hold is surplus and goes back. That costs the same and needs no third
//! state, and above all nobody is ever counted before it has a time: a start that were would hold
//! the root for a while that belongs to no I/O.
//!
//! The word is `version:32 | count:32`. Every start raises the version. So whoever reads the clock
//! between loading the word and replacing it knows that the leaf was in use meanwhile, and that
//! nobody joined. It takes exactly 2^32 starts between two instructions, minutes of delay, to be
//! fooled.

use super::sync::{
    Acquire,
    Atomic,
    Full, //
};

const ONE: u64 = 1;
const VERSION: u64 = 1 << 32;
const COUNT: u64 = VERSION - 1;

/// A leaf's word, as it was before the clock was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen(u64);

impl Seen {
    pub(super) const fn count(self) -> u64 {
        self.0 & COUNT
    }
}

/// An in-flight counter of one hardware queue.
#[derive(Debug)]
pub struct Leaf(Atomic<u64>);

/// All leaves of one hardware queue, on a line of their own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Leaves {
    /// Requests in flight.
    pub io: Leaf,
    /// Those of them that the driver has.
    pub device: Leaf,
}

impl Default for Leaf {
    fn default() -> Self {
        Self(Atomic::new(0))
    }
}

impl Leaf {
    /// Returns the number of requests in flight.
    pub fn in_flight(&self) -> u64 {
        self.peek().count()
    }

    #[inline(always)]
    pub(super) fn peek(&self) -> Seen {
        // ORDERING: Acquire. The root or the clock is read next, and is not older than the leaf.
        Seen(self.0.load(Acquire))
    }

    /// Adds a request unless the leaf has changed. It must hold the root if it is the first.
    #[inline(always)]
    pub(super) fn add_one(&self, seen: Seen) -> bool {
        self.swap(seen, seen.0.wrapping_add(VERSION | ONE))
    }

    /// Takes a request off unless the leaf has changed. The last one owns the leaf's hold.
    #[inline(always)]
    pub(super) fn drop_one(&self, seen: Seen) -> bool {
        self.swap(seen, seen.0.wrapping_sub(ONE))
    }

    /// Takes all requests off, and returns how many; the caller owns the leaf's hold if any.
    pub(super) fn drop_all(&self) -> u64 {
        loop {
            let seen = self.peek();
            if seen.count() == 0 || self.swap(seen, seen.0 & !COUNT) {
                return seen.count();
            }
        }
    }

    #[inline(always)]
    fn swap(&self, seen: Seen, new: u64) -> bool {
        // ORDERING: Full. Release: the hold of the root, and every time taken under it, come before
        // what others do with the leaf from here on. Acquire: so do theirs before what we do next.
        self.0.cmpxchg(seen.0, new, Full).is_ok()
    }
}

#[cfg(any(test, CONFIG_KUNIT))]
#[cfg_attr(CONFIG_KUNIT, kernel::macros::kunit_tests(blkacct_leaf))]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted() {
        let leaf = Leaf::default();
        assert!(leaf.add_one(leaf.peek()));
        assert!(leaf.add_one(leaf.peek()));
        assert!(leaf.drop_one(leaf.peek()));
        assert_eq!(leaf.in_flight(), 1);
    }

    #[test]
    fn all_requests_leave_at_once() {
        let leaf = Leaf::default();
        assert_eq!(leaf.drop_all(), 0);
        assert!(leaf.add_one(leaf.peek()));
        assert!(leaf.add_one(leaf.peek()));
        let seen = leaf.peek();
        assert_eq!(leaf.drop_all(), 2);
        assert_eq!(leaf.in_flight(), 0);
        assert!(!leaf.drop_one(seen));
    }

    #[test]
    fn a_leaf_that_others_have_joined_is_not_as_it_was() {
        let leaf = Leaf::default();
        assert!(leaf.add_one(leaf.peek()));
        let seen = leaf.peek();
        assert!(leaf.add_one(leaf.peek()));
        assert!(leaf.drop_one(leaf.peek()));
        assert_eq!(leaf.peek().count(), seen.count());
        assert!(!leaf.drop_one(seen));
        assert!(!leaf.add_one(seen));
    }

    #[test]
    fn the_version_wraps_without_a_trace() {
        let leaf = Leaf(Atomic::new(!COUNT));
        assert!(leaf.add_one(leaf.peek()));
        assert_eq!(leaf.in_flight(), 1);
    }
}
