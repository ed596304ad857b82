// SPDX-License-Identifier: GPL-2.0
//! This machine as a source: a sample at each interval.

use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::time::Instant;

use super::times::Pace;
use super::{Live, Sample, Source, Times};

/// Samples of this machine, at the times that were asked for.
pub struct Paced {
    live: Live,
    pace: Pace,
}

impl Paced {
    /// Samples that begin now.
    pub fn new(live: Live, times: Times) -> Self {
        Paced {
            live,
            pace: Pace::new(times, Instant::now()),
        }
    }
}

impl Source for Paced {
    fn next(&mut self) -> anyhow::Result<Option<Sample>> {
        if !self.pace.wait()? {
            return Ok(None);
        }
        self.live.read().map(Some)
    }

    fn until(&mut self, stop: Arc<AtomicBool>) {
        self.pace.until(stop);
    }
}
