// SPDX-License-Identifier: GPL-2.0
//! How every command behaves where something is odd: nobody reads, the disk is full, standard error
//! is closed, names hold escape sequences, files have no end.

mod common;
#[allow(dead_code, reason = "each test crate uses its part")]
#[path = "common/fake.rs"]
mod fake;
#[allow(dead_code, reason = "each test crate uses its part")]
#[path = "common/lines.rs"]
mod lines;

use std::fs::{self, File, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::data;
use fake::Fake;
use lines::{after, before};

/// A name that clears the screen, sets the window's title and turns the direction of writing.
const NASTY: &str = "\x1b[2J\x1b]0;x\x07\u{9b}31m\u{202e}\n";

/// A machine with a disk of all that the commands show, below and beside a stacked device.
fn machine() -> Fake {
    let fake = Fake::new();
    for disk in ["sda", "dm-0"] {
        fake.device(disk, &before().text());
        fake.no_latency(disk);
        fake.put(&format!("{disk}/dev"), "8:0\n");
    }
    fake.put("dm-0/slaves/sda/dev", "8:0\n");
    fake
}

/// Each command that prints to standard output, with the status that it has if all is read.
const PRINTING: [(&[&str], i32); 14] = [
    (&["--help"], 0),
    (&["--version"], 0),
    (&["check", "--help"], 0),
    (&["stat"], 0),
    (&["stat", "--json"], 0),
    (&["stat", "1"], 0),
    (&["latency", "sda"], 0),
    (&["latency", "--json", "sda"], 0),
    (&["paths", "dm-0"], 0),
    (&["paths", "--json", "dm-0"], 0),
    (&["check", "wrong.case"], 3),
    (
        &["check", "--format", "ftrace", "--disk", "8:0", "sda.ftrace"],
        0,
    ),
    (
        &[
            "check",
            "--format",
            "ftrace",
            "--disk",
            "8:0",
            "sda.ftrace",
            "--json",
        ],
        0,
    ),
    (
        &[
            "check",
            "--format",
            "ftrace",
            "--disk",
            "8:0",
            "sda.ftrace",
            "--stat",
            "before.stat",
            "--stat",
            "wrong.stat",
        ],
        3,
    ),
];

fn command(args: &[&str], root: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blkacct"));
    command.current_dir(data("")).args(args);
    if !args
        .iter()
        .any(|arg| arg.starts_with("--help") || *arg == "--version")
    {
        command.arg("--root").arg(root);
    }
    command
}

/// The end of a pipe that nobody reads.
fn closed_pipe() -> OwnedFd {
    let (reader, writer) = UnixStream::pair().unwrap();
    drop(reader);
    writer.into()
}

fn full_disk() -> File {
    OpenOptions::new().write(true).open("/dev/full").unwrap()
}

fn run(args: &[&str], root: &Path, out: impl Into<Stdio>, err: impl Into<Stdio>) -> (i32, String) {
    let mut command = command(args, root);
    let output = command
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .output()
        .unwrap();
    let Output { status, stderr, .. } = output;
    (
        status.code().unwrap_or(-1),
        String::from_utf8(stderr).unwrap(),
    )
}

#[test]
fn a_reader_that_leaves_is_no_error_and_no_verdict_is_lost() {
    let fake = machine();
    for (args, status) in PRINTING {
        let ended = run(args, fake.path(), closed_pipe(), Stdio::piped());
        assert_eq!(ended, (status, String::new()), "{args:?}");
    }
}

#[test]
fn a_full_disk_is_an_error_in_every_command() {
    let fake = machine();
    for (args, _) in PRINTING {
        let (status, errors) = run(args, fake.path(), full_disk(), Stdio::piped());
        let told = "blkacct: standard output: No space left on device (os error 28)\n";
        assert_eq!((status, errors.as_str()), (1, told), "{args:?}");
    }
}

#[test]
fn nobody_need_take_the_messages() {
    let fake = machine();
    fake.put("sdb/blkacct/iostats", "1\n");
    for (args, status) in [
        (&["no-such-command"][..], 2),
        (&["check"], 2),
        (&["stat", "sdz"], 4),
        (&["latency", "sdb"], 4),
        (&["check", "sda.ftrace"], 1),
        (
            &["check", "--format", "ftrace", "--disk", "8:0", "cut.ftrace"],
            1,
        ),
        (
            &[
                "check",
                "--format",
                "ftrace",
                "--disk",
                "8:0",
                "sda.ftrace",
                "--progress",
            ],
            0,
        ),
    ] {
        let ended = |stderr: Stdio| {
            command(args, fake.path())
                .stdout(Stdio::null())
                .stderr(stderr)
                .status()
                .unwrap()
                .code()
        };
        assert_eq!(ended(full_disk().into()), Some(status), "{args:?}");
        assert_eq!(ended(closed_pipe().into()), Some(status), "{args:?}");
    }
    // Closed from the start.
    let tool = env!("CARGO_BIN_EXE_blkacct");
    for streams in ["2>&-", ">&- 2>&-", "<&- >&- 2>&-"] {
        let line = format!("exec '{tool}' stat sdz {streams}");
        let status = Command::new("sh").args(["-c", &line]).status().unwrap();
        assert_eq!(status.code(), Some(4), "{streams}");
    }
}

/// Whether a text is lines of printable characters.
fn is_plain(text: &str) -> bool {
    text.chars()
        .all(|c| c == '\n' || (!c.is_control() && !('\u{200b}'..='\u{206f}').contains(&c)))
}

#[test]
fn what_names_and_files_hold_is_shown_and_does_nothing() {
    let fake = Fake::new();
    let disk = format!("sda{NASTY}");
    fake.device(&disk, &before().text());
    fake.no_latency(&disk);
    fake.put(&format!("{disk}/dev"), "8:0\n");
    fake.put(&format!("{disk}/slaves/sdb{NASTY}/dev"), "8:16\n");
    fake.put(&format!("{disk}/slaves/{disk}/dev"), "8:0\n");
    fake.put(&format!("sdc{NASTY}/blkacct/iostats"), NASTY);
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(format!("{name}{NASTY}"));
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let case = file("case", b"0 S 1 d0 R 8\nexpect d0 busy=1\n");
    let word = file(
        "word",
        format!("0 {} 1 d0 R 8\n", NASTY.trim_end()).as_bytes(),
    );
    let bytes = file("bytes", b"\x1b\xff\xfe\x9b31m\n");
    let trace = file("trace", &fs::read(data("sda.ftrace")).unwrap());
    let stat = file("stat", &fs::read(data("before.stat")).unwrap());
    let tail = format!("{} {}\n", before().text().trim_end(), NASTY.trim_end());
    let tail = file("tail", tail.as_bytes());
    let nasty = NASTY;
    for args in [
        &["stat"][..],
        &["stat", nasty],
        &["stat", &disk],
        &["latency", &disk],
        &["latency", &format!("sdc{NASTY}")],
        &["paths", &disk],
        &["paths", "8:0"],
        &["check", "--watch", &disk],
        &["check", "--live", &disk],
        &["check", "--live", nasty],
        &["check", &case],
        &["check", &word],
        &["check", &bytes],
        &["check", nasty],
        &["check", "--format", nasty],
        &["check", "--format", "ftrace", "--disk", &disk, &trace],
        &["check", "--format", "ftrace", "--disk", "8:0", &bytes],
        &["check", "--format", "perf-script", "--disk", "8:0", &bytes],
        &["check", "--format", "blkparse", "--disk", "8:0", &bytes],
        &[
            "check", "--format", "ftrace", "--disk", "8:0", "--stat", &stat, "--stat", &stat,
            &trace,
        ],
        &[
            "check", "--format", "ftrace", "--disk", "8:0", "--stat", &tail, "--stat", &stat,
            &trace,
        ],
        &[nasty],
    ] {
        let mut command = command(args, fake.path());
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.code().is_some(), "{args:?}");
        for stream in [output.stdout, output.stderr] {
            let text = String::from_utf8(stream).unwrap();
            assert!(is_plain(&text), "{args:?}: {text:?}");
            assert!(
                text.lines().count() < 100 && text.len() < 20_000,
                "{args:?}"
            );
        }
    }
    let (_, out, _) = fake.run(&["stat", "--json", &disk]);
    assert!(is_plain(&out), "{out:?}");
    let rows: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(rows["devices"][0]["device"], disk);
}

#[test]
fn files_without_end_are_refused_in_few_words() {
    let fake = Fake::new();
    for disk in ["sda", "sdb", "sdc"] {
        fake.device(disk, &before().text());
        fake.put(&format!("{disk}/dev"), "8:0\n");
    }
    let endless = |file: &str| {
        let path = fake.path().join("sys/block").join(file);
        let _ = fs::remove_file(&path);
        std::os::unix::fs::symlink("/dev/zero", path).unwrap();
    };
    endless("sda/blkacct/stat");
    endless("sdb/blkacct/iostats");
    endless("sdc/blkacct/latency_read");
    let trace = [
        "check",
        "--format",
        "ftrace",
        "--disk",
        "8:0",
        "sda.ftrace",
        "--stat",
    ];
    let stats = |before, after| [&trace[..], &[before, "--stat", after]].concat();
    let root = fake.path().to_str().unwrap();
    for args in [
        vec!["check", "/dev/zero"],
        vec!["check", "--format", "ftrace", "--disk", "8:0", "/dev/zero"],
        stats("/dev/zero", "after.stat"),
        stats("before.stat", "/dev/zero"),
        vec!["stat", "sda"],
        vec!["stat", "sdb"],
        vec!["latency", "sdc"],
        vec!["check", "--watch", "sda"],
        vec!["check", "--live", "sdb"],
    ] {
        // 1 GiB would do for all that a shell and its child need, and for no file without end.
        let tool = env!("CARGO_BIN_EXE_blkacct");
        let mut command = Command::new("sh");
        command
            .current_dir(data(""))
            .args(["-c", "ulimit -v 1048576; exec \"$@\"", "sh", tool]);
        let output = command.args(&args).args(["--root", root]).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {errors}");
        let is_trace = args.contains(&"--format") && !args.contains(&"--stat");
        assert!(is_trace || errors.contains("more than 64 KiB"), "{errors}");
        assert!(errors.len() < 500, "{args:?}: {}", errors.len());
    }
}

#[test]
fn copies_that_are_unfit_give_no_verdict() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (first, second) = (before().text(), after().text());
    let mut other = after();
    other.read[0] = 1;
    let mut sideless = after();
    sideless.device = None;
    let good = file("good", &first);
    for (name, text, why) in [
        ("empty", String::new(), "field time_ns is missing"),
        ("cut", second[..40].to_owned(), "is missing"),
        ("open", second.trim_end().to_owned(), "cut off"),
        ("joined", format!("{first}{second}"), "2 lines"),
        (
            "glued",
            format!("{} {second}", first.trim_end()),
            "108 numbers",
        ),
        (
            "tail",
            format!("{} done\n", second.trim_end()),
            "its word 55 is `done`",
        ),
        ("other", other.text(), "read ios steps back from 1000 to 1"),
        ("sideless", sideless.text(), "device side"),
        ("same", first.clone(), "exchange them"),
    ] {
        let bad = file(name, &text);
        common::check(&["--format", "ftrace", "--disk", "8:0", "sda.ftrace"])
            .args(["--stat", &good, "--stat", &bad])
            .assert()
            .code(1)
            .stdout("")
            .stderr(predicates::str::contains(why))
            .stderr(predicates::str::contains(name));
    }
}
