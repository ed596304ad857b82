// SPDX-License-Identifier: GPL-2.0
//! What the sums of latencies may be wrong by when a request had to be guessed.

use crate::source::Group;

/// Bounds in ns, per group.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slack {
    guessed: [u64; Group::COUNT],
    merged: [u64; Group::COUNT],
}

impl Slack {
    /// An end was given to one of several requests whose starts lie `spread` ns apart.
    pub fn guessed(&mut self, group: Group, spread: u64) {
        let sum = &mut self.guessed[group as usize];
        *sum = sum.saturating_add(spread);
    }

    /// An inherited start was given to one of several requests; the sum differs by up to `spread`
    /// ns.
    pub fn merged(&mut self, group: Group, spread: u64) {
        let sum = &mut self.merged[group as usize];
        *sum = sum.saturating_add(spread);
    }

    /// Nothing of the group is in flight: wrong pairs of starts and ends have cancelled out.
    pub fn emptied(&mut self, group: Group) {
        self.guessed[group as usize] = 0;
    }

    /// Bounds the error of a difference of two sums: one taken now, one when `self` was `before`.
    pub fn since(&self, before: &Slack, group: Group) -> u64 {
        let g = group as usize;
        let merged = self.merged[g].saturating_sub(before.merged[g]);
        merged
            .saturating_add(self.guessed[g])
            .saturating_add(before.guessed[g])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_cancel_out_and_merges_stay() {
        let mut slack = Slack::default();
        slack.guessed(Group::Read, 5);
        slack.merged(Group::Read, 7);
        assert_eq!(slack.since(&Slack::default(), Group::Read), 12);
        let before = slack;
        slack.emptied(Group::Read);
        assert_eq!(slack.since(&Slack::default(), Group::Read), 7);
        assert_eq!(slack.since(&before, Group::Read), 5);
        assert_eq!(slack.since(&before, Group::Write), 0);
    }
}
