// SPDX-License-Identifier: GPL-2.0
//! The two accounts of a disk: of all that is in flight, and of what the driver has.

use super::account::{Account, Figures, Unexplained};
use super::driver::Stay;
use super::edge::Edge;
use super::flight::{Effect, Step};

/// The accounts.
#[derive(Clone)]
pub struct Books {
    io: Account,
    driver: Account,
}

impl Books {
    /// Opens both over a window that begins at `from`, for times that may be off by `skew` ns.
    pub fn new(from: Edge, skew: u64) -> Self {
        let (io, driver) = from.by_account();
        Books {
            io: Account::new(io, skew),
            driver: Account::new(driver, skew),
        }
    }

    /// Ends the window.
    pub fn close(&mut self, to: Edge) {
        let (io, driver) = to.by_account();
        self.io.close(io);
        self.driver.close(driver);
    }

    /// Enters what an event does that was at `time`, or up to `late` ns before it.
    pub fn book(&mut self, time: u64, late: u64, step: Step) {
        let (io, driver, group) = (&mut self.io, &mut self.driver, step.group);
        io.late(late);
        driver.late(late);
        match step.io {
            Some(Effect::Begin) => io.begin(time, group),
            Some(Effect::End { start }) => io.end(time, group, start),
            Some(Effect::EndOfBegun) => io.end(time, group, None),
            Some(Effect::EndAfter { data }) => io.end_after(time, group, data),
            Some(Effect::Absorb { seen }) => io.absorb(time, group, seen),
            None => {}
        }
        match step.driver {
            Some(Stay::Begin) => driver.begin(time, group),
            Some(Stay::End { issued }) => driver.end(time, group, issued),
            Some(Stay::Requeue { issued }) => driver.requeue(time, group, Some(issued)),
            None => {}
        }
    }

    /// Closes both; someone counted in-flight, and what the driver had, at both edges.
    pub fn finish(
        self,
        counted: Option<(u64, u64)>,
        at_driver: Option<(u64, u64)>,
        unexplained: Unexplained,
    ) -> (Figures, Figures) {
        (
            self.io.finish(counted, unexplained),
            self.driver.finish(at_driver, unexplained),
        )
    }
}
