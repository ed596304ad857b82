// SPDX-License-Identifier: GPL-2.0

//! What an I/O does to an account, at its start and at its end.
//!
//! Either comes in two parts: the first prepares it, and when the clock has been read the second
//! completes it and books it. Any context; the caller keeps to its CPU for the second part.

use super::{
    Account,
    Route, //
};
use crate::{
    acct::{
        busy::{
            Arrival,
            Departure, //
        },
        leaf::Leaves,
        nsec::{
            Clock,
            Nsec, //
        },
        sgrp::StatGroup,
        slot, //
    },
    sys::{
        atomic::Relaxed,
        clock::Monotonic,
        percpu::Pinned, //
    }, //
};

impl Account {
    /// Returns whether events count, and requests of this hardware queue hold the busy clock
    /// directly.
    #[inline(always)]
    pub(crate) fn is_direct(&self, hardware_queue: u32) -> bool {
        // ORDERING: Relaxed. As `counting`, with which it changes.
        hardware_queue == self.direct.load(Relaxed)
    }

    #[inline(always)]
    pub(super) fn leaves(&self, hardware_queue: u32) -> &Leaves {
        self.leaves.at(hardware_queue as usize)
    }

    /// Begins a start on a hardware queue; see [`Busy::start`].
    #[inline(always)]
    pub(crate) fn start<R: Route>(&self, hardware_queue: u32) -> Arrival<'_> {
        match R::is_direct(self, hardware_queue) {
            true => self.busy.start_direct(),
            false => self.busy.start(&self.leaves(hardware_queue).io),
        }
    }

    /// Begins an end on a hardware queue; see [`Busy::end`].
    #[inline(always)]
    pub(crate) fn end<R: Route>(&self, hardware_queue: u32) -> Departure<'_> {
        match R::is_direct(self, hardware_queue) {
            true => self.busy.end_direct(),
            false => self.busy.end(&self.leaves(hardware_queue).io),
        }
    }

    /// Completes a start and books it; returns its time.
    #[inline(always)]
    pub(crate) fn started(
        &self,
        arrival: Arrival<'_>,
        now: Nsec,
        pin: &Pinned,
        group: StatGroup,
        sectors: impl FnOnce() -> u64,
    ) -> Nsec {
        let time = arrival.commit(now, self);
        slot::start(&self.cells.here(pin), time, group, sectors);
        time
    }

    /// Counts the end at `now` of what was not in flight, and returns `now`. The kernel started it
    /// at `start_time`.
    #[cold]
    pub(super) fn orphan(&self, now: Nsec, start_time: Nsec) -> Nsec {
        self.anomalies.orphan(now.since(start_time));
        now
    }

    /// Completes an end by completion and books it; returns its time.
    #[inline(always)]
    pub(crate) fn done(
        &self,
        departure: Departure<'_>,
        now: Nsec,
        pin: &Pinned,
        group: StatGroup,
        start_time: Nsec,
    ) -> Nsec {
        let Some(time) = departure.commit(now, self) else {
            return self.orphan(now, start_time);
        };
        if time < start_time {
            self.anomalies.clamped(start_time.since(time));
        }
        slot::end(&self.cells.here(pin), time, group, start_time);
        self.took(pin, group, start_time, time);
        time
    }

    /// Counts a latency from `start` to `end` in the histogram of its group.
    #[inline(always)]
    pub(super) fn took(&self, pin: &Pinned, group: StatGroup, start: Nsec, end: Nsec) {
        if let Some(latency) = &self.latency {
            latency.count(pin, group, start, end);
        }
    }

    /// Completes an end by a merge into another request and books it; returns its time.
    #[inline(always)]
    pub(crate) fn merged(
        &self,
        departure: Departure<'_>,
        now: Nsec,
        pin: &Pinned,
        group: StatGroup,
        start_time: Nsec,
    ) -> Nsec {
        let Some(time) = departure.commit(now, self) else {
            return self.orphan(now, start_time);
        };
        slot::absorbed(&self.cells.here(pin), time, group);
        time
    }
}

/// The clock of the account's events.
impl Clock for Account {
    #[inline]
    fn now(&self) -> Nsec {
        Monotonic.now()
    }

    fn was_behind(&self, ns: u64) {
        self.anomalies.clamped(ns);
    }
}
