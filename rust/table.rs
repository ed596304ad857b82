// SPDX-License-Identifier: GPL-2.0

//! From a block device to its account, as a probe needs it: no lock, no allocation, O(1).
//!
//! A table is never changed: each change makes a new one, which the hooks publish.

use crate::{
    account::Account,
    sys::{
        bdev::Key,
        published::Published,
        wrapped::Wrapped, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// What the probes know: the devices in mode 2.
pub(crate) type Devices = Published<Table>;

/// A device whose I/O is counted. Aligned so that none lies across two cache lines.
#[derive(Clone)]
#[repr(align(32))]
pub(crate) struct Entry {
    pub(crate) key: Key,
    pub(crate) account: Arc<Account>,
    /// The account of the whole disk, for a partition.
    pub(crate) disk: Option<Arc<Account>>,
}

/// A hash table with open addressing, at most half full.
///
/// # Invariants
///
/// At least one of `places` is empty.
pub(crate) struct Table {
    places: Wrapped<Option<Entry>>,
}

impl Table {
    /// Makes a table of these devices. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(entries: &[Entry]) -> Result<Self> {
        let places = Wrapped::new((2 * entries.len()).max(2), || None)?;
        // INVARIANT: Twice as many places as entries, and never none.
        let mut table = Self { places };
        for entry in entries {
            let mut at = entry.key.hash();
            while table.places.at(at).is_some() {
                at = at.wrapping_add(1);
            }
            *table.places.at_mut(at) = Some(entry.clone());
        }
        Ok(table)
    }

    /// Looks where a device most likely is. Any context.
    #[inline(always)]
    pub(crate) fn look(&self, key: Key) -> Look<'_> {
        match self.places.at(key.hash()) {
            Some(entry) if entry.key == key => Look::Found(entry),
            Some(_) => Look::Taken,
            None => Look::Nothing,
        }
    }

    /// Returns the entry of a device. Any context.
    pub(crate) fn find(&self, key: Key) -> Option<&Entry> {
        let mut at = key.hash();
        // Ends at an empty place, by the type invariants.
        loop {
            let entry = self.places.at(at).as_ref()?;
            if entry.key == key {
                return Some(entry);
            }
            at = at.wrapping_add(1);
        }
    }
}

/// What is where a device most likely is.
pub(crate) enum Look<'a> {
    /// The device.
    Found(&'a Entry),
    /// Another: the device may be further on.
    Taken,
    /// Nothing: the device is not in the table.
    Nothing,
}

#[cfg(CONFIG_KUNIT)]
#[kernel::macros::kunit_tests(blkacct_table)]
mod tests {
    use super::*;
    use crate::account::Features;

    fn table(keys: core::ops::Range<usize>) -> Result<Table> {
        let account = Account::new(&Features::SIMPLE)?;
        let mut entries = KVec::new();
        for number in keys {
            let entry = Entry {
                key: Key::test(number),
                account: account.clone(),
                disk: None,
            };
            entries.push(entry, GFP_KERNEL)?;
        }
        Table::new(&entries)
    }

    #[test]
    fn every_device_is_found_and_no_other() -> Result {
        for size in [0, 1, 2, 3, 100, 600] {
            let table = table(0..size)?;
            for number in 0..size {
                let found = table.find(Key::test(number));
                assert!(found.is_some_and(|entry| entry.key == Key::test(number)));
            }
            assert!(table.find(Key::test(size)).is_none());
            assert!(table.find(Key::test(size + 4096)).is_none());
        }
        Ok(())
    }
}
