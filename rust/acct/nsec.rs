// SPDX-License-Identifier: GPL-2.0

//! Time: nanoseconds of one monotonic clock.

/// A point in time, in nanoseconds of the clock that all events of a device share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nsec(pub u64);

impl Nsec {
    /// Returns the nanoseconds from `earlier` to `self`, or zero if `earlier` is in fact later.
    pub const fn since(self, earlier: Nsec) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// A clock that can be read in any context.
///
/// A reading must not be earlier than one that happened before it, on whatever CPU, and must not
/// move ahead of an acquire load that precedes it nor behind an atomic update that follows it.
/// The kernel's `ktime_get_ns()` fits: it reads the TSC behind a fence, and a locked instruction
/// waits for it. Where the hardware breaks the promise, the busy clock clamps and says so.
///
/// A closure is a clock.
pub trait Clock {
    /// Returns the present time.
    fn now(&self) -> Nsec;

    /// Told when a reading turns out to be `ns` earlier than an event that is over, and the event
    /// it was for is placed that much later.
    fn was_behind(&self, _ns: u64) {}
}

impl<F: Fn() -> Nsec> Clock for F {
    fn now(&self) -> Nsec {
        self()
    }
}

#[cfg(any(test, CONFIG_KUNIT))]
#[cfg_attr(CONFIG_KUNIT, kernel::macros::kunit_tests(blkacct_nsec))]
mod tests {
    use super::*;

    #[test]
    fn since_counts_forward() {
        assert_eq!(Nsec(9).since(Nsec(5)), 4);
    }

    #[test]
    fn no_time_passes_backwards() {
        assert_eq!(Nsec(5).since(Nsec(9)), 0);
    }

    #[test]
    fn a_closure_is_a_clock() {
        let clock = || Nsec(7);
        assert_eq!(clock.now(), Nsec(7));
    }
}
