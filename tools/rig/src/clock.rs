// SPDX-License-Identifier: GPL-2.0
//! `CLOCK_MONOTONIC` in ns, and how to wait for an instant of it.
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

/// Waits until `instant`, the last `spin` ns of it awake: a wake-up is late by more than some loads can
/// bear. Returns at once if `instant` is over.
pub fn wait_until(instant: u64, spin: u64) {
    sleep_until(instant.saturating_sub(spin));
    while now() < instant {
        std::hint::spin_loop();
    }
}

fn sleep_until(instant: u64) {
    let time = Timespec {
        tv_sec: (instant / NS) as _,
        tv_nsec: (instant % NS) as _,
    };
    while let Err(Errno::INTR) = clock_nanosleep_absolute(ClockId::Monotonic, &time) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_wait_ends_early() {
        for spin in [0, 500_000, 5_000_000] {
            let instant = now() + 2_000_000;
            wait_until(instant, spin);
            assert!(now() >= instant);
        }
        let instant = now() + 1_000_000;
        sleep_until(instant);
        assert!(now() >= instant);
    }

    #[test]
    fn the_past_is_not_waited_for() {
        wait_until(1, 2);
    }
}
