// SPDX-License-Identifier: GPL-2.0
//! What a latency histogram says: percentiles, and the bars themselves.
//!
//! A bucket is told by its middle, which is within 12.5 % of every time in it (times below 1024 ns,
//! which share the first, and above 275 s, which share the last, excepted).

use acct::hist::{bounds, Counts, BUCKETS};
use serde::Serialize;

/// The percentiles that are shown, in hundredths of a percent.
pub const PERCENTILES: [(u64, &str); 5] = [
    (5000, "p50"),
    (9000, "p90"),
    (9900, "p99"),
    (9990, "p99.9"),
    (9999, "p99.99"),
];

/// All I/O, in hundredths of a percent.
const ALL: u64 = 10_000;

/// What a histogram comes to; times are in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// I/O counted.
    pub count: u64,
    /// Mean.
    pub mean: u64,
    /// As [`PERCENTILES`].
    pub percentiles: [u64; PERCENTILES.len()],
    /// The slowest.
    pub max: u64,
}

/// Returns by how much each bucket grew.
pub fn grown(before: &Counts, after: &Counts) -> Counts {
    Counts(std::array::from_fn(|i| {
        after.0[i].saturating_sub(before.0[i])
    }))
}

/// Adds up the buckets of several histograms.
pub fn sum<'a>(histograms: impl Iterator<Item = &'a Counts>) -> Counts {
    histograms.fold(Counts::default(), |sum, counts| {
        Counts(std::array::from_fn(|i| {
            sum.0[i].saturating_add(counts.0[i])
        }))
    })
}

/// Returns the time that stands for all in a bucket: its middle, or where the last begins.
fn middle(place: usize) -> u64 {
    match bounds(place) {
        (first, u64::MAX) => first,
        (first, end) => first + (end - first) / 2,
    }
}

/// Returns the time at or below which so many hundredths of a percent of the I/O lie.
pub fn percentile(counts: &Counts, hundredths: u64) -> Option<u64> {
    let count = total(counts);
    let rank = (count * u128::from(hundredths))
        .div_ceil(u128::from(ALL))
        .max(1);
    let mut below = 0;
    let place = counts.0.iter().position(|&n| {
        below += u128::from(n);
        below >= rank
    })?;
    Some(middle(place))
}

fn total(counts: &Counts) -> u128 {
    counts.0.iter().map(|&n| u128::from(n)).sum()
}

/// Sums up a histogram; none if it is empty.
pub fn summary(counts: &Counts) -> Option<Summary> {
    let count = total(counts);
    let times = counts.0.iter().enumerate();
    let sum: u128 = times
        .map(|(i, &n)| u128::from(n) * u128::from(middle(i)))
        .sum();
    let mut percentiles = [0; PERCENTILES.len()];
    for (time, (hundredths, _)) in percentiles.iter_mut().zip(PERCENTILES) {
        *time = percentile(counts, hundredths)?;
    }
    Some(Summary {
        count: u64::try_from(count).unwrap_or(u64::MAX),
        mean: u64::try_from(sum.checked_div(count)?).unwrap_or(u64::MAX),
        percentiles,
        max: percentile(counts, ALL)?,
    })
}

/// Returns the buckets from the first with a count to the last: begin, end and count.
pub fn bars(counts: &Counts) -> Vec<(u64, u64, u64)> {
    let counted = |i: &usize| counts.0[*i] > 0;
    let Some((first, last)) = (0..BUCKETS).find(counted).zip((0..BUCKETS).rfind(counted)) else {
        return Vec::new();
    };
    let bar = |i| {
        let (begin, end) = bounds(i);
        (begin, end, counts.0[i])
    };
    (first..=last).map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use acct::hist::place;

    fn counts(times: &[(u64, u64)]) -> Counts {
        let mut counts = Counts::default();
        for &(ns, n) in times {
            counts.0[place(ns)] += n;
        }
        counts
    }

    #[test]
    fn a_percentile_is_the_first_time_with_enough_at_or_below() {
        // 89 fast, 10 of 1 ms, one of 1 s.
        let counts = counts(&[(10_000, 89), (1_000_000, 10), (1_000_000_000, 1)]);
        let near = |time: u64, ns: u64| assert!(time.abs_diff(ns) * 8 <= ns, "{time} {ns}");
        near(percentile(&counts, 5000).unwrap(), 10_000);
        near(percentile(&counts, 8900).unwrap(), 10_000);
        near(percentile(&counts, 8901).unwrap(), 1_000_000);
        near(percentile(&counts, 9900).unwrap(), 1_000_000);
        near(percentile(&counts, 9901).unwrap(), 1_000_000_000);
        let summary = summary(&counts).unwrap();
        assert_eq!(summary.count, 100);
        near(summary.max, 1_000_000_000);
        near(
            summary.mean,
            (89 * 10_000 + 10 * 1_000_000 + 1_000_000_000) / 100,
        );
    }

    #[test]
    fn nothing_has_no_percentile() {
        assert_eq!(percentile(&Counts::default(), 5000), None);
        assert_eq!(summary(&Counts::default()), None);
        assert_eq!(bars(&Counts::default()), []);
    }

    #[test]
    fn the_open_bucket_is_told_by_its_beginning() {
        assert_eq!(percentile(&counts(&[(u64::MAX, 1)]), 5000), Some(1 << 38));
    }

    #[test]
    fn bars_have_no_gap_between_first_and_last() {
        let counts = counts(&[(2048, 3), (4096, 1)]);
        let bars = bars(&counts);
        assert_eq!(bars.first(), Some(&(2048, 2560, 3)));
        assert_eq!(bars.last(), Some(&(4096, 5120, 1)));
        assert_eq!(bars.len(), 5);
        assert_eq!(bars[1].2, 0);
    }

    #[test]
    fn growth_and_sums_go_by_bucket() {
        let (before, after) = (counts(&[(2048, 3)]), counts(&[(2048, 5), (4096, 1)]));
        let want = counts(&[(2048, 2), (4096, 1)]);
        assert_eq!(grown(&before, &after), want);
        assert_eq!(sum([&before, &want].into_iter()), after);
    }
}
