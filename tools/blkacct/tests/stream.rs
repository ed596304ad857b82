// SPDX-License-Identifier: GPL-2.0
//! A long trace through a pipe: memory follows the requests in flight, not the length.
//!
//! `BLKACCT_EVENTS` sets the length; with `--release -- --nocapture` the test tells the speed.

use std::fs;
use std::io::{BufWriter, Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const DEPTH: u64 = 32;
const LIMIT_KB: u64 = 16 * 1024;

/// Writes `events` events: every I/O takes `DEPTH` us, one starts each us.
fn generate(out: &mut impl Write, events: u64) -> std::io::Result<()> {
    let line = |out: &mut dyn Write, us: u64, event: &str, io: u64, bytes: u64| {
        let (s, us, sector) = (us / 1_000_000, us % 1_000_000, io % 100_000 * 8);
        writeln!(
            out,
            "             fio-4242    [{:03}] d..1. {s:5}.{us:06}: {event}: 8,0 R {bytes} () {sector} + {} none,0,0 [fio]",
            io % 2,
            bytes / 512
        )
    };
    let ios = events / 2;
    for us in 0..ios + DEPTH {
        if us >= DEPTH {
            line(out, us, "block_io_done", us - DEPTH, 0)?;
        }
        if us < ios {
            line(out, us, "block_io_start", us, 4096)?;
        }
    }
    out.flush()
}

/// Returns the most memory that a live process has had, in KiB.
fn peak_kb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn memory_does_not_follow_the_length_of_the_trace() {
    let events = std::env::var("BLKACCT_EVENTS").map_or(400_000, |n| n.parse().unwrap());
    let begun = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_blkacct"))
        .args([
            "check", "--format", "ftrace", "--disk", "8:0", "--json", "-",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = BufWriter::with_capacity(1 << 16, child.stdin.take().unwrap());
    generate(&mut pipe, events).unwrap();
    // It still waits for more, and has seen all but the last bufferful.
    std::thread::sleep(Duration::from_millis(100));
    let peak = peak_kb(child.id());
    drop(pipe);
    let mut text = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert!(child.wait().unwrap().success());
    println!("{events} events in {:?}, peak {peak} KiB", begun.elapsed());
    assert!(peak < LIMIT_KB, "{peak} KiB");

    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    let truth = |name: &str| {
        let fields = report["fields"].as_array().unwrap();
        let field = fields.iter().find(|field| field["name"] == name).unwrap();
        field["truth"].as_u64().unwrap()
    };
    let ios = events / 2;
    assert_eq!(truth("read ios"), ios);
    assert_eq!(truth("io_ticks"), (ios - 1 + DEPTH) * 1000);
    assert_eq!(truth("time_in_queue"), ios * DEPTH * 1000);
    assert_eq!(truth("read nsecs"), ios * DEPTH * 1000);
}
