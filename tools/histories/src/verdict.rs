// SPDX-License-Identifier: GPL-2.0
//! Runs the checker on a history and holds what it says against the truth.

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde_json::Value;

use crate::event::{Op, Record, What, GROUPS};
use crate::plan::{Flavour, Plan};
use crate::print::{self, Format};
use crate::said::Said;
use crate::stat;
use crate::truth::{self, Tally, Truth, View, Window};
use crate::world::World;

/// How the checker did on one trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every figure is given, and right.
    Exact,
    /// Some are ranges, which hold the truth.
    Range,
    /// No verdict, for a reason that is given.
    Doubt,
}

/// What the checker got wrong.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Faults of one kind have the same.
    pub kind: String,
    /// The format it is in.
    pub format: Format,
    /// All there is to say, with the trace.
    pub text: String,
}

/// The checker, and a place for its files.
pub struct Checker {
    program: PathBuf,
    dir: tempfile::TempDir,
}

impl Checker {
    /// Runs this program.
    ///
    /// # Errors
    ///
    /// No room for temporary files.
    pub fn new(program: &Path) -> anyhow::Result<Self> {
        Ok(Checker {
            program: program.to_owned(),
            dir: tempfile::tempdir()?,
        })
    }

    fn run(&self, format: Format, disk: usize, copies: &[PathBuf]) -> anyhow::Result<Said> {
        let (major, minor) = print::dev(disk);
        let mut command = Command::new(&self.program);
        command
            .args(["check", "--json", "--format", format.argument(), "--disk"])
            .arg(format!("{major}:{minor}"));
        for copy in copies {
            command.arg("--stat").arg(copy);
        }
        if format == Format::Perf {
            command.arg("--losses-shown");
        }
        let output = command.arg(self.dir.path().join("trace")).output()?;
        Ok(Said {
            status: output.status.code().context("killed by a signal")?,
            json: serde_json::from_slice(&output.stdout).unwrap_or_default(),
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Judges the checker by a plan, in these formats; `count` is told of each outcome, and
    /// whether the trace is of everything from the beginning on. Returns
    /// the faults, one for each format at most.
    ///
    /// # Errors
    ///
    /// Those of the machine.
    pub fn judge(
        &self,
        plan: &Plan,
        formats: &[Format],
        count: &mut dyn FnMut(Format, bool, Outcome, &str),
    ) -> anyhow::Result<Vec<Fault>> {
        let world = World::of(plan);
        let mut faults = Vec::new();
        let first = world.records.len() * world.machine.skipped / 100;
        'formats: for &format in formats {
            let text = print::print(&world, format, first);
            fs::write(self.dir.path().join("trace"), &text)?;
            for disk in 0..world.disks.len() {
                if !has_events(&world, disk, first, format) {
                    continue;
                }
                let case = Case {
                    world: &world,
                    format,
                    disk,
                    first,
                    text: &text,
                };
                let said = self.run(format, disk, &[])?;
                match case.whole(&said) {
                    Ok((outcome, why)) => count(format, case.is_whole(), outcome, &why),
                    Err(fault) => {
                        faults.push(fault);
                        continue 'formats;
                    }
                }
                if matches!(format, Format::Ftrace | Format::Perf) && world.machine.shown.driver {
                    if let Err(fault) = self.copies(&case)? {
                        faults.push(fault);
                        continue 'formats;
                    }
                }
            }
        }
        Ok(faults)
    }

    /// Gives the checker copies of `stat` that are right, and one that is wrong.
    fn copies(&self, case: &Case<'_>) -> anyhow::Result<Result<(), Fault>> {
        let world = case.world;
        let times = world.records[case.first..]
            .iter()
            .filter(|record| record.disk == case.disk)
            .map(|record| record.time);
        let (Some(low), Some(high)) = (times.clone().min(), times.max()) else {
            return Ok(Ok(()));
        };
        let (from, to) = (low + (high - low) / 5, high - (high - low) / 7);
        if to <= from {
            return Ok(Ok(()));
        }
        let at = |to| {
            let window = Window {
                first: 0,
                from: 0,
                to,
            };
            truth::truth(world, case.disk, View::Accounting, window)
        };
        let (before, after) = (at(from), at(to));
        let path = |name| self.dir.path().join(name);
        let copies = [path("before"), path("after")];
        fs::write(&copies[0], stat::line(from, &before))?;
        fs::write(&copies[1], stat::line(to, &after))?;
        let said = self.run(case.format, case.disk, &copies)?;
        if said.status == 3 || !(said.status == 0 || said.status == 1 && said.has_doubt()) {
            let kind = format!("right copies: status {} {}", said.status, said.wrong());
            return Ok(Err(case.fault(
                kind,
                &said,
                &format!("before: {before}after: {after}"),
            )));
        }
        let mut wrong = after.clone();
        wrong.groups[1].ios += 100_000;
        wrong.groups[1].nsecs += 1_000_000_000_000;
        fs::write(&copies[1], stat::line(to, &wrong))?;
        let said = self.run(case.format, case.disk, &copies)?;
        let exact = case.is_exact() && case.first == 0;
        let refused = said.status == 1 && case.are_justified(&said, from..=to);
        if said.status == 0 || exact && said.status != 3 && !refused {
            let kind = format!("wrong copies: status {}", said.status);
            return Ok(Err(case.fault(
                kind,
                &said,
                &format!("before: {before}after: {after}"),
            )));
        }
        Ok(Ok(()))
    }
}

/// Whether the accounting changes.
fn is_change(what: What) -> bool {
    matches!(what, What::Start | What::Done { .. } | What::Merge(_))
}

/// Whether the trace names the disk.
fn has_events(world: &World, disk: usize, first: usize, format: Format) -> bool {
    let records = &world.records[first..];
    records
        .iter()
        .filter(|record| record.disk == disk)
        .any(|record| match format {
            Format::Blkparse => blkparse_counts(record),
            _ => matches!(record.what, What::Start),
        })
}

fn blkparse_counts(record: &Record) -> bool {
    matches!(record.what, What::GetRq)
}

/// A trace of a disk.
struct Case<'a> {
    world: &'a World,
    format: Format,
    disk: usize,
    first: usize,
    text: &'a str,
}

impl Case<'_> {
    /// Whether every figure follows from the trace, if it has the beginning.
    fn is_exact(&self) -> bool {
        self.world.machine.flavour == Flavour::Apart && self.is_full()
    }

    /// Whether all kinds of events were recorded.
    fn is_full(&self) -> bool {
        let shown = self.world.machine.shown;
        self.format == Format::Blkparse || shown.bios && shown.driver && shown.complete
    }

    /// Whether all events were recorded from the beginning on.
    fn is_whole(&self) -> bool {
        self.first == 0 && self.is_full()
    }

    fn fault(&self, kind: String, said: &Said, truth: &str) -> Fault {
        let machine = &self.world.machine;
        let part = if self.first > 0 { ", begun before" } else { "" };
        let kind = format!("{:?} {:?}{part}: {kind}", machine.flavour, self.format);
        let (major, minor) = print::dev(self.disk);
        let errors = &said.errors;
        let json = said.summary();
        let text = format!(
            "{kind}\n--- {} --disk {major}:{minor}, {:?}\n{}--- the truth\n{truth}\
             --- said\n{json}{errors}",
            self.format.argument(),
            machine.disks[self.disk],
            self.text
        );
        let format = self.format;
        Fault { kind, format, text }
    }

    /// Compares the figures of the whole trace.
    fn whole(&self, said: &Said) -> Result<(Outcome, String), Fault> {
        let fail = |kind: String, truth: &Truth| Err(self.fault(kind, said, &truth.to_string()));
        if !matches!(said.status, 0 | 1) || said.status == 1 && !said.has_doubt() {
            let kind = format!("status {}: {}", said.status, said.wrong());
            return fail(kind, &Truth::default());
        }
        let number = |value: &Value| value.as_u64();
        let (from, to) = (&said.json["from_ns"], &said.json["to_ns"]);
        let begin = match self.format {
            Format::Blkparse => self.world.records[self.first].time,
            _ => 0,
        };
        let (Some(from), Some(to)) = (number(from), number(to)) else {
            return fail("no window".to_owned(), &Truth::default());
        };
        let window = Window {
            first: self.first,
            from: from + begin,
            to: to + begin,
        };
        let view = match self.format {
            Format::Blkparse => View::Blktrace,
            _ => View::Accounting,
        };
        let truth = truth::truth(self.world, self.disk, view, window);
        if said.status == 1 {
            if !self.are_justified(said, 0..=u64::MAX) {
                return fail(format!("doubt: {}", said.doubts()), &truth);
            }
            return Ok((Outcome::Doubt, said.doubts()));
        }
        let mut outcome = Outcome::Exact;
        let mut given = Vec::new();
        for field in said.json["fields"].as_array().into_iter().flatten() {
            let name = field["name"].as_str().unwrap_or_default();
            let Some((want, unseen)) = wanted(name, &truth) else {
                continue;
            };
            given.push(name.to_owned());
            let range = field["range"].as_array().map(|range| {
                let side = |n: usize| range.get(n).and_then(number);
                (side(0).unwrap_or(0), side(1).unwrap_or(u64::MAX))
            });
            let range = range.or_else(|| number(&field["truth"]).map(|n| (n, n)));
            let Some((low, high)) = range else {
                outcome = Outcome::Range;
                continue;
            };
            if low != high {
                outcome = Outcome::Range;
            }
            let device = name.contains("device") || name == "requeues";
            if unseen || device && !self.tells_of_the_driver() {
                continue;
            }
            if !(low..=high).contains(&want) {
                let side = if want < low { "less" } else { "more" };
                return fail(format!("{name}: the truth is {side}"), &truth);
            }
            // Which of the flushes of several hardware queues ended or was requeued, nothing tells,
            // nor how many queues there are.
            let open = device && self.world.machine.disks[self.disk].cache;
            if self.is_exact() && self.first == 0 && low != high && !open {
                return fail(format!("{name}: a range"), &truth);
            }
        }
        for name in GROUPS.iter().enumerate().flat_map(|(group, name)| {
            let tally = &truth.groups[group];
            let there = tally.ios > 0 || tally.merges > 0;
            there.then(|| format!("{name} ios"))
        }) {
            if !given.contains(&name) {
                return fail(format!("{name} is missing"), &truth);
            }
        }
        Ok((outcome, String::new()))
    }

    /// Whether the reasons for no verdict over this window are true ones.
    fn are_justified(&self, said: &Said, window: RangeInclusive<u64>) -> bool {
        let mut doubts = said.json["doubts"].as_array().into_iter().flatten();
        doubts.all(|doubt| self.is_justified(doubt.as_str().unwrap_or_default(), &window))
    }

    fn is_justified(&self, doubt: &str, window: &RangeInclusive<u64>) -> bool {
        let records = &self.world.records[self.first..];
        let mut mine = records.iter().filter(|record| record.disk == self.disk);
        if doubt.starts_with("the trace has no block_io_done") {
            return !mine.any(|record| matches!(record.what, What::Done { .. }));
        }
        if doubt.starts_with("the trace has no C ") {
            return !mine.any(|record| matches!(record.what, What::Complete { .. }));
        }
        if doubt.starts_with("no event of the disk lies in the window") {
            let counted = |record: &Record| record.opf.op != Op::Driver;
            let inside = |record: &Record| window.contains(&record.time);
            return !mine.any(|r| inside(r) && counted(r) && is_change(r.what));
        }
        false
    }

    /// Whether the trace has all that the times at the driver are made of.
    fn tells_of_the_driver(&self) -> bool {
        let shown = self.world.machine.shown;
        self.format == Format::Blkparse || shown.driver && shown.complete
    }
}

/// Returns what a field should be, and whether the trace cannot know.
fn wanted(name: &str, truth: &Truth) -> Option<(u64, bool)> {
    let (ticks, queue, in_flight) = truth.device;
    let whole = match name {
        "io_ticks" => truth.io_ticks,
        "time_in_queue" => truth.time_in_queue,
        "in_flight at the end" => truth.in_flight,
        "device_ticks" => ticks,
        "device_time_in_queue" => queue,
        "device_in_flight at the end" => in_flight,
        "requeues" => truth.requeues,
        "errors" => truth.errors,
        _ => {
            let (group, what) = name.split_once(' ')?;
            let group = GROUPS.iter().position(|&name| name == group)?;
            let tally: &Tally = &truth.groups[group];
            return Some(match what {
                "ios" => (tally.ios, group == 3),
                "merges" => (tally.merges, group == 3),
                "nsecs" => (tally.nsecs, tally.unseen > 0 || group == 3),
                "device_nsecs" => (tally.device_nsecs, tally.device_unseen > 0),
                _ => return None,
            });
        }
    };
    Some((whole, false))
}
