// SPDX-License-Identifier: GPL-2.0

//! The root of the busy clock: it turns busy with the first holder and idle with the last.
//!
//! # One word
//!
//! The word (`word.rs` has its fields) counts the holders and holds the whole total. One `cmpxchg`
//! therefore ends a busy period *and* charges it: there is no state in between that could lose a
//! span or charge it twice, and a reader has the exact total from one load.
//!
//! # When the clock is read
//!
//! Always between the load of the word and its `cmpxchg`, and again after a failure. A start that
//! turns the root busy thus found it idle both before and after it read the time.
//!
//! This alone does not do for an end, because a word can come back: the last holder loads it and
//! reads 10; another arrives at 11 and departs at 20; if the word were as it was, the `cmpxchg`
//! would succeed, and the period would close at 10. So only rank 1, *sole*, can close a period. A
//! departer that finds rank 2, *shared*, first sets rank 1, and only then reads the clock. It alone
//! can set it, as nobody else holds the root, and any arrival takes it away for good (1 becomes 3,
//! 3 becomes 2). So if its `cmpxchg` from rank 1 succeeds, nothing has happened since it read the
//! clock, however long ago. A period with a single holder, the common case, still closes with one
//! `cmpxchg`.
//!
//! An end that closes nothing has a weaker need. It holds the root up to its `cmpxchg`, which is
//! later than its time, and somebody else's I/O must cover the difference. Those who held the root
//! beside it when it read the clock may all be ends too, with the I/O that covers the difference
//! arriving too late. So every arrival raises the version, and an end whose `cmpxchg` succeeds has
//! seen nobody arrive since it read the clock. With 8 bits that fails if an end is held up between
//! two instructions while exactly 256, 512, ... others arrive, and as many depart; then the delay
//! of that one end is charged although it may be in no interval. No span is ever lost that way.
//!
//! # When the clock steps back
//!
//! The time of the last turn is kept beside the word as a hint, and no event is placed before it.
//! The clock is told when an event had to be moved. The hint is stored after the turn, so it
//! may be stale; then the clamp is weaker, and the total is off by at most the backward step of
//! the clock itself, never by an idle gap.

#[cfg(any(test, CONFIG_KUNIT))]
mod tests;

use super::nsec::{
    Clock,
    Nsec, //
};
use super::sync::{
    Acquire,
    Atomic,
    Full,
    Relaxed, //
};
use super::word::{
    Word,
    IDLE,
    MAX_RANK,
    SHARED,
    SOLE, //
};

/// The word that an arrival saw before it read the clock.
#[derive(Debug)]
#[must_use = "an arrival takes effect in `Root::arrive`"]
pub struct Arriving(Word);

/// The word that a departer saw, or made, before it read the clock.
#[derive(Debug)]
#[must_use = "a departure takes effect in `Root::depart`"]
pub struct Departing(Word);

/// The busy clock of one block device, shared by those that hold it: leaves that are not idle,
/// requests of a queue without one, and for a moment starts that are under way.
#[derive(Debug)]
#[repr(align(64))]
pub struct Root {
    word: Atomic<u64>,
    last: Atomic<u64>,
}

// With room for as many starts that are under way as there are leaves.
const _: () = assert!(2 * Root::MAX_LEAVES + Root::MAX_DIRECT < MAX_RANK as usize);

impl Default for Root {
    fn default() -> Self {
        Self {
            word: Atomic::new(0),
            last: Atomic::new(0),
        }
    }
}

impl Root {
    /// The largest number of leaves. With more hardware queues than that, let some share a leaf.
    pub const MAX_LEAVES: usize = 2048;
    /// The largest number of requests without a leaf: `BLK_MQ_MAX_DEPTH`, the most that one
    /// hardware queue can have.
    pub const MAX_DIRECT: usize = 10240;

    /// Looks at the root before the clock is read for [`Root::arrive`].
    #[inline(always)]
    pub fn arriving(&self) -> Arriving {
        Arriving(self.peek())
    }

    /// Takes hold of the root at `t`, read after `seen`; returns the time it came to be.
    ///
    /// If others changed the root meanwhile, the time is read anew from `clock`.
    #[inline(always)]
    pub fn arrive(&self, seen: Arriving, t: Nsec, clock: &impl Clock) -> Nsec {
        let Arriving(word) = seen;
        // What goes as it should is straight-line; all else is out of line.
        if t >= self.last() {
            if word.rank() == IDLE {
                if self.swap(word, word.begun(t)) {
                    return self.turned(t);
                }
            } else if self.swap(word, word.joined()) {
                return t;
            }
        }
        self.arrive_late(word, t, clock)
    }

    /// Arrives where others came first, or the clock has stepped back.
    #[cold]
    fn arrive_late(&self, mut word: Word, mut t: Nsec, clock: &impl Clock) -> Nsec {
        loop {
            let time = t.max(self.last());
            let next = match word.rank() {
                IDLE => word.begun(time),
                _ => word.joined(),
            };
            if self.swap(word, next) {
                if word.rank() == IDLE {
                    self.turned(time);
                }
                if time != t {
                    clock.was_behind(time.since(t));
                }
                return time;
            }
            word = self.peek();
            t = clock.now();
        }
    }

    /// Prepares the root before the clock is read for [`Root::depart`].
    ///
    /// The caller holds the root.
    #[inline(always)]
    pub fn departing(&self) -> Departing {
        let word = self.peek();
        if word.rank() == SHARED {
            return self.make_sole(word);
        }
        Departing(word)
    }

    /// Sets rank 1 if the rank, last seen in `word`, is 2.
    #[cold]
    fn make_sole(&self, mut word: Word) -> Departing {
        while word.rank() == SHARED {
            let sole = word.made_sole();
            if self.swap(word, sole) {
                return Departing(sole);
            }
            word = self.peek();
        }
        Departing(word)
    }

    /// Lets go of the root at `t`, read after `seen`; returns the time it came to be.
    ///
    /// If others changed the root meanwhile, the time is read anew from `clock`. Returns `None` and
    /// changes nothing if nobody holds the root.
    #[inline(always)]
    pub fn depart(&self, seen: Departing, t: Nsec, clock: &impl Clock) -> Option<Nsec> {
        let Departing(word) = seen;
        // As in `arrive`.
        if t >= self.last() {
            if word.rank() == SOLE {
                if self.swap(word, word.ended(t)) {
                    return Some(self.turned(t));
                }
            } else if word.rank() != IDLE && self.swap(word, word.left()) {
                return Some(t);
            }
        }
        self.depart_late(seen, t, clock)
    }

    /// Departs where others came or went first, or nobody is, or the clock has stepped back.
    #[cold]
    fn depart_late(&self, mut seen: Departing, mut t: Nsec, clock: &impl Clock) -> Option<Nsec> {
        loop {
            let Departing(word) = seen;
            let time = t.max(self.last());
            let next = match word.rank() {
                IDLE => return None,
                SOLE => word.ended(time),
                _ => word.left(),
            };
            if self.swap(word, next) {
                if word.rank() == SOLE {
                    self.turned(time);
                }
                if time != t {
                    clock.was_behind(time.since(t));
                }
                return Some(time);
            }
            seen = self.departing();
            t = clock.now();
        }
    }

    /// Makes all let go of the root who will never do so themselves, at the present; returns how
    /// many. Nobody else comes or goes meanwhile.
    pub fn abandon(&self, clock: &impl Clock) -> u64 {
        loop {
            let Departing(word) = self.departing();
            if word.rank() == IDLE {
                return 0;
            }
            let time = clock.now().max(self.last());
            if self.swap(word, word.all_left(time)) {
                self.turned(time);
                return word.holders();
            }
        }
    }

    /// Returns the time and the busy total at that time, in ns modulo 2^42. Writes nothing.
    ///
    /// The total includes the open period. An event that has read the clock and not yet done its
    /// `cmpxchg` is not in it: for an end the total is ahead by that delay, for a start behind,
    /// until the event is through.
    pub fn read(&self, clock: &impl Clock) -> (Nsec, u64) {
        let mut word = self.peek();
        loop {
            let now = clock.now();
            let again = self.peek();
            if word.same_span(again) {
                return (now, word.total(now));
            }
            word = again;
        }
    }

    /// Returns whether anybody holds the root.
    pub fn is_busy(&self) -> bool {
        self.peek().rank() != IDLE
    }

    #[inline(always)]
    fn peek(&self) -> Word {
        // ORDERING: Acquire. The clock is read next; what the word holds was read from it earlier.
        Word(self.word.load(Acquire))
    }

    /// Returns the time of the last turn, before which no event is placed.
    #[inline(always)]
    fn last(&self) -> Nsec {
        // ORDERING: Relaxed. A hint: a stale one clamps less.
        Nsec(self.last.load(Relaxed))
    }

    /// Keeps the time of a turn for [`Root::last`], and returns it.
    #[inline(always)]
    fn turned(&self, time: Nsec) -> Nsec {
        // ORDERING: Relaxed. See `last`: nothing relies on when, or whether, this is seen.
        self.last.store(time.0, Relaxed);
        time
    }

    /// Replaces `old` by `new`, unless the word has changed.
    #[inline(always)]
    fn swap(&self, old: Word, new: Word) -> bool {
        // ORDERING: Full. Release hands the time in `new` to whoever reads the clock after seeing
        // it; acquire puts the clock that closes a period behind the departures before it.
        self.word.cmpxchg(old.0, new.0, Full).is_ok()
    }
}
