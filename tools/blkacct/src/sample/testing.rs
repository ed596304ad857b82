// SPDX-License-Identifier: GPL-2.0
//! Samples for tests.

use std::sync::Arc;

use acct::wire::Stat;

use super::{DeviceSample, Identity, Latencies, Sample};

/// A sample taken at this time of `CLOCK_MONOTONIC`, in no time.
pub fn sample(time_ns: u64, devices: Vec<DeviceSample>) -> Sample {
    Sample {
        boot_id: "boot".into(),
        wall_ns: 1_800_000_000_000_000_000 + time_ns,
        begin_ns: time_ns,
        end_ns: time_ns,
        suspended_ns: 0,
        devices,
    }
}

/// A device in mode 2 that has done nothing.
pub fn device(name: &str, time_ns: u64) -> DeviceSample {
    DeviceSample {
        identity: Arc::new(Identity {
            name: name.to_owned(),
            diskseq: Some(1),
            ..Identity::default()
        }),
        mode: Some(2),
        took_ns: 0,
        stat: Some(Stat {
            time_ns,
            ..Stat::default()
        }),
        counted_ns: None,
        anomalies: None,
        latencies: Latencies::default(),
        classic: None,
        kernel: None,
    }
}
