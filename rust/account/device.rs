// SPDX-License-Identifier: GPL-2.0

//! The device side of an account: a second busy clock, for what the driver has.
//!
//! Every stay of a request at the driver lies within its time in flight, and at each event the
//! levels take their times in the order that keeps it so: starts from the outside in, ends from
//! the inside out. So `device_ticks` never passes `io_ticks`.

use super::{
    histograms::Histograms,
    Account,
    Route, //
};
use crate::{
    acct::{
        busy::{
            Arrival,
            Busy,
            Departure, //
        },
        device,
        extended::Extended,
        hist,
        nsec::{
            Clock,
            Nsec, //
        },
        sgrp::StatGroup,
        wire::DeviceSide, //
    },
    sys::{
        clock::Monotonic,
        percpu::{
            Counters,
            Pinned, //
        }, //
    }, //
};
use kernel::prelude::*;

/// What the account of a request-based device has for its driver.
pub(super) struct DeviceShare {
    busy: Busy,
    cells: Counters<{ device::CELLS }>,
    queue: Extended<64>,
    latency: Histograms,
}

impl DeviceShare {
    /// Makes one, with nothing at the driver; see [`Account::new`]. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(appends: bool) -> Result<Self> {
        Ok(Self {
            busy: Busy::default(),
            cells: Counters::new()?,
            queue: Extended::default(),
            latency: Histograms::new(appends)?,
        })
    }
}

/// The event of an issue, or of its end, at one level: it waits for the time.
pub(crate) struct AtDevice<'a, Step> {
    account: &'a Account,
    share: &'a DeviceShare,
    step: Step,
}

impl Account {
    /// Begins an issue on a hardware queue. Read the clock next, then commit.
    #[inline(always)]
    pub(crate) fn issue<R: Route>(&self, hardware_queue: u32) -> Option<AtDevice<'_, Arrival<'_>>> {
        let share = self.device.as_ref()?;
        Some(AtDevice {
            account: self,
            share,
            step: match R::is_direct(self, hardware_queue) {
                true => share.busy.start_direct(),
                false => share.busy.start(&self.leaves(hardware_queue).device),
            },
        })
    }

    /// Begins the return of a request from the driver. Read the clock next, then commit.
    #[inline(always)]
    pub(crate) fn come_back<R: Route>(
        &self,
        hardware_queue: u32,
    ) -> Option<AtDevice<'_, Departure<'_>>> {
        let share = self.device.as_ref()?;
        Some(AtDevice {
            account: self,
            share,
            step: match R::is_direct(self, hardware_queue) {
                true => share.busy.end_direct(),
                false => share.busy.end(&self.leaves(hardware_queue).device),
            },
        })
    }

    /// Counts the latency of an internal flush, from `start` to `end`, which is in no other number.
    #[inline(always)]
    pub(crate) fn flushed(&self, pin: &Pinned, start: Nsec, end: Nsec) {
        self.took(pin, StatGroup::Flush, start, end);
    }

    /// As [`Account::catch_up`].
    pub(super) fn catch_up_device(&self) {
        if let Some(share) = &self.device {
            share.busy.read(&Monotonic);
        }
    }

    /// Reads the device side, if there is one. Process context.
    pub(crate) fn device_side(&self) -> Option<DeviceSide> {
        let share = self.device.as_ref()?;
        Some(device::read(
            &share.busy,
            &share.queue,
            &share.cells,
            &Monotonic,
        ))
    }

    /// Returns the histogram of a group's times at the driver. Process context.
    pub(crate) fn device_latency(&self, group: StatGroup) -> Option<hist::Counts> {
        let share = self.device.as_ref()?;
        Some(share.latency.read(group))
    }

    /// Ends what is still counted as at the driver although the device is idle.
    pub(super) fn write_off_device(&self) {
        let Some(share) = self.device.as_ref() else {
            return;
        };
        let on_leaves = self.leaves.iter();
        let on_leaves = on_leaves.map(|leaves| share.busy.abandon(&leaves.device, &Monotonic));
        let strays = on_leaves.sum::<u64>() + share.busy.abandon_direct(&Monotonic);
        if strays > 0 {
            let pin = Pinned::new();
            device::write_off(&share.cells.here(&pin), Monotonic.now(), strays);
        }
    }
}

impl AtDevice<'_, Arrival<'_>> {
    /// Completes an issue and books it; returns its time.
    #[inline(always)]
    pub(crate) fn issued(self, now: Nsec, pin: &Pinned) -> Nsec {
        let time = self.step.commit(now, self.account);
        device::issue(&self.share.cells.here(pin), time);
        time
    }
}

impl AtDevice<'_, Departure<'_>> {
    /// Completes the return of a request that is done, and books it; returns its time.
    #[inline(always)]
    pub(crate) fn completed(self, now: Nsec, pin: &Pinned, group: StatGroup, issued: Nsec) -> Nsec {
        let share = self.share;
        let Some(time) = self.step.commit(now, self.account) else {
            return self.account.orphan(now, issued);
        };
        device::come_back(&share.cells.here(pin), time, group, issued);
        share.latency.count(pin, group, issued, time);
        time
    }

    /// Completes the return of a request that is requeued, and books it; returns its time.
    #[inline(always)]
    pub(crate) fn requeued(self, now: Nsec, pin: &Pinned, group: StatGroup, issued: Nsec) -> Nsec {
        let share = self.share;
        let Some(time) = self.step.commit(now, self.account) else {
            return self.account.orphan(now, issued);
        };
        device::requeue(&share.cells.here(pin), time, group, issued);
        time
    }
}
