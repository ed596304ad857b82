// SPDX-License-Identifier: GPL-2.0

//! The latency histograms of a device: one for each stat group, in as little memory as is fast.
//!
//! A histogram on each CPU costs an I/O one unlocked addition, but a disk much memory. So only the
//! groups that a disk is asked for all the time have that. The others, which are rare or slow on
//! nearly every disk, have one histogram for all CPUs, with locked additions. Both count every I/O.

use crate::{
    acct::{
        device,
        hist::{
            self,
            Counts,
            BUCKETS, //
        },
        nsec::Nsec,
        sgrp::StatGroup,
        slot::{
            Cell,
            Slot,
            Slots, //
        }, //
    },
    sys::{
        atomic::{
            Acquire,
            Atomic,
            Relaxed, //
        },
        percpu::{
            Counters,
            Pinned, //
        }, //
    }, //
};
use kernel::prelude::*;

// What Documentation/performance.rst says that a disk takes of each possible CPU, in bytes: its
// counters, and its two histograms there, each for the device and for the driver's share.
const _: () = assert!(8 * (Cell::COUNT + device::CELLS + 2 * 2 * BUCKETS) == 4080);

/// The groups from the first on that always have a histogram on each CPU: reads and writes.
const OFTEN: usize = 2;
const _: () = assert!(StatGroup::Read.index() < OFTEN && StatGroup::Write.index() < OFTEN);

/// The histograms of all groups.
pub(super) struct Histograms {
    often: [Counters<BUCKETS>; OFTEN],
    appends: Option<Counters<BUCKETS>>,
    /// Those of the groups that follow; of zone appends only without `appends`.
    rare: KVec<Shared>,
}

impl Histograms {
    /// Makes empty ones; `appends` is whether the device is one that zone appends are for. May
    /// sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(appends: bool) -> Result<Self> {
        let mut rare = KVec::with_capacity(StatGroup::COUNT - OFTEN, GFP_KERNEL)?;
        for _ in OFTEN..StatGroup::COUNT {
            rare.push(Shared::default(), GFP_KERNEL)?;
        }
        Ok(Self {
            often: [Counters::new()?, Counters::new()?],
            appends: appends.then(Counters::new).transpose()?,
            rare,
        })
    }

    /// Counts a latency from `start` to `end`.
    #[inline(always)]
    pub(super) fn count(&self, pin: &Pinned, group: StatGroup, start: Nsec, end: Nsec) {
        match self.often.get(group.index()) {
            Some(counters) => hist::count_span(&counters.here(pin), start, end),
            None => self.count_rare(pin, group, start, end),
        }
    }

    #[inline(never)]
    fn count_rare(&self, pin: &Pinned, group: StatGroup, start: Nsec, end: Nsec) {
        match self.on_each_cpu(group) {
            Some(counters) => hist::count_span(&counters.here(pin), start, end),
            None => hist::count_span(self.shared(group), start, end),
        }
    }

    fn on_each_cpu(&self, group: StatGroup) -> Option<&Counters<BUCKETS>> {
        match group {
            StatGroup::ZoneAppend => self.appends.as_ref(),
            _ => self.often.get(group.index()),
        }
    }

    fn shared(&self, group: StatGroup) -> &Shared {
        &self.rare[group.index() - OFTEN]
    }

    /// Reads a group's histogram. Process context.
    pub(super) fn read(&self, group: StatGroup) -> Counts {
        match self.on_each_cpu(group) {
            Some(counters) => Counts::read(counters),
            None => Counts::read(self.shared(group)),
        }
    }
}

/// A histogram that all CPUs add to.
struct Shared([Atomic<u64>; BUCKETS]);

impl Default for Shared {
    fn default() -> Self {
        Self([const { Atomic::new(0) }; BUCKETS])
    }
}

impl Slot for Shared {
    fn add_nth<const FIRST: usize>(&self, nth: usize, n: u64) {
        if let Some(count) = self.0.get(FIRST + nth) {
            // ORDERING: Relaxed. A histogram has no sequence; see `hist`.
            count.add(n, Relaxed);
        }
    }
}

impl Slots for Shared {
    fn cpus(&self) -> impl Iterator<Item = usize> {
        core::iter::once(0)
    }

    fn load(&self, _: usize, cell: Cell) -> u64 {
        // ORDERING: Acquire, as the trait has it. Nothing here needs it.
        self.0
            .get(cell.index())
            .map_or(0, |count| count.load(Acquire))
    }
}

#[cfg(CONFIG_KUNIT)]
#[kernel::macros::kunit_tests(blkacct_histograms)]
mod tests {
    use super::*;

    fn each_cpu(histograms: &Histograms) -> usize {
        let each = |group: &StatGroup| histograms.on_each_cpu(*group).is_some();
        StatGroup::ALL.iter().filter(|group| each(group)).count()
    }

    #[test]
    fn every_group_counts_apart() -> Result {
        let histograms = Histograms::new(true)?;
        for group in StatGroup::ALL {
            for _ in 0..=group.index() {
                let pin = Pinned::new();
                histograms.count(&pin, group, Nsec(100), Nsec(5100));
            }
        }
        for group in StatGroup::ALL {
            let counts = histograms.read(group);
            assert_eq!(counts.0[hist::place(5000)], group.index() as u64 + 1);
            assert_eq!(counts.0.iter().sum::<u64>(), group.index() as u64 + 1);
        }
        Ok(())
    }

    #[test]
    fn only_what_comes_often_takes_memory_of_each_cpu() -> Result {
        assert_eq!(each_cpu(&Histograms::new(false)?), 2);
        assert_eq!(each_cpu(&Histograms::new(true)?), 3);
        Ok(())
    }
}
