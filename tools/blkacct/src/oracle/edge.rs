// SPDX-License-Identifier: GPL-2.0
//! An edge of the window: a read of the counters, which takes time.

/// When the counters were read, in ns of the trace's clock.
///
/// The numbers are of one moment, `time`, but for what happens while they are read: an event
/// between `begun` and `over` may be among them or not, whichever side of `time` it is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The moment that the numbers are of.
    pub time: u64,
    /// What came before is in them.
    pub begun: u64,
    /// What came after is not.
    pub over: u64,
}

impl Edge {
    /// An edge that nobody has come to yet.
    pub const NEVER: Edge = Edge {
        time: u64::MAX,
        begun: u64::MAX,
        over: u64::MAX,
    };

    /// Splits the read of a whole `stat`: returns the edges of what is in flight and of what the
    /// driver has. `time` is read between the two, the driver's part before it.
    pub fn by_account(self) -> (Edge, Edge) {
        let io = Edge {
            begun: self.time,
            ..self
        };
        let driver = Edge {
            over: self.time,
            ..self
        };
        (io, driver)
    }

    /// Returns whether an event may be in the numbers or not that was at `time` or up to `late` ns
    /// before it, if either clock may be off by `skew` ns.
    pub fn is_unsure(&self, time: u64, late: u64, skew: u64) -> bool {
        let first = self.begun.saturating_sub(skew);
        let last = self.over.saturating_add(skew);
        time >= first && time.saturating_sub(late) <= last
    }
}

/// An edge that took no time.
impl From<u64> for Edge {
    fn from(time: u64) -> Self {
        Edge {
            time,
            begun: time,
            over: time,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_during_the_read_is_unsure() {
        let edge = Edge {
            time: 100,
            begun: 90,
            over: 130,
        };
        for (time, unsure) in [(84, false), (85, true), (135, true), (136, false)] {
            assert_eq!(edge.is_unsure(time, 0, 5), unsure, "{time}");
        }
        assert!(Edge::from(100).is_unsure(100, 0, 0));
        assert!(!Edge::from(100).is_unsure(101, 0, 0));
        // It was traced after the edge, and may have been counted before.
        assert!(Edge::from(100).is_unsure(150, 50, 0));
        assert!(!Edge::from(100).is_unsure(150, 49, 0));
        assert!(!Edge::from(100).is_unsure(99, 50, 0));
    }
}
