// SPDX-License-Identifier: GPL-2.0
//! A directory that looks like `/sys`, and a command that reads it again and again.
//!
//! What is read at each report is decided by handshake and not by time: `stat` of a device is a
//! pipe, on which each read waits for the test.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The directory.
pub struct Fake(TempDir);

impl Fake {
    /// A machine without a disk.
    pub fn new() -> Self {
        let fake = Fake(tempfile::tempdir().unwrap());
        fs::create_dir_all(fake.path().join("sys/block")).unwrap();
        fake
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file, whose name is below `/sys/block`.
    pub fn put(&self, file: &str, text: &str) {
        let path = self.path().join("sys/block").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes a file below `/proc`.
    pub fn proc(&self, file: &str, text: &str) {
        let path = self.path().join("proc").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn remove(&self, dir: &str) {
        fs::remove_dir_all(self.path().join("sys/block").join(dir)).unwrap();
    }

    /// Adds a device in mode 2 whose `stat` is this text.
    pub fn device(&self, name: &str, stat: &str) {
        self.put(&format!("{name}/blkacct/iostats"), "2\n");
        self.put(&format!("{name}/blkacct/stat"), stat);
    }

    /// Adds a device in mode 2 whose `stat` waits for [`Fake::answer`].
    pub fn device_that_waits(&self, name: &str) {
        self.put(&format!("{name}/blkacct/iostats"), "2\n");
        let pipe = self
            .path()
            .join("sys/block")
            .join(name)
            .join("blkacct/stat");
        assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    }

    /// Lets the command read this text from the `stat` of a device. Waits for it to do so.
    pub fn answer(&self, name: &str, stat: &str) {
        let path = self
            .path()
            .join("sys/block")
            .join(name)
            .join("blkacct/stat");
        let deadline = Instant::now() + Duration::from_secs(60);
        // Opening the pipe fails as long as nobody reads.
        let mut options = OpenOptions::new();
        options.write(true).custom_flags(libc::O_NONBLOCK);
        let mut pipe = loop {
            match options.open(&path) {
                Ok(pipe) => break pipe,
                Err(error) => assert!(Instant::now() < deadline, "nobody reads: {error}"),
            }
            thread::sleep(Duration::from_millis(1));
        };
        pipe.write_all(stat.as_bytes()).unwrap();
    }

    /// Writes histograms: buckets and counts of the lines `total` and `device`.
    pub fn latency(
        &self,
        name: &str,
        group: &str,
        total: &[(usize, u64)],
        device: &[(usize, u64)],
    ) {
        let mut text = String::new();
        for (line, counts) in [("total", total), ("device", device)] {
            text += line;
            for place in 0..114 {
                let count = counts.iter().find(|(at, _)| *at == place);
                write!(text, " {}", count.map_or(0, |(_, n)| *n)).unwrap();
            }
            text += "\n";
        }
        self.put(&format!("{name}/blkacct/latency_{group}"), &text);
    }

    /// Gives a device histograms of all groups, empty ones.
    pub fn no_latency(&self, name: &str) {
        for group in acct::sgrp::StatGroup::ALL {
            self.latency(name, group.name(), &[], &[]);
        }
    }

    /// Runs the command to its end; returns status, output and errors.
    pub fn run(&self, args: &[&str]) -> (i32, String, String) {
        self.start(args).end()
    }

    /// Starts the command.
    pub fn start(&self, args: &[&str]) -> Run {
        let mut child = Command::new(env!("CARGO_BIN_EXE_blkacct"))
            .args(args)
            .arg("--root")
            .arg(self.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let out = child.stdout.take().map(BufReader::new);
        Run { child, out }
    }
}

/// A command that runs, and does not outlive the test.
pub struct Run {
    child: Child,
    /// None once nobody listens.
    out: Option<BufReader<ChildStdout>>,
}

impl Run {
    /// Returns the lines of the next report, each with single spaces, up to the empty line.
    pub fn report(&mut self) -> Vec<String> {
        let lines =
            std::iter::from_fn(|| Some(squeeze(&self.line())).filter(|line| !line.is_empty()));
        lines.collect()
    }

    /// Returns the next line; empty at the end.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.as_mut().unwrap().read_line(&mut line).unwrap();
        line
    }

    /// Asks it to end.
    pub fn signal(&self) {
        let pid = self.child.id().to_string();
        let kill = Command::new("kill").arg(pid).status().unwrap();
        assert!(kill.success());
    }

    /// Waits for the end; returns status, the rest of the output and errors.
    pub fn end(mut self) -> (i32, String, String) {
        let (mut out, mut errors) = (String::new(), String::new());
        if let Some(pipe) = &mut self.out {
            pipe.read_to_string(&mut out).unwrap();
        }
        let mut pipe = self.child.stderr.take().unwrap();
        pipe.read_to_string(&mut errors).unwrap();
        (self.child.wait().unwrap().code().unwrap(), out, errors)
    }

    /// Waits for the end without having read anything; returns status and errors.
    pub fn deaf(mut self) -> (i32, String) {
        self.out = None;
        let (code, _, errors) = self.end();
        (code, errors)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // It is over already, unless the test has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn squeeze(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
