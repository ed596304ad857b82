// SPDX-License-Identifier: GPL-2.0
//! A trace beside two copies of `stat`: whether it can carry a verdict on their window.

mod common;

use common::{check, data};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

/// Checks a trace against the copies of the window from 100 s on for 10 ms.
fn judge(format: &str, text: &str, after: &str, more: &[&str]) -> assert_cmd::assert::Assert {
    let args = [
        "--format",
        format,
        "--disk",
        "8:0",
        "--stat",
        "before.stat",
        "--stat",
        after,
        "-",
    ];
    let mut command = check(&[&args[..], more].concat());
    command.write_stdin(text).assert()
}

fn ftrace() -> String {
    std::fs::read_to_string(data("sda.ftrace")).unwrap()
}

/// The same as `perf script` prints it.
fn perf() -> String {
    let exec = "cp 90 [001] 99.999400000: sched:sched_process_exec: filename=/usr/bin/cp";
    let exit = "cp 91 [000] 100.010700000: sched:sched_process_exit: comm=cp pid=91";
    let events = std::fs::read_to_string(data("sda.perf")).unwrap();
    format!("{exec}\n{events}{exit}\n")
}

fn without(text: &str, word: &str) -> String {
    let lines = text.lines().filter(|line| !line.contains(word));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_trace_that_reaches_over_the_window_is_judged() {
    for (format, text) in [("ftrace", ftrace()), ("perf-script", perf())] {
        judge(format, &text, "after.stat", &[])
            .code(0)
            .stdout(contains("\nok\n"));
    }
    judge("ftrace", &ftrace(), "wrong.stat", &[]).code(3);
}

#[test]
fn a_trace_that_does_not_gives_no_verdict() {
    let no_verdict = |text: &str, after: &str, why: &str| {
        let assert = judge("ftrace", text, after, &[]).code(1);
        assert.stderr(contains(why)).stdout(contains("FAIL").not());
    };
    for after in ["after.stat", "wrong.stat"] {
        let begins = "begins 0.001000000 s after the window does, as";
        no_verdict(&without(&ftrace(), "exec"), after, begins);
        let ends = "ends 0.004000000 s before the window does";
        no_verdict(&without(&ftrace(), "exit"), after, ends);
    }
    let later = ftrace()
        .replace("  100.", " 9100.")
        .replace("   99.", " 9099.");
    no_verdict(&later, "after.stat", "of another time than the window");
}

#[test]
fn the_events_of_another_disk_show_that_a_trace_ran() {
    let other = |text: &str| text.replace("8,0 ", "8,16 ");
    let text = ftrace();
    let (head, tail) = (text.lines().nth(8).unwrap(), text.lines().nth(15).unwrap());
    let head = other(head).replace("100.001000", " 99.999000");
    let tail = other(tail).replace("100.006000", "100.020000");
    let bare = without(&without(&text, "exec"), "exit");
    judge(
        "ftrace",
        &format!("{head}\n{bare}{tail}\n"),
        "after.stat",
        &[],
    )
    .code(0);
}

#[test]
fn an_idle_disk_is_right_if_the_trace_shows_others() {
    let others = ftrace().replace("8,0 ", "8,16 ");
    // The same counters, 10 ms later.
    let stat = std::fs::read_to_string(data("before.stat")).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, stat.replacen("100000000000", "100010000000", 1)).unwrap();
    let after = file.path().to_str().unwrap();
    judge("ftrace", &others, after, &[])
        .code(0)
        .stdout(contains("\nok\n"));
    // The trace may have had no event of any disk.
    let none = without(&others, "block_");
    judge("ftrace", &none, after, &[])
        .code(1)
        .stderr(contains("names no event of the disk"));
    // The trace may be of another disk.
    judge("ftrace", &others, "after.stat", &[])
        .code(1)
        .stderr(contains("names no event of the disk"));
}

#[test]
fn a_trace_that_may_have_lost_events_silently_does_not_fail_the_module() {
    let why = contains("--show-lost-events");
    judge("perf-script", &perf(), "wrong.stat", &[])
        .code(1)
        .stderr(why);
    judge("perf-script", &perf(), "wrong.stat", &["--losses-shown"]).code(3);
    let noted = contains("note: perf script tells of lost events only with");
    judge("perf-script", &perf(), "after.stat", &[])
        .code(0)
        .stdout(noted);
    let noted = contains("note:").not();
    judge("perf-script", &perf(), "after.stat", &["--losses-shown"])
        .code(0)
        .stdout(noted);
    let lossy = perf() + "cp 91 [000] 100.010800000: PERF_RECORD_LOST lost 7\n";
    for more in [&[][..], &["--losses-shown"]] {
        judge("perf-script", &lossy, "wrong.stat", more)
            .code(1)
            .stderr(contains("lost 7 events"));
    }
    judge("ftrace", &ftrace(), "after.stat", &["--losses-shown"])
        .code(1)
        .stderr(contains("is for --format perf-script"));
}

#[test]
fn merges_that_were_not_recorded_do_not_fail_the_module() {
    let text = without(&ftrace(), "block_rq_merge");
    let why = contains("leaves 1 requests in flight and has no block_rq_merge");
    judge("ftrace", &text, "after.stat", &[])
        .code(1)
        .stderr(why);
    // They were: another disk has one.
    let merge = ftrace()
        .lines()
        .find(|line| line.contains("merge"))
        .unwrap()
        .replace("8,0 ", "8,16 ");
    judge("ftrace", &format!("{text}{merge}\n"), "after.stat", &[]).code(3);
}
