// SPDX-License-Identifier: GPL-2.0
//! What the order of events on one CPU tells of a completion.
//!
//! The block layer reports an end in the same flow of control in which it learns of it:
//!
//! * `block_rq_complete` comes directly before the `block_io_done` of the same request, and has the
//!   sectors that the driver completed: none when a flush sequence, or a flush without data, ends.
//! * A flush command ends all that wait for it in one go, with interrupts off
//!   (`flush_end_io()` of `block/blk-flush.c`), so their dones follow its own end on that CPU.
//! * A sequence that needs no flush after its data ends where its data are done.

use std::collections::BTreeMap;

use crate::source::{Event, Group, On};

/// So many CPUs are kept in mind; no machine has more, but a file may say so.
const CPUS: usize = 8192;

/// What has happened last on a CPU.
#[derive(Clone, Copy, Debug)]
enum Last {
    /// So many sectors of the request at this place are complete.
    Completed(Group, u64, u64),
    /// A flush command that was issued then, if the trace has that.
    Flushed(Option<u64>),
}

/// What is known of a done before one looks at the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// It is that of so many sectors of data.
    Data(u64),
    /// It is the end of a sequence, or of a flush without data.
    End,
    /// A flush has ended just before, that was issued then.
    Flushed(Option<u64>),
    /// Nothing.
    Nothing,
}

/// The CPUs.
#[derive(Clone, Default)]
pub struct Flow {
    cpus: BTreeMap<u32, (u32, Last)>,
}

impl Flow {
    /// Returns what the CPU's last events tell of a done of `group`.
    pub fn told(&self, group: Group, event: &Event) -> Told {
        let Some(&(pid, last)) = self.cpus.get(&event.on.cpu) else {
            return Told::Nothing;
        };
        match last {
            _ if pid != event.on.pid => Told::Nothing,
            Last::Completed(g, sector, sectors) if (g, sector) == (group, event.sector) => {
                match sectors {
                    0 => Told::End,
                    _ => Told::Data(sectors),
                }
            }
            Last::Completed(..) => Told::Nothing,
            Last::Flushed(issued) => Told::Flushed(issued),
        }
    }

    /// The driver has completed sectors of a request that is done by that.
    pub fn completed(&mut self, group: Group, event: &Event) {
        let last = Last::Completed(group, event.sector, event.sectors);
        self.set(event.on, last);
    }

    /// A flush command is over.
    pub fn flushed(&mut self, event: &Event, issued: Option<u64>) {
        self.set(event.on, Last::Flushed(issued));
    }

    /// Returns whether a flush command has ended last on this CPU.
    pub fn is_flushed(&self, on: On) -> bool {
        let last = self.cpus.get(&on.cpu);
        matches!(last, Some(&(pid, Last::Flushed(_))) if pid == on.pid)
    }

    /// An event passes that ends nothing: another task's, or one with which no flush goes on.
    pub fn pass(&mut self, on: On) {
        let last = self.cpus.get(&on.cpu);
        if last.is_some_and(|&(pid, last)| pid != on.pid || matches!(last, Last::Flushed(_))) {
            self.cpus.remove(&on.cpu);
        }
    }

    /// Something else has happened on this CPU.
    pub fn over(&mut self, on: On) {
        self.cpus.remove(&on.cpu);
    }

    fn set(&mut self, on: On, last: Last) {
        if on.cpu != On::UNKNOWN.cpu && (self.cpus.len() < CPUS || self.cpus.contains_key(&on.cpu))
        {
            self.cpus.insert(on.cpu, (on.pid, last));
        }
    }
}
