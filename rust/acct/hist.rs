// SPDX-License-Identifier: GPL-2.0

//! Latency histograms: log-linear buckets, one add per I/O.
//!
//! An octave of nanoseconds is cut into [`STEPS`] buckets of equal width, so the middle of a bucket
//! is within 12.5 % of every time in it. What is shorter than 896 ns is in the first bucket with
//! that, and what takes 2^38 ns (275 s) or longer is in the last. The idea is that of the
//! histograms in HdrHistogram and fio; the range and the step are ours.
//!
//! A histogram has no sequence: every bucket only grows, and a reader sees each at its own moment.

use core::fmt;
use core::str::FromStr;

use super::nsec::Nsec;
use super::slot::{
    Cell,
    Slot,
    Slots, //
};
use super::wire::{
    self,
    Error, //
};

/// Buckets of an octave.
pub const STEPS: u64 = 1 << STEP_BITS;
/// Buckets of a histogram, a cell each. Zeroed cells are an empty one.
pub const BUCKETS: usize = (raw_place(LONGEST) - raw_place(SHORTEST)) as usize + 1;

const STEP_BITS: u32 = 2;
/// The last step below 2^10 ns; its bucket takes all that is shorter, too.
const SHORTEST: u64 = (1 << 10) - (1 << (9 - STEP_BITS));
const LONGEST: u64 = 1 << 38;

/// Returns the place of the bucket that times of `ns` are counted in.
///
/// The step's number in its octave has a leading one, which raises the octave's by [`STEPS`].
#[inline(always)]
pub const fn place(ns: u64) -> usize {
    let ns = if ns < SHORTEST { SHORTEST } else { ns };
    let place = raw_place(ns).wrapping_sub(raw_place(SHORTEST)) as usize;
    // Here, and not before, it also tells the compiler that there is such a bucket.
    if place < BUCKETS {
        place
    } else {
        BUCKETS - 1
    }
}

#[inline(always)]
const fn raw_place(ns: u64) -> u64 {
    let octave = ns.ilog2();
    // Shifted up first: that is one shift by `octave` itself.
    ((octave as u64) << STEP_BITS) + ((ns << STEP_BITS) >> octave)
}

/// Returns the shortest time, in ns, that is counted in a bucket, and the first that is not.
///
/// The first bucket begins at zero and the last never ends.
pub const fn bounds(place: usize) -> (u64, u64) {
    let first = if place == 0 { 0 } else { edge(place) };
    let end = if place + 1 >= BUCKETS {
        u64::MAX
    } else {
        edge(place + 1)
    };
    (first, end)
}

/// Returns where a bucket begins by the rule of the steps.
const fn edge(place: usize) -> u64 {
    let raw = place as u64 + raw_place(SHORTEST) - STEPS;
    ((raw % STEPS) + STEPS) << ((raw >> STEP_BITS) - STEP_BITS as u64)
}

/// Counts an I/O that took `ns`.
#[inline(always)]
pub fn count(slot: &impl Slot, ns: u64) {
    slot.count_nth::<0>(place(ns));
}

/// Counts an I/O that took from `start` to `end`, or no time if that is earlier.
#[inline(always)]
pub fn count_span(slot: &impl Slot, start: Nsec, end: Nsec) {
    count(slot, end.since(start));
}

/// The counts of a histogram, by place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts(pub [u64; BUCKETS]);

impl Default for Counts {
    fn default() -> Self {
        Self([0; BUCKETS])
    }
}

impl Counts {
    /// Adds up a histogram over all CPUs.
    pub fn read(slots: &impl Slots) -> Self {
        let mut counts = Self::default();
        for cpu in slots.cpus() {
            for (place, sum) in counts.0.iter_mut().enumerate() {
                *sum = sum.wrapping_add(slots.load(cpu, Cell(place)));
            }
            slots.relax();
        }
        counts
    }
}

/// A file `latency_<group>`: a line for each histogram the device has, a name and the counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// From the start to the completion: `total`.
    pub total: Counts,
    /// From the last issue to the completion: `device`.
    pub device: Option<Counts>,
}

/// The name of the line of [`Latency::total`].
pub const TOTAL: &str = "total";
/// The name of the line of [`Latency::device`].
pub const DEVICE: &str = "device";

/// A line of the file: its name, and the counts.
pub struct Line<'a>(pub &'static str, pub &'a Counts);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(name, Counts(counts)) = self;
        f.write_str(name)?;
        counts.iter().try_for_each(|count| write!(f, " {count}"))?;
        f.write_str("\n")
    }
}

impl FromStr for Latency {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let line = |name: &'static str| {
            let mut words = text
                .lines()
                .map(str::split_ascii_whitespace)
                .find(|words| words.clone().next() == Some(name))?;
            words.next();
            let mut counts = Counts::default();
            for count in &mut counts.0 {
                match wire::named(&mut words, name) {
                    Ok(number) => *count = number,
                    Err(error) => return Some(Err(error)),
                }
            }
            Some(Ok(counts))
        };
        Ok(Self {
            total: line(TOTAL).unwrap_or_else(|| Err(wire::missing(TOTAL)))?,
            device: line(DEVICE).transpose()?,
        })
    }
}

#[cfg(any(test, CONFIG_KUNIT))]
#[cfg_attr(CONFIG_KUNIT, kernel::macros::kunit_tests(blkacct_hist))]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_within_the_bounds_of_its_bucket() {
        let mut ns = 0;
        while ns < 1 << 45 {
            let (first, end) = bounds(place(ns));
            assert!(first <= ns && ns < end);
            ns = ns + ns / 50 + 1;
        }
    }

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        assert_eq!(bounds(0).0, 0);
        for at in 1..BUCKETS {
            assert_eq!(bounds(at - 1).1, bounds(at).0);
            assert_eq!(place(bounds(at).0), at);
            assert_eq!(place(bounds(at).0 - 1), at - 1);
        }
        assert_eq!(bounds(BUCKETS - 1), (1 << 38, u64::MAX));
        assert_eq!(bounds(0).1, 1 << 10);
    }

    #[test]
    fn the_middle_is_within_an_eighth_of_every_time() {
        for at in 1..BUCKETS - 1 {
            let (first, end) = bounds(at);
            let middle = first + (end - first) / 2;
            assert!((middle - first) * 8 <= first);
            assert!((end - middle) * 8 <= end);
        }
    }

    #[test]
    fn a_latency_counts_once_in_its_bucket() {
        type Value = core::cell::Cell<u64>;
        /// Remembers the last cell that was added to.
        struct Last(Value);
        impl Slot for Last {
            fn add_nth<const FIRST: usize>(&self, nth: usize, n: u64) {
                assert_eq!(n, 1);
                self.0.set((FIRST + nth) as u64);
            }
        }
        let last = Last(Value::new(0));
        count(&last, u64::MAX);
        assert_eq!(last.0.get(), BUCKETS as u64 - 1);
        count_span(&last, Nsec(5), Nsec(3));
        assert_eq!(last.0.get(), 0);
        count_span(&last, Nsec(5), Nsec(5005));
        assert_eq!(last.0.get(), place(5000) as u64);
    }

    #[test]
    fn a_line_that_ends_early_or_is_not_there_is_named() {
        let named = |text: &str, name| {
            text.parse::<Latency>()
                .is_err_and(|error| error.field == wire::Field::Named(name))
        };
        assert!(named("device 1 2\n", "total"));
        assert!(named("total 1 2\n", "total"));
    }
}
