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

/// The histograms of all groups.
pub(super) struct Histograms([Histogram; StatGroup::COUNT]);

enum Histogram {
    OnEachCpu(Counters<BUCKETS>),
    Shared(KBox<Shared>),
}

impl Histograms {
    /// Makes empty ones; `appends` is whether the device is one that zone appends are for. May
    /// sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(appends: bool) -> Result<Self> {
        let of = |group| Histogram::new(group, appends);
        Ok(Self([
            of(StatGroup::Read)?,
            of(StatGroup::Write)?,
            of(StatGroup::Discard)?,
            of(StatGroup::Flush)?,
            of(StatGroup::ZoneAppend)?,
            of(StatGroup::ZoneMgmt)?,
            of(StatGroup::WriteZeroes)?,
            of(StatGroup::DrvIn)?,
            of(StatGroup::DrvOut)?,
        ]))
    }

    /// Counts a latency from `start` to `end`.
    #[inline(always)]
    pub(super) fn count(&self, pin: &Pinned, group: StatGroup, start: Nsec, end: Nsec) {
        match &self.0[group.index()] {
            Histogram::OnEachCpu(counters) => hist::count_span(&counters.here(pin), start, end),
            Histogram::Shared(shared) => count_shared(shared, start, end),
        }
    }

    /// Reads a group's histogram. Process context.
    pub(super) fn read(&self, group: StatGroup) -> Counts {
        match &self.0[group.index()] {
            Histogram::OnEachCpu(counters) => Counts::read(counters),
            Histogram::Shared(shared) => Counts::read(&**shared),
        }
    }
}

impl Histogram {
    fn new(group: StatGroup, appends: bool) -> Result<Self> {
        let often = match group {
            StatGroup::Read | StatGroup::Write => true,
            StatGroup::ZoneAppend => appends,
            _ => false,
        };
        Ok(if often {
            Self::OnEachCpu(Counters::new()?)
        } else {
            Self::Shared(KBox::new(Shared::default(), GFP_KERNEL)?)
        })
    }
}

#[inline(never)]
fn count_shared(shared: &Shared, start: Nsec, end: Nsec) {
    hist::count_span(shared, start, end);
}

/// A histogram that all CPUs add to.
struct Shared([Atomic<u64>; BUCKETS]);

impl Default for Shared {
    fn default() -> Self {
        Self([const { Atomic::new(0) }; BUCKETS])
    }
}

impl Slot for Shared {
    fn add(&self, cell: Cell, n: u64) {
        if let Some(count) = self.0.get(cell.index()) {
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
        let each = |histogram: &&Histogram| matches!(histogram, Histogram::OnEachCpu(_));
        histograms.0.iter().filter(each).count()
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
