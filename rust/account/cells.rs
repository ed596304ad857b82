// SPDX-License-Identifier: GPL-2.0

//! The core's cells, in per-CPU memory.

use crate::{
    acct::slot::{
        Cell,
        Slot,
        Slots, //
    },
    sys::percpu::{
        self,
        Counters,
        Here, //
    }, //
};

impl<const N: usize> Slot for Here<'_, N> {
    #[inline(always)]
    fn add(&self, cell: Cell, n: u64) {
        Here::add(self, cell.index(), n);
    }

    #[inline(always)]
    fn count(&self, cell: Cell) {
        Here::count(self, cell.index());
    }
}

impl<const N: usize> Slots for Counters<N> {
    fn cpus(&self) -> impl Iterator<Item = usize> {
        percpu::possible().map(|cpu| cpu as usize)
    }

    fn load(&self, cpu: usize, cell: Cell) -> u64 {
        Counters::load(self, cpu as u32, cell.index())
    }

    fn relax(&self) {
        percpu::resched_point();
    }
}
