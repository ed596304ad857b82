// SPDX-License-Identifier: GPL-2.0
//! What the driver has of which no start is known: the kernel's own flushes, and I/O from before
//! the trace.
//!
//! A request with a start carries the time of its issue itself. The rest is told apart by group and
//! first sector. All flushes are at sector zero; which of several ends first makes no difference to
//! the union, the integral and the sum of the stays.

use std::collections::BTreeMap;

use crate::source::Group;

/// What an event does to the account of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stay {
    /// A request comes to the driver.
    Begin,
    /// A request is done.
    End {
        /// When it was issued, if the trace has that.
        issued: Option<u64>,
    },
    /// A request is given back undone.
    Requeue {
        /// When it was issued.
        issued: u64,
    },
}

/// Group, place, when it was issued, and a number that keeps equals apart.
type Place = (Group, u64, u64, u64);

/// So many neighbours are looked at for one that fits.
const NEAR: usize = 64;

/// Requests at the driver without a start.
#[derive(Clone, Default)]
pub struct Strays {
    /// Their sizes, by place.
    issued: BTreeMap<Place, u64>,
    ids: u64,
}

impl Strays {
    /// A request of so many sectors is issued.
    pub fn issue(&mut self, group: Group, (sector, sectors): (u64, u64), time: u64) {
        self.ids += 1;
        self.issued
            .insert((group, place(group, sector), time, self.ids), sectors);
    }

    /// A request comes back; returns when the oldest at its place was issued, and how far the times
    /// lie apart at which those there were.
    pub fn come_back(&mut self, group: Group, sector: u64) -> Option<(u64, u64)> {
        let place = self.place(group, sector)?;
        let mut here = self.here(group, place);
        let one = *here.next()?;
        let last = here.next_back().map_or(one.2, |last| last.2);
        drop(here);
        self.issued.remove(&one);
        Some((one.2, last - one.2))
    }

    /// Returns where those are that hold a sector; they may be complete in front of it.
    fn place(&self, group: Group, sector: u64) -> Option<u64> {
        let exact = place(group, sector);
        if self.here(group, exact).next().is_some() {
            return Some(exact);
        }
        let below = self.issued.range((group, 0, 0, 0)..(group, exact, 0, 0));
        let holds = |((_, place, ..), sectors): &(&Place, &u64)| place + **sectors > sector;
        let mut near = below.rev().take(NEAR);
        near.find(holds).map(|(&(_, place, ..), _)| place)
    }

    /// Returns when the oldest flush was issued.
    pub fn oldest_flush(&self) -> Option<u64> {
        Some(self.here(Group::Flush, 0).next()?.2)
    }

    /// Returns how many there are at a place, up to two.
    pub fn count(&self, group: Group, sector: u64) -> usize {
        self.here(group, place(group, sector)).take(2).count()
    }

    fn here(&self, group: Group, place: u64) -> impl DoubleEndedIterator<Item = &Place> {
        self.issued
            .range((group, place, 0, 0)..=(group, place, u64::MAX, u64::MAX))
            .map(|(place, _)| place)
    }
}

/// Where a flush ends says nothing.
fn place(group: Group, sector: u64) -> u64 {
    match group {
        Group::Flush => 0,
        _ => sector,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strays_go_by_place_and_flushes_by_age() {
        let mut strays = Strays::default();
        strays.issue(Group::Flush, (0, 8), 1);
        strays.issue(Group::Write, (8, 8), 2);
        strays.issue(Group::Flush, (0, 8), 3);
        assert_eq!(strays.count(Group::Flush, 0), 2);
        assert_eq!(strays.come_back(Group::Write, 16), None);
        assert_eq!(strays.come_back(Group::Read, 12), None);
        assert_eq!(strays.come_back(Group::Read, 8), None);
        // Where a flush ends says nothing.
        assert_eq!(strays.come_back(Group::Flush, 8), Some((1, 2)));
        assert_eq!(strays.come_back(Group::Write, 8), Some((2, 0)));
        assert_eq!(strays.come_back(Group::Flush, 0), Some((3, 0)));
        assert_eq!(strays.come_back(Group::Flush, 0), None);
        // A part was complete before.
        strays.issue(Group::Write, (8, 8), 4);
        assert_eq!(strays.come_back(Group::Write, 12), Some((4, 0)));
    }
}
