// SPDX-License-Identifier: GPL-2.0
//! `blkparse` in its default format: the events of blktrace, whose letters are fewer.

use std::fmt::Write;

use super::{dev, who};
use crate::event::{Op, Record, What};
use crate::world::World;

/// Prints the events of all disks, as `blkparse` of several traces does.
pub fn text(world: &World, first: usize) -> String {
    let mut text = String::new();
    let mut sequence = vec![0; world.machine.cpus];
    let begin = world.records.get(first).map_or(0, |record| record.time);
    for record in &world.records[first..] {
        let Some((action, rest)) = event(world, record) else {
            continue;
        };
        let (major, minor) = dev(record.disk);
        let time = record.time - begin;
        let (seconds, ns) = (time / 1_000_000_000, time % 1_000_000_000);
        let cpu = record.cpu;
        sequence[cpu] += 1;
        let bytes = match record.opf.op {
            Op::Driver => 36,
            _ => record.sectors * 512,
        };
        let (_, pid) = who(world, record, "swapper/0");
        let letters = record.opf.blkparse(bytes);
        let number = sequence[cpu];
        let _ = writeln!(
            text,
            "{major:3},{minor:<3} {cpu:2} {number:8} {seconds:5}.{ns:09} {pid:5} \
             {action:>2} {letters:>3} {rest}"
        );
    }
    text
}

/// Returns the action and what follows the letters; none for what blktrace does not have.
fn event(world: &World, record: &Record) -> Option<(char, String)> {
    let (sector, sectors) = (record.sector, record.sectors);
    let (name, _) = who(world, record, &format!("swapper/{}", record.cpu));
    let error = if record.failed { 65531 } else { 0 };
    let driver = record.opf.op == Op::Driver;
    let begun = match (driver, sectors) {
        (true, _) => format!("36 [{name}]"),
        (_, 0) => format!("[{name}]"),
        _ => format!("{sector} + {sectors} [{name}]"),
    };
    let ended = match (driver, sectors) {
        (true, _) => format!("[{error}]"),
        (_, 0) => format!("{sector} [{error}]"),
        _ => format!("{sector} + {sectors} [{error}]"),
    };
    Some(match record.what {
        What::Queue => ('Q', begun),
        What::BackMerge | What::Merge(_) => ('M', begun),
        What::FrontMerge => ('F', begun),
        What::Split(at) => ('X', format!("{sector} / {at} [{name}]")),
        What::GetRq => ('G', begun),
        What::Insert => ('I', begun),
        What::Issue => ('D', begun),
        What::Requeue => ('R', ended),
        What::Complete { .. } => ('C', ended),
        What::Start | What::Error | What::Done { .. } => return None,
    })
}
