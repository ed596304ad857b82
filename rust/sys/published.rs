// SPDX-License-Identifier: GPL-2.0

//! A value that probes read without a lock and that is replaced as a whole.

use super::{
    atomic::{
        Acquire,
        Atomic,
        Full, //
    },
    tracepoint::{
        self,
        InProbe, //
    }, //
};
use core::ptr::null_mut;
use kernel::prelude::*;

/// A heap value that tracepoint probes may read while it is being replaced.
///
/// # Invariants
///
/// `current` is null or comes from [`KBox::into_raw`], and is owned by this value.
pub(crate) struct Published<T: Send + Sync> {
    current: Atomic<*mut T>,
}

/// A value that was replaced: still readable by probes that began before.
///
/// Dropping it waits for those and may sleep.
#[must_use]
pub(crate) struct Retired<T: Send + Sync>(Option<KBox<T>>);

impl<T: Send + Sync> Published<T> {
    /// Nothing published yet.
    pub(crate) const fn empty() -> Self {
        Self {
            current: Atomic::new(null_mut()),
        }
    }

    /// Returns the value in force, for as long as the probe runs.
    #[inline]
    pub(crate) fn get<'p>(&self, _probe: &'p InProbe) -> Option<&'p T> {
        // ORDERING: Acquire pairs with the release half of `replace`: the value was written
        // before it was published.
        let current = self.current.load(Acquire);
        // SAFETY: Null or live by the type invariants; after a replacement it is freed by
        // `Retired` only when no probe that may have loaded it still runs, so it outlives 'p.
        unsafe { current.as_ref() }
    }

    /// Puts `value` in force and returns what it replaces.
    pub(crate) fn replace(&self, value: Option<KBox<T>>) -> Retired<T> {
        let new = value.map_or(null_mut(), KBox::into_raw);
        // ORDERING: Full. Release publishes the value; acquire takes the old one over.
        let old = self.current.xchg(new, Full);
        if old.is_null() {
            return Retired(None);
        }
        // SAFETY: By the type invariants `old` came from `into_raw`, and the exchange made it ours.
        Retired(Some(unsafe { KBox::from_raw(old) }))
    }
}

impl<T: Send + Sync> Drop for Published<T> {
    fn drop(&mut self) {
        drop(self.replace(None));
    }
}

impl<T: Send + Sync> Drop for Retired<T> {
    fn drop(&mut self) {
        if self.0.is_some() {
            tracepoint::synchronize();
        }
    }
}
