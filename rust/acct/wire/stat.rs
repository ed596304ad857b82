// SPDX-License-Identifier: GPL-2.0

//! The file `stat`: all numbers of a device, in one line.

use core::fmt;
use core::str::{
    FromStr,
    SplitAsciiWhitespace, //
};

use super::super::sgrp::StatGroup;
use super::{
    named,
    number,
    Error,
    Field, //
};

/// The counts of one stat group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// I/Os completed.
    pub ios: u64,
    /// Requests and bios merged into another.
    pub merges: u64,
    /// Sectors of 512 bytes.
    pub sectors: u64,
    /// Sum of the latencies of completed I/Os, in ns.
    pub nsecs: u64,
}

/// What of a device's time its driver spent, between the issue of a request and its return.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceSide {
    /// Time with at least one request at the driver, in ns.
    pub ticks: u64,
    /// Integral over time of the requests at the driver, in ns.
    pub time_in_queue: u64,
    /// Requests at the driver.
    pub in_flight: u64,
    /// Sum of the times that requests of each group were at the driver, in ns, by
    /// [`StatGroup::index`].
    pub nsecs: [u64; StatGroup::COUNT],
    /// Requests that the driver gave back undone.
    pub requeues: u64,
}

/// The file `stat`: one line of at least 40 fields. Later versions append more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// When it was taken, in ns of `CLOCK_MONOTONIC`.
    pub time_ns: u64,
    /// Time with at least one I/O in flight, in ns.
    pub io_ticks: u64,
    /// Integral of in-flight over time, in ns.
    pub time_in_queue: u64,
    /// I/Os in flight.
    pub in_flight: u64,
    /// The groups, by [`StatGroup::index`].
    pub groups: [Group; StatGroup::COUNT],
    /// Requests that the driver failed; not on a bio-based device.
    pub errors: Option<u64>,
    /// Not on a bio-based device, nor where it is switched off.
    pub device: Option<DeviceSide>,
}

impl fmt::Display for Stat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} {} {}",
            self.time_ns, self.io_ticks, self.time_in_queue, self.in_flight
        )?;
        for group in &self.groups {
            write!(
                f,
                " {} {} {} {}",
                group.ios, group.merges, group.sectors, group.nsecs
            )?;
        }
        if let Some(errors) = self.errors {
            write!(f, " {errors}")?;
        }
        if let Some(device) = &self.device {
            write!(f, " {device}")?;
        }
        f.write_str("\n")
    }
}

impl fmt::Display for DeviceSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} {} {}",
            self.ticks, self.time_in_queue, self.in_flight, self.requeues
        )?;
        self.nsecs
            .iter()
            .try_for_each(|nsecs| write!(f, " {nsecs}"))
    }
}

impl DeviceSide {
    /// Reads the fields, if there are any.
    fn read(words: &mut SplitAsciiWhitespace<'_>) -> Result<Option<Self>, Error> {
        if words.clone().next().is_none() {
            return Ok(None);
        }
        let mut device = Self {
            ticks: named(words, "device_ticks")?,
            time_in_queue: named(words, "device_time_in_queue")?,
            in_flight: named(words, "device_in_flight")?,
            requeues: named(words, "requeues")?,
            ..Self::default()
        };
        for group in StatGroup::ALL {
            device.nsecs[group.index()] = number(words.next(), Field::Of(group, "device_nsecs"))?;
        }
        Ok(Some(device))
    }
}

impl FromStr for Stat {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut words = text.split_ascii_whitespace();
        let mut stat = Self {
            time_ns: named(&mut words, "time_ns")?,
            io_ticks: named(&mut words, "io_ticks")?,
            time_in_queue: named(&mut words, "time_in_queue")?,
            in_flight: named(&mut words, "in_flight")?,
            ..Self::default()
        };
        for group in StatGroup::ALL {
            let mut field = |name| number(words.next(), Field::Of(group, name));
            stat.groups[group.index()] = Group {
                ios: field("ios")?,
                merges: field("merges")?,
                sectors: field("sectors")?,
                nsecs: field("nsecs")?,
            };
        }
        stat.errors = match words.clone().next() {
            Some(_) => Some(named(&mut words, "errors")?),
            None => None,
        };
        stat.device = DeviceSide::read(&mut words)?;
        Ok(stat)
    }
}

#[cfg(any(test, CONFIG_KUNIT))]
#[cfg_attr(CONFIG_KUNIT, kernel::macros::kunit_tests(blkacct_wire_stat))]
mod tests {
    use super::super::testing::{
        fault,
        writes, //
    };
    use super::*;

    const STAT_TEXT: &str = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 \
                        25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 18446744073709551615\n";

    #[test]
    fn a_stat_line_goes_round() {
        let stat: Stat = STAT_TEXT.parse().unwrap_or_default();
        assert_eq!(stat.time_in_queue, 3);
        assert_eq!(stat.groups[1].ios, 9);
        assert_eq!(stat.groups[8].nsecs, u64::MAX);
        assert!(writes(&stat, STAT_TEXT));
    }

    #[test]
    fn fields_of_a_later_version_are_passed_over() {
        let line = "1 2 3 4 1 1 1 1 2 2 2 2 3 3 3 3 4 4 4 4 5 5 5 5 6 6 6 6 7 7 7 7 8 8 8 8 \
                    9 9 9 9 5 10 11 12 13 1 2 3 4 5 6 7 8 9 new -1\n";
        assert_eq!(line.parse::<Stat>().map(|stat| stat.groups[8].ios), Ok(9));
    }

    #[test]
    fn the_device_side_is_there_or_not() {
        let core = STAT_TEXT.trim_ascii_end();
        let mut stat: Stat = core.parse().unwrap_or_default();
        assert_eq!((stat.errors, stat.device), (None, None));
        stat.errors = Some(40);
        stat.device = Some(DeviceSide {
            ticks: 41,
            time_in_queue: 42,
            in_flight: 43,
            requeues: 44,
            nsecs: [45, 46, 47, 48, 49, 50, 51, 52, 53],
        });
        let side = "41 42 43 44 45 46 47 48 49 50 51 52 53";
        assert!(stat.device.is_some_and(|device| writes(&device, side)));
        let mut words = side.split_ascii_whitespace();
        assert_eq!(DeviceSide::read(&mut words), Ok(stat.device));
        let mut words = "41 42 43".split_ascii_whitespace();
        assert!(fault(
            DeviceSide::read(&mut words),
            "field requeues is missing"
        ));
    }

    #[test]
    fn a_bad_field_is_named() {
        assert!(fault("".parse::<Stat>(), "field time_ns is missing"));
        assert!(fault(
            "1 2 3 4 5 6 7".parse::<Stat>(),
            "field read.nsecs is missing"
        ));
        assert!(fault(
            "1 2 3 4 5 6 7 8 -9".parse::<Stat>(),
            "field write.ios is not a number"
        ));
        assert!(fault(
            "1 +2".parse::<Stat>(),
            "field io_ticks is not a number"
        ));
        assert!(fault(
            "1 18446744073709551616".parse::<Stat>(),
            "field io_ticks is not a number"
        ));
    }
}
