// SPDX-License-Identifier: GPL-2.0
//! Axes: round numbers, their lines and labels.

use super::{px, scale, Span, Svg, BELOW, LEFT, RIGHT, TOP};
use crate::page::quantity::Unit;

const SECOND: u64 = 1_000_000_000;
/// Steps between times, in ms.
const STEPS: [u64; 23] = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000,
    300_000, 600_000, 900_000, 1_800_000, 3_600_000, 7_200_000,
];
/// Times on an axis, at most.
const TIMES: u64 = 8;

/// Returns round numbers from zero to the first that is not below `most`.
pub fn ticks(most: u64) -> Vec<u64> {
    let wanted = u128::from(most.max(1));
    let mut power = 1u128;
    let step = loop {
        let fits = [1, 2, 5]
            .map(|n| n * power)
            .into_iter()
            .find(|step| step * 4 >= wanted);
        match fits {
            Some(step) => break step,
            None => power *= 10,
        }
    };
    let count = wanted.div_ceil(step);
    let ticks = (0..=count).map(|n| u64::try_from(n * step).unwrap_or(u64::MAX));
    ticks.collect()
}

/// Writes a time since the beginning.
pub fn elapsed(ns: u64) -> String {
    let (seconds, ms) = (ns / SECOND, ns % SECOND / 1_000_000);
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) if ms > 0 => format!("{s}.{ms:03} s"),
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m}:{s:02}"),
        (h, m, s) => format!("{h}:{m:02}:{s:02}"),
    }
}

/// Returns the times to mark.
fn times(span: u64) -> Vec<u64> {
    let step = STEPS.map(|ms| ms * 1_000_000).into_iter();
    let step = step.clone().find(|step| span / step <= TIMES);
    // Beyond hours: whole days, as many as it takes.
    let day = 86_400 * SECOND;
    let step = step.unwrap_or_else(|| day.saturating_mul((span / day / TIMES).max(1)));
    let marks = (0..=TIMES * 13).map(|n| n.saturating_mul(step));
    marks.take_while(|&at| at <= span).collect()
}

impl Svg {
    /// Draws the time axis.
    pub fn time_axis(&mut self, span: Span) {
        let bottom = TOP + self.height;
        let mut lines = String::new();
        let mut last = None;
        for at in times(span.ns) {
            let x = span.x(at);
            // No label runs into the one before, or out of the picture.
            if last.is_some_and(|last| x < last + 560) || x + 60 > RIGHT && at > 0 && span.ns != at
            {
                continue;
            }
            last = Some(x);
            lines += &format!("M{} {}v4", px(x), px(bottom));
            let class = if x + 200 > RIGHT { "end" } else { "mid" };
            self.label(x, bottom + BELOW - 90, class, &elapsed(at));
        }
        self.path("grid", &lines);
    }

    /// Draws lines and labels from zero to a value, and returns the value at the top.
    pub fn value_axis(&mut self, most: u64, unit: Unit) -> u64 {
        let ticks = ticks(most);
        let top = ticks.last().copied().unwrap_or(1);
        let mut lines = String::new();
        for &tick in &ticks {
            let y = self.y(tick, top);
            lines += &format!("M{} {}H{}", px(LEFT), px(y), px(RIGHT));
            self.label(LEFT - 60, y + 40, "end", &unit.text(tick));
        }
        self.path("grid", &lines);
        top
    }

    pub(super) fn y(&self, value: u64, top: u64) -> u64 {
        TOP + self.height - scale(value, top, self.height)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_reach_over_the_most() {
        for (most, want) in [
            (0, vec![0, 1]),
            (7, vec![0, 2, 4, 6, 8]),
            (100, vec![0, 50, 100]),
            (101, vec![0, 50, 100, 150]),
            (10_000, vec![0, 5_000, 10_000]),
        ] {
            assert_eq!(ticks(most), want, "{most}");
        }
        assert_eq!(ticks(u64::MAX).last(), Some(&u64::MAX));
    }

    #[test]
    fn there_are_some_times_and_not_many() {
        for span in [
            1,
            SECOND / 3,
            SECOND,
            61 * SECOND,
            3600 * SECOND,
            86_400 * 30 * SECOND,
        ] {
            let marks = times(span);
            assert!((1..=17).contains(&marks.len()), "{span} {marks:?}");
        }
        assert!(times(u64::MAX).len() <= 110);
        assert_eq!(elapsed(3_661 * SECOND), "1:01:01");
        assert_eq!(elapsed(1_500_000_000), "1.500 s");
    }
}
