// SPDX-License-Identifier: GPL-2.0

//! Plays the cases on accounts, with the cases' own times: every number has its known answer.

use super::{
    Account,
    Direct,
    Features,
    OnLeaf,
    Route, //
};
use crate::{
    acct::{
        nsec::Nsec,
        sgrp::StatGroup,
        snap::Snapshot,
        wire, //
    },
    cases::{
        all_hold,
        Key,
        Step,
        DEVICES,
        DISK, //
    },
    sys::percpu::Pinned, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

const US: u64 = 1_000;

/// An origin of time far from zero, as of a machine that has been up for long.
const EPOCH: u64 = 1_234_567_890_123_456_789;

fn time(at_us: u64) -> Nsec {
    Nsec(EPOCH.wrapping_add(at_us.wrapping_mul(US)))
}

/// A request in flight.
struct Flying {
    request: u64,
    device: usize,
    group: StatGroup,
    /// Its own start, or the earliest that was merged into it.
    start: Nsec,
}

/// A disk and its partitions, and what is in flight on them.
struct Stage {
    accounts: KVec<Arc<Account>>,
    flying: KVec<Flying>,
}

impl Stage {
    fn new() -> Result<Self> {
        let mut accounts = KVec::new();
        for _ in 0..DEVICES {
            accounts.push(Account::new(&Features::SIMPLE)?, GFP_KERNEL)?;
        }
        let flying = KVec::new();
        Ok(Self { accounts, flying })
    }

    /// Returns the accounts on which I/O of a device counts.
    fn levels(&self, device: usize) -> impl Iterator<Item = &Account> {
        let on = move |&(number, _): &(usize, _)| number == device || number == DISK;
        let accounts = self.accounts.iter().enumerate().filter(on);
        accounts.map(|(_, account)| &**account)
    }

    /// Takes a request out of flight; none if it does not count.
    fn leave(&mut self, request: u64) -> Option<Flying> {
        let place = self.flying.iter().position(|io| io.request == request)?;
        self.flying.remove(place).ok()
    }

    fn start<R: Route>(
        &mut self,
        now: Nsec,
        request: u64,
        device: usize,
        group: StatGroup,
    ) -> Result {
        let pin = Pinned::new();
        for account in self.levels(device) {
            account.started(account.start::<R>(0), now, &pin, group, || 8);
        }
        drop(pin);
        let start = now;
        let io = Flying {
            request,
            device,
            group,
            start,
        };
        Ok(self.flying.push(io, GFP_KERNEL)?)
    }

    fn end<R: Route>(&mut self, now: Nsec, request: u64) {
        let Some(io) = self.leave(request) else {
            return;
        };
        let pin = Pinned::new();
        for account in self.levels(io.device) {
            account.done(account.end::<R>(0), now, &pin, io.group, io.start);
        }
    }

    fn merge<R: Route>(&mut self, now: Nsec, request: u64, into: u64) {
        let Some(io) = self.leave(request) else {
            return;
        };
        let pin = Pinned::new();
        for account in self.levels(io.device) {
            account.merged(account.end::<R>(0), now, &pin, io.group, io.start);
        }
        if let Some(by) = self.flying.iter_mut().find(|by| by.request == into) {
            by.start = by.start.min(io.start);
        }
    }

    fn read(&self, now: Nsec, device: usize) -> Snapshot {
        let Account {
            busy, queue, cells, ..
        } = &*self.accounts[device];
        Snapshot::take(busy, queue, cells, &|| now)
    }

    fn holds(&self, now: Nsec, device: usize, want: &[(Key, u64)]) -> bool {
        let snapshot = self.read(now, device);
        let groups = snapshot.stat.groups.iter();
        let nsecs: u64 = groups.clone().map(|group| group.nsecs).sum();
        let ios: u64 = groups.map(|group| group.ios).sum();
        want.iter().all(|&(key, want)| match key {
            Key::Busy => snapshot.stat.io_ticks == want * US,
            Key::Queue => snapshot.stat.time_in_queue == want * US,
            Key::Lat => nsecs == want * US,
            Key::Ios => ios == want,
            Key::Inflight => snapshot.stat.in_flight == want,
            Key::Merges => snapshot.absorbed == want,
        })
    }
}

fn play<R: Route>(steps: &[Step]) -> Result<bool> {
    let mut stage = Stage::new()?;
    let mut counting = true;
    let mut hold = true;
    for step in steps {
        match *step {
            Step::Start(at, request, device, group) if counting => {
                stage.start::<R>(time(at), request, device, group)?
            }
            Step::End(at, request) => stage.end::<R>(time(at), request),
            Step::Merge(at, request, into) => stage.merge::<R>(time(at), request, into),
            Step::Switch(on) => counting = on,
            // A read must leave the next as if it had not been.
            Step::Read(at) => {
                stage.read(time(at), DISK);
            }
            Step::Expect(at, device, want) => hold &= stage.holds(time(at), device, want),
            // None of these starts or ends an I/O.
            Step::Start(..)
            | Step::Requeue(_)
            | Step::FlushIssue
            | Step::FlushDone
            | Step::Remove => {}
        }
    }
    let healthy = |account: &Arc<Account>| account.anomalies() == wire::Anomalies::default();
    Ok(hold && stage.accounts.iter().all(healthy))
}

#[kernel::macros::kunit_tests(blkacct_case_times)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_its_known_answer() -> Result {
        assert!(all_hold(play::<Direct>)?);
        assert!(all_hold(play::<OnLeaf>)?);
        Ok(())
    }

    #[test]
    fn a_wrong_answer_is_noticed() -> Result {
        let steps = |busy| {
            [
                Step::Start(0, 1, DISK, StatGroup::Read),
                Step::End(5, 1),
                Step::Expect(5, DISK, busy),
            ]
        };
        assert!(play::<Direct>(&steps(&[(Key::Busy, 5)]))?);
        assert!(!play::<Direct>(&steps(&[(Key::Busy, 6)]))?);
        Ok(())
    }
}
