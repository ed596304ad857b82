// SPDX-License-Identifier: GPL-2.0

//! Hooks on functions of the kernel that are reached by name.
//!
//! C header: [`include/linux/ftrace.h`](srctree/include/linux/ftrace.h)

use core::ptr::NonNull;
use kernel::{
    error::from_err_ptr,
    ffi::c_void,
    prelude::*,
    str::CStr, //
};

/// The C side of a hook, `struct blkacct_hook`.
#[repr(C)]
struct Raw {
    _opaque: [u8; 0],
}

extern "C" {
    fn blkacct_hook_add(name: *const c_char, target: *const c_void, replace: bool) -> *mut Raw;
    fn blkacct_replacement_ends();
    fn blkacct_hook_del(hook: *mut Raw);
}

/// The first arguments of a function, as its registers hold them.
pub(super) type Arguments = [usize; 4];

/// A hook while it is set. Dropping it waits until nobody runs what it led to; may sleep.
///
/// # Invariants
///
/// Points to a hook from `blkacct_hook_add()` that has not been deleted.
pub(super) struct Hook(NonNull<Raw>);

// SAFETY: ftrace locks on its own, and the user count is atomic.
unsafe impl Send for Hook {}
// SAFETY: As above.
unsafe impl Sync for Hook {}

impl Hook {
    /// Makes every call of the function `name` a call of `by`. May sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is no such function, `EBUSY` if it is replaced already or ftrace is off,
    /// or what ftrace says.
    ///
    /// # Safety
    ///
    /// `by` has the function's signature, and drops a [`Replacement`] last.
    pub(super) unsafe fn replace(name: &CStr, by: *const c_void) -> Result<Self> {
        // SAFETY: By the function's contract.
        unsafe { Self::add(name, by, true) }
    }

    /// Whether `before` can change an argument.
    pub(super) const CAN_CHANGE: bool = cfg!(target_arch = "x86_64");

    /// Calls `before` with the first four arguments, of which those that the function does not have
    /// mean nothing, before each call of the function `name`. Preemption is off. If it returns true
    /// the fourth argument becomes the present jiffy, where [`Self::CAN_CHANGE`] says so.
    ///
    /// This may sleep.
    ///
    /// # Errors
    ///
    /// As for [`Self::replace`].
    ///
    /// # Safety
    ///
    /// `before` may be called with the function's arguments.
    pub(super) unsafe fn before(
        name: &CStr,
        before: unsafe extern "C" fn(&Arguments) -> bool,
    ) -> Result<Self> {
        // SAFETY: By the function's contract.
        unsafe { Self::add(name, before as *const c_void, false) }
    }

    /// Sets a hook.
    ///
    /// # Safety
    ///
    /// That of [`Self::replace`] or of [`Self::before`], as `replace` says.
    unsafe fn add(name: &CStr, target: *const c_void, replace: bool) -> Result<Self> {
        // SAFETY: The name is a C string; the callers of this promise the rest.
        let hook = from_err_ptr(unsafe { blkacct_hook_add(name.as_char_ptr(), target, replace) })?;
        // INVARIANT: Just made.
        NonNull::new(hook).map(Self).ok_or(ENOMEM)
    }
}

/// A call of a replacement; hooks are not gone before it is dropped.
///
/// # Invariants
///
/// Made once in a call that came through a replacing hook, which counted it.
pub(super) struct Replacement(());

impl Replacement {
    /// Stands for the current call.
    ///
    /// # Safety
    ///
    /// Called first, and once, in the replacement of a function.
    pub(super) unsafe fn current() -> Self {
        // INVARIANT: The caller's promise.
        Self(())
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        // SAFETY: Counted by the hook, by the type invariants.
        unsafe { blkacct_replacement_ends() };
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        // SAFETY: Live by the type invariants, and not used after this.
        unsafe { blkacct_hook_del(self.0.as_ptr()) };
    }
}
