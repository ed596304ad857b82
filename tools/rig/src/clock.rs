// SPDX-License-Identifier: GPL-2.0
//! `CLOCK_MONOTONIC` in ns, and two ways to wait for an instant of it.
//!
//! `std::time::Instant` has no value that two processes or a trace could agree on.

use rustix::io::Errno;
use rustix::thread::{clock_nanosleep_absolute, ClockId};
use rustix::time::{clock_gettime, Timespec};

const NS: u64 = 1_000_000_000;

/// Returns the time.
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    // CLOCK_MONOTONIC counts from boot, so neither part is negative.
    time.tv_sec as u64 * NS + time.tv_nsec as u64
}

/// Sleeps until `instant`; returns at once if that is over.
pub fn sleep_until(instant: u64) {
    let time = Timespec {
        tv_sec: (instant / NS) as _,
        tv_nsec: (instant % NS) as _,
    };
    while let Err(Errno::INTR) = clock_nanosleep_absolute(ClockId::Monotonic, &time) {}
}

/// Keeps the CPU until `instant`: no wake-up, so threads that do it are out at the same time.
pub fn spin_until(instant: u64) {
    while now() < instant {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_wait_ends_early() {
        let instant = now() + 2_000_000;
        sleep_until(instant);
        assert!(now() >= instant);
        let instant = now() + 100_000;
        spin_until(instant);
        assert!(now() >= instant);
    }

    #[test]
    fn the_past_is_not_waited_for() {
        sleep_until(1);
        spin_until(1);
    }
}
