// SPDX-License-Identifier: GPL-2.0

//! For how long a device has been counting, all periods together.

use super::nsec::Nsec;

/// The periods of a device. The first report of a tool has the rates of this time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Periods {
    /// Length of those that are over, in ns.
    over: u64,
    /// When the present one began.
    since: Option<Nsec>,
}

impl Periods {
    /// A period begins, unless one has.
    pub fn open(&mut self, now: Nsec) {
        self.since.get_or_insert(now);
    }

    /// The period ends, if there is one.
    pub fn close(&mut self, now: Nsec) {
        self.over = self.total(now);
        self.since = None;
    }

    /// Returns the length of all, up to `now`, in ns.
    pub fn total(&self, now: Nsec) -> u64 {
        let present = self.since.map_or(0, |since| now.since(since));
        self.over.saturating_add(present)
    }
}

#[cfg(any(test, CONFIG_KUNIT))]
#[cfg_attr(CONFIG_KUNIT, kernel::macros::kunit_tests(blkacct_periods))]
mod tests {
    use super::*;

    #[test]
    fn time_between_periods_does_not_count() {
        let mut periods = Periods::default();
        assert_eq!(periods.total(Nsec(50)), 0);
        periods.open(Nsec(100));
        assert_eq!(periods.total(Nsec(130)), 30);
        periods.close(Nsec(140));
        assert_eq!(periods.total(Nsec(500)), 40);
        periods.open(Nsec(1000));
        assert_eq!(periods.total(Nsec(1005)), 45);
    }

    #[test]
    fn a_period_begins_and_ends_once() {
        let mut periods = Periods::default();
        periods.close(Nsec(10));
        periods.open(Nsec(100));
        periods.open(Nsec(120));
        periods.close(Nsec(130));
        periods.close(Nsec(150));
        assert_eq!(periods.total(Nsec(200)), 30);
    }
}
