// SPDX-License-Identifier: GPL-2.0

//! The one object that callbacks without a data pointer of ours work for.

use core::ptr::null;
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Full,
            Release, //
        },
        Arc, //
    }, //
};

/// A place for a listener, in a static of the file that has the callbacks.
pub(super) struct Place(Atomic<*const ()>);

/// Keeps a listener in its place. Dropped after the last callback.
///
/// # Invariants
///
/// `place` points to `listener`, and only this value changes it.
pub(super) struct Placed<T: Send + Sync + 'static> {
    place: &'static Place,
    _listener: Arc<T>,
}

impl Place {
    /// Returns an empty place.
    pub(super) const fn new() -> Self {
        Self(Atomic::new(null()))
    }

    /// Puts a listener there.
    ///
    /// # Errors
    ///
    /// `EBUSY` if there is one.
    pub(super) fn put<T: Send + Sync>(&'static self, listener: Arc<T>) -> Result<Placed<T>> {
        let pointer = Arc::as_ptr(&listener).cast::<()>();
        // ORDERING: Full. The Acquire of `get` sees a listener that is complete.
        self.0.cmpxchg(null(), pointer, Full).map_err(|_| EBUSY)?;
        // INVARIANT: The place was empty, so nobody else changes it.
        Ok(Placed {
            place: self,
            _listener: listener,
        })
    }

    /// Returns the listener.
    ///
    /// # Safety
    ///
    /// A `Placed<T>` of this place outlives the result.
    pub(super) unsafe fn get<'a, T>(&self) -> &'a T {
        // ORDERING: Acquire pairs with `put`: the listener is complete.
        // SAFETY: By the function's contract the pointer is to a live `T`.
        unsafe { &*self.0.load(Acquire).cast::<T>() }
    }
}

impl<T: Send + Sync> Drop for Placed<T> {
    fn drop(&mut self) {
        // ORDERING: Release. The next listener comes after all callbacks to this one.
        self.place.0.store(null(), Release);
    }
}
