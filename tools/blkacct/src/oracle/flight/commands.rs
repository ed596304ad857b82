// SPDX-License-Identifier: GPL-2.0
//! What comes to the driver without a start: flush commands, which the kernel makes itself, driver
//! commands, and requests from before the trace.

use super::pairing::Pick;
use super::table::{Awaits, Key, Request, Shape, Stage};
use super::{Flight, Lean, Step};
use crate::oracle::driver::Stay;
use crate::source::{Event, Group, Kind};

impl Flight {
    /// A flush command that nobody started is over. Where both events tell of it, its done does.
    pub(super) fn flush_ends(&mut self, event: &Event, by_done: bool) -> Option<Stay> {
        let twice = by_done && self.flow.is_flushed(event.on);
        self.flush_dones += u64::from(by_done);
        let waits_for_done = !by_done && self.flush_dones > 0;
        if waits_for_done || (twice && self.flush_dones == 1) {
            if waits_for_done {
                let issued = self.strays.oldest_flush();
                self.flush_ends += 1;
                self.flow.flushed(event, issued);
            }
            return None;
        }
        let issued = self.come_back(Group::Flush, 0);
        self.flush_ends += u64::from(!twice);
        self.flow.flushed(event, issued);
        issued.map(|time| Stay::End { issued: Some(time) })
    }

    /// Returns whether the trace has flush commands that the driver gets, and no end of one.
    pub fn flushes_never_end(&self) -> bool {
        self.last_flush > 0 && self.flush_ends == 0
    }

    /// Whether what was found is one of those that a flush command ends, one after the other.
    pub(super) fn ends_in_a_row(&self, found: Option<&(Key, Request)>) -> bool {
        let of_flush = |(key, request): &(Key, Request)| match key.stage {
            Stage::Ending => matches!(request.awaits, Awaits::Flush(_)),
            _ => key.shape == Shape::Empty,
        };
        found.is_some_and(of_flush)
    }

    /// A driver command, or what looks like one: the end of write zeroes of older kernels.
    pub(super) fn command(&mut self, event: &Event) -> Option<Step> {
        let group = Group::WriteZeroes;
        match event.kind {
            Kind::Start => {
                self.driver_commands += 1;
                self.commands += 1;
            }
            Kind::Done if self.zeroes(event).is_some() => {
                if self.commands == 0 || event.sector != 0 || self.lean == Lean::Early {
                    let (io, driver) = self.done(group, event);
                    return Some(Step { group, io, driver });
                }
                self.commands -= 1;
            }
            Kind::Requeue if self.zeroes(event).is_some() => {
                let driver = self.requeue(group, event);
                return Some(Step {
                    group,
                    io: None,
                    driver,
                });
            }
            // A driver command names no place.
            Kind::Done if event.sector != 0 || self.strays.count(group, 0) > 0 => {
                let (io, driver) = self.done(group, event);
                return Some(Step { group, io, driver });
            }
            Kind::Done | Kind::Complete => self.commands = self.commands.saturating_sub(1),
            _ => {}
        }
        None
    }

    /// Returns write zeroes at the event's place that it may be about.
    pub(super) fn zeroes(&self, event: &Event) -> Option<Pick> {
        let choice = self.choose_done(Group::WriteZeroes, event);
        choice.end.filter(|pick| pick.key.sector == event.sector)
    }

    /// A request without a start comes back from the driver; returns when it was issued.
    pub(super) fn come_back(&mut self, group: Group, sector: u64) -> Option<u64> {
        let (issued, spread) = self.strays.come_back(group, sector)?;
        self.driver_slack.guessed(group, spread);
        if self.table.count(group) == 0 && self.strays.count(group, sector) == 0 {
            self.driver_slack.emptied(group);
        }
        Some(issued)
    }
}
