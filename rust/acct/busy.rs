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
//!    returns the time of that turn, also if it was helping. So does the end that turned it idle.
//! 2. *Every interval lies in one period*, since the root is held throughout:
//!    - A start that arrives at the root holds it from its time on, until the leaf does.
//!    - A start that joins a leaf in use reads the clock after that, and the leaf holds the root.
//!    - An end lets go, of the leaf or of the root, after it has read the clock.
//! 3. *Every moment of a period lies in an interval.* Suppose that at one moment all who hold
//!    the root, or a leaf that holds it, are ends which have read the clock. None of them closes the period
//!    with that reading, or it would end there. So somebody starts later while one of them still
//!    holds on. The start changes the word that this end is about to replace, for good: the version of root and
//!    leaf sees to that. The end fails, reads the clock again, and its interval covers the moment.
//! 4. *The gaps between periods are real*: a turn's time is read between seeing the state that it
//!    turns and turning it.
//!
//! Point 3 is as good as the versions, which can wrap; `root` says what happens then. The others are
//! unconditional.
//!
//! The leaf ([`leaf`](super::leaf)) is what makes it scale: with more than one I/O in flight per
//! hardware queue, the root and its line stay untouched.
//!
//! # Two levels, one clock
//!
//! An I/O on a partition counts for the partition and for the whole disk. Each has its own clock, so start and end
//! come in two parts: one that prepares, on all levels, then a single reading of the time, then one
//! that commits.
//!
//! ```
//! # use acct::{busy::Busy, leaf::Leaf, nsec::{Clock, Nsec}};
//! # let (disk, part) = (Busy::default(), Busy::default());
//! # let (disk_leaf, part_leaf) = (Leaf::default(), Leaf::default());
//! # let clock = || Nsec(1);
//! let on_disk = disk.start(&disk_leaf);
//! let on_part = part.start(&part_leaf);
//! let t = clock.now();
//! let stamp = on_disk.commit(t, &clock);
//! on_part.commit(t, &clock);
//! # assert_eq!(stamp.time, t);
//! ```
//!
//! A commit that loses a race reads the clock again, so the levels may differ by some nanoseconds;
//! the claim holds for each with the time that it returned.

use super::extended::Extended;
use super::leaf::{
    Entry,
    Exit,
    Half,
    Leaf, //
};
use super::nsec::{
    Clock,
    Nsec, //
};
use super::root::{
    Arriving,
    Departing,
    Root,
    Stamp,
    TOTAL_BITS, //
};

/// The busy clock of one block device, without its leaves.
///
/// All leaves passed to one `Busy` belong to it alone, and an I/O ends on the leaf it started on.
#[derive(Debug, Default)]
pub struct Busy {
    root: Root,
    total: Extended<TOTAL_BITS>,
}

impl Busy {
    /// Begins the start of an I/O. Read the clock next, then commit.
    pub fn start<'a>(&'a self, leaf: &'a Leaf) -> Arrival<'a> {
        let step = match leaf.enter() {
            Entry::Joined => None,
            Entry::Half(half) => Some((half, self.root.arriving())),
        };
        Arrival {
            root: &self.root,
            leaf,
            step,
        }
    }

    /// Begins the end of an I/O. Read the clock next, then commit.
    pub fn end<'a>(&'a self, leaf: &'a Leaf) -> Departure<'a> {
        let root = &self.root;
        let step = Leave::of(root, leaf);
        Departure { root, leaf, step }
    }

    /// Returns the time and `io_ticks` at that time, in ns; never less than was returned before.
    ///
    /// Writes nothing that I/O touches. See [`Root::read`] for how far ahead it can be.
    pub fn read(&self, clock: &impl Clock) -> (Nsec, u64) {
        let (now, low) = self.root.read(clock);
        (now, self.total.extend(low))
    }

    /// Returns whether any I/O is in flight.
    pub fn is_busy(&self) -> bool {
        self.root.is_busy()
    }
}

/// A start that waits for the time.
///
/// Until it is committed, other starts on the leaf do its work for it, and no other call waits.
#[derive(Debug)]
#[must_use = "a start that is not committed is in flight for ever"]
pub struct Arrival<'a> {
    root: &'a Root,
    leaf: &'a Leaf,
    /// What is left to do unless the leaf was in use.
    step: Option<(Half, Arriving)>,
}

impl Arrival<'_> {
    /// Ends the start at `t`, the clock's time after it began; returns the time to book it under.
    pub fn commit(self, t: Nsec, clock: &impl Clock) -> Stamp {
        let Self { root, leaf, step } = self;
        let Some((mut half, seen)) = step else {
            return Stamp::exact(t);
        };
        let stamp = root.arrive(seen, t, clock);
        while !leaf.settle(&half) {
            if !half.own {
                // The half we saw is history, and we are not counted yet.
                if let Entry::Half(next) = leaf.enter() {
                    half = next;
                    continue;
                }
            }
            // We are counted, and another's hold of the root stands for the leaf. Ours is surplus;
            // it is not the last, so giving it back ends no period.
            root.depart(root.departing(), clock.now(), clock);
            break;
        }
        stamp
    }
}

/// What an end has to do once it knows the time.
#[derive(Debug)]
enum Leave {
    Root(Departing),
    Leaf(super::leaf::Shared),
    Nothing,
}

impl Leave {
    fn of(root: &Root, leaf: &Leaf) -> Self {
        match leaf.leave() {
            Exit::Last => Self::Root(root.departing()),
            Exit::More(shared) => Self::Leaf(shared),
            Exit::Orphan => Self::Nothing,
        }
    }
}

/// An end that waits for the time.
#[derive(Debug)]
#[must_use = "an end that is not committed leaves its I/O in flight for ever"]
pub struct Departure<'a> {
    root: &'a Root,
    leaf: &'a Leaf,
    step: Leave,
}

impl Departure<'_> {
    /// Ends the end at `t`, the clock's time after it began; returns the time to book it under.
    ///
    /// Returns `None` for an orphan: nothing was in flight on the leaf, and nothing has changed.
    pub fn commit(mut self, mut t: Nsec, clock: &impl Clock) -> Option<Stamp> {
        loop {
            match self.step {
                Leave::Nothing => return None,
                Leave::Root(seen) => return self.root.depart(seen, t, clock),
                Leave::Leaf(shared) if self.leaf.drop_one(&shared) => return Some(Stamp::exact(t)),
                Leave::Leaf(_) => self.step = Leave::of(self.root, self.leaf),
            }
            t = clock.now();
        }
    }
}

#[cfg(any(test, CONFIG_KUNIT))]
#[cfg_attr(CONFIG_KUNIT, kernel::macros::kunit_tests(blkacct_busy))]
mod tests {
    use super::*;

    fn at(t: u64) -> impl Clock {
        move || Nsec(t)
    }

    fn start(busy: &Busy, leaf: &Leaf, t: u64) -> Stamp {
        busy.start(leaf).commit(Nsec(t), &at(t))
    }

    fn end(busy: &Busy, leaf: &Leaf, t: u64) -> Option<Stamp> {
        busy.end(leaf).commit(Nsec(t), &at(t))
    }

    fn exact(t: u64) -> Stamp {
        Stamp::exact(Nsec(t))
    }

    #[test]
    fn leaves_overlap_into_one_period() {
        let (busy, a, b) = (Busy::default(), Leaf::default(), Leaf::default());
        start(&busy, &a, 10);
        start(&busy, &a, 20);
        start(&busy, &b, 30);
        end(&busy, &a, 40);
        end(&busy, &a, 50);
        end(&busy, &b, 70);
        assert_eq!(busy.read(&at(1000)), (Nsec(1000), 60));
        assert!(!busy.is_busy());
    }

    #[test]
    fn a_helper_opens_the_period_and_keeps_its_time() {
        let (busy, leaf) = (Busy::default(), Leaf::default());
        let first = busy.start(&leaf);
        // The first is held up at 1/2; the second arrives for both, at 20.
        assert_eq!(start(&busy, &leaf, 20), exact(20));
        assert_eq!(leaf.in_flight(), 2);
        // The first had read 10, but the root has changed since.
        assert_eq!(first.commit(Nsec(10), &at(30)), exact(30));
        end(&busy, &leaf, 40);
        assert_eq!(end(&busy, &leaf, 50), Some(exact(50)));
        assert_eq!(busy.read(&at(60)).1, 30);
        assert!(!busy.is_busy());
    }

    #[test]
    fn a_late_helper_does_not_touch_a_newer_half() {
        let (busy, leaf) = (Busy::default(), Leaf::default());
        let first = busy.start(&leaf);
        let helper = busy.start(&leaf);
        first.commit(Nsec(10), &at(10));
        end(&busy, &leaf, 20);
        let newer = busy.start(&leaf);
        // The leaf is at 1/2 again, but not the half that the helper saw.
        assert_eq!(helper.commit(Nsec(9), &at(40)), exact(40));
        newer.commit(Nsec(30), &at(50));
        end(&busy, &leaf, 60);
        end(&busy, &leaf, 70);
        assert_eq!(busy.read(&at(90)).1, 40);
        assert!(!busy.is_busy());
    }

    #[test]
    fn an_end_that_turns_out_to_be_the_last_closes_the_period() {
        let (busy, leaf) = (Busy::default(), Leaf::default());
        start(&busy, &leaf, 0);
        start(&busy, &leaf, 0);
        let one = busy.end(&leaf);
        let other = busy.end(&leaf);
        assert_eq!(one.commit(Nsec(10), &at(10)), Some(exact(10)));
        assert_eq!(other.commit(Nsec(9), &at(15)), Some(exact(15)));
        assert_eq!(busy.read(&at(20)).1, 15);
    }

    #[test]
    fn an_orphan_changes_nothing() {
        let (busy, leaf) = (Busy::default(), Leaf::default());
        assert_eq!(end(&busy, &leaf, 5), None);
        let held_up = busy.start(&leaf);
        assert_eq!(end(&busy, &leaf, 6), None);
        held_up.commit(Nsec(7), &at(7));
        assert_eq!(leaf.in_flight(), 1);
        assert_eq!(busy.read(&at(9)).1, 2);
    }
}
