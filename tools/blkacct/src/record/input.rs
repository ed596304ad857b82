// SPDX-License-Identifier: GPL-2.0
//! Where a command takes its samples from: this machine, or a recording.

use std::path::{Path, PathBuf};

use anyhow::bail;

use super::Replay;
use crate::device::Device;
use crate::sample::{Choice, Live, Paced, Sample, Source, Times};
use crate::terminal;

/// What is looked at.
pub enum Input {
    /// This machine, or what is below another root.
    Live(PathBuf),
    /// A recording.
    Recording(Box<Replay>),
}

impl Input {
    /// Takes the recording, if one is given.
    ///
    /// # Errors
    ///
    /// A file that is no recording, or that cannot be read.
    pub fn open(from: Option<&Path>, root: &Path) -> anyhow::Result<Self> {
        Ok(match from {
            Some(path) => Input::Recording(Box::new(Replay::open(path)?)),
            None => Input::Live(root.to_owned()),
        })
    }

    /// Returns the kernel's name of a device, which may be given by any of its names.
    ///
    /// # Errors
    ///
    /// [`crate::exit::NotAvailable`] if there is none, here or in the recording.
    pub fn find(&mut self, name: &str) -> anyhow::Result<String> {
        match self {
            Input::Live(root) => Ok(Device::find(root, name)?.name),
            Input::Recording(replay) => replay.find(name),
        }
    }

    /// Returns the samples: of this machine at these times, with histograms or without; or of the
    /// recording, one each interval or all.
    pub fn source(self, choice: Choice, histograms: bool, times: Times) -> Box<dyn Source> {
        match self {
            Input::Live(root) => Box::new(Paced::new(Live::new(&root, choice, histograms), times)),
            Input::Recording(replay) => Box::new(Chosen {
                replay,
                choice,
                times,
                given: 0,
                due: None,
            }),
        }
    }
}

/// Some samples of a recording, and of each some devices. What is wrong with it is told on standard
/// error.
struct Chosen {
    replay: Box<Replay>,
    choice: Choice,
    times: Times,
    /// Samples that were given.
    given: u64,
    /// In which run of the kernel, and when on its clock, the next one is due.
    due: Option<(std::sync::Arc<str>, u64)>,
}

impl Chosen {
    /// Whether a sample is the one that a reader at these intervals would have had. They keep to the
    /// first, and one that is early by a little is not left out for the next.
    fn is_due(&mut self, sample: &Sample) -> bool {
        let Some(interval) = self.times.interval else {
            return true;
        };
        let interval = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
        let early = (interval / 10).min(100_000_000);
        // The time that a suspended machine stands still passes, too.
        let now = sample.begin_ns.saturating_add(sample.suspended_ns);
        let due = match &self.due {
            Some((boot, due)) if *boot == sample.boot_id => *due,
            _ => now,
        };
        if now.saturating_add(early) < due {
            return false;
        }
        let missed = now.saturating_add(early).saturating_sub(due) / interval;
        let next = due.saturating_add(interval.saturating_mul(missed + 1));
        self.due = Some((sample.boot_id.clone(), next));
        true
    }

    fn choose(&self, sample: &mut Sample) {
        let identities: Vec<_> = sample.devices.iter().map(|d| d.identity.clone()).collect();
        let mut chosen = self.choice.of(&identities).into_iter();
        sample.devices.retain(|_| chosen.next() == Some(true));
    }
}

impl Source for Chosen {
    fn next(&mut self) -> anyhow::Result<Option<Sample>> {
        if self.times.count == Some(self.given) {
            return Ok(None);
        }
        loop {
            let sample = self.replay.next()?;
            let path = self.replay.path().display().to_string();
            for note in self.replay.take_notes() {
                terminal::tell(format_args!("{path}: {note}"));
            }
            let Some(mut sample) = sample else {
                if self.given == 0 {
                    bail!("{path}: no sample in it");
                }
                return Ok(None);
            };
            if self.is_due(&sample) {
                self.choose(&mut sample);
                self.given += 1;
                return Ok(Some(sample));
            }
        }
    }
}
