// SPDX-License-Identifier: GPL-2.0
//! Throughput against depth: a dot for each window.

use super::{px, scale, ticks, Svg, BELOW, LEFT, RIGHT, TOP};
use crate::page::knee::Knee;
use crate::page::quantity::{short, Unit};

/// Draws dots: depth in thousandths, and completions in thousandths a second.
pub fn scatter(svg: &mut Svg, dots: &[(u64, u64)], knee: Result<&Knee, &str>) {
    let most = dots.iter().map(|dot| dot.1).max();
    let top = svg.value_axis(most.unwrap_or(1), Unit::Rate);
    let deepest = ticks(dots.iter().map(|dot| dot.0).max().unwrap_or(1));
    let right = deepest.last().copied().unwrap_or(1);
    let x = |depth: u64| LEFT + scale(depth, right, RIGHT - LEFT);
    let bottom = TOP + svg.height;
    for &tick in &deepest {
        let class = if tick == right { "end" } else { "mid" };
        svg.label(x(tick), bottom + BELOW - 90, class, &short(tick.into()));
        svg.path("grid", &format!("M{} {}v4", px(x(tick)), px(bottom)));
    }
    let mut d = String::new();
    for &(depth, rate) in dots {
        // A line of no length is a dot, by its round ends.
        d += &format!("M{} {}h0", px(x(depth)), px(svg.y(rate, top)));
    }
    svg.path("dot", &d);
    let mut said = "no knee: unknown".to_owned();
    if let Ok(knee) = knee {
        let at = x(knee.depth);
        svg.path("knee", &format!("M{} {}V{}", px(at), px(TOP), px(bottom)));
        said = format!("knee at {}", short(knee.depth.into()));
    }
    svg.legend(&[("dot", "a sample"), ("knee", &said)]);
    if most.is_none() {
        svg.say("nothing completed");
    }
}
