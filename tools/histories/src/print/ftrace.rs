// SPDX-License-Identifier: GPL-2.0
//! `trace` of tracefs, and `trace-cmd report`.

use std::fmt::Write;

use super::{tracepoint, who};
use crate::world::World;

/// Prints `trace`.
pub fn trace(world: &World, first: usize) -> String {
    let shown = world.records[first..]
        .iter()
        .filter(|record| tracepoint(world, record).is_some());
    let (count, cpus) = (shown.count(), world.machine.cpus);
    let mut text = format!(
        "# tracer: nop\n#\n# entries-in-buffer/entries-written: {count}/{count}   #P:{cpus}\n#\n"
    );
    lines(world, first, &mut text, " ");
    text
}

/// Prints `trace-cmd report`.
pub fn trace_cmd(world: &World, first: usize) -> String {
    let mut text = format!("cpus={}\n", world.machine.cpus);
    lines(world, first, &mut text, "      ");
    text
}

fn lines(world: &World, first: usize, text: &mut String, gap: &str) {
    for record in &world.records[first..] {
        let Some((name, event)) = tracepoint(world, record) else {
            continue;
        };
        let (comm, pid) = who(world, record, "<idle>");
        let (seconds, us) = (record.time / 1_000_000_000, record.time / 1000 % 1_000_000);
        let cpu = record.cpu;
        let _ = writeln!(
            text,
            "{comm:>16}-{pid:<7} [{cpu:03}] d..1. {seconds:5}.{us:06}: {name}:{gap}{event}"
        );
    }
}
