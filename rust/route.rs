// SPDX-License-Identifier: GPL-2.0

//! From an event's request to the accounts it is for, and from there to their busy clocks.
//!
//! A request counts on its device, and on the whole disk if that is another. It holds their busy
//! clocks through the leaf of its hardware queue, or directly on a disk with a single one. Which of
//! these it is, is decided once per event; each has code of its own, straight-line, that keeps what
//! it needs in registers.

use crate::{
    account::Account,
    events::Devices,
    sys::{
        bdev::Key,
        request::RqRef,
        tracepoint::InProbe, //
    },
    table::{
        Entry,
        Look,
        Table, //
    }, //
};

/// How a request holds the busy clock.
pub(crate) trait Route {
    /// Returns whether it does so directly.
    fn is_direct(account: &Account, hardware_queue: u32) -> bool;
}

/// Directly.
pub(crate) struct Direct;

/// Through the leaf of its hardware queue.
pub(crate) struct OnLeaf;

/// In one way or the other.
pub(crate) struct Either;

impl Route for Direct {
    #[inline(always)]
    fn is_direct(_: &Account, _: u32) -> bool {
        true
    }
}

impl Route for OnLeaf {
    #[inline(always)]
    fn is_direct(_: &Account, _: u32) -> bool {
        false
    }
}

impl Route for Either {
    #[inline(always)]
    fn is_direct(account: &Account, hardware_queue: u32) -> bool {
        account.is_direct(hardware_queue)
    }
}

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
