// SPDX-License-Identifier: GPL-2.0

//! A leaf of the busy clock: the requests in flight on one hardware queue.
//!
//! The leaf is that of SNZI (Ellen, Lev, Luchangco and Moir, "SNZI: scalable nonzero indicators",
//! PODC 2007): a counter that stands for one hold of the root while it is above zero. To leave
//! zero takes two steps on two words, and the count 1/2 lies between: the leaf has been left, the root
//! may not be held yet. Nobody may count on the leaf before it is, so whoever finds 1/2 helps.
//!
//! This one differs from the paper in that a helper joins in the step that ends the half: 1/2 goes to 2,
//! for the one who left zero and the helper. A helper that resolved the half to 1 and joined
//! afterwards could find the leaf, and the root, idle again in between, and a busy period would have begun at
//! a time that no request can call its start.
//!
//! The word is `version:32 | count:31 | half:1`. Every start raises the version. So a late helper
//! cannot end another half than the one it saw, and an end whose `cmpxchg` succeeds knows that
//! nobody has joined since it read the clock (see [`root`](super::root)). Either would be fooled
//! by exactly 2^32 starts between two of its own instructions, minutes of delay.

use super::sync::{
    Acquire,
    Atomic,
    Full, //
};

const HALF: u64 = 1;
const ONE: u64 = 2;
const VERSION: u64 = 1 << 32;
const COUNT: u64 = VERSION - 1;

/// A leaf left at 1/2, as seen by one start.
#[derive(Debug)]
#[must_use = "a half is ended by `Leaf::settle`"]
pub(super) struct Half {
    word: u64,
    /// This start left zero, so the half counts it already.
    pub(super) own: bool,
}

/// What a start did to a leaf.
#[derive(Debug)]
pub(super) enum Entry {
    /// It is counted, and the leaf holds the root.
    Joined,
    /// The root must be held before anyone is counted.
    Half(Half),
}

/// What an end did to a leaf.
#[derive(Debug)]
pub(super) enum Exit {
    /// It emptied the leaf and now owns its hold of the root.
    Last,
    /// It has done nothing yet: others are in flight.
    More(Shared),
    /// Nothing is in flight.
    Orphan,
}

/// A leaf with more than one request in flight, as seen by one end.
#[derive(Debug)]
pub(super) struct Shared(u64);

/// The in-flight counter of one hardware queue.
#[derive(Debug)]
#[repr(align(64))]
pub struct Leaf(Atomic<u64>);

impl Default for Leaf {
    fn default() -> Self {
        Self(Atomic::new(0))
    }
}

impl Leaf {
    /// Returns the number of requests in flight, without a start that is still at 1/2.
    pub fn in_flight(&self) -> u64 {
        (self.peek() & COUNT) / ONE
    }

    /// Counts one start, or shows the half that has to be ended first.
    pub(super) fn enter(&self) -> Entry {
        loop {
            let word = self.peek();
            match word & COUNT {
                HALF => return Entry::Half(Half { word, own: false }),
                0 => {
                    let half = word.wrapping_add(VERSION) | HALF;
                    if self.swap(word, half) {
                        return Entry::Half(Half {
                            word: half,
                            own: true,
                        });
                    }
                }
                _ => {
                    if self.swap(word, word.wrapping_add(VERSION | ONE)) {
                        return Entry::Joined;
                    }
                }
            }
        }
    }

    /// Ends `half` with the caller's hold of the root, and counts the caller.
    ///
    /// Returns `false` if somebody else's hold has ended it. Then the caller's is surplus, and it
    /// is counted only if the half was its own.
    pub(super) fn settle(&self, half: &Half) -> bool {
        let count = if half.own { ONE } else { 2 * ONE };
        self.swap(half.word, (half.word & !COUNT) | count)
    }

    /// Empties the leaf if one request is in flight; looks at it otherwise.
    pub(super) fn leave(&self) -> Exit {
        loop {
            let word = self.peek();
            match word & COUNT {
                0 | HALF => return Exit::Orphan,
                ONE => {
                    if self.swap(word, word.wrapping_sub(ONE)) {
                        return Exit::Last;
                    }
                }
                _ => return Exit::More(Shared(word)),
            }
        }
    }

    /// Takes one request off a leaf that has not changed since [`Leaf::leave`] looked at it.
    pub(super) fn drop_one(&self, seen: &Shared) -> bool {
        self.swap(seen.0, seen.0.wrapping_sub(ONE))
    }

    fn peek(&self) -> u64 {
        // ORDERING: Acquire. What the caller reads next, root or clock, is not older than the leaf.
        self.0.load(Acquire)
    }

    fn swap(&self, old: u64, new: u64) -> bool {
        // ORDERING: Full. Acquire: who joins a leaf reads the clock after the root was taken for it. Release: who
        // empties it lets go of the root after every time taken under it.
        self.0.cmpxchg(old, new, Full).is_ok()
    }
}

#[cfg(any(test, CONFIG_KUNIT))]
#[cfg_attr(CONFIG_KUNIT, kernel::macros::kunit_tests(blkacct_leaf))]
mod tests {
    use super::*;

    fn half(leaf: &Leaf) -> Half {
        match leaf.enter() {
            Entry::Half(half) => half,
            Entry::Joined => Half {
                word: 0,
                own: false,
            },
        }
    }

    #[test]
    fn the_first_to_settle_counts_for_both() {
        let leaf = Leaf::default();
        let (first, helper) = (half(&leaf), half(&leaf));
        assert!(first.own && !helper.own);
        assert!(leaf.settle(&helper));
        assert!(!leaf.settle(&first));
        assert_eq!(leaf.in_flight(), 2);
    }

    #[test]
    fn a_half_is_not_in_flight() {
        let leaf = Leaf::default();
        let first = half(&leaf);
        assert_eq!(leaf.in_flight(), 0);
        assert!(matches!(leaf.leave(), Exit::Orphan));
        assert!(leaf.settle(&first));
        assert!(matches!(leaf.leave(), Exit::Last));
        assert_eq!(leaf.in_flight(), 0);
    }

    #[test]
    fn a_new_half_has_a_new_version() {
        let leaf = Leaf::default();
        let old = half(&leaf);
        assert!(leaf.settle(&old));
        assert!(matches!(leaf.leave(), Exit::Last));
        let new = half(&leaf);
        assert!(!leaf.settle(&old));
        assert!(leaf.settle(&new));
    }

    #[test]
    fn the_version_wraps_without_a_trace() {
        let leaf = Leaf(Atomic::new(!COUNT));
        let first = half(&leaf);
        assert!(leaf.settle(&first));
        assert_eq!(leaf.in_flight(), 1);
    }
}
