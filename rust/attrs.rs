// SPDX-License-Identifier: GPL-2.0

//! The files of a device:
//! `blkacct/{iostats,stat,in_flight,latency_*,counted_ns,classic,anomalies}`.
//!
//! Their contents are specified in `Documentation/ABI/testing/sysfs-block-blkacct`.

use crate::{
    acct::{
        hist::{
            Line,
            DEVICE,
            TOTAL, //
        },
        nsec::Clock,
        sgrp::StatGroup,
        wire, //
    },
    disk::Device,
    mode::{
        self,
        Mode, //
    },
    sys::{
        attribute::{
            File,
            Text, //
        },
        clock::Monotonic,
        queue::not_supported, //
    }, //
};
use core::fmt::Write as _;
use kernel::prelude::*;

macro_rules! latency {
    ($name:literal, $group:ident) => {
        File {
            name: $name,
            show: |device, text| show_latency(device, StatGroup::$group, text),
            store: None,
        }
    };
}

macro_rules! files {
    ($($iostats_store:tt)*) => {
        &[
            File {
                name: c"iostats",
                show: show_iostats,
                store: $($iostats_store)*,
            },
            File {
                name: c"stat",
                show: show_stat,
                store: None,
            },
            File {
                name: c"in_flight",
                show: show_in_flight,
                store: None,
            },
            latency!(c"latency_read", Read),
            latency!(c"latency_write", Write),
            latency!(c"latency_discard", Discard),
            latency!(c"latency_flush", Flush),
            latency!(c"latency_zone_append", ZoneAppend),
            latency!(c"latency_zone_mgmt", ZoneMgmt),
            latency!(c"latency_write_zeroes", WriteZeroes),
            latency!(c"latency_drv_in", DrvIn),
            latency!(c"latency_drv_out", DrvOut),
            File {
                name: c"counted_ns",
                show: show_counted_ns,
                store: None,
            },
            File {
                name: c"classic",
                show: show_classic,
                store: None,
            },
            File {
                name: c"anomalies",
                show: show_anomalies,
                store: None,
            },
        ]
    };
}

static DISK_FILES: &[File<Device>] = files!(Some(store_iostats));
static PARTITION_FILES: &[File<Device>] = files!(None);

/// Returns the files of a device: a partition follows its disk, so its mode is read-only.
pub(crate) fn files(device: &Device) -> &'static [File<Device>] {
    if device.is_partition() {
        PARTITION_FILES
    } else {
        DISK_FILES
    }
}

fn show_iostats(device: &Device, text: &mut Text<'_>) -> Result {
    Ok(writeln!(text, "{}", mode::of(device).digit())?)
}

fn store_iostats(device: &Device, written: &[u8]) -> Result {
    mode::set(device, Mode::parse(written)?)
}

fn show_classic(device: &Device, text: &mut Text<'_>) -> Result {
    Ok(writeln!(text, "{}", u8::from(device.hooks().classic()))?)
}

fn show_stat(device: &Device, text: &mut Text<'_>) -> Result {
    let stat = match device.account() {
        Some(account) => account.snapshot(device.bdev()).stat,
        // Never in mode 2: nothing has been counted until now.
        None => wire::Stat {
            time_ns: Monotonic.now().0,
            ..device.hooks().empty_stat(device.is_request_based())
        },
    };
    Ok(write!(text, "{stat}")?)
}

fn show_counted_ns(device: &Device, text: &mut Text<'_>) -> Result {
    Ok(writeln!(text, "{}", device.counted_ns())?)
}

fn show_in_flight(device: &Device, text: &mut Text<'_>) -> Result {
    let in_flight = device
        .account()
        .map(|account| account.core_snapshot().in_flight)
        .unwrap_or_default();
    Ok(write!(text, "{in_flight}")?)
}

fn show_anomalies(device: &Device, text: &mut Text<'_>) -> Result {
    let anomalies = device
        .account()
        .map(|account| account.anomalies())
        .unwrap_or_default();
    Ok(write!(text, "{anomalies}")?)
}

fn show_latency(device: &Device, group: StatGroup, text: &mut Text<'_>) -> Result {
    if !device.is_request_based() {
        return Err(not_supported());
    }
    let account = device.account();
    // One after the other: a histogram is a kilobyte, and the stack is small.
    let total = account.and_then(|account| account.latency(group));
    write!(text, "{}", Line(TOTAL, &total.unwrap_or_default()))?;
    if device.hooks().has_device_side() {
        let at_driver = account.and_then(|account| account.device_latency(group));
        write!(text, "{}", Line(DEVICE, &at_driver.unwrap_or_default()))?;
    }
    Ok(())
}
