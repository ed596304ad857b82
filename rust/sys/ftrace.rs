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
    fn blkacct_text_stay();
    #[cfg(CONFIG_KUNIT)]
    fn blkacct_hook_keep_for_test(hook: *mut Raw, kept: bool);
}

/// The first arguments of a function, as its registers hold them.
pub(super) type Arguments = [usize; 4];

/// What is called before a function.
type Before = unsafe extern "C" fn(&Arguments) -> bool;

/// Calls `target`, for the C side.
///
/// # Safety
///
/// As for `target`, which was given to [`Hook::before`].
#[no_mangle]
unsafe extern "C" fn blkacct_hook_call(target: Before, arguments: &Arguments) -> bool {
    // SAFETY: By the function's contract.
    unsafe { target(arguments) }
}

/// Our text, from which ftrace may still call if it has broken: it gives no hook back then, the
/// hooks lead nowhere, and the module is held. Where it is about to go already, dropping this, the
/// last thing, does not return.
pub(crate) struct TextStays;

impl Drop for TextStays {
    fn drop(&mut self) {
        // SAFETY: Process context, with no lock held.
        unsafe { blkacct_text_stay() };
    }
}

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
    pub(super) const CAN_CHANGE: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

    /// Calls `before` with the first four arguments, of which those that the function does not have
    /// mean nothing, before each call of the function `name`. If it returns true the fourth
    /// argument becomes the present jiffy, where [`Self::CAN_CHANGE`] says so.
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
    pub(super) unsafe fn before(name: &CStr, before: Before) -> Result<Self> {
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

#[cfg(CONFIG_KUNIT)]
#[kernel::macros::kunit_tests(blkacct_ftrace)]
mod tests {
    use super::*;
    use kernel::{
        bindings,
        sync::atomic::{
            Atomic,
            Relaxed, //
        }, //
    };

    /// One that nobody calls meanwhile.
    const FUNCTION: &CStr = c"errno_to_blk_status";

    static CALLS: Atomic<u64> = Atomic::new(0);

    /// Calls the function, of the kernel; returns how often a hook saw it.
    fn calls() -> u64 {
        let before = CALLS.load(Relaxed);
        // SAFETY: Any number will do.
        unsafe { bindings::errno_to_blk_status(-(bindings::EIO as c_int)) };
        CALLS.load(Relaxed) - before
    }

    unsafe extern "C" fn count(_: &Arguments) -> bool {
        CALLS.add(1, Relaxed);
        false
    }

    unsafe extern "C" fn replacement(_: c_int) -> bindings::blk_status_t {
        // SAFETY: Called through the hook only, and first.
        let _call = unsafe { Replacement::current() };
        CALLS.add(1, Relaxed);
        0
    }

    /// Sets a hook that ftrace then does not give back, and goes on as if it did after all.
    fn is_kept_and_leads_nowhere(hook: Hook) {
        assert_eq!(calls(), 1);
        // SAFETY: The hook is live.
        unsafe { blkacct_hook_keep_for_test(hook.0.as_ptr(), true) };
        assert_eq!(calls(), 0);
        // SAFETY: As above, and kept.
        unsafe { blkacct_hook_keep_for_test(hook.0.as_ptr(), false) };
        drop(hook);
        assert_eq!(calls(), 0);
    }

    #[test]
    fn a_hook_before_a_function_that_is_not_given_back_leads_nowhere() -> Result {
        // SAFETY: The function takes what comes.
        is_kept_and_leads_nowhere(unsafe { Hook::before(FUNCTION, count) }?);
        Ok(())
    }

    #[test]
    fn a_replacement_that_is_not_given_back_leads_to_the_kernels_own() -> Result {
        // SAFETY: The signature is that of the function, and the call is dropped last.
        is_kept_and_leads_nowhere(unsafe {
            Hook::replace(FUNCTION, replacement as *const c_void)
        }?);
        Ok(())
    }

    #[test]
    fn a_function_that_is_not_there_has_no_hook() {
        // SAFETY: As above.
        let hook = unsafe { Hook::before(c"blkacct_is_not_there", count) };
        assert!(hook.is_err_and(|error| error == EINVAL));
    }
}
