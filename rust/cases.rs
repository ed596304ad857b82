// SPDX-License-Identifier: GPL-2.0

//! The cases of `tools/testing/cases` in the kernel: histories with a known answer.
//!
//! `table.rs` is made of them by the crate `tools/cases`, so that the kernel needs no parser. Here
//! they are requests whose events come to the handlers. These read the clock themselves, so it is
//! the counts that are known; `account/cases.rs` plays the same with the times of the cases.

mod table;

use crate::acct::sgrp::StatGroup;
use kernel::prelude::*;
pub(crate) use table::CASES;

/// A whole disk's number; its partitions have theirs.
pub(crate) const DISK: usize = 0;
/// Devices that a case can have: the disk and two partitions.
pub(crate) const DEVICES: usize = 3;

/// A line of a case. Times are in us from its beginning; then come a request and its device.
pub(crate) enum Step {
    /// A request starts.
    Start(u64, u64, usize, StatGroup),
    /// It ends.
    End(u64, u64),
    /// It is absorbed by the last one named.
    Merge(u64, u64, u64),
    /// The driver gives it back.
    Requeue(u64),
    /// An internal flush goes out.
    FlushIssue,
    /// It is done.
    FlushDone,
    /// The kernel's accounting is switched.
    Switch(bool),
    /// The statistics are read.
    Read(u64),
    /// The disk goes; the next has its name.
    Remove,
    /// This holds on a device now, in us where it is a time.
    Expect(u64, usize, &'static [(Key, u64)]),
}

/// What is expected. The flushes' own counts are the kernel's, and not here.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Busy,
    Queue,
    Lat,
    Ios,
    Inflight,
    Merges,
}

/// Plays every case, disk by disk, and returns whether all that was expected holds.
pub(crate) fn all_hold(play: impl Fn(&[Step]) -> Result<bool>) -> Result<bool> {
    let mut hold = true;
    for (name, steps) in CASES {
        for disk in steps.split(|step| matches!(step, Step::Remove)) {
            if !play(disk)? {
                pr_err!("case {name} has another answer\n");
                hold = false;
            }
        }
    }
    Ok(hold)
}

#[kernel::macros::kunit_tests(blkacct_cases)]
mod tests {
    use super::*;
    use crate::{
        account::Account,
        rig::Rig,
        sys::fake::Request, //
    };

    /// The requests in flight, by number.
    struct Flying<'d>(KVec<(u64, Request<'d>)>);

    impl<'d> Flying<'d> {
        fn get(&self, request: u64) -> Option<&Request<'d>> {
            let found = self.0.iter().find(|(number, _)| *number == request);
            found.map(|(_, rq)| rq)
        }
    }

    fn op(group: StatGroup) -> u32 {
        match group {
            StatGroup::Read => 0,
            StatGroup::Flush => 2,
            StatGroup::Discard => 3,
            _ => 1,
        }
    }

    fn holds(account: &Account, want: &[(Key, u64)]) -> bool {
        let snapshot = account.core_snapshot();
        let ios = snapshot.stat.groups.iter().map(|group| group.ios).sum();
        want.iter().all(|&(key, want)| match key {
            Key::Ios => want == ios,
            Key::Inflight => want == snapshot.stat.in_flight,
            Key::Merges => want == snapshot.absorbed,
            Key::Busy | Key::Queue | Key::Lat => true,
        })
    }

    fn play(steps: &[Step]) -> Result<bool> {
        let mut hold = true;
        for rig in Rig::each()? {
            hold &= play_on(&rig, steps)?;
        }
        Ok(hold)
    }

    fn play_on(rig: &Rig, steps: &[Step]) -> Result<bool> {
        let flush = rig.internal_flush()?;
        let mut flying = Flying(KVec::new());
        // The rig has one partition, which is the one that the case has I/O on.
        let mut partition = None;
        let mut hold = true;
        for step in steps {
            match *step {
                Step::Start(_, request, device, group) => {
                    let mut rq = Request::new(&rig.disk, op(group))?;
                    match device {
                        DISK => rq.move_bio_to_whole_disk(),
                        _ => partition = Some(device),
                    }
                    rig.start(&mut rq);
                    flying.0.push((request, rq), GFP_KERNEL)?;
                }
                Step::End(_, request) => {
                    let rq = flying.get(request).ok_or(EINVAL)?;
                    rig.issue(rq);
                    rig.done(rq);
                    flying.0.retain(|(number, _)| *number != request);
                }
                Step::Merge(_, request, _) => {
                    rig.merge(flying.get(request).ok_or(EINVAL)?);
                    flying.0.retain(|(number, _)| *number != request);
                }
                Step::Requeue(request) => {
                    let rq = flying.get(request).ok_or(EINVAL)?;
                    rig.issue(rq);
                    rig.requeue(rq);
                }
                Step::FlushIssue => rig.issue(&flush),
                Step::FlushDone => rig.done(&flush),
                Step::Switch(on) => rig.disk.set_io_stat(on),
                Step::Expect(_, DISK, want) => hold &= holds(&rig.whole, want),
                Step::Expect(_, device, want) if partition == Some(device) => {
                    hold &= holds(&rig.part, want)
                }
                Step::Expect(..) | Step::Read(_) | Step::Remove => {}
            }
        }
        Ok(hold)
    }

    #[test]
    fn every_case_has_its_counts() -> Result {
        assert!(all_hold(play)?);
        Ok(())
    }
}
