// SPDX-License-Identifier: GPL-2.0

//! From an event's request to the accounts it is for.
//!
//! A request counts on its device, and on the whole disk if that is another. How it holds their
//! busy clocks is decided here, once (`account/route.rs`).

use crate::{
    account::{
        Account,
        Direct,
        Either,
        OnLeaf,
        Route, //
    },
    sys::{
        bdev::Key,
        request::RqRef,
        tracepoint::InProbe, //
    },
    table::{
        Devices,
        Entry,
        Look,
        Table, //
    }, //
};

/// What an event does to the accounts it is for.
pub(crate) trait OnAccounts {
    /// Does it to the account of the request's device and, if that is another, of its whole disk.
    fn on<R: Route>(device: &Account, disk: Option<&Account>, rq: RqRef<'_>);
}

/// Returns the entry of a device whose events count.
pub(crate) fn counting<'p>(devices: &Devices, key: Key, probe: &'p InProbe) -> Option<&'p Entry> {
    let entry = devices.get(probe).find(key)?;
    entry.account.is_counting().then_some(entry)
}

/// Does what `E` does to the accounts of the device of this key, if its events count.
#[inline(always)]
pub(crate) fn deliver<E: OnAccounts>(devices: &Devices, key: Key, rq: RqRef<'_>, probe: &InProbe) {
    let table = devices.get(probe);
    match table.look(key) {
        Look::Found(entry) => to_entry::<E>(entry, rq),
        Look::Taken => further::<E>(table, key, rq),
        Look::Nothing => (),
    }
}

/// As [`deliver`], where another device is in the way.
#[inline(never)]
fn further<E: OnAccounts>(table: &Table, key: Key, rq: RqRef<'_>) {
    if let Some(entry) = table.find(key) {
        to_entry::<E>(entry, rq);
    }
}

#[inline(always)]
fn to_entry<E: OnAccounts>(entry: &Entry, rq: RqRef<'_>) {
    let account = &entry.account;
    match &entry.disk {
        None if account.is_direct(rq.hardware_queue()) => on_disk::<E, Direct>(account, rq),
        _ if !account.is_counting() => (),
        None => on_disk::<E, OnLeaf>(account, rq),
        Some(disk) => on_partition::<E>(account, disk, rq),
    }
}

#[inline(never)]
fn on_disk<E: OnAccounts, R: Route>(disk: &Account, rq: RqRef<'_>) {
    E::on::<R>(disk, None, rq);
}

#[inline(never)]
fn on_partition<E: OnAccounts>(partition: &Account, disk: &Account, rq: RqRef<'_>) {
    E::on::<Either>(partition, Some(disk), rq);
}
