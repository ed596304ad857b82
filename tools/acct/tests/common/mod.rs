// SPDX-License-Identifier: GPL-2.0

//! What the tests measure the busy clock against.

/// Returns the length of the union of `intervals`, each a start and an end.
pub fn union(intervals: impl IntoIterator<Item = (u64, u64)>) -> u64 {
    let mut sorted: Vec<_> = intervals.into_iter().collect();
    sorted.sort_unstable();
    let (mut length, mut covered) = (0, 0);
    for (start, end) in sorted {
        length += end.saturating_sub(start.max(covered));
        covered = covered.max(end);
    }
    length
}
