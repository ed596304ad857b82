// SPDX-License-Identifier: GPL-2.0
//! Whether two samples of a device can be compared.
//!
//! Between two that cannot, nothing is known: the rule is to show nothing, and never a difference
//! of counters that do not belong together.

use std::fmt;

use acct::wire::Stat;

use crate::invariants;
use crate::sample::{DeviceSample, Sample};

/// Why nothing is known of the time between two samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// The machine was started anew.
    Reboot,
    /// The machine was suspended meanwhile.
    Suspended,
    /// The device was not there before.
    New,
    /// It is not there any more.
    Gone,
    /// Another device has its name now.
    Another,
    /// It is not in mode 2 in both.
    Mode,
    /// It is in mode 2 in both, and was not meanwhile; or the module was loaded anew.
    Interrupted,
    /// A counter is less than it was.
    StepsBack,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Gap::Reboot => "the machine was started anew",
            Gap::Suspended => "the machine was suspended",
            Gap::New => "new",
            Gap::Gone => "gone",
            Gap::Another => "another device has this name now",
            Gap::Mode => "not in mode 2",
            Gap::Interrupted => "was out of mode 2 for a time",
            Gap::StepsBack => "another device has this name now, or the module was loaded anew",
        })
    }
}

impl Gap {
    /// Returns the counters of a device in two samples that can be compared.
    ///
    /// # Errors
    ///
    /// Why they cannot.
    pub fn between<'a>(
        before: &'a Sample,
        after: &'a Sample,
        name: &str,
    ) -> Result<(&'a DeviceSample, &'a DeviceSample), Gap> {
        if before.boot_id != after.boot_id {
            return Err(Gap::Reboot);
        }
        let (a, b) = (
            before.device(name).ok_or(Gap::New)?,
            after.device(name).ok_or(Gap::Gone)?,
        );
        if after.suspended_ns.saturating_sub(before.suspended_ns) > SUSPEND_NS {
            return Err(Gap::Suspended);
        }
        Gap::of_device(a, b).map(|_| (a, b))
    }

    /// Returns the counters of two samples of one run of the kernel that can be compared.
    ///
    /// # Errors
    ///
    /// Why they cannot.
    pub fn of_device<'a>(
        a: &'a DeviceSample,
        b: &'a DeviceSample,
    ) -> Result<(&'a Stat, &'a Stat), Gap> {
        if !a.identity.is_same(&b.identity) {
            return Err(Gap::Another);
        }
        let (Some(before), Some(after)) = (&a.stat, &b.stat) else {
            return Err(Gap::Mode);
        };
        if invariants::steps_back(before, after) {
            return Err(Gap::StepsBack);
        }
        // The time in mode 2 grows as the clock does. Both are read one after the other, so they
        // differ by no more than the reading took.
        if let (Some(from), Some(to)) = (a.counted_ns, b.counted_ns) {
            let passed = after.time_ns - before.time_ns;
            let slack = a.took_ns.saturating_add(b.took_ns);
            if to < from || (to - from).saturating_add(slack) < passed {
                return Err(Gap::Interrupted);
            }
        }
        Ok((before, after))
    }
}

/// The two clocks that tell of a suspend are not read at once; no suspend is as short.
const SUSPEND_NS: u64 = 100_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::testing::{device, sample};

    fn gap(before: &Sample, after: &Sample) -> Option<Gap> {
        Gap::between(before, after, "sda").err()
    }

    #[test]
    fn what_does_not_belong_together_is_a_gap() {
        let second = 1_000_000_000;
        let (before, after) = (
            sample(second, vec![device("sda", second)]),
            sample(2 * second, vec![device("sda", 2 * second)]),
        );
        assert_eq!(gap(&before, &after), None);
        assert_eq!(gap(&after, &before), Some(Gap::StepsBack));
        let with = |change: fn(&mut Sample)| {
            let mut changed = after.clone();
            change(&mut changed);
            gap(&before, &changed)
        };
        assert_eq!(with(|s| s.boot_id = "other".into()), Some(Gap::Reboot));
        assert_eq!(
            with(|s| s.suspended_ns += 5_000_000_000),
            Some(Gap::Suspended)
        );
        assert_eq!(with(|s| s.devices.clear()), Some(Gap::Gone));
        assert_eq!(with(|s| s.devices[0].stat = None), Some(Gap::Mode));
        let another = |s: &mut Sample| {
            let identity = &mut s.devices[0].identity;
            std::sync::Arc::make_mut(identity).diskseq = Some(99);
        };
        assert_eq!(with(another), Some(Gap::Another));
        let empty = sample(second, vec![]);
        assert_eq!(gap(&empty, &after), Some(Gap::New));
    }

    #[test]
    fn a_time_out_of_mode_2_between_two_samples_is_a_gap() {
        let second = 1_000_000_000;
        let with = |counted: u64, took: u64| {
            let mut a = device("sda", second);
            let mut b = device("sda", 2 * second);
            (a.counted_ns, b.counted_ns) = (Some(second / 2), Some(counted));
            (a.took_ns, b.took_ns) = (0, took);
            gap(&sample(second, vec![a]), &sample(2 * second, vec![b]))
        };
        assert_eq!(with(3 * second / 2, 0), None);
        assert_eq!(with(3 * second / 2 - 7, 7), None);
        assert_eq!(with(3 * second / 2 - 8, 7), Some(Gap::Interrupted));
        // The module was loaded anew.
        assert_eq!(with(1, 7), Some(Gap::Interrupted));
    }
}
