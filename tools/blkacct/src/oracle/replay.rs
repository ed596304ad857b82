// SPDX-License-Identifier: GPL-2.0
//! Plays a case and holds its expectations against the oracle.
//!
//! A case names its requests, so no identity has to be guessed. Times stay in microseconds: the
//! oracle's arithmetic has no unit.

use std::collections::{BTreeMap, BTreeSet};

use cases::{Event, Expect, Io, Key, Op, Step, What};

use super::account::{Account, Figures, Unexplained};
use crate::source::Group;

/// An expectation, and what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The expectation's line.
    pub line: usize,
    /// When it must hold; at the end if there is no time.
    pub at_us: Option<u64>,
    /// The device.
    pub device: String,
    /// Key, wanted, found.
    pub found: Vec<(Key, u64, u64)>,
}

impl Outcome {
    /// Whether all of it holds.
    pub fn holds(&self) -> bool {
        self.found.iter().all(|&(_, want, found)| want == found)
    }
}

/// A case that contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The request is in flight already.
    #[error("{line}: request {request} starts while it is in flight")]
    Twice {
        /// The event's line.
        line: usize,
        /// The request.
        request: u64,
    },
    /// The expectation is about the past.
    #[error("{line}: the expectation is for {at_us} us, after an event at {last_us} us")]
    Past {
        /// The expectation's line.
        line: usize,
        /// Its time.
        at_us: u64,
        /// The time reached.
        last_us: u64,
    },
    /// There are more expectations or devices than in any case.
    #[error("{line}: more than {MOST} expectations or devices; make it several cases")]
    TooLarge {
        /// The line that is one too many.
        line: usize,
    },
    /// A disk is removed with I/O in flight.
    #[error("{line}: {device} is removed with requests in flight")]
    Busy {
        /// The event's line.
        line: usize,
        /// The disk.
        device: String,
    },
}

/// Expectations and devices that one case may have. What is in flight is as much as the case says,
/// however long it is.
const MOST: usize = 100_000;

/// A case that is being played, step by step.
#[derive(Default)]
pub struct Replay {
    stage: Stage,
    outcomes: Vec<Outcome>,
    /// What must hold at the end, with its line.
    at_end: Vec<(usize, Expect)>,
}

impl Replay {
    /// Plays the next step.
    ///
    /// # Errors
    ///
    /// A case that contradicts itself, or is larger than any case.
    pub fn step(&mut self, step: &Step) -> Result<(), ReplayError> {
        let line = step.line;
        match &step.what {
            What::Event { at_us, event } => self.stage.event(line, *at_us, event)?,
            What::Expect(expect) => match expect.at_us {
                None => self.at_end.push((line, expect.clone())),
                Some(at_us) if at_us < self.stage.now => {
                    let last_us = self.stage.now;
                    return Err(ReplayError::Past {
                        line,
                        at_us,
                        last_us,
                    });
                }
                Some(at_us) => self.outcomes.push(self.stage.outcome(line, expect, at_us)),
            },
        }
        let expectations = self.outcomes.len() + self.at_end.len();
        let devices = self.stage.devices.len() + self.stage.off.len();
        if expectations.max(devices) > MOST {
            return Err(ReplayError::TooLarge { line });
        }
        Ok(())
    }

    /// Returns the expectations in file order.
    pub fn finish(mut self) -> Vec<Outcome> {
        let now = self.stage.now;
        for (line, expect) in &self.at_end {
            self.outcomes.push(self.stage.outcome(*line, expect, now));
        }
        self.outcomes.sort_by_key(|outcome| outcome.line);
        self.outcomes
    }
}

/// A request in flight.
struct Flying {
    start: u64,
    group: Group,
    /// The partition, if it is on one, and the disk.
    devices: Vec<String>,
}

#[derive(Default)]
struct Stage {
    now: u64,
    devices: BTreeMap<String, Device>,
    flying: BTreeMap<u64, Flying>,
    off: BTreeSet<String>,
    /// Flush commands that are out, by the request they are for.
    flushing: BTreeMap<u64, u64>,
}

struct Device {
    account: Account,
    flushes: u64,
    flush_us: u64,
}

impl Stage {
    fn event(&mut self, line: usize, at: u64, event: &Event) -> Result<(), ReplayError> {
        self.now = at;
        match event {
            Event::Start(io) => self.start(line, io)?,
            Event::End(io) => {
                if let Some(ended) = self.flying.remove(&io.request) {
                    for device in &ended.devices {
                        self.device(device)
                            .account
                            .end(at, ended.group, Some(ended.start));
                    }
                }
            }
            Event::Merge { io, into } => {
                if let Some(absorbed) = self.flying.remove(&io.request) {
                    for device in &absorbed.devices {
                        self.device(device).account.absorb(at, absorbed.group, true);
                    }
                    if let Some(absorbing) = self.flying.get_mut(into) {
                        absorbing.start = absorbing.start.min(absorbed.start);
                    }
                }
            }
            Event::Partial(_) | Event::Requeue(_) | Event::Read => {}
            Event::FlushIssue(io) => {
                self.flushing.insert(io.request, at);
            }
            Event::FlushDone(io) => {
                if let Some(issued) = self.flushing.remove(&io.request) {
                    for device in with_disk(&io.device) {
                        let device = self.device(&device);
                        device.flushes += 1;
                        device.flush_us += at - issued;
                    }
                }
            }
            Event::Switch { device, on: false } => {
                self.off.insert(device.clone());
            }
            Event::Switch { device, on: true } => {
                self.off.remove(device);
            }
            Event::Remove { device } => {
                if self
                    .flying
                    .values()
                    .any(|flying| flying.devices.contains(device))
                {
                    let device = device.clone();
                    return Err(ReplayError::Busy { line, device });
                }
                self.devices.retain(|name, _| disk_of(name) != device);
            }
        }
        Ok(())
    }

    fn start(&mut self, line: usize, io: &Io) -> Result<(), ReplayError> {
        if self.flying.contains_key(&io.request) {
            let request = io.request;
            return Err(ReplayError::Twice { line, request });
        }
        if self.off.contains(disk_of(&io.device)) {
            return Ok(());
        }
        let flying = Flying {
            start: self.now,
            group: group(io.op),
            devices: with_disk(&io.device),
        };
        for device in &flying.devices {
            let now = self.now;
            self.device(device).account.begin(now, flying.group);
        }
        self.flying.insert(io.request, flying);
        Ok(())
    }

    fn device(&mut self, name: &str) -> &mut Device {
        self.devices
            .entry(name.to_owned())
            .or_insert_with(|| Device {
                account: Account::new(0, 0),
                flushes: 0,
                flush_us: 0,
            })
    }

    fn outcome(&mut self, line: usize, expect: &Expect, at: u64) -> Outcome {
        let device = self.device(&expect.device);
        let mut account = device.account.clone();
        account.close(at);
        let figures = account.finish(None, Unexplained::ByEdges);
        let (flushes, flush_us) = (device.flushes, device.flush_us);
        let found = |key| match key {
            Key::Busy => figures.io_ticks,
            Key::Queue => figures.time_in_queue,
            Key::Lat => sum(&figures, |tally| tally.nsecs),
            Key::Ios => sum(&figures, |tally| tally.ios),
            Key::Inflight => figures.in_flight,
            Key::Merges => sum(&figures, |tally| tally.merges),
            Key::Flushes => flushes,
            Key::FlushUs => flush_us,
        };
        Outcome {
            line,
            at_us: expect.at_us,
            device: expect.device.clone(),
            found: expect
                .want
                .iter()
                .map(|&(key, want)| (key, want, found(key)))
                .collect(),
        }
    }
}

fn sum(figures: &Figures, of: impl Fn(&super::account::Tally) -> u64) -> u64 {
    figures.groups.iter().map(of).sum()
}

fn group(op: Op) -> Group {
    match op {
        Op::Read => Group::Read,
        Op::Write => Group::Write,
        Op::Discard => Group::Discard,
        Op::Flush => Group::Flush,
    }
}

fn disk_of(device: &str) -> &str {
    device.split('p').next().unwrap_or(device)
}

fn with_disk(device: &str) -> Vec<String> {
    let mut devices = vec![device.to_owned()];
    if disk_of(device) != device {
        devices.push(disk_of(device).to_owned());
    }
    devices
}

#[cfg(test)]
mod tests {
    use super::*;

    fn play(text: &str) -> Result<Vec<Outcome>, ReplayError> {
        let mut replay = Replay::default();
        for step in cases::parse(text).unwrap().steps {
            replay.step(&step)?;
        }
        Ok(replay.finish())
    }

    fn holds(text: &str) -> Vec<bool> {
        let outcomes = play(text).unwrap();
        outcomes.iter().map(Outcome::holds).collect()
    }

    #[test]
    fn a_wrong_expectation_fails() {
        let io = "0 S 1 d0 R 8\n5 E 1 d0 R 8\n";
        assert_eq!(holds(&format!("{io}expect d0 busy=5 queue=5\n")), [true]);
        assert_eq!(holds(&format!("{io}expect d0 busy=5 queue=6\n")), [false]);
    }

    #[test]
    fn a_partition_counts_for_its_disk() {
        let text = "0 S 1 d0p1 R 8\n2 S 2 d0p2 R 8\n5 E 1 d0p1 R 8\n6 E 2 d0p2 R 8\n\
                    expect d0 busy=6 queue=9\nexpect d0p1 busy=5\nexpect d0p2 busy=4\n";
        assert_eq!(holds(text), [true; 3]);
    }

    #[test]
    fn an_orphan_counts_for_nothing() {
        assert_eq!(
            holds("5 E 1 d0 R 8\nexpect d0 busy=0 ios=0 inflight=0\n"),
            [true]
        );
    }

    #[test]
    fn contradictions_are_errors() {
        let error = |text: &str| play(text).unwrap_err().to_string();
        assert_eq!(
            error("0 S 1 d0 R 8\n1 S 1 d0 R 8\n"),
            "2: request 1 starts while it is in flight"
        );
        assert_eq!(
            error("5 R\nexpect@4 d0 busy=0\n"),
            "2: the expectation is for 4 us, after an event at 5 us"
        );
        assert_eq!(
            error("0 S 1 d0 R 8\n1 X d0\n"),
            "2: d0 is removed with requests in flight"
        );
        let many = "expect d0 busy=0\n".repeat(MOST + 1);
        let told = error(&many);
        assert!(
            told.starts_with("100001: more than 100000 expect"),
            "{told}"
        );
    }
}
