// SPDX-License-Identifier: GPL-2.0

//! Memory without I/O, and the locks that adding or removing a disk needs.
//!
//! Reclaim may wait for I/O of a disk whose driver is being reset, the reset for a disk that comes
//! or goes, and that for a lock of ours. So whoever holds one, or is waited for in another way,
//! takes memory only in a scope in which nothing is written out for it, as block/genhd.c does. All
//! mutexes of the module are [`DiskLock`]s, which `make check` makes sure of.
//!
//! C header: [`include/linux/sched/mm.h`](srctree/include/linux/sched/mm.h)

use super::helpers;
use core::{
    marker::PhantomData,
    ops::{
        Deref,
        DerefMut, //
    }, //
};
use kernel::{
    prelude::*,
    sync::{
        Mutex,
        MutexGuard, //
    }, //
};

/// A scope in which the current task's allocations, the kernel's for it too, start no I/O and wait
/// for none. Scopes nest.
///
/// # Invariants
///
/// `added` is what the current task lacked when the scope began; the value stays with the task.
pub(crate) struct NoIo {
    added: c_uint,
    _of_this_task: PhantomData<*mut ()>,
}

impl NoIo {
    /// Begins a scope that ends when the value is dropped.
    pub(crate) fn new() -> Self {
        // INVARIANT: It is the current task's.
        Self {
            // SAFETY: No preconditions; undone by `drop` in the same task.
            added: unsafe { helpers::blkacct_noio_save() },
            _of_this_task: PhantomData,
        }
    }
}

impl Drop for NoIo {
    fn drop(&mut self) {
        // SAFETY: From the call that began the scope, by the type invariants.
        unsafe { helpers::blkacct_noio_restore(self.added) };
    }
}

/// A mutex that adding or removing a disk needs: who holds it is in a [`NoIo`] scope.
#[pin_data]
pub(crate) struct DiskLock<T> {
    #[pin]
    mutex: Mutex<T>,
}

impl<T> DiskLock<T> {
    /// Makes one of `new_mutex!()`, which gives each its own class for lock checking.
    pub(crate) fn new(mutex: impl PinInit<Mutex<T>>) -> impl PinInit<Self> {
        pin_init!(Self { mutex <- mutex })
    }

    /// Locks it. May sleep.
    pub(crate) fn lock(&self) -> Locked<'_, T> {
        let scope = NoIo::new();
        Locked {
            guard: self.mutex.lock(),
            _scope: scope,
        }
    }
}

/// A [`DiskLock`] while it is held. Fields are dropped in order: the scope ends after the lock.
pub(crate) struct Locked<'a, T> {
    guard: MutexGuard<'a, T>,
    _scope: NoIo,
}

impl<T> Deref for Locked<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T: Unpin> DerefMut for Locked<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

#[cfg(CONFIG_KUNIT)]
#[kernel::macros::kunit_tests(blkacct_disk_lock)]
mod tests {
    use super::*;
    use kernel::new_mutex;

    #[test]
    fn the_scope_lasts_as_long_as_the_lock() -> Result {
        let lock = KBox::pin_init(DiskLock::new(new_mutex!(5)), GFP_KERNEL)?;
        let before = NoIo::is_on();
        let mut locked = lock.lock();
        assert!(NoIo::is_on());
        *locked += 1;
        drop(locked);
        assert_eq!(NoIo::is_on(), before);
        assert_eq!(*lock.lock(), 6);
        Ok(())
    }

    #[test]
    fn scopes_nest() {
        let before = NoIo::is_on();
        let outer = NoIo::new();
        drop(NoIo::new());
        assert!(NoIo::is_on());
        drop(outer);
        assert_eq!(NoIo::is_on(), before);
    }
}

#[cfg(CONFIG_KUNIT)]
impl NoIo {
    /// Returns whether the current task is in a scope.
    fn is_on() -> bool {
        Self::new().added == 0
    }
}
