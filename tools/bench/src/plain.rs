// SPDX-License-Identifier: GPL-2.0

//! The stock algorithm with a stamp in nanoseconds instead of jiffies, and nothing else changed.
//!
//! `update_io_ticks()` of the kernel (block/blk-core.c) and what is around it:
//!
//! ```c
//! stamp = READ_ONCE(part->bd_stamp);
//! if (time_after(now, stamp) && try_cmpxchg(&part->bd_stamp, &stamp, now) &&
//!     (end || bdev_count_inflight(part)))
//!         __part_stat_add(part, io_ticks, now - stamp);
//! ```
//!
//! With jiffies, one event in each tick gets past the first test. With nanoseconds, nearly every
//! one does: a write to the shared stamp per event, and a sum over all possible CPUs per start.

use std::sync::atomic::{AtomicU64, Ordering};

use acct::nsec::Clock as _;

use crate::clock::Clock;
use crate::Account;

/// One CPU's part of `struct disk_stats`, of which there is one in a place of its own per CPU.
#[derive(Default)]
#[repr(align(256))]
struct Cpu {
    io_ticks: AtomicU64,
    in_flight: [AtomicU64; 2],
}

/// As `local_inc()`: no locked instruction, since only the CPU itself writes.
#[inline]
fn add(counter: &AtomicU64, n: u64) {
    let sum = counter.load(Ordering::Relaxed).wrapping_add(n);
    counter.store(sum, Ordering::Relaxed);
}

/// A line of its own, as it is apart from the counters in the kernel.
#[derive(Default)]
#[repr(align(64))]
struct Stamp(AtomicU64);

/// A device of a machine with so many possible CPUs.
pub struct Plain {
    stamp: Stamp,
    cpus: Vec<Cpu>,
}

impl Plain {
    /// Makes a device of a machine with so many possible CPUs.
    pub fn new(cpus: usize) -> Self {
        Self {
            stamp: Stamp::default(),
            cpus: (0..cpus).map(|_| Cpu::default()).collect(),
        }
    }

    /// `bdev_count_inflight()`.
    fn in_flight(&self) -> u64 {
        let mut sum = [0u64; 2];
        for cpu in &self.cpus {
            for (sum, count) in sum.iter_mut().zip(&cpu.in_flight) {
                *sum = sum.wrapping_add(count.load(Ordering::Relaxed));
            }
        }
        // A sum that is torn may be below zero.
        sum.iter().map(|&sum| (sum as i64).max(0) as u64).sum()
    }

    #[inline]
    fn update_io_ticks(&self, cpu: &Cpu, now: u64, end: bool) {
        let stamp = self.stamp.0.load(Ordering::Relaxed);
        if now > stamp
            && self
                .stamp
                .0
                .compare_exchange(stamp, now, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
            && (end || self.in_flight() > 0)
        {
            add(&cpu.io_ticks, now - stamp);
        }
    }
}

impl Account for Plain {
    #[inline]
    fn start(&self, thread: usize, clock: &Clock) {
        let cpu = &self.cpus[thread];
        self.update_io_ticks(cpu, clock.now().0, false);
        add(&cpu.in_flight[0], 1);
    }

    #[inline]
    fn end(&self, thread: usize, clock: &Clock) {
        let cpu = &self.cpus[thread];
        self.update_io_ticks(cpu, clock.now().0, true);
        add(&cpu.in_flight[0], 1u64.wrapping_neg());
    }

    fn busy(&self) -> u64 {
        let each = self
            .cpus
            .iter()
            .map(|cpu| cpu.io_ticks.load(Ordering::Relaxed));
        each.sum()
    }
}
