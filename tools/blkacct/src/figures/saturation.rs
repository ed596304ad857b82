// SPDX-License-Identifier: GPL-2.0
//! Saturation: whether more depth brings more completions, or only waiting.
//!
//! Rule: of each window, X is completions for each second in which the driver had work, and N the
//! mean number at the driver meanwhile. The elasticity e = (dX/X)/(dN/N) is the slope of ln X over
//! ln N by least squares. Near 1, twice the depth brings twice the completions: there is headroom.
//! Near 0 it only waits: the device is saturated. Both are of the busy time, so that a device that
//! is used half of the time is not taken for one at half its depth.
//!
//! Error: the standard error of the slope. "Unknown" are fewer than [`LEAST`] windows with
//! completions, a depth that hardly moved, and sizes or kinds of I/O that did: then X changes for
//! another reason than N.

use serde::Serialize;

use super::Window;
use acct::sgrp::Classic;

/// Windows for a fit.
pub const LEAST: usize = 8;
/// Standard deviation of ln N below which the depth hardly moved: it is within some 10 %.
const MOVED: f64 = 0.1;
/// Standard deviation of ln of the mean size, and of the share of reads, from which I/O is mixed.
const MIXED: f64 = 0.2;
/// Errors of the slope that a verdict keeps away from its limits.
const SURE: f64 = 2.0;

/// What the samples say.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Saturation {
    /// Elasticity of completions against depth.
    pub elasticity: f64,
    /// Its standard error.
    pub error: f64,
    /// The part of the variance of ln X that the fit explains. Near an elasticity of 0 there is
    /// little to explain, so that the error tells more.
    pub r_squared: f64,
    /// Windows in the fit.
    pub windows: usize,
    /// What it means.
    pub verdict: Verdict,
}

/// What an elasticity means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// More depth brings more completions.
    Headroom,
    /// More depth brings some.
    Near,
    /// More depth only waits.
    Saturated,
}

/// Why nothing can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unknown {
    /// The driver's share is not counted.
    NoDriverSide,
    /// Too few windows with completions.
    TooFew,
    /// The depth hardly moved.
    DepthHardlyMoved,
    /// Sizes or kinds of I/O changed.
    MixedSizes,
    /// The error is too large for a verdict.
    Scattered,
}

/// Fits the elasticity to windows of one device.
///
/// # Errors
///
/// Why it is unknown.
pub fn saturation<'a>(
    windows: impl IntoIterator<Item = &'a Window>,
) -> Result<Saturation, Unknown> {
    let (mut xs, mut ns, mut sizes, mut reads) = (vec![], vec![], vec![], vec![]);
    let mut has_driver = true;
    for window in windows {
        let Some(driver) = window.grown().device else {
            has_driver = false;
            continue;
        };
        let (all, read) = (window.tally(|_| true), window.classic(Classic::Read));
        if all.ios == 0 || driver.ticks == 0 || driver.time_in_queue == 0 {
            continue;
        }
        let (ios, busy) = (all.ios as f64, driver.ticks as f64);
        ns.push((driver.time_in_queue as f64 / busy).ln());
        xs.push((ios / busy).ln());
        sizes.push(((all.sectors as f64 + 1.0) / ios).ln());
        reads.push(read.ios as f64 / ios);
    }
    if xs.len() < LEAST {
        return Err(if has_driver {
            Unknown::TooFew
        } else {
            Unknown::NoDriverSide
        });
    }
    if deviation(&sizes) > MIXED || deviation(&reads) > MIXED {
        return Err(Unknown::MixedSizes);
    }
    if deviation(&ns) < MOVED {
        return Err(Unknown::DepthHardlyMoved);
    }
    let (elasticity, error, r_squared) = fit(&ns, &xs);
    let verdict = if elasticity - SURE * error > 0.7 {
        Verdict::Headroom
    } else if elasticity + SURE * error < 0.3 {
        Verdict::Saturated
    } else if SURE * error < 0.3 {
        Verdict::Near
    } else {
        return Err(Unknown::Scattered);
    };
    Ok(Saturation {
        elasticity,
        error,
        r_squared,
        windows: xs.len(),
        verdict,
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sum of products of what two lists differ from their means by.
fn covariation(a: &[f64], b: &[f64]) -> f64 {
    let (mean_a, mean_b) = (mean(a), mean(b));
    let products = a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b));
    products.sum()
}

fn deviation(values: &[f64]) -> f64 {
    (covariation(values, values) / values.len() as f64).sqrt()
}

/// Returns slope, its standard error, and the part of the variance that is explained.
fn fit(at: &[f64], values: &[f64]) -> (f64, f64, f64) {
    let (xx, xy, yy) = (
        covariation(at, at),
        covariation(at, values),
        covariation(values, values),
    );
    let slope = xy / xx;
    let rest = (yy - slope * xy).max(0.0);
    let error = (rest / (at.len() as f64 - 2.0) / xx).sqrt();
    let explained = if yy > 0.0 { 1.0 - rest / yy } else { 1.0 };
    (slope, error, explained)
}

#[cfg(test)]
mod tests {
    use super::*;
    use acct::wire::{DeviceSide, Stat};

    /// A second of a device that serves `servers` requests at once, 1 ms each, at this depth; it
    /// is busy for a part of the time.
    fn window(depth: u64, servers: u64, busy_ms: u64, sectors: u64) -> Window {
        let busy = busy_ms * 1_000_000;
        let ios = busy_ms * depth.min(servers);
        let mut after = Stat {
            time_ns: 1_000_000_000,
            io_ticks: busy,
            device: Some(DeviceSide {
                ticks: busy,
                time_in_queue: busy * depth,
                ..DeviceSide::default()
            }),
            ..Stat::default()
        };
        (after.groups[0].ios, after.groups[0].sectors) = (ios, ios * sectors);
        Window::new(Some(&Stat::default()), &after)
    }

    fn told(depths: impl Iterator<Item = u64>, servers: u64) -> Result<Saturation, Unknown> {
        // However long it is busy.
        let windows: Vec<Window> = depths
            .zip([1000, 300, 700].into_iter().cycle())
            .map(|(depth, busy)| window(depth, servers, busy, 8))
            .collect();
        saturation(&windows)
    }

    #[test]
    fn a_device_of_known_parallelism_is_told_by_its_depths() {
        let below = told(1..=16, 64).unwrap();
        assert_eq!(below.verdict, Verdict::Headroom);
        assert!((below.elasticity - 1.0).abs() < 1e-6 && below.r_squared > 0.999);
        let above = told(16..=64, 8).unwrap();
        assert_eq!(above.verdict, Verdict::Saturated);
        assert!(above.elasticity.abs() < 1e-6 && above.error < 1e-6);
        // Half of the depths below its parallelism, half above.
        let around = told((1..=16).map(|n| n * 4), 16).unwrap();
        assert!(
            around.elasticity > 0.05 && around.elasticity < 0.95,
            "{around:?}"
        );
    }

    #[test]
    fn what_cannot_be_known_is_not_told() {
        assert_eq!(told([8; 40].into_iter(), 4), Err(Unknown::DepthHardlyMoved));
        assert_eq!(told(1..=7, 4), Err(Unknown::TooFew));
        let mixed: Vec<Window> = (1..=20)
            .map(|n| window(n, 64, 1000, 8 << (n % 4)))
            .collect();
        assert_eq!(saturation(&mixed), Err(Unknown::MixedSizes));
        let scattered: Vec<Window> = (1..=12)
            .map(|n| window(n, if n % 2 == 0 { 64 } else { 1 }, 1000, 8))
            .collect();
        assert_eq!(saturation(&scattered), Err(Unknown::Scattered));
        let none = Window::new(None, &Stat::default());
        assert_eq!(saturation([&none]), Err(Unknown::NoDriverSide));
    }
}
