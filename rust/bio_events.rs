// SPDX-License-Identifier: GPL-2.0

//! What the starts and ends of bio-based devices do to the accounts.
//!
//! Each level, the partition and the disk, decides for itself whether an I/O counts, by the I/O's
//! `start_time`; so it decides the same at both ends.

use crate::{
    account::OnLeaf,
    acct::{
        nsec::Clock,
        sgrp::StatGroup, //
    },
    sys::{
        bio_acct::{
            Bio,
            OnBio,
            Time, //
        },
        clock::{
            jiffies,
            Monotonic, //
        },
        percpu::Pinned,
        tracepoint::InProbe, //
    },
    table::Devices, //
};

/// All bio-based devices have one leaf.
const LEAF: u32 = 0;

impl OnBio for Devices {
    fn start(&self, bio: &Bio, probe: &InProbe) {
        let Some(entry) = self.get(probe).find(bio.bdev) else {
            return;
        };
        let pin = Pinned::new();
        let group = StatGroup::of(bio.op);
        let late = jiffies().wrapping_sub(bio.start_time);
        let levels = [entry.disk.as_ref(), Some(&entry.account)]
            .map(|account| account.filter(|account| account.covers(bio.start_time)));
        let arrivals = levels.map(|account| Some(account?.start::<OnLeaf>(LEAF)));
        let mut now = Monotonic.now();
        // From the outside in: what is in flight on a partition is so on its disk.
        for (account, arrival) in levels.into_iter().zip(arrivals) {
            if let (Some(account), Some(arrival)) = (account, arrival) {
                now = account.bio_started(arrival, now, &pin, group, late);
            }
        }
    }

    fn end(&self, bio: &Bio, sectors: u64, probe: &InProbe) -> Time {
        let Some(entry) = self.get(probe).find(bio.bdev) else {
            return Time::Kernels;
        };
        let pin = Pinned::new();
        let group = StatGroup::of(bio.op);
        let levels = [Some(&entry.account), entry.disk.as_ref()]
            .map(|account| account.filter(|account| account.covers(bio.start_time)));
        let departures = levels.map(|account| Some(account?.end::<OnLeaf>(LEAF)));
        let mut now = Monotonic.now();
        let mut time = Time::Kernels;
        // From the inside out.
        for (account, departure) in levels.into_iter().zip(departures) {
            if let (Some(account), Some(departure)) = (account, departure) {
                let (ended, keeper) =
                    account.bio_done(departure, now, &pin, group, sectors, bio.start_time);
                now = ended;
                // The kernel keeps, or not, the time of both levels at once.
                if keeper == Time::Ours {
                    time = Time::Ours;
                }
            }
        }
        time
    }
}

#[cfg(CONFIG_KUNIT)]
#[kernel::macros::kunit_tests(blkacct_bio_events)]
mod tests {
    use super::*;
    use crate::{
        account::Account,
        acct::nsec::Nsec,
        rig::devices,
        sys::fake::Disk, //
    };
    use kernel::{
        prelude::*,
        sync::Arc, //
    };

    const WRITE: u32 = 1;

    /// A disk with a partition, and a list of switches of both.
    struct Rig {
        devices: Devices,
        disk: Disk,
        whole: Arc<Account>,
        part: Arc<Account>,
    }

    impl Rig {
        /// Opens a window at the first time, closes it at the second, and so on.
        fn new(switches: &[u64]) -> Result<Self> {
            let disk = Disk::new()?;
            let (whole, part) = (Account::for_bios()?, Account::for_bios()?);
            let rig = Self {
                devices: devices(&disk, &whole, &part)?,
                disk,
                whole,
                part,
            };
            for at in switches {
                rig.switch(*at);
            }
            Ok(rig)
        }

        fn switch(&self, at: u64) {
            for account in [&self.whole, &self.part] {
                account.switch_for_test(!account.is_counting(), at);
            }
        }

        fn bio(&self, start_time: u64) -> Bio {
            Bio {
                bdev: self.disk.partition(),
                op: WRITE,
                start_time,
            }
        }

        fn start(&self, start_time: u64) {
            self.devices.start(&self.bio(start_time), &InProbe::test());
        }

        fn end(&self, start_time: u64) -> Time {
            let bio = self.bio(start_time);
            self.devices.end(&bio, 8, &InProbe::test())
        }
    }

    /// Returns (in flight, completed writes, their sectors).
    fn counts(account: &Account) -> (u64, u64, u64) {
        let write = account.group_for_test(StatGroup::Write);
        let in_flight = account.core_snapshot().stat.in_flight;
        (in_flight, write.ios, write.sectors)
    }

    #[test]
    fn a_partitions_io_counts_on_its_disk_too() -> Result {
        let rig = Rig::new(&[100])?;
        rig.start(101);
        assert_eq!(counts(&rig.part), (1, 0, 0));
        assert_eq!(counts(&rig.whole), (1, 0, 0));
        rig.end(101);
        assert_eq!(counts(&rig.part), (0, 1, 8));
        assert_eq!(counts(&rig.whole), (0, 1, 8));
        Ok(())
    }

    #[test]
    fn a_partition_is_not_busy_before_its_disk() -> Result {
        let rig = Rig::new(&[100])?;
        // The disk has had an I/O on a CPU whose clock is ahead.
        let ahead = Nsec(Monotonic.now().0.wrapping_add(1_000_000_000));
        let (whole, group) = (&rig.whole, StatGroup::Write);
        let pin = Pinned::new();
        whole.bio_started(whole.start::<OnLeaf>(LEAF), ahead, &pin, group, 0);
        whole.bio_done(whole.end::<OnLeaf>(LEAF), ahead, &pin, group, 8, 101);
        drop(pin);
        rig.start(101);
        let then = Monotonic.now();
        while Monotonic.now() == then {}
        rig.end(101);
        assert_eq!(rig.whole.core_snapshot().stat.io_ticks, 0);
        assert_eq!(rig.part.core_snapshot().stat.io_ticks, 0);
        Ok(())
    }

    #[test]
    fn io_in_flight_at_the_end_of_mode_2_counts_on() -> Result {
        let rig = Rig::new(&[100])?;
        rig.start(101);
        rig.switch(150);
        assert_eq!(counts(&rig.whole), (1, 0, 0));
        rig.end(101);
        assert_eq!(counts(&rig.whole), (0, 1, 8));
        Ok(())
    }

    #[test]
    fn io_in_flight_at_the_beginning_never_counts() -> Result {
        let rig = Rig::new(&[])?;
        rig.start(100);
        rig.switch(100);
        rig.end(100);
        assert_eq!(counts(&rig.whole), (0, 0, 0));
        assert_eq!(rig.whole.anomalies().orphans, 0);
        Ok(())
    }

    #[test]
    fn io_between_two_windows_never_counts() -> Result {
        let rig = Rig::new(&[100, 200])?;
        rig.start(201);
        rig.switch(300);
        rig.start(301);
        rig.end(201);
        assert_eq!(counts(&rig.whole), (1, 0, 0));
        rig.end(301);
        assert_eq!(counts(&rig.whole), (0, 1, 8));
        assert_eq!(rig.whole.anomalies().orphans, 0);
        Ok(())
    }

    #[test]
    fn an_end_without_a_start_is_an_orphan_and_nothing_else() -> Result {
        let rig = Rig::new(&[100])?;
        assert_eq!(rig.end(101), Time::Kernels);
        assert_eq!(counts(&rig.whole), (0, 0, 0));
        assert_eq!(rig.whole.anomalies().orphans, 1);
        Ok(())
    }

    #[test]
    fn what_slips_in_is_written_off_and_then_all_is_forgotten() -> Result {
        let rig = Rig::new(&[100])?;
        rig.start(101);
        rig.switch(200);
        rig.whole.forget();
        assert_eq!(counts(&rig.whole), (0, 0, 0));
        assert_eq!(rig.whole.anomalies().lost_starts, 1);
        let then = rig.whole.group_for_test(StatGroup::Write).nsecs;
        assert_eq!(rig.whole.group_for_test(StatGroup::Write).nsecs, then);
        assert!(!rig.whole.covers(101));
        Ok(())
    }

    #[test]
    fn the_time_so_far_of_io_in_flight_counts() -> Result {
        let rig = Rig::new(&[100])?;
        rig.start(101);
        let first = rig.whole.group_for_test(StatGroup::Write).nsecs;
        let then = Monotonic.now();
        while Monotonic.now() == then {}
        assert!(rig.whole.group_for_test(StatGroup::Write).nsecs > first);
        rig.end(101);
        let stat = rig.whole.core_snapshot().stat;
        let write = rig.whole.group_for_test(StatGroup::Write);
        assert_eq!(write.nsecs, stat.time_in_queue);
        assert_eq!(write.nsecs, stat.io_ticks);
        Ok(())
    }

    #[test]
    fn a_start_long_after_its_time_is_late() -> Result {
        let now = jiffies();
        let rig = Rig::new(&[now.wrapping_sub(1000)])?;
        rig.start(now.wrapping_sub(100));
        assert_eq!(rig.whole.anomalies().late_starts, 1);
        assert_eq!(counts(&rig.whole), (1, 0, 0));
        Ok(())
    }
}
