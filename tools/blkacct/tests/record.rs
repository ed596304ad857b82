// SPDX-License-Identifier: GPL-2.0
//! `record`, and the commands that take a recording, on a directory that looks like `/sys`.

#[allow(dead_code, reason = "each test crate uses its part")]
#[path = "common/fake.rs"]
mod fake;
#[path = "common/lines.rs"]
mod lines;

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use fake::Fake;
use lines::{after, before, Line};

fn file(fake: &Fake, name: &str) -> String {
    fake.path().join(name).to_str().unwrap().to_owned()
}

/// A machine with a disk, and one made of it.
fn machine() -> Fake {
    let fake = Fake::new();
    for name in ["sda", "dm-0"] {
        fake.device(name, &before().text());
        fake.no_latency(name);
        fake.latency(name, "read", &[(30, 90), (60, 1)], &[(28, 90), (59, 1)]);
    }
    fake.put("dm-0/slaves/sda/x", "");
    fake.put("dm-0/dm/name", "vg-home\n");
    fake
}

/// Starts the command in the directory of the machine.
fn spawn(fake: &Fake, args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_blkacct"))
        .args(["record", "--root"])
        .arg(fake.path())
        .args(args)
        .current_dir(fake.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for the end; returns status and errors.
fn end(child: Child) -> (i32, String) {
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    let errors = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), errors)
}

fn until(what: &str, is: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(2));
    }
}

fn recordings(fake: &Fake) -> Vec<PathBuf> {
    let names = fs::read_dir(fake.path()).unwrap().flatten();
    let mut paths: Vec<_> = names
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().contains(".rec"))
        .collect();
    paths.sort();
    paths
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("kill")
        .args([name, &pid])
        .status()
        .unwrap()
        .success());
}

/// How many bytes a file has after its header.
fn frames(path: &str) -> usize {
    let bytes = fs::read(path).unwrap_or_default();
    let end = bytes.iter().position(|&byte| byte == b'\n');
    end.map_or(0, |end| bytes.len() - end - 1)
}

/// How many samples a file has.
fn samples(path: &str) -> usize {
    let output = Command::new(env!("CARGO_BIN_EXE_blkacct"))
        .args(["stat", "--json", "--from", path])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().count()
}

/// What each sample has is decided by handshake: `stat` of the disk is a pipe, and it is answered
/// again when the sample has been shown, or has been written.
#[test]
fn a_recording_shows_what_was_shown_live() {
    let fake = Fake::new();
    fake.device_that_waits("sda");
    fake.no_latency("sda");
    let at = |time: u64| Line {
        time: time * 1_000_000_000,
        ..after()
    };
    // The third steps back; between the last two it was out of mode 2 for a second.
    let steps = [
        (before(), 40),
        (at(62), 42),
        (at(61), 43),
        (at(64), 46),
        (at(66), 47),
    ];
    let run = |args: &[&str], wait: &mut dyn FnMut(&mut fake::Run)| {
        let mut run = fake.start(args);
        for (line, counted) in &steps {
            fake.put("sda/blkacct/counted_ns", &format!("{counted}000000000\n"));
            fake.answer("sda", &line.text());
            wait(&mut run);
        }
        run.end()
    };
    let path = file(&fake, "a.rec");
    let length = || frames(&path);
    let mut written = 0;
    let recorded = run(&["record", "-o", &path, "sda", "0.01", "5"], &mut |_| {
        until("a sample", || length() > written);
        written = length();
    });
    assert_eq!(recorded.0, 0, "{}", recorded.2);
    let mut json = String::new();
    let mut table = Vec::new();
    let live = [
        run(&["stat", "--json", "sda", "0.01", "5"], &mut |run| {
            json += &run.line()
        }),
        run(&["stat", "sda", "0.01", "5"], &mut |run| {
            table.push(run.report())
        }),
    ];
    let from = |args: &[&str]| fake.run(&[args, &["--from", &path]].concat());
    assert_eq!(live[0].0, 0);
    assert!(json.contains("\"io_ticks\":1000000000"), "{json}");
    let (code, out, errors) = from(&["stat", "--json"]);
    assert_eq!((code, errors), (0, live[0].2.clone()));
    assert_eq!(timeless(&out), timeless(&json));
    // The gaps are told in both.
    assert_eq!(live[1].2.lines().count(), 2, "{}", live[1].2);
    let (code, out, errors) = from(&["stat", "sda"]);
    assert_eq!((code, errors), (0, live[1].2.clone()));
    let table: Vec<String> = table.concat();
    let lines = out.lines().map(fake::squeeze);
    assert_eq!(
        lines.filter(|line| !line.is_empty()).collect::<Vec<_>>(),
        table
    );
}

/// Reads lines of JSON, without what differs from one run to the next: when a sample was taken, and
/// for how long.
fn timeless(lines: &str) -> Vec<serde_json::Value> {
    let read = |line: &str| {
        let mut report: serde_json::Value = serde_json::from_str(line).unwrap();
        for name in ["time", "time_ns"] {
            assert!(!report[name].take().is_null());
        }
        for device in report["devices"].as_array_mut().unwrap() {
            if let Some(error) = device.get_mut("error") {
                assert!(!error["read_ns"].take().is_null());
            }
        }
        report
    };
    lines.lines().map(read).collect()
}

#[test]
fn every_command_takes_a_recording_and_every_name_in_it() {
    let fake = machine();
    let path = file(&fake, "a.rec");
    let (code, _, errors) = fake.run(&["record", "-o", &path, "0.01", "2"]);
    assert_eq!(code, 0, "{errors}");
    assert!(errors.contains("a.rec: 2 samples of 2 devices"), "{errors}");
    for args in [
        &["stat"][..],
        &["stat", "sda"],
        &["latency", "sda"],
        &["latency", "--histogram", "dm-0"],
        &["latency", "--json", "/dev/mapper/vg-home"],
        &["paths", "dm-0"],
        &["paths", "--json", "vg-home"],
    ] {
        // The first report of a recording is the live one, if nothing has changed.
        let live: Vec<&str> = args
            .iter()
            .map(|arg| if arg.contains("vg-") { "dm-0" } else { arg })
            .collect();
        let (code, want, _) = fake.run(&live);
        assert_eq!(code, 0);
        let (code, out, errors) = fake.run(&[args, &["--from", &path]].concat());
        assert_eq!((code, &*errors), (0, ""), "{args:?}");
        assert!(
            out.starts_with(&want) && !want.is_empty(),
            "{args:?}: {out}"
        );
    }
    let (code, _, errors) = fake.run(&["latency", "sdz", "--from", &path]);
    assert_eq!(code, 4);
    assert!(
        errors.contains("a.rec: sdz: not in it, it has dm-0 sda"),
        "{errors}"
    );
}

#[test]
fn the_interval_and_the_count_choose_among_samples() {
    let fake = machine();
    let path = file(&fake, "a.rec");
    let (code, _, errors) = fake.run(&["record", "-o", &path, "0.02", "21"]);
    assert_eq!(code, 0, "{errors}");
    let lines = |args: &[&str]| {
        let (code, out, _) = fake.run(&[&["stat", "--json", "--from", &path], args].concat());
        assert_eq!(code, 0);
        out.lines().count()
    };
    assert_eq!(lines(&[]), 21);
    assert_eq!(lines(&["0.01", "7"]), 7);
    assert_eq!(lines(&["1000"]), 1);
}

#[test]
fn what_is_no_recording_is_refused_by_name() {
    let fake = machine();
    let path = file(&fake, "a.rec");
    for (bytes, want) in [
        (
            &b""[..],
            "a.rec: is no recording of blkacct: it begins with nothing",
        ),
        (b"\x1f\x8b\x08rest", "gzip"),
        (b"blkacct-recording 3b4e", "a.rec: ends in its header"),
        (
            &later(),
            "a.rec: is a recording of version 2, and this tool reads up to version 1",
        ),
    ] {
        fs::write(&path, bytes).unwrap();
        let (code, out, errors) = fake.run(&["stat", "--from", &path]);
        assert_eq!((code, &*out), (1, ""), "{errors}");
        assert!(errors.contains(want), "{errors}");
    }
    let (code, _, errors) = fake.run(&["stat", "--from", "/nowhere"]);
    assert_eq!(code, 1);
    assert!(errors.contains("/nowhere: "), "{errors}");
}

/// The header of version 2, with more in it.
fn later() -> Vec<u8> {
    let json = r#"{"version":2,"more":[1]}"#;
    let sum = crc32fast::hash(json.as_bytes());
    format!("blkacct-recording {sum:08x} {json}\n").into_bytes()
}

#[test]
fn a_torn_tail_and_a_damaged_sample_are_told_and_left_out() {
    let fake = machine();
    let path = file(&fake, "a.rec");
    assert_eq!(fake.run(&["record", "-o", &path, "0.01", "3"]).0, 0);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let (code, out, errors) = fake.run(&["stat", "--json", "--from", &path]);
    assert_eq!((code, out.lines().count()), (0, 2));
    assert!(
        errors.contains("a.rec: ends in the middle of a sample"),
        "{errors}"
    );
    let mut flipped = bytes.clone();
    *flipped.last_mut().unwrap() ^= 1;
    fs::write(&path, flipped).unwrap();
    let (code, out, errors) = fake.run(&["stat", "--json", "--from", &path]);
    assert_eq!((code, out.lines().count()), (0, 2));
    assert!(errors.contains("a.rec: damaged: "), "{errors}");
}

#[test]
fn a_file_is_not_written_over_unless_that_is_said() {
    let fake = machine();
    let path = file(&fake, "a.rec");
    fs::write(&path, "mine").unwrap();
    let args = ["record", "-o", &path, "0.01", "1"];
    let (code, _, errors) = fake.run(&args);
    assert_eq!(code, 1);
    assert!(errors.contains("a.rec: is already there"), "{errors}");
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    let (code, _, errors) = fake.run(&[&args[..], &["--overwrite"]].concat());
    assert_eq!(code, 0, "{errors}");
    assert_eq!(samples(&path), 1);
    let (code, _, errors) = fake.run(&["record", "sdz"]);
    assert_eq!(code, 4, "{errors}");
}

#[test]
fn a_command_is_recorded_from_begin_to_end_and_its_status_passed_on() {
    let fake = machine();
    let status = |args: &[&str]| {
        let path = file(&fake, "a.rec");
        let _ = fs::remove_file(&path);
        let (code, errors) = end(spawn(&fake, &[&["-o", &path, "1000", "--"], args].concat()));
        (code, errors, path)
    };
    for (script, want) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 128 + 9)] {
        let (code, errors, path) = status(&["sh", "-c", script]);
        assert_eq!(code, want, "{errors}");
        // One before, one after.
        assert_eq!(samples(&path), 2);
    }
    let (code, errors, path) = status(&["/no/such"]);
    assert_eq!(code, 127);
    assert!(errors.contains("/no/such: "), "{errors}");
    assert!(!fs::exists(&path).unwrap());
    assert_eq!(status(&["/"]).0, 126);
}

#[test]
fn signals_are_passed_on_to_the_command() {
    let fake = machine();
    let ready = file(&fake, "ready");
    let script = format!(
        "trap 'exit 33' TERM; trap 'exit 34' HUP; touch {ready}; while :; do sleep 0.01; done"
    );
    for (name, want) in [("-TERM", 33), ("-HUP", 34)] {
        let _ = fs::remove_file(&ready);
        let child = spawn(&fake, &["--", "sh", "-c", &script]);
        until("the command begins", || fs::exists(&ready).unwrap());
        // It is left to the command, which has got none.
        signal(&child, "-INT");
        signal(&child, name);
        assert_eq!(end(child).0, want);
    }
}

#[test]
fn a_signal_ends_a_recording_with_a_last_sample() {
    let fake = machine();
    for name in ["-INT", "-TERM", "-HUP"] {
        let child = spawn(&fake, &["1000"]);
        until("it begins", || !recordings(&fake).is_empty());
        let path = recordings(&fake).remove(0).to_str().unwrap().to_owned();
        until("a sample", || frames(&path) > 0);
        signal(&child, name);
        let (code, errors) = end(child);
        assert_eq!(code, 0, "{errors}");
        assert!(errors.contains(".rec: 2 samples of 2 devices"), "{errors}");
        assert_eq!(samples(&path), 2);
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_recording_for_a_time_begins_and_ends_with_it() {
    let fake = machine();
    let path = file(&fake, "a.rec");
    let begun = Instant::now();
    let (code, _, errors) = fake.run(&["record", "-o", &path, "--for", "0.3s", "1000"]);
    assert_eq!(code, 0, "{errors}");
    assert!(begun.elapsed() >= Duration::from_millis(300));
    assert_eq!(samples(&path), 2);
    assert_eq!(fake.run(&["record", "--for", "5x"]).0, 2);
}

#[test]
fn a_ring_is_saved_at_each_signal_and_holds_what_was_asked_for() {
    let fake = machine();
    let child = spawn(&fake, &["-o", "ring.rec", "--keep", "1s", "0.01"]);
    let path = |name: &str| file(&fake, name);
    let saved = |name: &str| fs::exists(path(name)).unwrap();
    // It must have begun to catch the signal: then it reads the disk, and then it has the file open.
    let files = format!("/proc/{}/fd", child.id());
    let reads = |entry: fs::DirEntry| {
        fs::read_link(entry.path()).is_ok_and(|path| path.ends_with("blkacct/stat"))
    };
    until("it reads", || {
        fs::read_dir(&files).is_ok_and(|mut files| files.any(|file| file.is_ok_and(reads)))
    });
    assert_eq!(recordings(&fake).len(), 0, "nothing is written before");
    signal(&child, "-USR1");
    until("the first", || saved("ring.rec"));
    until("the second", || {
        // Signals that come together are one.
        signal(&child, "-USR1");
        thread::sleep(Duration::from_millis(20));
        saved("ring.rec.1")
    });
    signal(&child, "-TERM");
    let (code, errors) = end(child);
    assert_eq!(code, 0, "{errors}");
    assert!(errors.contains("ring.rec: the last "), "{errors}");
    let output = Command::new(env!("CARGO_BIN_EXE_blkacct"))
        .args(["stat", "--json", "--from", &path("ring.rec")])
        .output()
        .unwrap();
    // It begins with a key frame, and nothing is wrong with it.
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert!(output.stdout.iter().filter(|&&byte| byte == b'\n').count() >= 1);
}

#[test]
fn a_disk_that_is_full_keeps_every_whole_sample() {
    let fake = machine();
    // A limit of the size stands for a disk that is full: the last write is cut, then fails.
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" record --root . -o a.rec 0.01";
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_blkacct")])
        .current_dir(fake.path())
        .output()
        .unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(
        errors.contains("a.rec: cannot be written; what was recorded before is whole"),
        "{errors}"
    );
    let path = file(&fake, "a.rec");
    assert!(fs::metadata(&path).unwrap().len() < 8 * 1024);
    let (code, out, errors) = fake.run(&["stat", "--json", "--from", &path]);
    // Not even a torn tail.
    assert_eq!((code, &*errors), (0, ""));
    assert!(out.lines().count() > 5, "{out}");
}

#[test]
fn a_command_outlives_a_recording_that_fails() {
    let fake = machine();
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" record --root . -o a.rec 0.01 -- \
                  sh -c 'sleep 2; exit 0'";
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_blkacct")])
        .current_dir(fake.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("a.rec: cannot be written"), "{errors}");
}

#[test]
fn more_disks_than_files_may_be_open_by_default_are_recorded() {
    let fake = Fake::new();
    for disk in 0..30 {
        fake.device(&format!("sd{disk}"), &before().text());
        fake.no_latency(&format!("sd{disk}"));
    }
    let script = "ulimit -Sn 64; exec \"$0\" record --root . -o a.rec 0.01 2";
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_blkacct")])
        .current_dir(fake.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}
