// SPDX-License-Identifier: GPL-2.0

//! What the suites of the events share: a disk in mode 2, and what happens to its requests.

use crate::{
    account::{
        Account,
        Features, //
    },
    acct::sgrp::StatGroup,
    device_events::{
        Issue,
        Requeue, //
    },
    events::{
        Done,
        Merge,
        Start, //
    },
    sys::{
        fake::{
            Disk,
            Request, //
        },
        published::Published,
        tracepoint::{
            InProbe,
            OnRequest, //
        }, //
    },
    table::{
        Devices,
        Entry,
        Table, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Shows the accounts of a disk and its partition to the events.
pub(crate) fn devices(disk: &Disk, whole: &Arc<Account>, part: &Arc<Account>) -> Result<Devices> {
    let entries = [
        Entry {
            key: disk.whole(),
            account: whole.clone(),
            disk: None,
        },
        Entry {
            key: disk.partition(),
            account: part.clone(),
            disk: Some(whole.clone()),
        },
    ];
    let table = KBox::new(Table::new(&entries)?, GFP_KERNEL)?;
    Ok(Published::new(table))
}

/// A disk with a partition, both in mode 2.
pub(crate) struct Rig {
    devices: Devices,
    pub(crate) disk: Disk,
    pub(crate) whole: Arc<Account>,
    pub(crate) part: Arc<Account>,
}

impl Rig {
    /// Makes one whose requests hold the busy clock directly.
    pub(crate) fn new() -> Result<Self> {
        Self::with(true)
    }

    /// Makes one whose requests do so directly, and one where they have leaves.
    pub(crate) fn each() -> Result<[Self; 2]> {
        Ok([Self::with(true)?, Self::with(false)?])
    }

    fn with(single: bool) -> Result<Self> {
        let disk = Disk::new()?;
        let features = Features {
            single_queue: single,
            ..Features::SIMPLE
        };
        let (whole, part) = (Account::new(&features)?, Account::new(&features)?);
        whole.open_for_test();
        part.open_for_test();
        Ok(Self {
            devices: devices(&disk, &whole, &part)?,
            disk,
            whole,
            part,
        })
    }

    pub(crate) fn write(&self) -> Result<Request<'_>> {
        Request::new(&self.disk, 1)
    }

    /// Returns a flush as the block layer makes it.
    pub(crate) fn internal_flush(&self) -> Result<Request<'_>> {
        let mut flush = Request::new(&self.disk, 2)?;
        flush.set_flush_sequence(true);
        Ok(flush)
    }

    /// Returns a write in flight.
    pub(crate) fn started(&self) -> Result<Request<'_>> {
        let mut rq = self.write()?;
        self.start(&mut rq);
        Ok(rq)
    }

    pub(crate) fn start(&self, rq: &mut Request<'_>) {
        Start::event(&self.devices, rq.get(), &InProbe::test());
        rq.kernel_starts();
    }

    pub(crate) fn issue(&self, rq: &Request<'_>) {
        Issue::event(&self.devices, rq.get(), &InProbe::test());
    }

    pub(crate) fn requeue(&self, rq: &Request<'_>) {
        Requeue::event(&self.devices, rq.get(), &InProbe::test());
    }

    pub(crate) fn merge(&self, rq: &Request<'_>) {
        Merge::event(&self.devices, rq.get(), &InProbe::test());
    }

    pub(crate) fn done(&self, rq: &Request<'_>) {
        Done::event(&self.devices, rq.get(), &InProbe::test());
    }
}

/// Returns (in flight, completed writes, absorbed).
pub(crate) fn counts(account: &Account) -> (u64, u64, u64) {
    let snapshot = account.core_snapshot();
    let write = snapshot.stat.groups[StatGroup::Write.index()];
    (snapshot.stat.in_flight, write.ios, snapshot.absorbed)
}
