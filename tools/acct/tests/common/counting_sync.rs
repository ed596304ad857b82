// SPDX-License-Identifier: GPL-2.0

//! The core's atomics once more, with a count of the writes to each.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;

/// Writes so far, by address.
static WRITES: Mutex<Option<HashMap<usize, u64>>> = Mutex::new(None);

/// Returns how often the atomics inside of `value` have been written. Others may have been at its
/// place before.
pub fn writes_to<T>(value: &T) -> u64 {
    let start = ptr::from_ref(value).addr();
    let inside = start..start + size_of::<T>();
    let writes = WRITES.lock().unwrap();
    let each = writes.iter().flatten();
    each.filter(|(place, _)| inside.contains(place))
        .map(|(_, count)| count)
        .sum()
}

pub trait Order {
    const ORDER: Ordering;
}

pub struct Relaxed;
pub struct Acquire;
pub struct Full;

impl Order for Relaxed {
    const ORDER: Ordering = Ordering::Relaxed;
}

impl Order for Acquire {
    const ORDER: Ordering = Ordering::Acquire;
}

impl Order for Full {
    const ORDER: Ordering = Ordering::AcqRel;
}

#[derive(Debug)]
pub struct Atomic<T>(AtomicU64, PhantomData<T>);

impl Atomic<u64> {
    pub fn new(value: u64) -> Self {
        Self(AtomicU64::new(value), PhantomData)
    }

    pub fn load<O: Order>(&self, _: O) -> u64 {
        self.0.load(O::ORDER)
    }

    pub fn store<O: Order>(&self, value: u64, _: O) {
        self.count();
        self.0.store(value, O::ORDER);
    }

    pub fn cmpxchg<O: Order>(&self, old: u64, new: u64, _: O) -> Result<u64, u64> {
        self.count();
        self.0
            .compare_exchange(old, new, O::ORDER, Ordering::Relaxed)
    }

    fn count(&self) {
        let place = ptr::from_ref(self).addr();
        let mut writes = WRITES.lock().unwrap();
        *writes.get_or_insert_default().entry(place).or_default() += 1;
    }
}
