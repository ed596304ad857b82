// SPDX-License-Identifier: GPL-2.0

//! Replays the histories in `tools/testing/cases` through the core and checks what it reports.
//!
//! The replay does what the module's hooks do: whether a request counts is decided at its start,
//! a partition's I/O also counts for its disk, and a merged request passes on its start time.

#![cfg(not(loom))]
#![allow(missing_docs)]

use std::cell::Cell as Value;
use std::collections::HashMap;
use std::path::Path;

use acct::busy::Busy;
use acct::extended::Extended;
use acct::leaf::Leaf;
use acct::nsec::Nsec;
use acct::sgrp::StatGroup;
use acct::slot::{self, Cell, Slot, Slots};
use acct::snap::Snapshot;
use cases::{Case, Event, Expect, Io, Key, Op, What};

/// The cells of one CPU, which is all a replay has.
struct OneCpu([Value<u64>; Cell::COUNT]);

impl Slot for OneCpu {
    fn add_nth<const FIRST: usize>(&self, nth: usize, n: u64) {
        let value = &self.0[FIRST + nth];
        value.set(value.get().wrapping_add(n));
    }
}

impl Slots for OneCpu {
    fn cpus(&self) -> impl Iterator<Item = usize> {
        0..1
    }

    fn load(&self, _: usize, cell: Cell) -> u64 {
        self.0[cell.index()].get()
    }
}

/// A block device: a whole disk or a partition.
struct Device {
    busy: Busy,
    leaf: Leaf,
    queue: Extended<64>,
    cpu: OneCpu,
}

impl Device {
    fn new() -> Self {
        Self {
            busy: Busy::default(),
            leaf: Leaf::default(),
            queue: Extended::default(),
            cpu: OneCpu([const { Value::new(0) }; Cell::COUNT]),
        }
    }

    fn snap(&self, t: Nsec) -> Snapshot {
        Snapshot::take(&self.busy, &self.queue, &self.cpu, &|| t)
    }
}

/// A request in flight.
struct Request {
    device: String,
    group: StatGroup,
    /// Its own start, or the earliest that was merged into it.
    start: Nsec,
}

#[derive(Default)]
struct Replay {
    devices: HashMap<String, Device>,
    requests: HashMap<u64, Request>,
    off: HashMap<String, bool>,
    orphans: u64,
}

/// Returns the disk of a device: `d0` of `d0p1` and of `d0`.
fn disk_of(device: &str) -> &str {
    device.split_once('p').map_or(device, |(disk, _)| disk)
}

/// Returns the names at both levels, or only the disk's.
fn levels(device: &str) -> Vec<String> {
    let mut names = vec![disk_of(device).to_owned()];
    if names[0] != device {
        names.push(device.to_owned());
    }
    names
}

fn group(op: Op) -> StatGroup {
    match op {
        Op::Read => StatGroup::Read,
        Op::Write => StatGroup::Write,
        Op::Discard => StatGroup::Discard,
        Op::Flush => StatGroup::Flush,
    }
}

impl Replay {
    /// Returns the accounts of all levels of `device`.
    fn accounts(&mut self, device: &str) -> Vec<&Device> {
        let names = levels(device);
        for name in &names {
            self.devices.entry(name.clone()).or_insert_with(Device::new);
        }
        names.iter().map(|name| &self.devices[name]).collect()
    }

    fn start(&mut self, io: &Io, t: Nsec) {
        if self.off.get(disk_of(&io.device)) == Some(&true) {
            return;
        }
        let request = Request {
            device: io.device.clone(),
            group: group(io.op),
            start: t,
        };
        let accounts = self.accounts(&io.device);
        let arrivals: Vec<_> = accounts.iter().map(|d| d.busy.start(&d.leaf)).collect();
        let times = arrivals.into_iter().map(|arrival| arrival.commit(t, &|| t));
        for (device, time) in accounts.iter().zip(times) {
            slot::start(&device.cpu, time, request.group, || io.sectors);
        }
        self.requests.insert(io.request, request);
    }

    /// Takes a request out of flight; `book` says how.
    fn leave(&mut self, io: &Io, t: Nsec, book: impl Fn(&OneCpu, Nsec, &Request)) -> Option<Nsec> {
        let request = self.requests.remove(&io.request)?;
        let accounts = self.accounts(&request.device);
        let departures: Vec<_> = accounts.iter().map(|d| d.busy.end(&d.leaf)).collect();
        let times = departures.into_iter().map(|end| end.commit(t, &|| t));
        for (device, time) in accounts.iter().zip(times) {
            let time = time.expect("the request is in flight");
            book(&device.cpu, time, &request);
        }
        Some(request.start)
    }

    fn event(&mut self, event: &Event, t: Nsec) {
        match event {
            Event::Start(io) => self.start(io, t),
            Event::End(io) => {
                let ended = self.leave(io, t, |cpu, t, request| {
                    slot::end(cpu, t, request.group, request.start)
                });
                self.orphans += u64::from(ended.is_none());
            }
            Event::Merge { io, into } => {
                let start = self.leave(io, t, |cpu, t, request| {
                    slot::absorbed(cpu, t, request.group)
                });
                if let (Some(start), Some(by)) = (start, self.requests.get_mut(into)) {
                    by.start = by.start.min(start);
                }
            }
            Event::Switch { device, on } => {
                self.off.insert(device.clone(), !on);
            }
            Event::Remove { device } => {
                self.devices.retain(|name, _| disk_of(name) != device);
            }
            Event::Read => {
                for device in self.devices.values() {
                    device.snap(t);
                }
            }
            // None of these starts or ends an I/O.
            Event::Partial(_) | Event::Requeue(_) | Event::FlushIssue(_) | Event::FlushDone(_) => {}
        }
    }

    /// Returns a line for each key of `expect` that does not hold at `t`.
    fn check(&mut self, expect: &Expect, t: Nsec) -> Vec<String> {
        self.accounts(&expect.device);
        let snap = self.devices[&expect.device].snap(t);
        let sum = |count: fn(&acct::wire::Group) -> u64| snap.stat.groups.iter().map(count).sum();
        let found = |key| {
            Some(match key {
                Key::Busy => snap.stat.io_ticks,
                Key::Queue => snap.stat.time_in_queue,
                Key::Lat => sum(|group| group.nsecs),
                Key::Ios => sum(|group| group.ios) * US,
                Key::Inflight => snap.stat.in_flight * US,
                Key::Merges => snap.absorbed * US,
                // The kernel counts its internal flushes itself.
                Key::Flushes | Key::FlushUs => return None,
            })
        };
        expect
            .want
            .iter()
            .filter_map(|&(key, want)| {
                let found = found(key)?;
                (found != want * US)
                    .then(|| format!("{key:?}: want {want}, found {}", found as f64 / US as f64))
            })
            .collect()
    }
}

const US: u64 = 1_000;

/// An origin of time far from zero, as a machine that has been up for a while.
const EPOCH: u64 = 1_234_567_890_123_456_789;

fn time(at_us: u64) -> Nsec {
    Nsec(EPOCH + at_us * US)
}

/// Replays a case; returns what did not hold, by line.
fn replay(case: &Case) -> Vec<String> {
    let mut replay = Replay::default();
    let mut last = 0;
    let mut failures = Vec::new();
    for step in &case.steps {
        let failed = match &step.what {
            What::Event { at_us, event } => {
                last = *at_us;
                replay.event(event, time(*at_us));
                continue;
            }
            What::Expect(expect) => replay.check(expect, time(expect.at_us.unwrap_or(last))),
        };
        failures.extend(failed.iter().map(|what| format!("{}: {what}", step.line)));
    }
    failures
}

#[test]
fn every_case_has_its_known_answer() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testing/cases");
    let mut count = 0;
    for entry in dir.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_none_or(|extension| extension != "trace")
        {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let case = cases::parse(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        assert_eq!(replay(&case), [] as [String; 0], "{path:?}");
        count += 1;
    }
    assert!(count >= 14, "only {count} cases found");
}

#[test]
fn a_wrong_answer_is_noticed() {
    let case = cases::parse("0 S 1 d0 R 8\n5 E 1 d0 R 8\nexpect d0 busy=6 ios=1\n").unwrap();
    assert_eq!(replay(&case), ["3: Busy: want 6, found 5"]);
}

#[test]
fn an_end_without_a_start_is_an_orphan_and_nothing_else() {
    let text = "5 E 1 d0 R 8\nexpect d0 busy=0 queue=0 lat=0 ios=0 inflight=0\n";
    assert_eq!(replay(&cases::parse(text).unwrap()), [] as [String; 0]);
    let mut replay = Replay::default();
    let io = Io {
        request: 1,
        device: "d0".into(),
        op: Op::Read,
        sectors: 8,
    };
    replay.event(&Event::End(io), time(5));
    assert_eq!(replay.orphans, 1);
}
