// SPDX-License-Identifier: GPL-2.0
//! What a trace is worth: which events it has, over what time, and what it lost.

use super::{Event, Format, Kind, Said};

/// Kinds of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds(u16);

impl Kinds {
    /// Adds a kind.
    pub fn add(&mut self, kind: Kind) {
        self.0 |= 1 << kind as u16;
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the kind is among them.
    pub fn has(self, kind: Kind) -> bool {
        self.0 & 1 << kind as u16 != 0
    }
}

/// What is known of how a file was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Printed {
    /// Its format.
    pub format: Format,
    /// Whether a loss of events would show.
    pub losses_shown: bool,
}

/// What a trace is worth.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence {
    /// Events of the disk.
    pub events: u64,
    /// Events that the trace itself says are missing.
    pub lost: u64,
    /// Whether it says so at all; the number may be unknown.
    pub lossy: bool,
    /// Whether it stops in the middle of a line.
    pub cut: bool,
    /// How a file was made, of which others know what was recorded and how it was printed; none of
    /// a trace that the tool takes itself.
    pub file: Option<Printed>,
    /// The kinds of events that it has of the disk.
    pub of_disk: Kinds,
    /// The kinds that it has of any disk.
    pub of_any: Kinds,
    /// The times of the earliest and of the latest line that has one, in ns; other events and other
    /// disks count, for they show that the trace ran.
    pub span: Option<(u64, u64)>,
}

impl Evidence {
    /// Takes what a line says.
    pub(super) fn add(&mut self, said: &Said) {
        match *said {
            Said::Event(Event { time, kind, .. }) => {
                self.events += 1;
                self.of_disk.add(kind);
                self.of_any.add(kind);
                self.reach(time);
            }
            Said::Elsewhere { time, kind } => {
                if let Some(kind) = kind {
                    self.of_any.add(kind);
                }
                self.reach(time);
            }
            Said::Lost(count) => {
                self.lossy = true;
                self.lost = self.lost.saturating_add(count);
            }
            Said::Nothing | Said::Over => {}
        }
    }

    fn reach(&mut self, time: u64) {
        let (first, last) = self.span.unwrap_or((time, time));
        self.span = Some((first.min(time), last.max(time)));
    }
}
