// SPDX-License-Identifier: GPL-2.0
//! Puts events in the order of their times, within a bounded window.
//!
//! A trace merges the buffers of many CPUs and is all but sorted. Events wait here until a full
//! window of later lines has been seen. Equal times keep the order of their lines.

use std::collections::VecDeque;

use super::Event;

/// How many lines an event may be late by.
pub const WINDOW: usize = 256;

/// An event that came more than a window late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late;

/// The window.
#[derive(Default)]
pub struct Reorder {
    waiting: VecDeque<Event>,
    /// The time of the last event that was handed out.
    settled: u64,
}

impl Reorder {
    /// Takes an event, and hands out one that no event within the window can precede.
    ///
    /// # Errors
    ///
    /// `event` belongs before one that was handed out already.
    pub fn push(&mut self, event: Event) -> Result<Option<Event>, Late> {
        if event.time < self.settled {
            return Err(Late);
        }
        // The newest is nearly always the last.
        let mut at = self.waiting.len();
        while at > 0 && self.waiting[at - 1].time > event.time {
            at -= 1;
        }
        self.waiting.insert(at, event);
        if self.waiting.len() > WINDOW {
            return Ok(self.pop());
        }
        Ok(None)
    }

    /// Hands out the next event without waiting for others.
    pub fn pop(&mut self) -> Option<Event> {
        let event = self.waiting.pop_front()?;
        self.settled = event.time;
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{rwbs, Kind, On};
    use super::*;

    fn event(time: u64, sector: u64) -> Event {
        Event {
            time,
            kind: Kind::Start,
            rwbs: rwbs::parse(b"R").unwrap(),
            sector,
            sectors: 8,
            on: On::default(),
            failed: false,
        }
    }

    #[test]
    fn sorts_and_keeps_the_order_of_equals() {
        let mut order = Reorder::default();
        for (time, sector) in [(5, 0), (3, 1), (5, 2), (4, 3)] {
            assert_eq!(order.push(event(time, sector)), Ok(None));
        }
        let out: Vec<u64> = std::iter::from_fn(|| order.pop())
            .map(|e| e.sector)
            .collect();
        assert_eq!(out, [1, 3, 0, 2]);
    }

    #[test]
    fn late_is_an_error_and_the_window_is_bounded() {
        let mut order = Reorder::default();
        for time in 0..WINDOW as u64 {
            assert_eq!(order.push(event(10 + time, 0)), Ok(None));
        }
        assert_eq!(order.push(event(9, 0)).unwrap().unwrap().time, 9);
        assert_eq!(order.push(event(8, 0)), Err(Late));
    }
}
