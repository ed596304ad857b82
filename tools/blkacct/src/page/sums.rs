// SPDX-License-Identifier: GPL-2.0
//! What windows that follow each other come to.

use acct::sgrp::{Classic, StatGroup};

use crate::figures::{Tally, Window};

/// Sums over some time. What one window does not have, the sum does not have.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// How long it is by the module's clock, in ns.
    pub interval_ns: u64,
    /// Reads, as iostat has them.
    pub read: Tally,
    /// Writes, as iostat has them.
    pub write: Tally,
    /// All but the flushes that the block layer makes itself.
    pub all: Tally,
    /// Time with I/O in flight, in ns.
    pub busy_ns: u64,
    /// Integral of in-flight, in ns.
    pub queue_ns: u64,
    /// The same at the driver.
    pub driver_ns: Option<u64>,
    /// Time in which requests waited and the driver had none, in ns.
    pub idle_ns: Option<u64>,
    /// Requests that failed.
    pub errors: Option<u64>,
    /// Requests that the driver gave back.
    pub requeues: Option<u64>,
    /// Time with I/O in flight and no completion, in ns.
    pub stalled_ns: u64,
    /// What the kernel's own counter says of the busy time, in ms, and of how many ns.
    pub stock: Option<(u64, u64)>,
}

impl Sums {
    /// Takes a window whose length is known.
    pub fn of(window: &Window) -> Option<Self> {
        let grown = window.grown();
        Some(Sums {
            interval_ns: window.interval_ns.filter(|&ns| ns > 0)?,
            read: window.classic(Classic::Read),
            write: window.classic(Classic::Write),
            all: window.tally(|group| group != StatGroup::Flush),
            busy_ns: grown.io_ticks,
            queue_ns: grown.time_in_queue,
            driver_ns: grown.device.map(|device| device.time_in_queue),
            idle_ns: window.idle_while_queued(),
            errors: grown.errors,
            requeues: grown.device.map(|device| device.requeues),
            stalled_ns: window.stall()?.certain_ns,
            stock: window
                .stock
                .and_then(|stock| Some((stock.io_ticks_ms?, stock.interval_ns))),
        })
    }

    /// Adds what comes after it.
    pub fn add(&mut self, next: &Sums) {
        let both = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        self.interval_ns = self.interval_ns.saturating_add(next.interval_ns);
        self.read = joined(&self.read, &next.read);
        self.write = joined(&self.write, &next.write);
        self.all = joined(&self.all, &next.all);
        self.busy_ns = self.busy_ns.saturating_add(next.busy_ns);
        self.queue_ns = self.queue_ns.saturating_add(next.queue_ns);
        self.driver_ns = both(self.driver_ns, next.driver_ns);
        self.idle_ns = both(self.idle_ns, next.idle_ns);
        self.errors = both(self.errors, next.errors);
        self.requeues = both(self.requeues, next.requeues);
        self.stalled_ns = self.stalled_ns.saturating_add(next.stalled_ns);
        let stock = self.stock.zip(next.stock);
        self.stock = stock
            .map(|((ms, ns), (more, long))| (ms.saturating_add(more), ns.saturating_add(long)));
    }
}

fn joined(a: &Tally, b: &Tally) -> Tally {
    let device = a.device_nsecs.zip(b.device_nsecs);
    Tally {
        ios: a.ios.saturating_add(b.ios),
        merges: a.merges.saturating_add(b.merges),
        sectors: a.sectors.saturating_add(b.sectors),
        nsecs: a.nsecs.saturating_add(b.nsecs),
        device_nsecs: device.map(|(a, b)| a.saturating_add(b)),
    }
}
