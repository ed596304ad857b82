// SPDX-License-Identifier: GPL-2.0

//! iostats 0, 1, 2: the modes, and the switch from one to another.
//!
//! A switch that begins or ends exact accounting drains the queue first: between two modes nothing
//! is in flight, so every request is counted in one mode from its start to its end. A bio-based
//! disk cannot be drained: there the I/O's start time decides, at both of its ends
//! (`acct/window.rs`), so that I/O in flight at a switch is counted on, or goes on uncounted.

use crate::{
    disk::{
        Device,
        Switch, //
    },
    sys::queue::{
        self,
        Frozen,
        Limits, //
    },
    table::Entry, //
};
use kernel::{
    prelude::*,
    str::CStr,
    time::Msecs, //
};

/// How long a switch waits for the queue to drain. New I/O waits meanwhile.
const DRAIN_LIMIT: Msecs = 5000;

/// Where those drivers take bios that account them, as functions of block/blk-core.c do it. Others
/// refuse mode 2: their counters would silently stay zero. The queue's own bit does not tell; it
/// can be set on a disk that accounts nothing (brd), and clear on one that always does (zram).
const ACCOUNTING: [&CStr; 9] = [
    c"dm_submit_bio",
    c"md_submit_bio",
    c"zram_submit_bio",
    c"nvme_ns_head_submit_bio",
    c"cached_dev_submit_bio",
    c"flash_dev_submit_bio",
    c"drbd_submit_bio",
    c"pmem_submit_bio",
    c"btt_submit_bio",
];

/// Of those, where the driver accounts all I/O on the whole disk: it does so on the request of a
/// path, which does not tell of the partition any more. The partitions count nothing in any mode.
const WHOLE_DISK_ONLY: &CStr = c"nvme_ns_head_submit_bio";

/// What a disk counts; the values of `iostats`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Nothing.
    Off,
    /// What the kernel counts, in jiffies where it does.
    Stock,
    /// Everything in ns.
    Exact,
}

impl Mode {
    /// Reads what was written to `iostats`: one digit, perhaps with a newline.
    ///
    /// # Errors
    ///
    /// `EINVAL`.
    pub(crate) fn parse(text: &[u8]) -> Result<Self> {
        match text.strip_suffix(b"\n").unwrap_or(text) {
            b"0" => Ok(Self::Off),
            b"1" => Ok(Self::Stock),
            b"2" => Ok(Self::Exact),
            _ => Err(EINVAL),
        }
    }

    /// Returns the digit of `iostats`.
    pub(crate) fn digit(self) -> u8 {
        match self {
            Self::Off => 0,
            Self::Stock => 1,
            Self::Exact => 2,
        }
    }
}

/// Returns whether I/O on a device is accounted on it at all: not on every partition.
pub(crate) fn is_accounted(device: &Device) -> bool {
    !device.is_partition() || !device.bdev().takes_bios_in(WHOLE_DISK_ONLY)
}

/// Returns the mode in force on a device: its disk's, but [`Mode::Off`] where nothing is accounted.
///
/// The kernel's own switch has the last word: with `queue/iostats` at 0 it counts no request, and
/// so do we.
pub(crate) fn of(device: &Device) -> Mode {
    let disk = device.whole();
    if !disk.bdev().queue().io_stat() || !is_accounted(device) {
        Mode::Off
    } else if disk.account().is_some_and(|account| account.is_counting()) {
        Mode::Exact
    } else {
        Mode::Stock
    }
}

/// Puts a whole disk, and its partitions, into a mode. May sleep; several callers come in turn.
///
/// # Errors
///
/// `EOPNOTSUPP` for mode 2 on a disk whose I/O does not pass the hooks; `EBUSY` if the queue does
/// not drain, or a bio-based disk has I/O in flight across too many switches; `ENODEV` if the disk
/// goes; `ENOMEM`, also while a partition is not attached for want of it. Nothing has changed then.
pub(crate) fn set(disk: &Device, mode: Mode) -> Result {
    let done = set_both(disk, mode);
    disk.hooks().detach();
    done
}

fn set_both(disk: &Device, mode: Mode) -> Result {
    let queue = disk.bdev().queue();
    // Before our own lock: a write to queue/iostats comes with this one held.
    let mut limits = queue.lock_limits();
    limits.get().set_io_stat(mode != Mode::Off);
    if queue.io_stat() == (mode != Mode::Off) {
        // Who reads the queue's files waits for this lock, and a drain may take seconds. If another
        // writer changes the bit meanwhile, that has the last word; see `of`.
        drop(limits);
        return switch(disk, mode, |_| Ok(()));
    }
    switch(disk, mode, |frozen| match frozen {
        Some(frozen) => limits.commit(frozen),
        None => limits.commit(&queue.freeze(DRAIN_LIMIT)?),
    })
}

/// As [`set`], where the caller holds the limits' lock and applies them afterwards.
///
/// # Errors
///
/// As for [`set`].
pub(crate) fn set_with(disk: &Device, mode: Mode, limits: &mut Limits<'_>) -> Result {
    let done = switch(disk, mode, |_| Ok(()));
    disk.hooks().detach();
    done?;
    limits.set_io_stat(mode != Mode::Off);
    Ok(())
}

/// Does the switch. `kernel` brings the kernel's own bit along, with the queue frozen if the switch
/// froze it.
fn switch(disk: &Device, mode: Mode, kernel: impl FnOnce(Option<&Frozen<'_>>) -> Result) -> Result {
    let switch = &mut *disk.switch().lock();
    if switch.gone {
        return Err(ENODEV);
    }
    let request_based = disk.is_request_based();
    match (switch.exact, mode) {
        (false, Mode::Exact) if switch.missing > 0 => Err(ENOMEM),
        (false, Mode::Exact) if request_based => begin(disk, switch, kernel),
        (false, Mode::Exact) => begin_bios(disk, switch, kernel),
        (true, Mode::Off | Mode::Stock) if request_based => end(disk, switch, kernel),
        (true, Mode::Off | Mode::Stock) => end_bios(switch, kernel),
        _ => kernel(None),
    }
}

/// Ends mode 2 on a disk of which a partition could not be attached: its I/O would be missing. The
/// hooks go later. May sleep.
pub(crate) fn miss_partition(disk: &Device) {
    let ended = {
        let switch = &mut *disk.switch().lock();
        switch.missing = switch.missing.saturating_add(1);
        match switch.exact {
            true if disk.is_request_based() => end(disk, switch, |_| Ok(())),
            true => end_bios(switch, |_| Ok(())),
            false => Ok(()),
        }
    };
    disk.hooks().detach_soon();
    if let Err(error) = ended {
        pr_err!("a disk stays in mode 2 without one of its partitions ({error:?})\n");
    }
}

fn begin(
    disk: &Device,
    switch: &mut Switch,
    kernel: impl FnOnce(Option<&Frozen<'_>>) -> Result,
) -> Result {
    // All memory first: while the queue is frozen an allocation may wait for this very disk.
    disk.hooks().add(&entries(switch)?)?;
    let begun = disk.bdev().queue().freeze(DRAIN_LIMIT).and_then(|frozen| {
        kernel(Some(&frozen))?;
        for device in &switch.devices {
            device.open();
        }
        Ok(())
    });
    if begun.is_err() {
        hide(disk, switch);
    }
    switch.exact = begun.is_ok();
    begun
}

fn begin_bios(
    disk: &Device,
    switch: &mut Switch,
    kernel: impl FnOnce(Option<&Frozen<'_>>) -> Result,
) -> Result {
    if !ACCOUNTING
        .iter()
        .any(|name| disk.bdev().takes_bios_in(name))
    {
        return Err(queue::not_supported());
    }
    let entries = entries(switch)?;
    if !entries.iter().all(|entry| entry.account.have_room()) {
        return Err(EBUSY);
    }
    let begun = disk.hooks().add(&entries).and_then(|()| kernel(None));
    for device in &switch.devices {
        match begun {
            Ok(()) => device.open(),
            Err(_) => device.linger(),
        }
    }
    switch.exact = begun.is_ok();
    begun
}

fn end_bios(switch: &mut Switch, kernel: impl FnOnce(Option<&Frozen<'_>>) -> Result) -> Result {
    kernel(None)?;
    // I/O in flight counts on to its end; the hooks go after it.
    for device in &switch.devices {
        device.close();
        device.linger();
    }
    switch.exact = false;
    Ok(())
}

/// Returns the entries of the disk's devices.
fn entries(switch: &Switch) -> Result<KVec<Entry>> {
    let mut entries = KVec::with_capacity(switch.devices.len(), GFP_KERNEL)?;
    for device in &switch.devices {
        entries.push(device.entry()?, GFP_KERNEL)?;
    }
    Ok(entries)
}

fn end(
    disk: &Device,
    switch: &mut Switch,
    kernel: impl FnOnce(Option<&Frozen<'_>>) -> Result,
) -> Result {
    let frozen = disk.bdev().queue().freeze(DRAIN_LIMIT)?;
    kernel(Some(&frozen))?;
    for device in &switch.devices {
        device.close();
        if let Some(account) = device.account() {
            account.write_off();
        }
    }
    switch.exact = false;
    drop(frozen);
    hide(disk, switch);
    Ok(())
}

/// Takes the disk's devices away from the probes.
fn hide(disk: &Device, switch: &Switch) {
    disk.hooks().remove(|entry| {
        switch
            .devices
            .iter()
            .any(|device| device.bdev().key() == entry.key)
    });
}

#[cfg(CONFIG_KUNIT)]
#[kernel::macros::kunit_tests(blkacct_mode)]
mod tests {
    use super::*;

    #[test]
    fn one_digit_is_a_mode() {
        assert!(Mode::parse(b"0") == Ok(Mode::Off));
        assert!(Mode::parse(b"1\n") == Ok(Mode::Stock));
        assert!(Mode::parse(b"2\n") == Ok(Mode::Exact));
    }

    #[test]
    fn anything_else_is_none() {
        for text in [
            &b""[..],
            b"\n",
            b"3",
            b"02",
            b"2 ",
            b" 2",
            b"2\n\n",
            b"-1",
            b"2x",
            b"on",
        ] {
            assert!(Mode::parse(text) == Err(EINVAL));
        }
    }
}
