// SPDX-License-Identifier: GPL-2.0

//! A value that probes read without a lock and that is replaced as a whole.

use super::{
    atomic::{
        Acquire,
        Atomic,
        Full,
        Relaxed, //
    },
    tracepoint::{
        self,
        InProbe, //
    }, //
};
use kernel::prelude::*;

/// A heap value that tracepoint probes may read while it is being replaced.
///
/// # Invariants
///
/// `current` comes from [`KBox::into_raw`], and is owned by this value.
pub(crate) struct Published<T: Send + Sync> {
    current: Atomic<*mut T>,
}

/// A value that was replaced: still readable by probes that began before.
///
/// Dropping it waits for those and may sleep.
#[must_use]
pub(crate) struct Retired<T: Send + Sync>(#[expect(dead_code)] KBox<T>);

impl<T: Send + Sync> Published<T> {
    /// Publishes a value.
    pub(crate) fn new(value: KBox<T>) -> Self {
        // INVARIANT: The pointer comes from there, and ownership with it.
        Self {
            current: Atomic::new(KBox::into_raw(value)),
        }
    }

    /// Returns the value in force, for as long as the probe runs.
    #[inline]
    pub(crate) fn get<'p>(&self, _probe: &'p InProbe) -> &'p T {
        // ORDERING: Acquire pairs with the release half of `replace`: the value was written
        // before it was published.
        let current = self.current.load(Acquire);
        // SAFETY: Live by the type invariants; after a replacement it is freed by `Retired` only
        // when no probe that may have loaded it still runs, so it outlives 'p.
        unsafe { &*current }
    }

    /// Puts `value` in force and returns what it replaces.
    pub(crate) fn replace(&self, value: KBox<T>) -> Retired<T> {
        // ORDERING: Full. Release publishes the value; acquire takes the old one over.
        let old = self.current.xchg(KBox::into_raw(value), Full);
        // SAFETY: By the type invariants `old` came from `into_raw`, and the exchange made it ours.
        Retired(unsafe { KBox::from_raw(old) })
    }
}

impl<T: Send + Sync> Drop for Published<T> {
    fn drop(&mut self) {
        // ORDERING: Relaxed. Nobody else has the value any more, so no probe reads it.
        // SAFETY: As in `replace`; it is not used again.
        drop(unsafe { KBox::from_raw(self.current.load(Relaxed)) });
    }
}

impl<T: Send + Sync> Drop for Retired<T> {
    fn drop(&mut self) {
        tracepoint::synchronize();
    }
}
