// SPDX-License-Identifier: GPL-2.0
//! The errors of a window.

use std::collections::VecDeque;

use super::edge::Edge;

/// Errors being counted.
#[derive(Default)]
pub struct Errors {
    /// A trace without one may be one that was not told to show them.
    shown: bool,
    inside: u64,
    edge: u64,
    /// When the latest were, within twice the skew: the window may turn out to end there.
    recent: VecDeque<u64>,
}

/// The errors that the trace shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Inside the window.
    pub inside: u64,
    /// So close to an edge of the window that they may lie on the other side.
    pub edge: u64,
}

impl Errors {
    /// The trace shows errors if there are any.
    pub fn show(&mut self) {
        self.shown = true;
    }

    /// A request fails. The window is from `from` to `to`, as far as that is known.
    pub fn event(&mut self, time: u64, (from, to): (Edge, Edge), skew: u64) {
        self.shown = true;
        self.inside += u64::from((from.time..=to.time).contains(&time));
        self.edge += u64::from(from.is_unsure(time, 0, skew));
        let old = time.saturating_sub(skew.saturating_mul(2));
        while to == Edge::NEVER && self.recent.front().is_some_and(|&at| at < old) {
            self.recent.pop_front();
        }
        self.recent.push_back(time);
    }

    /// Returns the errors of a window that ends at `to`; none if the trace may not show them.
    pub fn finish(&self, to: Edge, skew: u64) -> Option<Counted> {
        let at_end = self.recent.iter().filter(|&&at| to.is_unsure(at, 0, skew));
        self.shown.then_some(Counted {
            inside: self.inside,
            edge: self.edge + at_end.count() as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_near_either_edge_may_lie_on_the_other_side() {
        let mut errors = Errors::default();
        assert_eq!(errors.finish(200.into(), 10), None);
        for time in [80, 95, 105, 150] {
            errors.event(time, (100.into(), Edge::NEVER), 10);
        }
        for time in [191, 209] {
            errors.event(time, (100.into(), 200.into()), 10);
        }
        // Inside: at 105, 150 and 191. Near an edge: at 95, 105, 191 and 209.
        let (inside, edge) = (3, 4);
        assert_eq!(
            errors.finish(200.into(), 10),
            Some(Counted { inside, edge })
        );
    }

    #[test]
    fn none_seen_is_none_if_they_would_be_shown() {
        let mut errors = Errors::default();
        errors.show();
        let (inside, edge) = (0, 0);
        assert_eq!(
            errors.finish(200.into(), 10),
            Some(Counted { inside, edge })
        );
    }
}
