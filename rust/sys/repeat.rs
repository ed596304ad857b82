// SPDX-License-Identifier: GPL-2.0

//! Something done again and again, at a slow pace.
//!
//! C header: [`include/linux/workqueue.h`](srctree/include/linux/workqueue.h)

use super::helpers;
use kernel::{
    bindings,
    prelude::*,
    sync::Arc,
    time::{
        msecs_to_jiffies,
        Msecs, //
    },
    types::Opaque, //
};

/// What is done again and again. Process context; may sleep.
pub(crate) trait Repeated: Send + Sync + 'static {
    /// Time between two calls, in ms.
    const PERIOD: Msecs;
    /// Does it once.
    fn again(&self);
}

/// Calls `T::again()` each period until dropped, which waits for a call that runs.
///
/// # Invariants
///
/// `work` is initialised with `run::<T>` and is on no queue once `drop` has run.
#[repr(C)]
#[pin_data(PinnedDrop)]
pub(crate) struct Repeat<T: Repeated> {
    #[pin]
    work: Opaque<bindings::delayed_work>,
    what: Arc<T>,
}

// SAFETY: The work item is locked by the workqueue, and `T` is shareable.
unsafe impl<T: Repeated> Send for Repeat<T> {}
// SAFETY: As above.
unsafe impl<T: Repeated> Sync for Repeat<T> {}

impl<T: Repeated> Repeat<T> {
    /// Starts; the first call comes after one period.
    pub(crate) fn new(what: Arc<T>) -> Result<Pin<KBox<Self>>> {
        let repeat = KBox::pin_init(
            pin_init!(Self {
                work <- Opaque::ffi_init(|slot| {
                    // SAFETY: `slot` is valid for writes and pinned.
                    unsafe { helpers::blkacct_init_delayed_work(slot, run::<T>) };
                }),
                what,
            }),
            GFP_KERNEL,
        )?;
        repeat.queue();
        Ok(repeat)
    }

    fn queue(&self) {
        // SAFETY: Initialised by the type invariants; the system's queue is always there.
        unsafe {
            bindings::queue_delayed_work_on(
                bindings::wq_misc_consts_WORK_CPU_UNBOUND as c_int,
                bindings::system_power_efficient_wq,
                self.work.get(),
                msecs_to_jiffies(T::PERIOD),
            );
        }
    }
}

#[pinned_drop]
impl<T: Repeated> PinnedDrop for Repeat<T> {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: Initialised by the type invariants. A call that queues itself again is caught.
        unsafe { bindings::cancel_delayed_work_sync(self.work.get()) };
    }
}

/// Does it once and sets the next time.
///
/// # Safety
///
/// Called by the workqueue for the work item of a [`Repeat<T>`].
unsafe extern "C" fn run<T: Repeated>(work: *mut bindings::work_struct) {
    // SAFETY: The work item is the start of a delayed one, which is the start of a `Repeat<T>`
    // that waits for this call before it goes.
    let repeat = unsafe { &*work.cast::<Repeat<T>>() };
    repeat.what.again();
    repeat.queue();
}

#[cfg(CONFIG_KUNIT)]
#[kernel::macros::kunit_tests(blkacct_repeat)]
mod tests {
    use super::*;
    use kernel::{
        sync::atomic::{
            Atomic,
            Relaxed, //
        },
        time::{
            delay::fsleep,
            Delta, //
        }, //
    };

    struct Ticks(Atomic<u64>);

    impl Repeated for Ticks {
        const PERIOD: Msecs = 10;

        fn again(&self) {
            self.0.add(1, Relaxed);
        }
    }

    #[test]
    fn it_comes_again_until_dropped() -> Result {
        let ticks = Arc::new(Ticks(Atomic::new(0)), GFP_KERNEL)?;
        let repeat = Repeat::new(ticks.clone())?;
        // Waits for the third, at most a minute.
        for _ in 0..6000 {
            if ticks.0.load(Relaxed) >= 3 {
                break;
            }
            fsleep(Delta::from_millis(10));
        }
        assert!(ticks.0.load(Relaxed) >= 3);
        drop(repeat);
        let then = ticks.0.load(Relaxed);
        fsleep(Delta::from_millis(100));
        assert_eq!(ticks.0.load(Relaxed), then);
        Ok(())
    }
}
