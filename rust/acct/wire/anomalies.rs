// SPDX-License-Identifier: GPL-2.0

//! The file `anomalies`.

use core::fmt;
use core::str::FromStr;

use super::{
    number,
    Error,
    Field, //
};

/// The file `anomalies`: a line `name value` for each. A reader passes over names it does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Anomalies {
    /// Events placed later than the clock said, as that was behind an earlier event.
    pub clamped: u64,
    /// Ends without a start.
    pub orphans: u64,
    /// Starts that could not be followed to their end.
    pub lost_starts: u64,
    /// Starts that the driver told of long after its own start time.
    pub late_starts: u64,
    /// What the first three can have moved any time in `stat` by, in ns, all together.
    pub bound_ns: u64,
}

impl fmt::Display for Anomalies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "clamped {}", self.clamped)?;
        writeln!(f, "orphans {}", self.orphans)?;
        writeln!(f, "lost_starts {}", self.lost_starts)?;
        writeln!(f, "late_starts {}", self.late_starts)?;
        writeln!(f, "bound_ns {}", self.bound_ns)
    }
}

impl FromStr for Anomalies {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let field = |name: &'static str| {
            let value = text.lines().find_map(|line| {
                let (key, value) = line.split_once(' ')?;
                (key == name).then_some(value)
            });
            number(value, Field::Named(name))
        };
        Ok(Self {
            clamped: field("clamped")?,
            orphans: field("orphans")?,
            lost_starts: field("lost_starts")?,
            late_starts: field("late_starts")?,
            bound_ns: field("bound_ns")?,
        })
    }
}

#[cfg(any(test, CONFIG_KUNIT))]
#[cfg_attr(CONFIG_KUNIT, kernel::macros::kunit_tests(blkacct_wire_anomalies))]
mod tests {
    use super::super::testing::{
        fault,
        writes, //
    };
    use super::*;

    #[test]
    fn anomalies_go_round() {
        let text = "clamped 1\norphans 2\nlost_starts 3\nlate_starts 4\nbound_ns 5\n";
        let anomalies: Anomalies = text.parse().unwrap_or_default();
        assert_eq!(anomalies.orphans, 2);
        assert_eq!((anomalies.late_starts, anomalies.bound_ns), (4, 5));
        assert!(writes(&anomalies, text));
    }

    #[test]
    fn anomalies_are_found_by_name() {
        let text = "news x\nlost_starts 3\nbound_ns 5\nlate_starts 0\nclamped 1\norphans 2\n";
        assert_eq!(text.parse::<Anomalies>().map(|a| a.lost_starts), Ok(3));
        assert!(fault(
            "clamped 1\norphans 2\n".parse::<Anomalies>(),
            "field lost_starts is missing"
        ));
    }
}
