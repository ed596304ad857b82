// SPDX-License-Identifier: GPL-2.0
//! `--live` on a directory that looks like `/sys` and `/proc`.

mod common;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{check, data};
use predicates::str::contains;
use tempfile::TempDir;

const INSTANCE: &str = "sys/kernel/tracing/instances/mine";

/// A root with one disk in mode 2, idle so far, and a trace instance.
fn root() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let put = |file: &str, text: &str| {
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put("sys/block/sda/dev", "8:0\n");
    put("sys/block/sda/blkacct/iostats", "2\n");
    put(
        "sys/block/sda/blkacct/anomalies",
        "clamped 0\norphans 0\nlost_starts 0\nlate_starts 0\nbound_ns 0\n",
    );
    let before = fs::read_to_string(data("before.stat")).unwrap();
    put("sys/block/sda/blkacct/stat", &before);
    put(
        "proc/diskstats",
        "   8       0 sda 10 2 80 0 3 0 24 0 0 0 0 0 0 0 0 0 0\n",
    );
    for event in [
        "block_io_start",
        "block_io_done",
        "block_rq_merge",
        "block_rq_issue",
        "block_rq_requeue",
        "block_rq_complete",
        "block_rq_error",
        "block_bio_frontmerge",
        "block_bio_backmerge",
        "block_getrq",
    ] {
        put(&format!("{INSTANCE}/events/block/{event}/enable"), "0\n");
        put(&format!("{INSTANCE}/events/block/{event}/filter"), "none\n");
    }
    put(
        &format!("{INSTANCE}/per_cpu/cpu0/stats"),
        "overrun: 0\ndropped events: 0\n",
    );
    let trace = fs::read_to_string(data("sda.ftrace")).unwrap();
    put(&format!("{INSTANCE}/trace_pipe"), &trace);
    root
}

fn replace(root: &Path, file: &str, text: &str) {
    let new = root.join(format!("{file}.new"));
    fs::create_dir_all(new.parent().unwrap()).unwrap();
    fs::write(&new, text).unwrap();
    fs::rename(&new, root.join(file)).unwrap();
}

const STAT: &str = "sys/block/sda/blkacct/stat";
const DISKSTATS: &str = "proc/diskstats";
const ANOMALIES: &str = "sys/block/sda/blkacct/anomalies";

/// Makes a file a pipe, so that each read of it waits for [`answer`]; returns what was in it.
fn held(root: &Path, file: &str) -> String {
    let path = root.join(file);
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    text
}

/// Lets the run read this text from a file that is held. Waits for it to do so.
fn answer(root: &Path, file: &str, text: &str) {
    let deadline = Instant::now() + Duration::from_secs(60);
    // Opening the pipe fails as long as nobody reads.
    let mut options = OpenOptions::new();
    options.write(true).custom_flags(libc::O_NONBLOCK);
    let mut pipe = loop {
        match options.open(root.join(file)) {
            Ok(pipe) => break pipe,
            Err(error) => assert!(Instant::now() < deadline, "nobody reads {file}: {error}"),
        }
        thread::sleep(Duration::from_millis(1));
    };
    pipe.write_all(text.as_bytes()).unwrap();
}

/// Runs a window of one second, in which `stat` becomes the file `after`.
fn run(root: &Path, after: &str, more: &[&str]) -> assert_cmd::assert::Assert {
    run_while(root, &[(STAT, after_text(after))], None, more)
}

fn after_text(name: &str) -> String {
    fs::read_to_string(data(name)).unwrap()
}

/// How often the reports are read at an edge.
const TRIES: usize = 3;

/// The same, with these files and anomalies at the end of the window. When a report is read is decided
/// by handshake: each time the run reads `stat`, and then what is held here.
fn run_while(
    root: &Path,
    changes: &[(&str, String)],
    anomalies: Option<&str>,
    more: &[&str],
) -> assert_cmd::assert::Assert {
    let changes: Vec<(String, String)> = changes
        .iter()
        .map(|(file, text)| ((*file).to_owned(), text.clone()))
        .collect();
    let before = (held(root, DISKSTATS), held(root, ANOMALIES));
    let anomalies = anomalies.unwrap_or(&before.1).to_owned();
    let files = root.to_owned();
    let module = thread::spawn(move || {
        for tries in 1..=TRIES {
            answer(&files, DISKSTATS, &before.0);
            if tries == TRIES {
                for (file, text) in &changes {
                    replace(&files, file, text);
                }
            }
            answer(&files, ANOMALIES, &before.1);
        }
        for _ in 1..=TRIES {
            let line = "   8       0 sda 12 3 104 4 4 0 32 0 0 8 4 0 0 0 0 0 0\n";
            answer(&files, DISKSTATS, line);
            answer(&files, ANOMALIES, &anomalies);
        }
    });
    let root = root.to_str().unwrap();
    let args = ["--root", root, "--instance", "mine", "--live", "sda"];
    // In the middle of a window.
    let more = match more.contains(&"--seconds") {
        true => more.to_vec(),
        false => [more, &["--seconds", "1"]].concat(),
    };
    let assert = check(&args).args(more).assert();
    module.join().unwrap();
    assert
}

#[test]
fn a_window_is_checked() {
    let root = root();
    let assert = run(root.path(), "after.stat", &[]).code(0);
    assert
        .stdout(contains(
            "io_ticks               2.000000   2.000300   8.000000   +0.000300   +6.000000",
        ))
        .stdout(contains("\nok\n"));
    let written = |file: &str| fs::read_to_string(root.path().join(INSTANCE).join(file)).unwrap();
    assert_eq!(written("trace_clock"), "mono");
    assert_eq!(
        written("events/block/block_io_done/filter"),
        "dev == 8388608"
    );
    assert_eq!(written("events/block/block_rq_merge/enable"), "1");
    assert_eq!(written("tracing_on"), "0");
}

#[test]
fn a_disk_may_be_named_by_its_path_or_its_number_or_with_a_slash() {
    let root = root();
    let block = root.path().join("sys/block");
    fs::rename(block.join("sda"), block.join("cciss!c0d0")).unwrap();
    replace(root.path(), "sys/block/cciss!c0d0/dev", "104:0\n");
    let line = " 104       0 cciss/c0d0 1 2 3 4 5 6 7 8 9 10 11 0 0 0 0 0 0\n";
    replace(root.path(), "proc/diskstats", line);
    let arg = root.path().to_str().unwrap();
    let more = ["--root", arg, "--instance", "mine", "--seconds", "1"];
    for name in ["cciss!c0d0", "cciss/c0d0", "/dev/cciss/c0d0", "104:0"] {
        // The reports do not change, which is found out after the window only.
        check(&[&["--live", name], &more[..]].concat())
            .assert()
            .code(1)
            .stderr(contains("stat: its time does not advance"));
    }
    replace(root.path(), "sys/block/cciss!c0d0/p1/dev", "104:1\n");
    replace(root.path(), "sys/block/cciss!c0d0/p1/partition", "1\n");
    check(&[&["--live", "104:1"], &more[..]].concat())
        .assert()
        .code(4)
        .stderr(contains(
            "104:1: a partition, and a trace names only disks: give cciss/c0d0",
        ));
}

#[test]
fn exact_diskstats_are_no_stock_figures() {
    let root = root();
    replace(root.path(), "sys/block/sda/blkacct/classic", "1\n");
    run(root.path(), "after.stat", &[])
        .code(0)
        .stdout(contains("blkacct/classic is 1"));
}

#[test]
fn a_window_is_a_hundredth_of_a_second_at_least() {
    for seconds in ["0", "0.009", "-1", "86401", "nan", "inf", "soon"] {
        let seconds = format!("--seconds={seconds}");
        check(&["--live", "sda", &seconds])
            .assert()
            .code(2)
            .stderr(contains("seconds from 0.01 to 86400"));
    }
    run(root().path(), "after.stat", &["--seconds", "0.75"]).code(0);
}

/// Events that come as fast as they are read do not keep the window open.
#[test]
fn a_window_ends_however_much_there_is_to_read() {
    let root = root();
    let pipe = root.path().join(INSTANCE).join("trace_pipe");
    fs::remove_file(&pipe).unwrap();
    assert!(Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap()
        .success());
    let (switch, trace) = (
        root.path().join(INSTANCE).join("tracing_on"),
        data("sda.ftrace"),
    );
    let kernel = thread::spawn(move || {
        let mut pipe = fs::OpenOptions::new().write(true).open(pipe).unwrap();
        pipe.write_all(&fs::read(trace).unwrap()).unwrap();
        // A writer that fails has no reader any more.
        let comments = "#\n".repeat(10_000);
        while pipe.write_all(comments.as_bytes()).is_ok()
            && fs::read_to_string(&switch).ok().as_deref() != Some("0")
        {}
    });
    run(root.path(), "after.stat", &[]).code(0);
    kernel.join().unwrap();
}

#[test]
fn wrong_numbers_fail() {
    run(root().path(), "wrong.stat", &[])
        .code(3)
        .stdout(contains(
            "FAIL: io_ticks grows by 2600000, time_in_queue only by 2309800",
        ))
        .stdout(contains("FAIL"));
}

#[test]
fn an_overrun_never_passes() {
    let root = root();
    let stats = format!("{INSTANCE}/per_cpu/cpu0/stats");
    // What an instance lost before it was ours is no loss of ours.
    replace(root.path(), &stats, "overrun: 7\n");
    let changes = [
        (STAT, after_text("after.stat")),
        (&*stats, "overrun: 12\n".into()),
    ];
    run_while(root.path(), &changes, None, &["--json"])
        .code(1)
        .stderr(contains("lost 5 events"));
}

#[test]
fn anomalies_are_noted_with_their_bound() {
    let root = root();
    let anomalies = "clamped 0\norphans 2\nlost_starts 0\nlate_starts 0\nbound_ns 7\n";
    let stat = [(STAT, after_text("after.stat"))];
    run_while(root.path(), &stat, Some(anomalies), &[])
        .code(0)
        .stdout(contains(
            "reports 2 orphans in the window, and a bound_ns of 7",
        ));
}

#[test]
fn another_mode_and_no_tracefs_are_not_available() {
    let root = root();
    let arg = root.path().to_str().unwrap().to_owned();
    fs::write(root.path().join("sys/block/sda/blkacct/iostats"), "1\n").unwrap();
    check(&["--root", &arg, "--live", "sda"])
        .assert()
        .code(4)
        .stderr(contains("iostats is 1, not 2: echo 2 >"));
    fs::write(root.path().join("sys/block/sda/blkacct/iostats"), "2\n").unwrap();
    fs::remove_dir_all(root.path().join("sys/kernel")).unwrap();
    check(&["--root", &arg, "--live", "sda"])
        .assert()
        .code(4)
        .stderr(contains("mount -t tracefs"));
    fs::remove_dir_all(root.path().join("sys/block/sda/blkacct")).unwrap();
    check(&["--root", &arg, "--live", "sda"])
        .assert()
        .code(4)
        .stderr(contains("modprobe blkacct"));
}

/// Every way out drops the instance. One that existed before is kept, and no longer traces.
#[test]
fn a_signal_ends_the_run_and_its_trace() {
    for signal in ["INT", "TERM", "HUP"] {
        let root = root();
        let switch = root.path().join(INSTANCE).join("tracing_on");
        let mut child = Command::new(env!("CARGO_BIN_EXE_blkacct"))
            .args([
                "check",
                "--live",
                "sda",
                "--seconds",
                "60",
                "--instance",
                "mine",
                "--root",
            ])
            .arg(root.path())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        while fs::read_to_string(&switch).ok().as_deref() != Some("1") {
            assert!(
                child.try_wait().unwrap().is_none(),
                "the run ended by itself"
            );
            thread::sleep(Duration::from_millis(1));
        }
        let pid = child.id().to_string();
        assert!(Command::new("kill")
            .args(["-s", signal, &pid])
            .status()
            .unwrap()
            .success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{signal}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("stopped by a signal"));
        assert_eq!(fs::read_to_string(&switch).unwrap(), "0");
    }
}
