// SPDX-License-Identifier: GPL-2.0
//! Instances of runs that were killed: they trace on until somebody removes them.
//!
//! An instance is called `blkacct-PID-START`, where `START` is when the process began, so that a
//! number which the system has given out again is no trap.

use std::fs;
use std::io;
use std::path::Path;

use crate::terminal;

const PREFIX: &str = "blkacct-";

/// Returns the name of this process's instance.
pub fn own_name() -> String {
    let pid = std::process::id();
    match start(Path::new("/proc"), pid) {
        Some(start) => format!("{PREFIX}{pid}-{start}"),
        None => format!("{PREFIX}{pid}"),
    }
}

/// Removes the instances in `instances` whose processes are gone by what `proc` says, and tells of
/// each. One that somebody has open is not removed: the kernel refuses it.
pub fn remove(instances: &Path, proc: &Path) {
    let Ok(entries) = fs::read_dir(instances) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(maker) = name.to_str().and_then(Maker::of) else {
            continue;
        };
        if maker.lives(proc) {
            continue;
        }
        let dir = entry.path();
        let dir = dir.display();
        match fs::remove_dir(entry.path()) {
            Ok(()) => terminal::tell(format_args!(
                "{dir}: removed; a run that was killed had left it"
            )),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
            Err(error) => terminal::tell(format_args!(
                "{dir}: {error}; a killed run left it: rmdir {dir}"
            )),
        }
    }
}

/// The process that made an instance.
#[derive(Debug, PartialEq, Eq)]
struct Maker {
    pid: u32,
    start: Option<u64>,
}

impl Maker {
    /// Reads the name of an instance; none if it is not one of ours.
    fn of(name: &str) -> Option<Self> {
        let rest = name.strip_prefix(PREFIX)?;
        let (pid, start) = match rest.split_once('-') {
            Some((pid, start)) => (pid, Some(start.parse().ok()?)),
            None => (rest, None),
        };
        let pid = pid.parse().ok()?;
        Some(Maker { pid, start })
    }

    /// Whether it is still there. In doubt it is.
    fn lives(&self, proc: &Path) -> bool {
        if !proc.join(self.pid.to_string()).exists() {
            return false;
        }
        let now = start(proc, self.pid);
        self.start.is_none() || now.is_none() || self.start == now
    }
}

/// Returns when a process began, in clock ticks since boot.
fn start(proc: &Path, pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(proc.join(pid.to_string()).join("stat")).ok()?;
    // The name, in parentheses, may hold anything. `state` behind it is the third field, and the
    // start the twenty-second.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(start: u64) -> String {
        format!("7 (a) 1 (b) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 {start} 9 9")
    }

    #[test]
    fn what_the_dead_have_left_goes_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let (instances, proc) = (root.path().join("instances"), root.path().join("proc"));
        fs::create_dir_all(proc.join("7")).unwrap();
        fs::write(proc.join("7/stat"), stat(100)).unwrap();
        let names = [
            // Of a process that lives, by either kind of name.
            ("blkacct-7-100", true),
            ("blkacct-7", true),
            // Its number was that of another before.
            ("blkacct-7-99", false),
            // Of none.
            ("blkacct-8-100", false),
            ("blkacct-8", false),
            // Not ours.
            ("blkacct_test", true),
            ("blkacct-mine", true),
            ("blkacct-8-x", true),
            ("8", true),
        ];
        for (name, _) in names {
            fs::create_dir_all(instances.join(name)).unwrap();
        }
        remove(&instances, &proc);
        for (name, stays) in names {
            assert_eq!(instances.join(name).exists(), stays, "{name}");
        }
    }

    #[test]
    fn our_own_lives() {
        let maker = Maker::of(&own_name()).unwrap();
        assert!(maker.start.is_some() && maker.lives(Path::new("/proc")));
    }
}
