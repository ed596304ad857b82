// SPDX-License-Identifier: GPL-2.0
//! A heatmap of latencies: a column for each step, a row for each octave, and percentiles over it.

use acct::hist::{bounds, Counts, BUCKETS};

use super::{px, Span, Svg, LEFT, TOP};
use crate::figures::histogram;
use crate::page::quantity::spaced;
use crate::page::series::Step;
use crate::show::table::duration;

/// The first octave, of times below 2^11 ns, and one beyond the last.
const OCTAVES: std::ops::Range<u32> = 10..39;
/// Shades.
const SHADES: u32 = 6;
/// The percentiles that are drawn, in hundredths of a percent, with their classes.
const DRAWN: [(u64, &str, &str); 2] = [(5000, "p50", "p50"), (9900, "p99", "p99")];

/// Returns the octave of a bucket.
fn octave(place: usize) -> u32 {
    bounds(place).0.max(1 << OCTAVES.start).ilog2()
}

/// Adds up the buckets of each octave.
fn rows(counts: &Counts) -> [u64; (OCTAVES.end - OCTAVES.start) as usize] {
    let mut rows = [0u64; (OCTAVES.end - OCTAVES.start) as usize];
    for place in 0..BUCKETS {
        let row = (octave(place).min(OCTAVES.end - 1) - OCTAVES.start) as usize;
        rows[row] = rows[row].saturating_add(counts.0[place]);
    }
    rows
}

/// Draws the latencies of reads (0) or writes (1).
pub fn heatmap(svg: &mut Svg, span: Span, steps: &[Step], group: usize) {
    let columns: Vec<_> = steps
        .iter()
        .filter_map(|step| Some((step, step.latencies[group].as_deref()?)))
        .map(|(step, counts)| (step, counts, rows(counts)))
        .collect();
    let used = |row: &usize| columns.iter().any(|(_, _, rows)| rows[*row] > 0);
    let all = (OCTAVES.end - OCTAVES.start) as usize;
    let Some((low, high)) = (0..all).find(used).zip((0..all).rfind(used)) else {
        svg.time_axis(span);
        svg.say("none completed");
        return;
    };
    // A row of room above and below, and never so few that a row is a bar.
    let low = low.saturating_sub(1);
    let high = (high + 1).max(low + 5).min(all - 1);
    let scale = Scale {
        low: OCTAVES.start + low as u32,
        rows: (high - low + 1) as u64,
        height: svg.height,
    };
    let densest = columns
        .iter()
        .flat_map(|(step, _, rows)| rows.iter().map(|&n| density(n, step)))
        .max()
        .unwrap_or(1);
    let mut shades = vec![String::new(); SHADES as usize];
    for row in low..=high {
        let y = px(scale.row(row as u32 + OCTAVES.start) + scale.row_height() / 2);
        // Runs of one shade are one line.
        let mut run: Option<(u64, u64, u32)> = None;
        let mut put = |run: Option<(u64, u64, u32)>| {
            if let Some((from, to, shade)) = run {
                shades[shade as usize] += &format!("M{} {y}H{}", px(from), px(to));
            }
        };
        for (step, _, rows) in &columns {
            let (from, to) = (span.x(step.begin), span.x(step.end));
            let shade = match rows[row] {
                0 => continue,
                n => shade(density(n, step), densest),
            };
            run = match run {
                Some((begin, end, same)) if end == from && same == shade => Some((begin, to, same)),
                other => {
                    put(other);
                    Some((from, to, shade))
                }
            };
        }
        put(run);
    }
    let width = px(scale.row_height());
    svg.text += &format!("<g stroke-width=\"{width}\">");
    for (shade, d) in shades.iter().enumerate() {
        svg.path(&format!("heat h{shade}"), d);
    }
    svg.text += "</g>";
    for octave in (scale.low..=scale.low + scale.rows as u32).step_by(2) {
        let y = scale.row(octave) + scale.row_height();
        let name = spaced(&duration(1 << octave));
        svg.label(LEFT - 60, y + 40, "end", &name);
        svg.path("grid", &format!("M{} {}h-5", px(LEFT), px(y)));
    }
    for (hundredths, class, _) in DRAWN {
        let mut line = String::new();
        let mut last = None;
        for (step, counts, _) in &columns {
            let Some(time) = histogram::percentile(counts, hundredths) else {
                continue;
            };
            let (from, to, y) = (span.x(step.begin), span.x(step.end), px(scale.y(time)));
            line += &match last == Some(step.begin) && step.joined {
                true => format!("V{y}H{}", px(to)),
                false => format!("M{} {y}H{}", px(from), px(to)),
            };
            last = Some(step.end);
        }
        svg.path("halo", &line);
        svg.path(&format!("line {class}"), &line);
    }
    svg.time_axis(span);
    svg.legend(&[
        ("heat h2", "few"),
        ("heat h5", "many"),
        ("p50", "p50"),
        ("p99", "p99"),
    ]);
}

/// I/O a second in a cell, so that a long step is not darker than a short one.
fn density(count: u64, step: &Step) -> u64 {
    let ns = u128::from(step.sums.interval_ns.max(1));
    let value = u128::from(count) * 1_000_000_000_000 / ns;
    u64::try_from(value).unwrap_or(u64::MAX).max(1)
}

/// Returns the shade of a cell: each is three times as dense as the one before, so that a few slow
/// ones among many fast are seen.
fn shade(density: u64, densest: u64) -> u32 {
    let mut shade = SHADES - 1;
    let mut step = densest;
    while shade > 0 && density < step / 3 {
        step /= 3;
        shade -= 1;
    }
    shade
}

/// Where times lie: an octave is a row.
struct Scale {
    low: u32,
    rows: u64,
    height: u64,
}

impl Scale {
    fn row_height(&self) -> u64 {
        self.height / self.rows
    }

    /// Returns where the row of an octave begins from above.
    fn row(&self, octave: u32) -> u64 {
        let up = u64::from(octave.saturating_sub(self.low)) + 1;
        TOP + self.height - (up * self.row_height()).min(self.height)
    }

    fn y(&self, ns: u64) -> u64 {
        let octave = ns.max(1 << OCTAVES.start).ilog2();
        let part = u128::from(ns.max(1 << octave) - (1 << octave)) * u128::from(self.row_height());
        let part = u64::try_from(part >> octave).unwrap_or(0);
        let bottom = self.row(octave) + self.row_height();
        bottom.saturating_sub(part).max(TOP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_go_by_threes_and_rows_take_all() {
        let shades: Vec<u32> = [1, 10, 100, 300, 900].map(|n| shade(n, 900)).into();
        assert_eq!(shades, [0, 1, 4, 5, 5]);
        let counts = Counts([1; BUCKETS]);
        assert_eq!(rows(&counts).iter().sum::<u64>(), BUCKETS as u64);
    }

    #[test]
    fn a_longer_time_is_higher_up() {
        let scale = Scale {
            low: 12,
            rows: 8,
            height: 1600,
        };
        let ys: Vec<u64> = (12..20)
            .flat_map(|n| [scale.y(1 << n), scale.y(3 << (n - 1))])
            .collect();
        assert!(ys.windows(2).all(|two| two[1] < two[0]), "{ys:?}");
        assert_eq!(scale.y(1 << 12), TOP + 1600);
    }
}
