// SPDX-License-Identifier: GPL-2.0

//! What the tests of the tallies share: slots of a machine with one CPU.

use super::{
    Cell,
    Slot,
    Slots, //
};

type Value = core::cell::Cell<u64>;

/// The cells of the one CPU. An event can interrupt who reads them.
pub struct OneCpu<const N: usize> {
    cells: [Value; N],
    loads: Value,
    /// Before which of the loads the event comes; zero for never.
    at: u64,
    event: fn(&Self),
}

impl<const N: usize> OneCpu<N> {
    pub fn new() -> Self {
        Self::interrupted(0, |_| ())
    }

    /// Returns one to whose reader `event` happens before its load number `at`, counted from 1.
    pub fn interrupted(at: u64, event: fn(&Self)) -> Self {
        Self {
            cells: [const { Value::new(0) }; N],
            loads: Value::new(0),
            at,
            event,
        }
    }
}

impl<const N: usize> Slot for OneCpu<N> {
    fn add_nth<const FIRST: usize>(&self, nth: usize, n: u64) {
        let value = &self.cells[FIRST + nth];
        value.set(value.get().wrapping_add(n));
    }
}

impl<const N: usize> Slots for OneCpu<N> {
    fn cpus(&self) -> impl Iterator<Item = usize> {
        0..1
    }

    fn load(&self, _: usize, cell: Cell) -> u64 {
        self.loads.set(self.loads.get().wrapping_add(1));
        if self.loads.get() == self.at {
            (self.event)(self);
        }
        self.cells[cell.index()].get()
    }
}
