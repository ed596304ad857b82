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
    fn add_nth<const FIRST: usize>(&self, nth: usize, n: u64) {
        Here::add_nth::<FIRST>(self, nth, n);
    }

    #[inline(always)]
    fn count_nth<const FIRST: usize>(&self, nth: usize) {
        Here::count_nth::<FIRST>(self, nth);
    }

    #[inline(always)]
    fn add<const CELL: usize>(&self, n: u64) {
        Here::add::<CELL>(self, n);
    }

    #[inline(always)]
    fn count<const CELL: usize>(&self) {
        Here::count::<CELL>(self);
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
