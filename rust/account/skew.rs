// SPDX-License-Identifier: GPL-2.0

//! What an account makes of clocks that differ between CPUs: no time passes between what comes in
//! the wrong order, nothing steps back, and `anomalies` tells of it.

#[kernel::macros::kunit_tests(blkacct_skew)]
mod tests {
    use crate::{
        account::{
            Account,
            Either,
            Features, //
        },
        acct::{
            nsec::{
                Clock,
                Nsec, //
            },
            sgrp::StatGroup,
            wire, //
        },
        sys::{
            clock::Monotonic,
            percpu::Pinned, //
        }, //
    };
    use kernel::prelude::*;

    /// By how much the other CPU's clock is behind, in ns.
    const BEHIND: u64 = 5_000;

    fn behind(time: Nsec) -> Nsec {
        Nsec(time.0.wrapping_sub(BEHIND))
    }

    fn start(account: &Account, now: Nsec) -> Nsec {
        account.started(
            account.start::<Either>(0),
            now,
            &Pinned::new(),
            StatGroup::Read,
            || 8,
        )
    }

    fn end(account: &Account, now: Nsec, start_time: Nsec) -> Nsec {
        let pin = Pinned::new();
        account.done(
            account.end::<Either>(0),
            now,
            &pin,
            StatGroup::Read,
            start_time,
        )
    }

    fn stat(account: &Account) -> (wire::Stat, wire::Group) {
        let stat = account.core_snapshot().stat;
        let read = stat.groups[StatGroup::Read.index()];
        (stat, read)
    }

    #[test]
    fn an_end_before_its_start_takes_no_time() -> Result {
        let account = Account::new(&Features::SIMPLE)?;
        let began = start(&account, Monotonic.now());
        let ended = end(&account, behind(began), began);
        assert!(ended == began);
        let (stat, read) = stat(&account);
        assert_eq!((stat.in_flight, read.ios, read.nsecs), (0, 1, 0));
        assert_eq!((stat.io_ticks, stat.time_in_queue), (0, 0));
        assert_eq!(account.anomalies().clamped, 1);
        assert_eq!(account.anomalies().bound_ns, BEHIND);
        Ok(())
    }

    #[test]
    fn the_kernels_start_after_the_end_takes_no_time() -> Result {
        let account = Account::new(&Features::SIMPLE)?;
        let began = start(&account, Monotonic.now());
        let ended = Nsec(began.0.wrapping_add(1000));
        // The kernel stamps the request itself, on a CPU whose clock is ahead.
        end(&account, ended, Nsec(ended.0.wrapping_add(BEHIND)));
        let (stat, read) = stat(&account);
        assert_eq!((stat.in_flight, read.ios, read.nsecs), (0, 1, 0));
        assert_eq!((stat.io_ticks, stat.time_in_queue), (1000, 1000));
        assert_eq!(account.anomalies().clamped, 1);
        assert_eq!(account.anomalies().bound_ns, BEHIND);
        Ok(())
    }

    #[test]
    fn a_start_before_the_last_end_is_not_busy_twice() -> Result {
        let account = Account::new(&Features::SIMPLE)?;
        let began = start(&account, Monotonic.now());
        let ended = end(&account, Nsec(began.0.wrapping_add(1000)), began);
        let again = start(&account, behind(ended));
        assert!(again == ended);
        end(&account, Nsec(again.0.wrapping_add(1000)), again);
        let (stat, read) = stat(&account);
        assert_eq!((stat.in_flight, read.ios, read.nsecs), (0, 2, 2000));
        assert_eq!((stat.io_ticks, stat.time_in_queue), (2000, 2000));
        assert_eq!(account.anomalies().clamped, 1);
        Ok(())
    }
}
