// SPDX-License-Identifier: GPL-2.0
//! `perf script --ns`.

use std::fmt::Write;

use super::{tracepoint, who};
use crate::world::World;

/// Prints `perf script --ns`.
pub fn script(world: &World, first: usize) -> String {
    let mut text = String::new();
    for record in &world.records[first..] {
        let Some((name, event)) = tracepoint(world, record) else {
            continue;
        };
        let (comm, pid) = who(world, record, "swapper");
        let (seconds, ns) = (record.time / 1_000_000_000, record.time % 1_000_000_000);
        let (cpu, name) = (record.cpu, format!("block:{name}:"));
        let _ = writeln!(
            text,
            "{comm:>16} {pid:7} [{cpu:03}] {seconds:5}.{ns:09}: {name:>27} {event}"
        );
    }
    text
}
