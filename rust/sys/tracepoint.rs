// SPDX-License-Identifier: GPL-2.0

//! Probes on the block layer's tracepoints of requests.
//!
//! The tracepoints are not exported, so they are looked up by name.
//!
//! C header: [`include/linux/tracepoint.h`](srctree/include/linux/tracepoint.h)

use super::{
    helpers,
    percpu::Pinned,
    request::RqRef, //
};
use core::ptr::NonNull;
use kernel::{
    bindings,
    error::to_result,
    ffi::c_void,
    prelude::*,
    str::CStr,
    sync::Arc, //
};

/// Ours come after all other probes of an event, whose default is 10. The kernel stamps a request
/// right after the probes of its start, so this keeps what they cost out of the latency.
const PRIORITY: c_int = 0;

/// Proof that the caller runs inside a probe.
///
/// Probes run with preemption on, in any context but NMI, on any CPU.
pub(crate) struct InProbe(());

impl InProbe {
    /// Stands for the proof while preemption is off: [`synchronize`] waits for that as well.
    pub(super) fn pinned(_pin: &Pinned) -> &Self {
        &Self(())
    }

    /// Stands for the proof where a test calls an event's handler itself.
    #[cfg(CONFIG_KUNIT)]
    pub(crate) fn test() -> Self {
        Self(())
    }
}

/// What a probe does with the request of an event.
pub(crate) trait OnRequest: Send + Sync + 'static {
    /// The tracepoint's name.
    const EVENT: &'static CStr;
    /// What its event has for arguments.
    const ARGUMENTS: Arguments = Arguments::Request;
    /// What the probe works on.
    type Context: Send + Sync + 'static;
    /// Handles one event. Must not sleep.
    fn event(context: &Self::Context, rq: RqRef<'_>, probe: &InProbe);
}

/// The arguments of an event, after the probe's own data.
pub(crate) enum Arguments {
    /// The request.
    Request,
    /// The request, a status, and a number of bytes.
    Completion,
}

/// Finds the tracepoint of `H`.
///
/// # Errors
///
/// `ENOENT` if this kernel has none.
pub(crate) fn find<H: OnRequest>() -> Result<Found> {
    struct Search {
        name: &'static CStr,
        found: *mut bindings::tracepoint,
    }
    /// # Safety
    ///
    /// `search` points to a [`Search`] that nobody else uses, `tp` to a live tracepoint.
    unsafe extern "C" fn compare(tp: *mut bindings::tracepoint, search: *mut c_void) {
        // SAFETY: The pointer is to the `Search` below.
        let search = unsafe { &mut *search.cast::<Search>() };
        // SAFETY: A tracepoint's name is a C string that lives as long as it.
        if unsafe { CStr::from_char_ptr((*tp).name) } == search.name {
            search.found = tp;
        }
    }
    let mut search = Search {
        name: H::EVENT,
        found: core::ptr::null_mut(),
    };
    // SAFETY: `compare` accepts every tracepoint and the pointer passed along.
    unsafe {
        bindings::for_each_kernel_tracepoint(Some(compare), (&raw mut search).cast());
    }
    // INVARIANT: Tracepoints of the kernel image are never freed.
    NonNull::new(search.found).map(Found).ok_or(ENOENT)
}

/// A tracepoint of the kernel image.
///
/// # Invariants
///
/// Points to a tracepoint that is never freed.
#[derive(Clone, Copy)]
pub(crate) struct Found(NonNull<bindings::tracepoint>);

// SAFETY: Tracepoints are global; the functions that take one lock on their own.
unsafe impl Send for Found {}
// SAFETY: As above.
unsafe impl Sync for Found {}

/// Probes while they are attached, all with one context.
///
/// Dropping it detaches them, the last that was attached first, and waits until no CPU runs one;
/// may sleep.
///
/// # Invariants
///
/// Each of `probes` is a tracepoint with a probe that is registered on it, with `context` as its
/// data.
pub(crate) struct Attached<C: Send + Sync + 'static> {
    context: Arc<C>,
    probes: KVec<(Found, *mut c_void)>,
}

// SAFETY: The functions are global, and the context can be shared.
unsafe impl<C: Send + Sync + 'static> Send for Attached<C> {}
// SAFETY: As above.
unsafe impl<C: Send + Sync + 'static> Sync for Attached<C> {}

impl<C: Send + Sync + 'static> Attached<C> {
    /// Attaches nothing yet.
    pub(crate) fn new(context: Arc<C>) -> Self {
        // INVARIANT: There is none.
        Self {
            context,
            probes: KVec::new(),
        }
    }

    /// Attaches the probe of `H` to the tracepoint. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, or what the kernel says.
    pub(crate) fn attach<H: OnRequest<Context = C>>(&mut self, found: Found) -> Result {
        self.probes.reserve(1, GFP_KERNEL)?;
        // SAFETY: The tracepoint lives by the invariant of `Found`; the probe has the signature
        // of the event that `OnRequest` names; the data lives until `drop` has detached it.
        to_result(unsafe {
            bindings::tracepoint_probe_register_prio(
                found.0.as_ptr(),
                entry::<H>(),
                self.data(),
                PRIORITY,
            )
        })?;
        // INVARIANT: Just registered. There is room for one.
        Ok(self.probes.push((found, entry::<H>()), GFP_KERNEL)?)
    }

    fn data(&self) -> *mut c_void {
        Arc::as_ptr(&self.context).cast_mut().cast()
    }
}

impl<C: Send + Sync + 'static> Drop for Attached<C> {
    fn drop(&mut self) {
        for (found, probe) in self.probes.iter().rev() {
            // SAFETY: Registered with the same probe and data by the type invariants.
            unsafe {
                bindings::tracepoint_probe_unregister(found.0.as_ptr(), *probe, self.data());
            }
        }
        if !self.probes.is_empty() {
            synchronize();
        }
        // `context` is released after this, when no probe reads it.
    }
}

/// Returns the probe of `H`, with the signature of its event.
fn entry<H: OnRequest>() -> *mut c_void {
    match H::ARGUMENTS {
        Arguments::Request => probe::<H> as *mut c_void,
        Arguments::Completion => completion_probe::<H> as *mut c_void,
    }
}

/// The probe on an event that has a completion's arguments.
///
/// # Safety
///
/// As for [`probe`].
unsafe extern "C" fn completion_probe<H: OnRequest>(
    data: *mut c_void,
    rq: *mut bindings::request,
    _status: bindings::blk_status_t,
    _bytes: c_uint,
) {
    // SAFETY: By the function's contract.
    unsafe { probe::<H>(data, rq) };
}

/// The probe that the kernel calls.
///
/// # Safety
///
/// Called by the tracepoint of `H` with the data that [`Attached`] registered.
unsafe extern "C" fn probe<H: OnRequest>(data: *mut c_void, rq: *mut bindings::request) {
    // SAFETY: `data` is the context that `Attached` keeps alive.
    let context = unsafe { &*data.cast::<H::Context>() };
    // SAFETY: The tracepoint passes a live request that nobody else owns during the event.
    let rq = unsafe { RqRef::from_raw(rq) };
    H::event(context, rq, &InProbe(()));
}

/// Waits until every probe, and every section without preemption, that runs now has ended. May
/// sleep.
pub(crate) fn synchronize() {
    // SAFETY: Process context.
    unsafe { helpers::blkacct_synchronize_probes() };
}

#[cfg(CONFIG_KUNIT)]
#[kernel::macros::kunit_tests(blkacct_tracepoint)]
mod tests {
    use super::*;

    struct Renamed;

    impl OnRequest for Renamed {
        const EVENT: &'static CStr = c"block_io_started";
        type Context = ();
        fn event(_: &(), _: RqRef<'_>, _: &InProbe) {}
    }

    struct Start;

    impl OnRequest for Start {
        const EVENT: &'static CStr = c"block_io_start";
        type Context = ();
        fn event(_: &(), _: RqRef<'_>, _: &InProbe) {}
    }

    #[test]
    fn a_tracepoint_of_another_name_is_not_found() {
        assert!(find::<Renamed>().is_err_and(|error| error == ENOENT));
        assert!(find::<Start>().is_ok());
    }

    #[test]
    fn a_dropped_probe_can_be_attached_again() -> Result {
        // The kernel would warn of the same probe with the same data twice.
        let context = Arc::new((), GFP_KERNEL)?;
        for _ in 0..3 {
            Attached::new(context.clone()).attach::<Start>(find::<Start>()?)?;
        }
        Ok(())
    }
}
