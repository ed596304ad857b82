// SPDX-License-Identifier: GPL-2.0
//! How long the CPUs stood still while events were traced.
//!
//! The trace sees an event, then the accounting does. If the CPU stands still between the two, an
//! interrupt or a hypervisor having it, their times are as far apart, be it many ms. No event of the
//! trace comes just after the accounting, so that moment itself is not seen. But one comes just
//! before many events, in the same flow of control and of the same request: the allocation of the
//! request before its start, the completion before the done, and before an issue a start by the
//! same task. A task that only hands requests from the queue to the driver has waited for them,
//! however long.
//!
//! As a rule such a pair is some microseconds apart, as are the two probes. Pairs that are many
//! times further apart show that the CPUs stand still at times, and for how long: a measure of what
//! the accounting may differ by, and no bound.

use std::collections::BTreeMap;

use crate::source::{Event, Kind, On};

/// So many times the median is too long.
const UNUSUAL: u64 = 16;

/// The latest event of each kind that begins a bracket, on a CPU: when, and of which task.
#[derive(Clone, Copy, Default)]
struct Open {
    allocated: Option<(u64, u32)>,
    begun: Option<(u64, u32)>,
    completed: Option<(u64, u32)>,
}

/// The brackets of a window.
pub struct Late {
    cpus: BTreeMap<u32, Open>,
    /// How many brackets, and how long all together, of 2^n ns and above.
    lengths: [(u64, u64); 64],
}

/// Brackets that are far longer than usual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoodStill {
    /// How many.
    pub times: u64,
    /// How long all of them are together, in ns.
    pub ns: u64,
}

impl Default for Late {
    fn default() -> Self {
        Late {
            cpus: BTreeMap::new(),
            lengths: [(0, 0); 64],
        }
    }
}

impl Late {
    /// Takes an event; returns how many ns before its time it can have been, by its bracket.
    pub fn event(&mut self, event: &Event) -> u64 {
        let On { cpu, pid } = event.on;
        if event.on == On::UNKNOWN {
            return 0;
        }
        let open = self.cpus.entry(cpu).or_default();
        let now = Some((event.time, pid));
        let begun = match event.kind {
            Kind::Allocate => {
                open.allocated = now;
                return 0;
            }
            Kind::Complete => {
                open.completed = now;
                open.begun = None;
                return 0;
            }
            Kind::Start => {
                open.begun = now;
                open.allocated.take()
            }
            Kind::Issue => {
                let begun = open.begun.take().filter(|&(_, of)| of == pid);
                open.begun = begun.and(now);
                begun
            }
            Kind::Done => open.completed.take(),
            _ => None,
        };
        match begun {
            Some((time, of)) if of == pid => event.time.saturating_sub(time),
            _ => 0,
        }
    }

    /// Counts a bracket that lies in the window.
    pub fn count(&mut self, ns: u64) {
        if let Some(place) = ns.checked_ilog2() {
            let (times, sum) = &mut self.lengths[place as usize];
            *times += 1;
            *sum = sum.saturating_add(ns);
        }
    }

    /// Returns what was longer than `least` ns, and than is usual.
    pub fn stood_still(&self, least: u64) -> StoodStill {
        let all: u64 = self.lengths.iter().map(|&(times, _)| times).sum();
        let mut below = 0;
        let median = self.lengths.iter().position(|&(times, _)| {
            below += times;
            below * 2 > all
        });
        let Some(median) = median else {
            return StoodStill::default();
        };
        let long = (1 << median as u64)
            .max(least / UNUSUAL)
            .saturating_mul(UNUSUAL);
        let mut found = StoodStill::default();
        for (place, &(times, ns)) in self.lengths.iter().enumerate() {
            if 1 << place as u64 >= long {
                found.times += times;
                found.ns = found.ns.saturating_add(ns);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::rwbs;

    fn event(time: u64, kind: Kind, cpu: u32, pid: u32) -> Event {
        Event {
            time,
            kind,
            rwbs: rwbs::parse(b"R").unwrap(),
            sector: 8,
            sectors: 8,
            on: On { cpu, pid },
            failed: false,
        }
    }

    #[test]
    fn an_event_is_not_before_the_one_that_leads_to_it() {
        let mut late = Late::default();
        for (time, kind, cpu, pid, want) in [
            (10, Kind::Start, 0, 1, 0),
            (20, Kind::Allocate, 0, 1, 0),
            // Of an interrupt, and on another CPU.
            (21, Kind::Complete, 0, 1, 0),
            (24, Kind::Done, 0, 1, 3),
            (25, Kind::Allocate, 1, 2, 0),
            (30, Kind::Start, 0, 1, 10),
            (35, Kind::Issue, 0, 1, 5),
            (37, Kind::Issue, 0, 1, 2),
            // It may have waited for the completion.
            (80, Kind::Complete, 0, 1, 0),
            (85, Kind::Done, 0, 1, 5),
            (86, Kind::Issue, 0, 1, 0),
            (88, Kind::Issue, 0, 1, 0),
            (90, Kind::Done, 0, 1, 0),
            // Another task has the CPU by then.
            (91, Kind::Issue, 1, 3, 0),
            (92, Kind::Start, 1, 3, 0),
            (93, Kind::Requeue, 1, 3, 0),
        ] {
            assert_eq!(late.event(&event(time, kind, cpu, pid)), want, "at {time}");
        }
        let unknown = Event {
            on: On::UNKNOWN,
            ..event(95, Kind::Complete, 0, 0)
        };
        assert_eq!(late.event(&unknown), 0);
    }

    #[test]
    fn the_unusual_is_told_from_the_usual() {
        let mut late = Late::default();
        assert_eq!(late.stood_still(0), StoodStill::default());
        for _ in 0..9 {
            late.count(1100);
        }
        late.count(9000);
        assert_eq!(late.stood_still(0), StoodStill::default());
        late.count(5_000_000);
        let found = StoodStill {
            times: 1,
            ns: 5_000_000,
        };
        assert_eq!(late.stood_still(0), found);
        // All that is within the skew is allowed for anyway.
        assert_eq!(late.stood_still(6_000_000), StoodStill::default());
    }
}
