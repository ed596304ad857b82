// SPDX-License-Identifier: GPL-2.0
//! Where more depth brings no more throughput.
//!
//! Rule: steps are sorted into half octaves of depth. The knee is the least of these whose median
//! throughput is nine tenths of the best. It is one only if it was seen from both sides: something
//! was measured at half its depth or less, which was slower, and at twice its depth or more, which
//! was not faster. Error: a half octave of depth. Mixed sizes of I/O blur it: then dots lie far
//! apart, and if those of one half octave differ by more than a factor of two, it is unknown.

use std::collections::BTreeMap;

/// Below so many steps nothing is said.
const FEWEST: usize = 10;

/// What more depth brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knee {
    /// At which depth, in thousandths.
    pub depth: u64,
    /// How much completes there, in thousandths a second.
    pub rate: u64,
}

/// Looks for the knee among dots of depth and throughput, both in thousandths.
///
/// # Errors
///
/// Why it is unknown.
pub fn knee(dots: &[(u64, u64)]) -> Result<Knee, &'static str> {
    let mut bins: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
    for &(depth, rate) in dots.iter().filter(|dot| dot.0 > 0 && dot.1 > 0) {
        bins.entry(half_octave(depth))
            .or_default()
            .push((rate, depth));
    }
    if bins.values().map(Vec::len).sum::<usize>() < FEWEST {
        return Err("too few steps with I/O");
    }
    let mut medians = Vec::new();
    for (bin, dots) in &mut bins {
        dots.sort_unstable();
        let (low, high) = (
            dots[dots.len() / 10].0,
            dots[dots.len() - 1 - dots.len() / 10].0,
        );
        if high / 2 > low {
            return Err(
                "at one depth throughput differs: sizes are mixed, or something else limits",
            );
        }
        medians.push((*bin, dots[dots.len() / 2]));
    }
    let best = medians.iter().map(|(_, dot)| dot.0).max().unwrap_or(0);
    let is_good = |rate: u64| u128::from(rate) * 10 >= u128::from(best) * 9;
    let Some(&(bin, (rate, depth))) = medians.iter().find(|(_, dot)| is_good(dot.0)) else {
        return Err("nothing completed");
    };
    let first = medians.first().map_or(bin, |(bin, _)| *bin);
    let last = medians.last().map_or(bin, |(bin, _)| *bin);
    match (first + 2 <= bin, last >= bin + 2) {
        (false, false) => Err("depth hardly moved"),
        (true, false) => Err("throughput still grew with depth: there is headroom"),
        (false, true) => Err("it was never below its limit"),
        (true, true) => Ok(Knee { depth, rate }),
    }
}

fn half_octave(depth: u64) -> u32 {
    let octave = depth.ilog2();
    let half = octave > 0 && depth >> (octave - 1) & 1 == 1;
    octave * 2 + u32::from(half)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk that does eight at once, 1000 a second each.
    fn disk(depths: std::ops::RangeInclusive<u64>) -> Vec<(u64, u64)> {
        let dot = |depth: u64| (depth * 1000, 1_000_000 * depth.min(8));
        depths.flat_map(|depth| [dot(depth); 3]).collect()
    }

    #[test]
    fn a_disk_that_does_eight_at_once_has_its_knee_there() {
        let knee = knee(&disk(1..=64)).unwrap();
        assert!((6_000..=12_000).contains(&knee.depth), "{knee:?}");
    }

    #[test]
    fn what_was_not_seen_from_both_sides_is_unknown() {
        assert!(knee(&disk(1..=6)).unwrap_err().contains("headroom"));
        assert!(knee(&disk(16..=64)).unwrap_err().contains("never below"));
        assert!(knee(&disk(8..=11)).unwrap_err().contains("hardly moved"));
        assert!(knee(&[]).unwrap_err().contains("few"));
        let mut mixed = disk(1..=64);
        mixed.extend(disk(1..=64).iter().map(|&(depth, rate)| (depth, rate / 8)));
        assert!(knee(&mixed).unwrap_err().contains("mixed"));
    }
}
