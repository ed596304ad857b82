// SPDX-License-Identifier: GPL-2.0
//! Made-up histories for tests.

use std::sync::Arc;

use acct::hist::place;
use acct::wire::{Anomalies, DeviceSide};

use super::run::Run;
use crate::sample::testing::{device, sample};
use crate::sample::{KernelStat, Sample};

const SECOND: u64 = 1_000_000_000;

/// What happens to the first disk, or to the machine, before a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The disk is not there any more.
    Gone,
    /// It is not in mode 2.
    ModeOff,
    /// It is there, and in mode 2.
    Back,
    /// The machine was suspended for a minute.
    Suspend,
    /// It was started anew.
    Reboot,
}

/// A machine with so many disks, sampled each second so often; each disk is busy, up and down.
pub fn history(disks: u64, seconds: u64, events: &[(u64, Event)]) -> Run {
    let mut run = Run::default();
    "made up".clone_into(&mut run.title);
    samples(disks, seconds, events).for_each(|sample| run.take(sample));
    run
}

/// The samples of [`history`].
pub fn samples(
    disks: u64,
    seconds: u64,
    events: &[(u64, Event)],
) -> impl Iterator<Item = Sample> + '_ {
    let mut state = sample(0, (0..disks).map(disk).collect());
    let (mut first, mut suspended, mut boot) = (None, 0, 0);
    (0..seconds).map(move |second| {
        for (_, event) in events.iter().filter(|(at, _)| *at == second) {
            match event {
                Event::Suspend => suspended += 60 * SECOND,
                Event::Reboot => boot += 1,
                other => first = Some(*other),
            }
        }
        let now = second * SECOND;
        for (n, disk) in state.devices.iter_mut().enumerate() {
            step(disk, second, n as u64);
        }
        let mut sample = sample(now, state.devices.clone());
        sample.suspended_ns = suspended;
        sample.boot_id = format!("boot{boot}").into();
        match first {
            Some(Event::Gone) => drop(sample.devices.remove(0)),
            Some(Event::ModeOff) => {
                sample.devices[0].mode = Some(1);
                sample.devices[0].stat = None;
            }
            _ => (),
        }
        sample
    })
}

fn disk(n: u64) -> crate::sample::DeviceSample {
    let letter = char::from(b'a' + (n % 26) as u8);
    let mut device = device(&format!("sd{letter}"), 0);
    let identity = Arc::make_mut(&mut device.identity);
    identity.model = Some("Made Up 9000".to_owned());
    identity.queue.scheduler = Some("bfq".to_owned());
    let stat = device.stat.get_or_insert_default();
    stat.errors = Some(0);
    stat.device = Some(DeviceSide::default());
    device.anomalies = Some(Anomalies::default());
    device.classic = Some(false);
    device.kernel = Some(KernelStat::default());
    device
}

/// Lets a second pass. The depth goes up and down, and what completes up to eight at once.
fn step(device: &mut crate::sample::DeviceSample, second: u64, n: u64) {
    let phase = (second * 7 + n * 13 + second / 40 * 5) % 40;
    let depth = 1 + phase.min(40 - phase);
    let ios = 1000 * depth.min(8) + (second * 37 + n * 11) % 97;
    let latency = depth * SECOND / ios;
    let busy = SECOND * 9 / 10;
    let stat = device.stat.get_or_insert_default();
    stat.time_ns = second * SECOND;
    stat.io_ticks += busy;
    stat.time_in_queue += depth * SECOND;
    for (group, part) in [(0, 3), (1, 1)] {
        let ios = ios * part / 4;
        let group_stat = &mut stat.groups[group];
        group_stat.ios += ios;
        group_stat.sectors += ios * 8;
        group_stat.nsecs += ios * latency;
        let driver = latency * 3 / 4;
        if let Some(side) = &mut stat.device {
            side.nsecs[group] += ios * driver;
            side.time_in_queue += ios * driver;
        }
        let slow = ios / 50;
        let histogram = Arc::make_mut(device.latencies.0[group].get_or_insert_default());
        let device = histogram.device.get_or_insert_default();
        for (ns, count) in [(1, ios / 3), (2, ios / 3), (3, ios / 4), (20, slow)] {
            histogram.total.0[place(latency * ns / 2)] += count;
            device.0[place(driver * ns / 2)] += count;
        }
    }
    if let Some(side) = &mut stat.device {
        side.ticks += busy - SECOND / 50;
    }
    if let Some(kernel) = &mut device.kernel {
        kernel.io_ticks_ms += if depth > 2 { 1000 } else { 600 };
    }
}
