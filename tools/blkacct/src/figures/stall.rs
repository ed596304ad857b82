// SPDX-License-Identifier: GPL-2.0
//! The stall clock: time with I/O in flight and nothing completing.
//!
//! Rule: between two samples between which nothing completed, all time with I/O in flight is
//! stalled, and the growth of `time_in_queue` is what it cost: the time that all who waited lost.
//! Such a time is exact to the counters' own error. Between two samples with completions nothing is
//! known of stalls shorter than the interval, and none is counted.
//!
//! Error: a stall begins after the last completion of the interval before, and ends before the
//! first of the interval after. So a stall that is `certain_ns` long took at most `at_most_ns`,
//! which has the busy time of these two as well.

use serde::Serialize;

use super::Window;

/// Time without a completion, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stall {
    /// Time with I/O in flight and surely no completion.
    pub certain_ns: u64,
    /// What the stalls can have taken, whatever happened within the intervals around them.
    pub at_most_ns: u64,
    /// By how much `time_in_queue` grew in `certain_ns`.
    pub cost_ns: u64,
}

impl Stall {
    /// Returns what one window tells by itself; none if it is of no known length.
    pub fn of(window: &Window) -> Option<Self> {
        window.interval_ns?;
        Some(match is_stalled(window) {
            false => Stall::default(),
            true => Stall {
                certain_ns: window.grown().io_ticks,
                at_most_ns: window.grown().io_ticks,
                cost_ns: window.grown().time_in_queue,
            },
        })
    }

    /// Adds up the stalls in windows that follow each other; none where nothing is known.
    pub fn over<'a>(windows: impl IntoIterator<Item = Option<&'a Window>>) -> Self {
        let windows: Vec<Option<&Window>> = windows.into_iter().collect();
        let mut all = Stall::default();
        let stalled = |at: Option<usize>| {
            let window = at.and_then(|at| *windows.get(at)?);
            window.is_some_and(is_stalled)
        };
        for (at, window) in windows.iter().enumerate() {
            let Some(window) = window else {
                continue;
            };
            let busy = window.grown().io_ticks;
            if is_stalled(window) {
                all.certain_ns = all.certain_ns.saturating_add(busy);
                all.cost_ns = all.cost_ns.saturating_add(window.grown().time_in_queue);
            } else if !stalled(at.checked_sub(1)) && !stalled(Some(at + 1)) {
                continue;
            }
            all.at_most_ns = all.at_most_ns.saturating_add(busy);
        }
        all
    }
}

/// Whether there was I/O and none completed.
fn is_stalled(window: &Window) -> bool {
    window.grown().io_ticks > 0 && window.tally(|_| true).ios == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use acct::wire::Stat;

    /// A disk that completes at 100 ms, hangs with two requests until 3.5 s, and goes on: sampled
    /// each second, it was busy all the time.
    fn hang() -> Vec<Window> {
        let at = |time: u64, ios: u64| {
            let mut stat = Stat {
                time_ns: time,
                io_ticks: time,
                time_in_queue: 2 * time,
                ..Stat::default()
            };
            stat.groups[0].ios = ios;
            stat
        };
        let second = 1_000_000_000;
        let samples = [(0, 0), (1, 1), (2, 1), (3, 1), (4, 2), (5, 9)];
        let stats: Vec<Stat> = samples.iter().map(|&(s, n)| at(s * second, n)).collect();
        let pairs = stats.windows(2);
        pairs
            .map(|pair| Window::new(Some(&pair[0]), &pair[1]))
            .collect()
    }

    #[test]
    fn a_hang_is_bounded_from_both_sides() {
        let windows = hang();
        let stall = Stall::over(windows.iter().map(Some));
        let second = 1_000_000_000;
        let want = Stall {
            certain_ns: 2 * second,
            at_most_ns: 4 * second,
            cost_ns: 4 * second,
        };
        assert_eq!(stall, want);
        // The truth, 3.4 s, is between the bounds.
        assert!(stall.certain_ns <= 3_400_000_000 && 3_400_000_000 <= stall.at_most_ns);
        assert_eq!(windows[1].stall().unwrap().certain_ns, second);
        assert_eq!(windows[3].stall().unwrap(), Stall::default());
    }

    #[test]
    fn an_idle_disk_does_not_stall_and_a_gap_counts_nothing() {
        let mut windows: Vec<Option<Window>> = hang().into_iter().map(Some).collect();
        windows[1] = None;
        let stall = Stall::over(windows.iter().map(Option::as_ref));
        assert_eq!(
            (stall.certain_ns, stall.at_most_ns),
            (1_000_000_000, 2_000_000_000)
        );
        let idle = Window::new(Some(&Stat::default()), &Stat::default());
        assert_eq!(idle.stall().unwrap(), Stall::default());
    }
}
