// SPDX-License-Identifier: GPL-2.0
//! Lines over time, in steps, each with the band from least to most; and a stack of two.

use super::{px, Span, Svg, LEFT, RIGHT, TOP};
use crate::page::quantity::Quantity;
use crate::page::quantity::Unit;
use crate::page::series::Step;

/// Draws some quantities of one unit. There is no slope from one step to the next, and nothing
/// where nothing is known.
pub fn lines(svg: &mut Svg, span: Span, steps: &[Step], what: &[Quantity], least_top: u64) {
    let unit = what.first().map_or(Unit::Rate, |what| what.unit());
    let highs = steps
        .iter()
        .flat_map(|step| what.iter().filter_map(|&what| step.range(what)));
    let most = highs.map(|(_, high)| high).max();
    let Some(most) = most else {
        svg.value_axis(least_top.max(1), unit);
        svg.time_axis(span);
        svg.say("nothing is known of it");
        return;
    };
    let top = svg.value_axis(most.max(least_top), unit);
    svg.time_axis(span);
    for &what in what {
        let (band, line) = curve(svg, span, steps, what, top);
        svg.path(&format!("band {}", what.class()), &band);
        svg.path(&format!("line {}", what.class()), &line);
    }
    let known: Vec<_> = what
        .iter()
        .filter(|&&what| steps.iter().any(|step| step.range(what).is_some()))
        .map(|what| (what.class(), what.name()))
        .collect();
    svg.legend(&known);
}

/// Returns the band and the line of a quantity.
fn curve(svg: &Svg, span: Span, steps: &[Step], what: Quantity, top: u64) -> (String, String) {
    let (mut band, mut line) = (String::new(), String::new());
    let mut is_open = false;
    for step in steps {
        let (from, to) = (span.x(step.begin), span.x(step.end));
        if let Some((low, high)) = step.range(what) {
            let (low, high) = (whole(svg.y(low, top)), whole(svg.y(high, top)));
            // A band that the line covers is none.
            if low > high + 20 {
                band += &format!(
                    "M{} {}H{}V{}H{}z",
                    px(from),
                    px(high),
                    px(to),
                    px(low),
                    px(from)
                );
            }
        }
        let Some(mean) = what.of(&step.sums).filter(|_| !step.broken) else {
            is_open = false;
            continue;
        };
        let y = px(svg.y(mean, top));
        line += &match is_open && step.joined {
            true => format!("V{y}H{}", px(to)),
            false => format!("M{} {y}H{}", px(from), px(to)),
        };
        is_open = true;
    }
    (band, line)
}

fn whole(tenths: u64) -> u64 {
    (tenths + 5) / 10 * 10
}

/// Draws one quantity on top of another: both are areas.
pub fn stack(svg: &mut Svg, span: Span, steps: &[Step], lower: Quantity, upper: Quantity) {
    let both = |step: &Step| {
        let below = lower.of(&step.sums)?;
        Some((below, below.saturating_add(upper.of(&step.sums)?)))
    };
    let most = steps.iter().filter_map(both).map(|(_, sum)| sum).max();
    let unit = lower.unit();
    let top = svg.value_axis(most.unwrap_or(1), unit);
    let (mut below, mut above) = (String::new(), String::new());
    for step in steps.iter().filter(|step| !step.broken) {
        let Some((low, sum)) = both(step) else {
            continue;
        };
        let (from, to) = (px(span.x(step.begin)), px(span.x(step.end)));
        let (zero, low, sum) = (px(svg.y(0, top)), px(svg.y(low, top)), px(svg.y(sum, top)));
        below += &format!("M{from} {zero}V{low}H{to}V{zero}z");
        above += &format!("M{from} {low}V{sum}H{to}V{low}z");
    }
    svg.path(&format!("area {}", lower.class()), &below);
    svg.path(&format!("area {}", upper.class()), &above);
    svg.time_axis(span);
    svg.legend(&[(upper.class(), upper.name()), (lower.class(), lower.name())]);
    if most.is_none() {
        svg.say("nothing completed, or the two are not told apart");
    }
}

/// Marks the times of which nothing is known.
pub fn gaps(svg: &mut Svg, span: Span, steps: &[Step]) {
    let mut d = String::new();
    let (top, bottom) = (px(TOP), px(TOP + svg.height));
    let mut last = 0;
    let ends = steps.iter().map(|step| (step.begin, step.end));
    for (begin, end) in ends.chain([(span.ns, span.ns)]) {
        let (from, to) = (span.x(last).max(LEFT), span.x(begin).min(RIGHT));
        if to > from + 5 {
            d += &format!("M{} {top}H{}V{bottom}H{}z", px(from), px(to), px(from));
        }
        last = end;
    }
    svg.path("gap", &d);
}
