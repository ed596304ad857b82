// SPDX-License-Identifier: GPL-2.0

//! The busy clock: for how long has a device had at least one I/O in flight?
//!
//! # The claim
//!
//! Every start and every end returns a time. **However the calls interleave, once all have returned
//! the busy total (`io_ticks`) is the length of the union of the intervals from the time that a
//! start returned to the time that the matching end returned, to the nanosecond.** The only
//! condition is that nobody ends an I/O before its start has returned.
//!
//! # Why it holds
//!
//! The root ([`root`](super::root)) turns busy and idle in one `cmpxchg` each, which also charges
//! the time, so the total is the length of the root's busy periods. What is left is that these
//! periods are the union.
//!
//! 1. *A period begins and ends at a returned time.* The start whose arrival turned the root busy
//!    returns the time of that turn. So does the end that turned it idle.
//! 2. *Every interval lies in one period*, since the root is held throughout. A start that finds
//!    its leaf unused holds the root from its time on. One that joins a leaf read the clock while
//!    the leaf was in use and held the root. An end reads the clock before it lets go.
//! 3. *Every moment of a period lies in an interval.* A start has its time before it is counted, so
//!    if a moment lies in no interval, all that hold the root then are ends which have read the
//!    clock and not let go yet. None of them closes the period with that reading, or it would end
//!    before the moment. Those on a leaf in use let go one by one, and the last one there finds
//!    another count than it saw, or another version if somebody joined. Either way it fails and
//!    reads the clock again. If there are only such as let go of the root, the period goes on only
//!    because somebody arrives while one of them still holds it; the version that the arrival
//!    raised makes that one fail and read the clock again. Its interval covers the moment.
//! 4. *The gaps between periods are real*: a turn's time is read between seeing the state that it
//!    turns and turning it.
//!
//! Point 3 is as good as the root's version, which can wrap; `root` says what happens then. The
//! others do not rely on it. The leaf's version outlasts any delay.
//!
//! The leaf ([`leaf`](super::leaf)) is what makes it scale: with more than one I/O in flight per
//! hardware queue, the root and its line stay untouched. Where there is a single queue, a leaf
//! would only be one more line that all CPUs write, so its I/Os hold the root themselves. For the
//! claim that is the simple case: each is a holder of its own, from its start to its end.
//!
//! # Two levels, one clock
//!
//! An I/O on a partition counts for the partition and for the whole disk. Each has its own clock,
//! so start and end come in two parts: one that prepares, on all levels, then a single reading of
//! the time, then one that commits.
//!
//! ```
//! # use acct::{busy::Busy, leaf::Leaf, nsec::{Clock, Nsec}};
//! # let (disk, part) = (Busy::default(), Busy::default());
//! # let (disk_leaf, part_leaf) = (Leaf::default(), Leaf::default());
//! # let clock = || Nsec(1);
//! let on_disk = disk.start(&disk_leaf);
//! let on_part = part.start(&part_leaf);
//! let t = clock.now();
//! let time = on_disk.commit(t, &clock);
//! on_part.commit(t, &clock);
//! # assert_eq!(time, t);
//! ```
//!
//! A commit that loses a race reads the clock again, so the levels may differ by some nanoseconds;
//! the claim holds for each with the time that it returned.

#[cfg(any(test, CONFIG_KUNIT))]
mod tests;

use super::extended::Extended;
use super::leaf::{
    Leaf,
    Seen, //
};
use super::nsec::{
    Clock,
    Nsec, //
};
use super::root::{
    Arriving,
    Departing,
    Root, //
};
use super::word::TOTAL_BITS;

/// The busy clock of one block device, without its leaves.
///
/// All leaves passed to one `Busy` belong to it alone, and an I/O ends on the leaf it started on.
#[derive(Debug, Default)]
pub struct Busy {
    root: Root,
    total: Extended<TOTAL_BITS>,
}

impl Busy {
    /// Begins the start of an I/O on a leaf. Read the clock next, then commit.
    #[inline(always)]
    pub fn start<'a>(&'a self, leaf: &'a Leaf) -> Arrival<'a> {
        let root = &self.root;
        let step = Enter::prepare(root, leaf);
        Arrival { root, step }
    }

    /// Begins the start of an I/O that holds the root itself. Read the clock next, then commit.
    #[inline(always)]
    pub fn start_direct(&self) -> Arrival<'_> {
        let root = &self.root;
        let step = Enter::Direct(root.arriving());
        Arrival { root, step }
    }

    /// Begins the end of an I/O on a leaf. Read the clock next, then commit.
    #[inline(always)]
    pub fn end<'a>(&'a self, leaf: &'a Leaf) -> Departure<'a> {
        let root = &self.root;
        let step = Leave::prepare(root, leaf);
        Departure { root, step }
    }

    /// Begins the end of an I/O that holds the root itself. Read the clock next, then commit.
    #[inline(always)]
    pub fn end_direct(&self) -> Departure<'_> {
        let root = &self.root;
        let step = Leave::Root(root.departing());
        Departure { root, step }
    }

    /// Ends all I/O on a leaf that will never end itself, at the present; returns how many. Nothing
    /// starts or ends on the device meanwhile. Its length does not depend on how many.
    pub fn abandon(&self, leaf: &Leaf, clock: &impl Clock) -> u64 {
        let lost = leaf.drop_all();
        if lost > 0 {
            let seen = self.root.departing();
            let _ = self.root.depart(seen, clock.now(), clock);
        }
        lost
    }

    /// As [`Self::abandon`], for what holds the root itself. To be called after it.
    pub fn abandon_direct(&self, clock: &impl Clock) -> u64 {
        self.root.abandon(clock)
    }

    /// Returns the time and `io_ticks` at that time, in ns; never less than was returned before.
    ///
    /// Writes nothing that I/O touches. See [`Root::read`] for how far ahead it can be.
    pub fn read(&self, clock: &impl Clock) -> (Nsec, u64) {
        let (now, low) = self.root.read(clock);
        (now, self.total.extend_at(low, now))
    }

    /// Returns whether any I/O is in flight.
    pub fn is_busy(&self) -> bool {
        self.root.is_busy()
    }
}

/// What a start has to do once it knows the time.
#[derive(Debug)]
enum Enter<'a> {
    /// Join a leaf in use.
    Join(&'a Leaf, Seen),
    /// Take hold of the root for a leaf that is not.
    First(&'a Leaf, Seen, Arriving),
    /// Take hold of the root.
    Direct(Arriving),
}

impl<'a> Enter<'a> {
    #[inline(always)]
    fn prepare(root: &Root, leaf: &'a Leaf) -> Self {
        let seen = leaf.peek();
        match seen.count() {
            0 => Self::First(leaf, seen, root.arriving()),
            _ => Self::Join(leaf, seen),
        }
    }
}

/// A start that waits for the time. It has changed nothing yet.
#[derive(Debug)]
#[must_use = "a start takes effect in `Arrival::commit`"]
pub struct Arrival<'a> {
    root: &'a Root,
    step: Enter<'a>,
}

impl Arrival<'_> {
    /// Ends the start at `t`, the clock's time after it began; returns the time to book it under.
    #[inline(always)]
    pub fn commit(self, t: Nsec, clock: &impl Clock) -> Nsec {
        let root = self.root;
        match self.step {
            Enter::Direct(arriving) => root.arrive(arriving, t, clock),
            Enter::Join(leaf, seen) if leaf.add_one(seen) => t,
            Enter::Join(leaf, _) => late_start(root, leaf, clock),
            Enter::First(leaf, seen, arriving) => {
                let time = root.arrive(arriving, t, clock);
                if !leaf.add_one(seen) {
                    add_held(root, leaf, clock);
                }
                time
            }
        }
    }
}

/// Starts after another event changed the leaf.
#[cold]
fn late_start(root: &Root, leaf: &Leaf, clock: &impl Clock) -> Nsec {
    loop {
        let step = Enter::prepare(root, leaf);
        let t = clock.now();
        match step {
            Enter::Join(leaf, seen) if leaf.add_one(seen) => return t,
            Enter::Join(..) => {}
            Enter::First(_, _, arriving) | Enter::Direct(arriving) => {
                let time = root.arrive(arriving, t, clock);
                add_held(root, leaf, clock);
                return time;
            }
        }
    }
}

/// Counts a start on a leaf that has changed since it took hold of the root for it. It holds the
/// root from its time on, so it does not matter when the leaf counts it.
#[cold]
fn add_held(root: &Root, leaf: &Leaf, clock: &impl Clock) {
    loop {
        let seen = leaf.peek();
        if leaf.add_one(seen) {
            if seen.count() > 0 {
                // The leaf has a hold already and keeps it, so giving ours back ends no period.
                root.depart(root.departing(), clock.now(), clock);
            }
            return;
        }
    }
}

/// What an end has to do once it knows the time.
#[derive(Debug)]
enum Leave<'a> {
    /// Let go of the root: it is this I/O's hold, or that of a leaf which is empty now.
    Root(Departing),
    /// Leave a leaf with others on it.
    Leaf(&'a Leaf, Seen),
    /// Nothing: there is nothing in flight.
    Nothing,
}

impl<'a> Leave<'a> {
    #[inline(always)]
    fn prepare(root: &Root, leaf: &'a Leaf) -> Self {
        loop {
            let seen = leaf.peek();
            match seen.count() {
                0 => return Self::Nothing,
                1 if leaf.drop_one(seen) => return Self::Root(root.departing()),
                1 => {}
                _ => return Self::Leaf(leaf, seen),
            }
        }
    }
}

/// An end that waits for the time.
#[derive(Debug)]
#[must_use = "an end that is not committed keeps the device busy for ever"]
pub struct Departure<'a> {
    root: &'a Root,
    step: Leave<'a>,
}

impl Departure<'_> {
    /// Ends the end at `t`, the clock's time after it began; returns the time to book it under.
    ///
    /// Returns `None` for an orphan: nothing was in flight there, and nothing has changed.
    #[inline(always)]
    pub fn commit(self, t: Nsec, clock: &impl Clock) -> Option<Nsec> {
        let root = self.root;
        match self.step {
            Leave::Nothing => None,
            Leave::Root(seen) => root.depart(seen, t, clock),
            Leave::Leaf(leaf, seen) if leaf.drop_one(seen) => Some(t),
            Leave::Leaf(leaf, _) => late_end(root, leaf, clock),
        }
    }
}

/// Ends after another event changed the leaf.
#[cold]
fn late_end(root: &Root, leaf: &Leaf, clock: &impl Clock) -> Option<Nsec> {
    loop {
        let step = Leave::prepare(root, leaf);
        let t = clock.now();
        match step {
            Leave::Nothing => return None,
            Leave::Root(seen) => return root.depart(seen, t, clock),
            Leave::Leaf(leaf, seen) if leaf.drop_one(seen) => return Some(t),
            Leave::Leaf(..) => {}
        }
    }
}
