// SPDX-License-Identifier: GPL-2.0
//! The command from outside: exit statuses and messages.
//!
//! After a wanted change of the help: `BLKACCT_BLESS=1 cargo test --test cli`.

mod common;

use std::fs;

use common::{check, data};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, is_empty, starts_with};

const FTRACE: [&str; 5] = ["--format", "ftrace", "--disk", "8:0", "sda.ftrace"];

#[test]
fn every_case_in_the_tree_passes() {
    let dir = data("../../../testing/cases");
    let paths = fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let cases: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|ext| ext == "trace"))
        .collect();
    assert!(cases.len() >= 14, "{}", cases.len());
    check(&[])
        .args(cases)
        .assert()
        .code(0)
        .stdout(contains("FAIL").not());
}

#[test]
fn a_wrong_expectation_fails_with_file_and_line() {
    check(&["wrong.case"])
        .assert()
        .code(3)
        .stdout("wrong.case:4: expect d0 busy=5 ok queue=5 FAIL (expected 6)\n");
}

#[test]
fn a_trace_that_is_taken_for_a_case_says_what_to_do() {
    check(&["sda.ftrace"]).assert().code(1).stderr(starts_with(
        "blkacct: sda.ftrace: not a case; is it a trace? then give --format: line 8:",
    ));
}

#[test]
fn check_without_anything_to_check_is_a_usage_error() {
    check(&[]).assert().code(2);
    check(&["--live", "sda", "x.trace"]).assert().code(2);
}

#[test]
fn help_is_the_fixture() {
    let output = check(&["--help"]).output().unwrap();
    assert!(output.status.success());
    if std::env::var_os("BLKACCT_BLESS").is_some() {
        fs::write(data("help.txt"), &output.stdout).unwrap();
    }
    let fixture = fs::read_to_string(data("help.txt")).unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), fixture);
}

#[test]
fn models_are_shown_when_asked_for() {
    let trace = ["--format", "ftrace", "--disk", "8,0", "sda.ftrace"];
    let with = |more: &[&str]| check(&[&trace[..], more].concat()).output().unwrap().stdout;
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    assert!(!text(with(&[])).contains("by kernel"));
    let shown = text(with(&["--models", "--hz", "1000"]));
    assert!(shown.contains("5.7 to 6.9"), "{shown}");
    let json: serde_json::Value = serde_json::from_slice(&with(&["--models", "--json"])).unwrap();
    assert_eq!(json["models"].as_array().map(Vec::len), Some(4));
    check(&[&trace[..], &["--hz", "100"]].concat())
        .assert()
        .code(2);
}

#[test]
fn all_formats_show_the_truth() {
    let rows = |format: &str, file: &str| {
        let args = ["--format", format, "--disk", "8,0", file];
        let output = check(&args).output().unwrap();
        assert!(output.status.success(), "{args:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let squeeze = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        text.lines().map(squeeze).collect::<Vec<_>>()
    };
    let ftrace = rows("ftrace", "sda.ftrace");
    assert_eq!(
        ftrace,
        [
            "8,0: 0.005000000 s, 8 events, times in ms",
            "field truth",
            "io_ticks 2.000000",
            "time_in_queue 2.310000",
            "in_flight at the end 0",
            "read ios 2",
            "read merges 1",
            "read nsecs 1.500000",
            "write ios 1",
            "write merges 0",
            "write nsecs 0.800000",
            "%util 40.000000",
            "mean depth 0.462000",
        ]
    );
    // perf has three digits more.
    assert_eq!(rows("perf-script", "sda.perf")[2], "io_ticks 2.000042");
    assert_eq!(rows("blkparse", "sda.blkparse")[2], "io_ticks 0.899000");
}

#[test]
fn standard_input_is_a_dash() {
    check(&["--format", "ftrace", "--disk", "8:0", "-"])
        .write_stdin(fs::read(data("sda.ftrace")).unwrap())
        .assert()
        .code(0)
        .stdout(contains("2.310000"));
}

#[test]
fn right_stat_passes_and_wrong_stat_fails() {
    let stats = |after| [&FTRACE[..], &["--stat", "before.stat", "--stat", after]].concat();
    check(&stats("after.stat"))
        .assert()
        .code(0)
        .stdout(contains("\nok\n"));
    check(&stats("wrong.stat"))
        .assert()
        .code(3)
        .stdout(contains("+0.600000").and(contains("FAIL")));
    check(&stats("before.stat"))
        .assert()
        .code(1)
        .stderr(contains("exchange them"));
    check(&stats("sda.ftrace"))
        .assert()
        .code(1)
        .stderr(contains(
            "sda.ftrace:1: is it a copy of blkacct's file?: field time_ns is not a number",
        ));
}

#[test]
fn json_has_integers_of_ns() {
    let mut args = FTRACE.to_vec();
    args.extend(["--json", "--stat", "before.stat", "--stat", "after.stat"]);
    let output = check(&args).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["pass"], true);
    assert_eq!(report["fields"][0]["truth"], 2_000_000);
    assert_eq!(report["fields"][0]["iostats2"], 2_000_300);
}

#[test]
fn an_option_that_would_do_nothing_is_refused() {
    for option in ["--json", "--models"] {
        check(&["wrong.case", option])
            .assert()
            .code(1)
            .stderr(contains("are for traces"));
    }
    for option in [&["--json"][..], &["--format", "ftrace"], &["--disk", "sda"]] {
        check(&[&["--watch", "sda"], option].concat())
            .assert()
            .code(2)
            .stderr(contains("cannot be used with"));
    }
}

#[test]
fn unfit_evidence_never_passes() {
    for (file, why) in [
        ("lost.ftrace", "the trace lost 123 events"),
        ("cut.ftrace", "stops in the middle of a line"),
    ] {
        let args = ["--format", "ftrace", "--disk", "8:0", file];
        check(&args).assert().code(1).stderr(contains(why));
    }
    check(&["--format", "ftrace", "--disk", "8:16", "sda.ftrace"])
        .assert()
        .code(1)
        .stderr(contains("names no event of the disk"));
}

#[test]
fn a_malformed_line_is_named() {
    check(&["--format", "ftrace", "--disk", "8:0", "malformed.ftrace"])
        .assert()
        .code(1)
        .stderr(starts_with(
            "blkacct: malformed.ftrace:9: expected `major,minor rwbs",
        ));
}

#[test]
fn what_is_not_here_is_not_available() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().to_str().unwrap();
    check(&[
        "--root",
        root,
        "--format",
        "ftrace",
        "--disk",
        "sda",
        "sda.ftrace",
    ])
    .assert()
    .code(4)
    .stderr(contains("MAJOR:MINOR; the number may be of a disk"));
    check(&["--root", root, "--live", "sda"]).assert().code(4);
}

#[test]
fn times_of_blkparse_cannot_be_laid_over_stat() {
    let args = [
        "--format",
        "blkparse",
        "--disk",
        "8:0",
        "--stat",
        "before.stat",
        "--stat",
        "after.stat",
        "sda.blkparse",
    ];
    check(&args)
        .assert()
        .code(1)
        .stderr(contains("use --format ftrace or perf-script"));
}

#[test]
fn progress_is_shown_on_request_only() {
    check(&FTRACE).assert().stderr(is_empty());
}
