// SPDX-License-Identifier: GPL-2.0

//! What went wrong in an account, and by how much that can have made its times differ.

use crate::{
    acct::{
        nsec::{
            Clock,
            Nsec, //
        },
        wire, //
    },
    sys::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        clock::Monotonic, //
    }, //
};

// ORDERING: Relaxed in all of this file. Each is a number of its own.

/// The anomalies of a device. None is on the path of an I/O that is as it should be.
pub(super) struct Anomalies {
    clamped: Atomic<u64>,
    orphans: Atomic<u64>,
    lost_starts: Atomic<u64>,
    /// What these can have made any time differ by, in ns.
    bound: Atomic<u64>,
    /// When the account was opened last, in ns.
    opened: Atomic<u64>,
}

impl Default for Anomalies {
    fn default() -> Self {
        Self {
            clamped: Atomic::new(0),
            orphans: Atomic::new(0),
            lost_starts: Atomic::new(0),
            bound: Atomic::new(0),
            opened: Atomic::new(0),
        }
    }
}

impl Anomalies {
    /// Says that events count from now on.
    pub(super) fn opened(&self) {
        self.opened.store(Monotonic.now().0, Relaxed);
    }

    /// Counts a time that was `ns` before the one it followed. Any context.
    #[cold]
    pub(super) fn clamped(&self, ns: u64) {
        self.count(&self.clamped, ns);
    }

    /// Counts the end of what was not in flight, of `ns` by the kernel's own time. Any context.
    #[cold]
    pub(super) fn orphan(&self, ns: u64) {
        self.count(&self.orphans, ns);
    }

    /// Counts starts whose ends did not come up to `now`. Any context.
    #[cold]
    pub(super) fn lost_starts(&self, now: Nsec, count: u64) {
        let opened = Nsec(self.opened.load(Relaxed));
        self.lost_starts.add(count, Relaxed);
        self.bound
            .add(now.since(opened).saturating_mul(count), Relaxed);
    }

    fn count(&self, which: &Atomic<u64>, ns: u64) {
        which.add(1, Relaxed);
        self.bound.add(ns, Relaxed);
    }

    /// Returns them as text has them; the account knows of late starts. Any context.
    pub(super) fn read(&self, late_starts: u64) -> wire::Anomalies {
        wire::Anomalies {
            clamped: self.clamped.load(Relaxed),
            orphans: self.orphans.load(Relaxed),
            lost_starts: self.lost_starts.load(Relaxed),
            late_starts,
            bound_ns: self.bound.load(Relaxed),
        }
    }
}
