// SPDX-License-Identifier: GPL-2.0
//! A made-up machine for tests.

use std::sync::Arc;

use acct::wire::{Anomalies, DeviceSide};

use crate::sample::testing::{device, sample};
use crate::sample::{Identity, KernelStat, Sample};

const SECOND: u64 = 1_000_000_000;

/// A machine with so many disks in mode 2, which have done something.
pub fn machine(disks: usize) -> Sample {
    let disks = (0..disks).map(|n| {
        let mut device = device(&format!("sd{n}"), 60 * SECOND);
        let stat = device.stat.get_or_insert_default();
        stat.io_ticks = 7 * SECOND;
        stat.errors = Some(3);
        stat.device = Some(DeviceSide::default());
        device.took_ns = 20_000;
        device.counted_ns = Some(40 * SECOND);
        device.anomalies = Some(Anomalies::default());
        device.classic = Some(false);
        device.kernel = Some(KernelStat::default());
        for group in 0..2 {
            let latency = Arc::make_mut(device.latencies.0[group].get_or_insert_default());
            latency.total.0[30] = 1000;
            latency.device.get_or_insert_default().0[28] = 900;
        }
        device
    });
    sample(60 * SECOND, disks.collect())
}

/// A number below `end`, which depends on all bits of the seed, and another seed.
fn draw(seed: &mut u64, end: u64) -> u64 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % end
}

/// Changes something, as the seed says.
pub fn step(sample: &mut Sample, mut seed: u64) {
    let seed = &mut seed;
    sample.begin_ns = sample.begin_ns.wrapping_add(SECOND + draw(seed, 1000));
    sample.wall_ns = sample.wall_ns.wrapping_add(SECOND);
    sample.end_ns = sample.begin_ns.wrapping_add(draw(seed, 1000));
    let new = Arc::new(Identity {
        name: format!("new{}", draw(seed, 4)),
        diskseq: Some(draw(seed, 3)),
        ..Identity::default()
    });
    match draw(seed, 8) {
        0 if !sample.devices.is_empty() => drop(sample.devices.pop()),
        1 => sample
            .devices
            .extend(machine(1).devices.drain(..).map(|mut device| {
                device.identity = new.clone();
                device
            })),
        2 if !sample.devices.is_empty() => sample.devices.rotate_left(1),
        _ => (),
    }
    for device in &mut sample.devices {
        match draw(seed, 12) {
            0 => device.stat = None,
            1 => device.latencies.0[draw(seed, 9) as usize] = None,
            2 => Arc::make_mut(&mut device.identity).sectors = Some(draw(seed, 99)),
            3 => device.kernel = None,
            _ => {
                let stat = device.stat.get_or_insert_default();
                stat.time_ns = sample.begin_ns.wrapping_add(draw(seed, 1000));
                stat.groups[draw(seed, 9) as usize].ios = draw(seed, u64::MAX);
                let group = &mut device.latencies.0[draw(seed, 9) as usize];
                let latency = Arc::make_mut(group.get_or_insert_default());
                let side = match draw(seed, 2) {
                    0 => &mut latency.total,
                    _ => latency.device.get_or_insert_default(),
                };
                side.0[draw(seed, 114) as usize] = draw(seed, 1 << 20);
            }
        }
    }
}
