// SPDX-License-Identifier: GPL-2.0
//! A layer's own share: what LUKS, LVM, md or multipath add to the time of an I/O.
//!
//! Rule: the mean latency of the upper device less the mean of those right below it, each weighted
//! by its share of the I/O below. Flushes that the block layer makes itself are in neither.
//!
//! Error: nothing tells which I/O below belongs to which above. If as many complete below as above
//! the means are of the same I/O; for each that is more or less, on one side or the other, one mean
//! latency can be out of place. I/O in flight at an edge of the window counts on a bio-based device
//! with its time so far, so for each the mean can be wrong by one mean latency, too. The error is the
//! sum of both by the I/O of the upper device. It is an estimate where a latency is far from the
//! mean. "Unknown" is the share if one of the devices is not counted, or nothing completed.

use acct::sgrp::StatGroup;
use serde::Serialize;

use super::Window;

/// What a layer adds to the mean latency, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Layer {
    /// It alone. Less than nothing where a layer answers before those below do.
    pub own_ns: i64,
    /// Its error, either way.
    pub error_ns: u64,
}

/// Returns a layer's own share, from the window of the device and those of all right below it.
pub fn own_share(upper: &Window, lower: &[Window]) -> Option<Layer> {
    let io = |window: &Window| window.tally(|group| group != StatGroup::Flush);
    let above = io(upper);
    let below: Vec<_> = lower.iter().map(io).collect();
    let ios: u128 = below.iter().map(|tally| u128::from(tally.ios)).sum();
    let nsecs: u128 = below.iter().map(|tally| u128::from(tally.nsecs)).sum();
    // Weighted by the share of each, the mean of means is that of all.
    let await_below = i128::try_from(nsecs.checked_div(ios)?).ok()?;
    let await_above = i128::from(above.latency()?);
    let unmatched = ios.abs_diff(above.ios.into());
    let at_edges = u128::from(upper.grown().in_flight) + u128::from(upper.in_flight_before);
    let longest = await_above.max(await_below).unsigned_abs();
    let error = (unmatched + at_edges) * longest / u128::from(above.ios);
    Some(Layer {
        own_ns: i64::try_from(await_above - await_below).ok()?,
        error_ns: u64::try_from(error).unwrap_or(u64::MAX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use acct::wire::Stat;

    fn window(ios: u64, ms: u64, in_flight: u64) -> Window {
        let mut after = Stat {
            time_ns: 1_000_000_000,
            in_flight,
            ..Stat::default()
        };
        after.groups[0].ios = ios;
        after.groups[0].nsecs = ios * ms * 1_000_000;
        // Internal flushes are nobody's I/O.
        (after.groups[3].ios, after.groups[3].nsecs) = (77, 77_000_000_000);
        Window::new(Some(&Stat::default()), &after)
    }

    #[test]
    fn what_the_layers_below_did_not_take_is_its_own() {
        // 300 I/O of 1 ms on one leg, 100 of 3 ms on the other: 1.5 ms.
        let legs = [window(300, 1, 0), window(100, 3, 0)];
        let layer = own_share(&window(400, 2, 0), &legs).unwrap();
        assert_eq!(
            layer,
            Layer {
                own_ns: 500_000,
                error_ns: 0
            }
        );
        let layer = own_share(&window(400, 1, 0), &legs).unwrap();
        assert_eq!(layer.own_ns, -500_000, "a write that is answered early");
    }

    #[test]
    fn what_cannot_be_paired_is_its_error() {
        let legs = [window(404, 1, 0)];
        let layer = own_share(&window(400, 2, 4), &legs).unwrap();
        assert_eq!(layer.own_ns, 1_000_000);
        // Four more below, four in flight: eight times 2 ms, on 400.
        assert_eq!(layer.error_ns, 40_000);
        assert_eq!(own_share(&window(0, 0, 0), &legs), None);
        assert_eq!(own_share(&window(400, 2, 0), &[window(0, 0, 0)]), None);
        assert_eq!(own_share(&window(400, 2, 0), &[]), None);
    }
}
