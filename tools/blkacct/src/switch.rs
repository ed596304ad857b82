// SPDX-License-Identifier: GPL-2.0
//! `blkacct on` and `off`: the switch of modes, with the reason of each refusal.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{anyhow, Context};

use crate::cli::SwitchArgs;
use crate::device::Device;
use crate::exit::NotAvailable;
use crate::show::print;
use crate::show::table::duration;
use crate::terminal;

/// The mode to switch to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// 1, the kernel's own.
    Kernel,
    /// 2, exact.
    Exact,
}

impl Mode {
    fn digit(self) -> &'static str {
        match self {
            Mode::Kernel => "1",
            Mode::Exact => "2",
        }
    }

    fn command(self) -> &'static str {
        match self {
            Mode::Kernel => "off",
            Mode::Exact => "on",
        }
    }
}

/// Runs the command.
///
/// # Errors
///
/// Why the first disk that refused did; all have been tried. [`NotAvailable`] if it cannot be
/// switched here.
pub fn run(args: &SwitchArgs, mode: Mode) -> anyhow::Result<()> {
    let all = args.disks.iter().any(|disk| disk == "all");
    let mut first = None;
    let mut refused = |error: anyhow::Error| match first {
        None => first = Some(error),
        Some(_) => terminal::tell(format_args!("{error:#}")),
    };
    let mut disks = Vec::new();
    if all {
        disks = Device::all(&args.root);
        disks.retain(|device| !device.is_partition() && device.file("iostats").exists());
        if disks.is_empty() {
            return Err(not_loaded().into());
        }
    } else {
        for name in &args.disks {
            match Device::find(&args.root, name) {
                Ok(device) => disks.push(device),
                Err(error) => refused(error.into()),
            }
        }
    }
    let mut switched = 0;
    for device in &disks {
        match switch(device, mode) {
            Ok(told) => {
                switched += 1;
                print(format!("{told}\n").as_bytes())?;
            }
            // Of all, those that can be are meant.
            Err(error) if all && error.is::<NotAvailable>() => {
                terminal::tell(format_args!("{error:#}"))
            }
            Err(error) => refused(error),
        }
    }
    match first {
        Some(error) => Err(error),
        None if switched == 0 => Err(NotAvailable("no disk can be switched".to_owned()).into()),
        None => Ok(()),
    }
}

fn not_loaded() -> NotAvailable {
    NotAvailable("the module is not loaded: modprobe blkacct".to_owned())
}

/// Switches a disk, and tells what was done.
fn switch(device: &Device, mode: Mode) -> anyhow::Result<String> {
    let name = &device.name;
    if device.is_partition() {
        let disk = device.disk_dir().file_name().unwrap_or_default();
        let disk = disk.to_string_lossy().replace('!', "/");
        return Err(anyhow!(
            "{name}: a partition has the mode of its disk: blkacct {} {disk}",
            mode.command()
        ));
    }
    let file = device.file("iostats");
    let before = match fs::read_to_string(&file) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(no_switch(device).into());
        }
        read => read.with_context(|| file.display().to_string())?,
    };
    let (before, digit) = (before.trim(), mode.digit());
    if before == digit {
        return Ok(format!("{name}: in mode {digit} already"));
    }
    let begin = Instant::now();
    let written = fs::OpenOptions::new()
        .write(true)
        .open(&file)
        .and_then(|mut file| file.write_all(digit.as_bytes()));
    let took = begin.elapsed();
    let bio_based = is_bio_based(device.disk_dir());
    written.map_err(|error| refusal(name, &error, mode, bio_based))?;
    Ok(format!(
        "{name}: mode {before} -> {digit}; {}",
        drained(bio_based, mode, took)
    ))
}

/// Why a disk has no switch: no disk has one if the module is not loaded.
fn no_switch(device: &Device) -> NotAvailable {
    let loaded = device
        .disk_dir()
        .parent()
        .map(Path::to_owned)
        .is_some_and(|block| {
            let disks = fs::read_dir(block).into_iter().flatten().flatten();
            disks
                .into_iter()
                .any(|disk| disk.path().join("blkacct").exists())
        });
    match loaded {
        true => NotAvailable(format!(
            "{}: the module does not take this disk: it is hidden, or being removed",
            device.name
        )),
        false => not_loaded(),
    }
}

/// A disk without hardware queues gets bios, and has nothing to drain.
pub fn is_bio_based(disk: &Path) -> bool {
    !disk.join("mq").exists()
}

fn drained(bio_based: bool, mode: Mode, took: Duration) -> String {
    match (bio_based, mode) {
        (false, _) => {
            let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
            format!(
                "its queue was drained, which took {} with the switch",
                duration(ns)
            )
        }
        (true, Mode::Exact) => {
            "bio-based, so not drained: I/O counts that begins from now on".to_owned()
        }
        (true, Mode::Kernel) => {
            "bio-based, so not drained: I/O in flight counts to its end".to_owned()
        }
    }
}

/// Says why a disk refuses, and what helps.
fn refusal(name: &str, error: &io::Error, mode: Mode, bio_based: bool) -> anyhow::Error {
    let why = match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            return anyhow!(
                "{name}: only root may switch: sudo blkacct {} {name}",
                mode.command()
            )
        }
        Some(libc::EBUSY) if bio_based => {
            return anyhow!(
                "{name}: it was switched on 64 times while I/O was always in flight: let it come \
                 to rest first"
            )
        }
        Some(libc::EBUSY) => {
            return anyhow!(
                "{name}: its queue did not drain in 5 seconds, so nothing was changed: is it hung? \
                 `blkacct stat -x {name}` and /sys/block/{name}/inflight tell"
            )
        }
        Some(libc::EOPNOTSUPP) if bio_based => {
            "its driver accounts no I/O, or is not known to, so there is nothing to make exact; or \
             ftrace is off, which dmesg tells then"
        }
        Some(libc::EOPNOTSUPP) => "it cannot be counted here: dmesg has the reason",
        Some(libc::ENODEV) => "it is being removed",
        Some(libc::EROFS) => "/sys is mounted read-only, as in a container: ask the host",
        Some(libc::ENOMEM) => return anyhow!("{name}: no memory for its counters"),
        _ => return anyhow!("{name}: {error}"),
    };
    NotAvailable(format!("{name}: {why}")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_says_why_and_what_helps() {
        let told = |code, bio_based| {
            let error = io::Error::from_raw_os_error(code);
            let error = refusal("sda", &error, Mode::Exact, bio_based);
            (error.to_string(), error.is::<NotAvailable>())
        };
        for (code, bio_based, text, not_available) in [
            (libc::EACCES, false, "sudo blkacct on sda", false),
            (libc::EBUSY, false, "did not drain in 5 seconds", false),
            (libc::EBUSY, true, "64 times", false),
            (libc::EOPNOTSUPP, true, "accounts no I/O", true),
            (libc::EOPNOTSUPP, false, "dmesg", true),
            (libc::ENODEV, false, "being removed", true),
            (libc::EROFS, false, "read-only", true),
            (libc::ENOMEM, false, "no memory", false),
            (libc::EIO, false, "sda: ", false),
        ] {
            let (error, is) = told(code, bio_based);
            assert!(
                error.contains(text) && error.starts_with("sda: "),
                "{error}"
            );
            assert_eq!(is, not_available, "{error}");
        }
    }

    #[test]
    fn what_the_drain_did_is_told() {
        let took = Duration::from_micros(1234);
        assert!(drained(false, Mode::Exact, took).contains("took 1.23ms"));
        assert!(drained(true, Mode::Exact, took).contains("from now on"));
        assert!(drained(true, Mode::Kernel, took).contains("to its end"));
    }
}
