// SPDX-License-Identifier: GPL-2.0

//! The file `in_flight`.

use core::fmt;
use core::str::FromStr;

use super::{
    named,
    Error, //
};

/// The file `in_flight`: one line of reads and writes, like the kernel's `inflight`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InFlight {
    /// Reads in flight.
    pub reads: u64,
    /// Writes in flight.
    pub writes: u64,
}

impl fmt::Display for InFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:8} {:8}", self.reads, self.writes)
    }
}

impl FromStr for InFlight {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut words = text.split_ascii_whitespace();
        Ok(Self {
            reads: named(&mut words, "reads")?,
            writes: named(&mut words, "writes")?,
        })
    }
}

#[cfg(any(test, CONFIG_KUNIT))]
#[cfg_attr(CONFIG_KUNIT, kernel::macros::kunit_tests(blkacct_wire_in_flight))]
mod tests {
    use super::super::testing::writes;
    use super::*;

    #[test]
    fn in_flight_looks_like_the_kernels() {
        let in_flight = InFlight {
            reads: 3,
            writes: 12,
        };
        assert!(writes(&in_flight, "       3       12\n"));
        assert_eq!("       3       12\n".parse(), Ok(in_flight));
    }
}
