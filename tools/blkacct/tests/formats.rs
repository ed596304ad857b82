// SPDX-License-Identifier: GPL-2.0
//! Traces as they are met, through the command: what is read, and what is refused with its reason.

mod common;

use std::io::Write;

use assert_cmd::Command;
use common::check;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

/// Checks a trace from standard input.
fn read(format: &str, disk: &str, text: impl Into<Vec<u8>>, more: &[&str]) -> Command {
    let args = ["--format", format, "--disk", disk, "-"];
    let mut command = check(&[&args[..], more].concat());
    command.write_stdin(text);
    command
}

/// Returns `io_ticks` and the I/O of reads and writes.
fn figures(mut command: Command) -> [u64; 3] {
    let output = command.arg("--json").output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let fields = report["fields"].as_array().unwrap();
    ["io_ticks", "read ios", "write ios"].map(|name| {
        let field = fields.iter().find(|field| field["name"] == name);
        field.map_or(0, |field| field["truth"].as_u64().unwrap())
    })
}

const CMD: &str = include_str!("data/cmd.ftrace");
const CHAINS: &str = include_str!("data/chains.perf");
const TOTALS: &str = include_str!("data/totals.blkparse");

#[test]
fn reports_of_trace_cmd_are_read() {
    assert_eq!(figures(read("ftrace", "8:32", CMD, &[])), [1_400_000, 1, 1]);
}

#[test]
fn call_chains_of_perf_are_skipped() {
    assert_eq!(
        figures(read("perf-script", "8:32", CHAINS, &[])),
        [900_222, 1, 0]
    );
}

#[test]
fn totals_elapsed_times_and_flushes_of_blkparse_are_read() {
    assert_eq!(
        figures(read("blkparse", "8:32", TOTALS, &[])),
        [1_301_000, 1, 1]
    );
}

#[test]
fn marks_and_line_ends_of_other_systems_are_read() {
    for (format, text) in [
        ("ftrace", CMD),
        ("perf-script", CHAINS),
        ("blkparse", TOTALS),
    ] {
        let plain = figures(read(format, "8:32", text, &[]));
        let other = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        assert_eq!(figures(read(format, "8:32", other, &[])), plain);
    }
}

#[test]
fn losses_are_found_in_every_format() {
    for (format, text, lost) in [
        (
            "ftrace",
            format!("CPU:2 [31 EVENTS DROPPED]\n{CMD}"),
            "31 events",
        ),
        (
            "ftrace",
            format!("CPU:2 [EVENTS DROPPED]\n{CMD}"),
            "lost events",
        ),
        (
            "perf-script",
            format!("{CHAINS} x 1 [001] 731.500000: PERF_RECORD_LOST lost 31\n"),
            "31 events",
        ),
        (
            "blkparse",
            TOTALS.replace("0 forward (0 -   0.0%)", "1,000 forward (3,100 -  75.4%)"),
            "3100 events",
        ),
    ] {
        for text in [text.replace('\n', "\r\n"), text] {
            let mut command = read(format, "8:32", text, &[]);
            command.assert().code(1).stderr(contains(lost));
        }
    }
}

#[test]
fn another_format_is_named() {
    for (format, text, other) in [
        ("perf-script", CMD, "ftrace"),
        ("blkparse", CMD, "ftrace"),
        ("ftrace", CHAINS, "perf-script"),
        ("blkparse", CHAINS, "perf-script"),
        ("ftrace", TOTALS, "blkparse"),
        ("perf-script", TOTALS, "blkparse"),
    ] {
        // Heads and comments tell nothing.
        let text: Vec<&str> = text.lines().filter(|line| line.contains("8,32")).collect();
        let says = format!("-:1: this line is of the format {other}; give --format {other}");
        let mut command = read(format, "8:32", text.join("\n") + "\n", &[]);
        command.assert().code(1).stderr(contains(says));
    }
}

#[test]
fn files_that_are_no_text_are_told_the_command_that_prints_them() {
    for (bytes, command) in [
        (&b"\x07\x74\x61\x65\x01\0\0\0\0\0\0\0"[..], "blkparse -i"),
        (b"\x65\x61\x74\x07\0\0\0\x01\n", "blkparse -i"),
        (b"PERFILE2\x68\0\0\0\0\0\0\0", "perf script"),
        (b"\x17\x08\x44tracing6\0", "trace-cmd report"),
        (b"\x1f\x8b\x08\0\0\0\0\0\0\x03", "gzip -dc"),
        (b"\xff\xfe \0 \0", "iconv"),
    ] {
        for format in ["ftrace", "perf-script", "blkparse"] {
            let mut check = read(format, "8:32", bytes, &[]);
            check.assert().code(1).stderr(contains(command));
        }
        // It is taken for a case.
        let mut case = check(&["-"]);
        case.write_stdin(bytes);
        case.assert().code(1).stderr(contains(command));
    }
}

#[test]
fn times_that_are_none_are_refused_by_name() {
    let ticks = CMD.replace("731.4", "7314");
    let mut command = read("ftrace", "8:32", ticks, &[]);
    command
        .assert()
        .code(1)
        .stderr(contains("counter, uptime or x86-tsc"));
    let line = |time: &str, event: &str| {
        format!("dbus-1 4021 [000] {time}: block:{event}: 8,32 R 0 () 8 + 8 [dbus-1]\n")
    };
    let deltas = [
        line("0.000000", "block_io_start"),
        line("0.000420", "block_io_done"),
        line("2.000000", "block_io_start"),
        line("0.000370", "block_io_done"),
    ];
    let mut command = read("perf-script", "8:32", deltas.concat(), &[]);
    command.assert().code(1).stderr(contains(
        "-:4: the time steps back as with perf script --deltatime",
    ));
    // The head is gone.
    let mut command = read("perf-script", "8:32", deltas[1..].concat(), &[]);
    command.assert().code(1).stderr(contains("--deltatime"));
    // Times since the first event are times.
    let since = [
        line("0.000000", "block_io_start"),
        line("0.000420", "block_io_done"),
    ];
    assert_eq!(
        figures(read("perf-script", "8:32", since.concat(), &[])),
        [420_000, 1, 0]
    );
}

#[test]
fn a_trace_without_starts_or_ends_gives_no_figures() {
    let without = |text: &str, event: &str| {
        let lines = text.lines().filter(|line| !line.contains(event));
        lines.map(|line| format!("{line}\n")).collect::<String>()
    };
    for (format, text, event) in [
        ("ftrace", CMD, "block_io_start"),
        ("ftrace", CMD, "block_io_done"),
        ("perf-script", CHAINS, "block_io_start"),
        ("perf-script", CHAINS, "block_io_done"),
        ("blkparse", TOTALS, " G "),
        ("blkparse", TOTALS, " C "),
    ] {
        let mut command = read(format, "8:32", without(text, event), &[]);
        let names = contains(format!("no {}", event.trim()));
        let assert = command.assert().code(1).stderr(names);
        assert.stdout(contains("UNFIT:").and(contains("io_ticks").not()));
    }
}

/// Bytes of a line that never ends, far more than the memory that the command gets.
const ENDLESS: usize = 256 << 20;

#[test]
fn a_line_without_end_is_refused_in_little_memory_and_few_words() {
    for format in ["ftrace", "perf-script", "blkparse"] {
        for byte in [b'x', b'[', b' ', 0] {
            let mut child = std::process::Command::new("sh")
                .args([
                    "-c",
                    "ulimit -v 65536; exec \"$@\"",
                    "sh",
                    env!("CARGO_BIN_EXE_blkacct"),
                ])
                .args(["check", "--format", format, "--disk", "8:0", "-"])
                .stdin(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            let mut stdin = child.stdin.take().unwrap();
            let piece = [byte; 1 << 16];
            // It stops reading long before the end.
            let refused = (0..ENDLESS >> 16).any(|_| stdin.write_all(&piece).is_err());
            drop(stdin);
            let output = child.wait_with_output().unwrap();
            assert!(refused);
            assert_eq!(output.status.code(), Some(1));
            assert!(output.stderr.len() < 200, "{}", output.stderr.len());
        }
    }
}
