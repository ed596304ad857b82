// SPDX-License-Identifier: GPL-2.0

//! Something done again and again, at a slow pace.
//!
//! C header: [`include/linux/workqueue.h`](srctree/include/linux/workqueue.h)

use super::helpers;
use core::ptr::null_mut;
use kernel::{
    bindings,
    ffi::c_void,
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Release, //
        },
        Arc, //
    },
    time::{
        msecs_to_jiffies,
        Msecs, //
    },
    types::Opaque, //
};

/// What is done again and again. Process context; may sleep.
pub(crate) trait Repeated: Send + Sync + 'static {
    /// Does it once, and returns the time to the next, in ms.
    fn again(&self) -> Msecs;
}

/// What is done again and again, of a type that is not told.
struct Erased {
    what: *const c_void,
    again: unsafe fn(*const c_void) -> Msecs,
}

/// Calls `T::again()`.
///
/// # Safety
///
/// `what` points to a live `T`.
unsafe fn again<T: Repeated>(what: *const c_void) -> Msecs {
    // SAFETY: By the function's contract.
    unsafe { &*what.cast::<T>() }.again()
}

/// When something is due next. Whoever has it may bring that forward.
///
/// # Invariants
///
/// `work` is initialised with `run`, and `what` is null or points to an [`Erased`] whose `what` is
/// live and of the type that its `again` takes. Both live until the work has been disabled.
#[repr(C)]
#[pin_data(PinnedDrop)]
pub(crate) struct Pace {
    #[pin]
    work: Opaque<bindings::delayed_work>,
    what: Atomic<*mut Erased>,
}

// SAFETY: The work item is locked by the workqueue, and what is repeated is shareable.
unsafe impl Send for Pace {}
// SAFETY: As above.
unsafe impl Sync for Pace {}

impl Pace {
    /// Makes a pace, to which nothing goes before [`Repeat::new`]. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new() -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                work <- Opaque::ffi_init(|slot| {
                    // SAFETY: `slot` is valid for writes and pinned.
                    unsafe { helpers::blkacct_init_delayed_work(slot, run) };
                }),
                what: Atomic::new(null_mut()),
            }),
            GFP_KERNEL,
        )
    }

    /// Has it done `delay` ms from now, whenever it was due. Any context.
    pub(crate) fn next_in(&self, delay: Msecs) {
        // SAFETY: Initialised by the type invariants; the system's queue is always there.
        unsafe {
            bindings::mod_delayed_work_on(
                bindings::wq_misc_consts_WORK_CPU_UNBOUND as c_int,
                bindings::system_power_efficient_wq,
                self.work.get(),
                msecs_to_jiffies(delay),
            );
        }
    }

    /// Has it done after `delay` ms, unless somebody has set a time meanwhile.
    fn next_or_sooner(&self, delay: Msecs) {
        // SAFETY: As above.
        unsafe {
            bindings::queue_delayed_work_on(
                bindings::wq_misc_consts_WORK_CPU_UNBOUND as c_int,
                bindings::system_power_efficient_wq,
                self.work.get(),
                msecs_to_jiffies(delay),
            );
        }
    }

    /// Ends it for good, and waits for a call that runs. May sleep.
    fn stop(&self) {
        // SAFETY: Initialised by the type invariants. Nobody can queue it after this.
        unsafe { bindings::disable_delayed_work_sync(self.work.get()) };
    }
}

#[pinned_drop]
impl PinnedDrop for Pace {
    fn drop(self: Pin<&mut Self>) {
        self.stop();
    }
}

/// Calls `T::again()` at its pace until dropped, which waits for a call that runs.
pub(crate) struct Repeat<T: Repeated> {
    pace: Arc<Pace>,
    _erased: KBox<Erased>,
    _what: Arc<T>,
}

// SAFETY: The pointer in the box is to what `_what` keeps, which is shareable.
unsafe impl<T: Repeated> Send for Repeat<T> {}
// SAFETY: As above.
unsafe impl<T: Repeated> Sync for Repeat<T> {}

impl<T: Repeated> Repeat<T> {
    /// Starts, with a first call soon. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(pace: Arc<Pace>, what: Arc<T>) -> Result<Self> {
        let erased = Erased {
            what: Arc::as_ptr(&what).cast(),
            again: again::<T>,
        };
        let erased = KBox::new(erased, GFP_KERNEL)?;
        // INVARIANT: Both live until `drop` has disabled the work, and the types are the same.
        // ORDERING: Release pairs with the Acquire in `run`.
        pace.what.store((&raw const *erased).cast_mut(), Release);
        pace.next_in(0);
        Ok(Self {
            pace,
            _erased: erased,
            _what: what,
        })
    }
}

impl<T: Repeated> Drop for Repeat<T> {
    fn drop(&mut self) {
        self.pace.stop();
    }
}

/// Does it once and sets the next time.
///
/// # Safety
///
/// Called by the workqueue for the work item of a [`Pace`].
unsafe extern "C" fn run(work: *mut bindings::work_struct) {
    // SAFETY: The work item is the start of a delayed one, which is the start of a `Pace` that
    // waits for this call before it goes.
    let pace = unsafe { &*work.cast::<Pace>() };
    // ORDERING: Acquire pairs with the Release in `Repeat::new`: what it points to is complete.
    // SAFETY: Null or live by the type invariants, as the work is not disabled during this call.
    if let Some(erased) = unsafe { pace.what.load(Acquire).as_ref() } {
        // SAFETY: Of the same type by the type invariants, and live as above.
        pace.next_or_sooner(unsafe { (erased.again)(erased.what) });
    }
}

#[cfg(CONFIG_KUNIT)]
#[kernel::macros::kunit_tests(blkacct_repeat)]
mod tests {
    use super::*;
    use kernel::{
        sync::atomic::Relaxed,
        time::{
            delay::fsleep,
            Delta, //
        }, //
    };

    /// Counts, and comes again after so many ms.
    struct Ticks {
        count: Atomic<u64>,
        period: Msecs,
    }

    impl Repeated for Ticks {
        fn again(&self) -> Msecs {
            self.count.add(1, Relaxed);
            self.period
        }
    }

    impl Ticks {
        fn new(period: Msecs) -> Result<Arc<Self>> {
            let count = Atomic::new(0);
            Ok(Arc::new(Self { count, period }, GFP_KERNEL)?)
        }

        /// Waits until it has counted so far, at most a minute.
        fn reach(&self, count: u64) -> bool {
            for _ in 0..6000 {
                if self.count.load(Relaxed) >= count {
                    return true;
                }
                fsleep(Delta::from_millis(10));
            }
            false
        }
    }

    #[test]
    fn it_comes_again_until_dropped() -> Result {
        let ticks = Ticks::new(10)?;
        let pace = Pace::new()?;
        let repeat = Repeat::new(pace.clone(), ticks.clone())?;
        assert!(ticks.reach(3));
        drop(repeat);
        let then = ticks.count.load(Relaxed);
        pace.next_in(0);
        fsleep(Delta::from_millis(100));
        assert_eq!(ticks.count.load(Relaxed), then);
        Ok(())
    }

    #[test]
    fn it_can_be_brought_forward() -> Result {
        let ticks = Ticks::new(60 * 60 * 1000)?;
        let pace = Pace::new()?;
        let _repeat = Repeat::new(pace.clone(), ticks.clone())?;
        assert!(ticks.reach(1));
        pace.next_in(10);
        assert!(ticks.reach(2));
        Ok(())
    }
}
