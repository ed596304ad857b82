// SPDX-License-Identifier: GPL-2.0
//! The time axis: ns since the first sample, over suspends and restarts of the machine.

use std::sync::Arc;

use crate::sample::Sample;

/// Tells when a sample is on the axis. It never goes back, whatever is done to the wall clock.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// The run of the kernel, and what to take from its clock to get to the axis.
    anchor: Option<(Arc<str>, i128)>,
    first_wall_ns: u64,
    last: u64,
}

impl Clock {
    /// Returns the time of a sample on the axis.
    pub fn at(&mut self, sample: &Sample) -> u64 {
        let now = i128::from(sample.begin_ns) + i128::from(sample.suspended_ns);
        let offset = match &self.anchor {
            Some((boot, offset)) if *boot == sample.boot_id => *offset,
            None => {
                self.first_wall_ns = sample.wall_ns;
                now
            }
            // Only the wall clock knows how long it was off.
            Some(_) => {
                let away = sample.wall_ns.saturating_sub(self.first_wall_ns);
                now - i128::from(away.max(self.last.saturating_add(1)))
            }
        };
        self.anchor = Some((sample.boot_id.clone(), offset));
        let at = u64::try_from(now - offset).unwrap_or(0);
        self.last = self.last.max(at);
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::testing::sample;

    #[test]
    fn suspends_and_restarts_take_the_time_that_they_took() {
        let mut clock = Clock::default();
        assert_eq!(clock.at(&sample(50, vec![])), 0);
        assert_eq!(clock.at(&sample(60, vec![])), 10);
        let mut resumed = sample(70, vec![]);
        resumed.suspended_ns = 1000;
        assert_eq!(clock.at(&resumed), 1020);
        let mut other = sample(3, vec![]);
        other.boot_id = "other".into();
        other.wall_ns = sample(50, vec![]).wall_ns + 5000;
        assert_eq!(clock.at(&other), 5000);
        other.begin_ns = 4;
        // The wall clock was set back meanwhile.
        other.wall_ns = 0;
        assert_eq!(clock.at(&other), 5001);
    }
}
