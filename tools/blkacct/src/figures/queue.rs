// SPDX-License-Identifier: GPL-2.0
//! Queue against driver: percentiles of the time before the driver has a request.
//!
//! The module counts the whole time of each I/O and its time at the driver, not which belongs to
//! which. Rule: whatever goes together, the share of I/O that waited at most q is, for each time y,
//! at least the share that took at most q + y less the share that was at the driver for less than y,
//! and at most 1 plus the same difference (bounds of Frechet and Makarov). So a percentile of the
//! waiting lies between two times, which are near where one of both hardly varies.
//!
//! Error: the bounds are rigorous to the edges of the buckets; they hold for I/O that is at the
//! driver once, so that requeues widen nothing and are not covered.

use acct::hist::{bounds, Counts, BUCKETS};
use serde::Serialize;

/// Between what a percentile of the time in the queue lies, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Between {
    /// At least.
    pub least: u64,
    /// At most; none if a time in the open bucket can be as long as it likes.
    pub most: Option<u64>,
}

/// Returns the bounds of a percentile, in hundredths of a percent, from the whole times and those at
/// the driver; none of no I/O, or if the two are not of the same I/O.
pub fn percentile(total: &Counts, driver: &Counts, hundredths: u64) -> Option<Between> {
    let (total, driver) = (Shares::of(total)?, Shares::of(driver)?);
    let wanted = hundredths as f64 / 10_000.0;
    let places = || (0..BUCKETS).flat_map(|t| (0..BUCKETS).map(move |d| (t, d)));
    // A whole time up to the end of t, and less than the beginning of d at the driver.
    let most = places()
        .filter(|&(t, d)| total.up_to(t) - driver.below(d) >= wanted - TINY)
        .filter_map(|(t, d)| {
            let (_, end) = bounds(t);
            (end != u64::MAX).then(|| end.saturating_sub(bounds(d).0))
        })
        .min();
    // A whole time below the beginning of t, and up to the end of d at the driver.
    let least = places()
        .filter(|&(t, d)| 1.0 + total.below(t) - driver.up_to(d) < wanted - TINY)
        .map(|(t, d)| bounds(t).0.saturating_sub(bounds(d).1))
        .max();
    Some(Between {
        least: least.unwrap_or(0),
        most,
    })
}

/// What sums of shares can be off by.
const TINY: f64 = 1e-9;

/// Shares of I/O up to each bucket.
struct Shares([f64; BUCKETS]);

impl Shares {
    fn of(counts: &Counts) -> Option<Self> {
        let all: u128 = counts.0.iter().map(|&n| u128::from(n)).sum();
        if all == 0 {
            return None;
        }
        let mut sum = 0u128;
        Some(Shares(std::array::from_fn(|place| {
            sum += u128::from(counts.0[place]);
            sum as f64 / all as f64
        })))
    }

    fn up_to(&self, place: usize) -> f64 {
        self.0[place]
    }

    fn below(&self, place: usize) -> f64 {
        place.checked_sub(1).map_or(0.0, |place| self.0[place])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acct::hist::place;

    fn counts(times: impl IntoIterator<Item = u64>) -> Counts {
        let mut counts = Counts::default();
        times.into_iter().for_each(|ns| counts.0[place(ns)] += 1);
        counts
    }

    #[test]
    fn a_steady_driver_leaves_the_rest_to_the_queue() {
        // 2 ms at the driver, and 0 to 99 ms before it.
        let waits = || (0..100u64).map(|n| n * 1_000_000);
        let total = counts(waits().map(|ns| ns + 2_000_000));
        let driver = counts(waits().map(|_| 2_000_000));
        for (hundredths, truth) in [
            (5000, 49_000_000u64),
            (9000, 89_000_000),
            (9900, 98_000_000),
        ] {
            let found = percentile(&total, &driver, hundredths).unwrap();
            let most = found.most.unwrap();
            assert!(found.least <= truth && truth <= most, "{found:?}");
            // No wider than a bucket of each.
            assert!(most - found.least <= truth / 4 + 2_000_000, "{found:?}");
        }
    }

    #[test]
    fn any_pairing_is_within_the_bounds() {
        // The same times at the driver, paired in three ways with the waiting.
        let driver: Vec<u64> = (0..50u64).map(|n| 100_000 + n * 90_000).collect();
        for shift in [0usize, 17, 49] {
            let waits: Vec<u64> = (0..50u64).map(|n| (n * n) * 4_000).collect();
            let pairs = waits.iter().enumerate();
            let total = pairs.map(|(n, wait)| wait + driver[(n * 7 + shift) % 50]);
            let (total, driver) = (counts(total), counts(driver.iter().copied()));
            for hundredths in [5000u64, 9000, 9800] {
                let rank = (hundredths as usize * 50).div_ceil(10_000);
                let truth = waits[rank - 1];
                let found = percentile(&total, &driver, hundredths).unwrap();
                assert!(found.least <= truth, "{truth} {found:?}");
                assert!(
                    found.most.is_none_or(|most| truth <= most),
                    "{truth} {found:?}"
                );
            }
        }
    }

    #[test]
    fn of_nothing_nothing_is_known() {
        let none = Counts::default();
        assert_eq!(percentile(&none, &counts([5000]), 5000), None);
        let open = percentile(&counts([u64::MAX]), &counts([5000]), 5000).unwrap();
        assert_eq!(open.most, None);
        assert!(open.least > 200_000_000_000);
    }
}
