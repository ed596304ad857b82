// SPDX-License-Identifier: GPL-2.0

//! Threads that keep so many I/Os in flight each.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use crate::clock::Clock;
use crate::Account;

/// Runs `ios` I/Os on each of `threads` threads, `depth` in flight, and returns how long they took:
/// the mean over the threads, as each of them has its own processor.
pub fn run(account: &(impl Account + ?Sized), threads: usize, depth: usize, ios: u64) -> Duration {
    let together = Barrier::new(threads);
    let one = |thread| {
        let clock = Clock::default();
        for _ in 1..depth {
            account.start(thread, &clock);
        }
        together.wait();
        let begin = Instant::now();
        for _ in 0..ios {
            account.start(thread, &clock);
            account.end(thread, &clock);
        }
        let taken = begin.elapsed();
        // Who is early stays in flight, so that the others' surroundings do not change.
        together.wait();
        for _ in 1..depth {
            account.end(thread, &clock);
        }
        taken
    };
    let sum: Duration = thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|n| scope.spawn(move || one(n))).collect();
        all.into_iter()
            .map(|thread| thread.join().expect("a thread of the load panicked"))
            .sum()
    });
    sum / threads as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use acct::nsec::Clock as _;

    use crate::core::Core;
    use crate::plain::Plain;

    #[test]
    fn both_account_for_the_same_load() {
        for (threads, depth) in [(1, 1), (1, 4), (2, 4)] {
            let (core, plain) = (Core::new(8), Plain::new(8));
            for account in [&core as &dyn Account, &plain] {
                let clock = Clock::default();
                let begin = clock.now().0;
                run(account, threads, depth, 20_000);
                let wall = clock.now().0 - begin;
                let busy = account.busy();
                assert!(busy > 0 && busy <= wall, "{busy} of {wall}");
            }
        }
    }
}
