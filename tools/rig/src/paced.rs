// SPDX-License-Identifier: GPL-2.0
//! One read at a time. With a pause behind each read the starts drift through the tick; at a fixed
//! pace of one tick they keep their place in it: the cases where sampling by ticks averages out, and
//! where it sees nothing or everything.

use std::io;

use crate::cli::Paced;
use crate::clock;
use crate::prng::SplitMix64;
use crate::report::{Read, Report};

const US: u64 = 1000;

/// Runs the load; `read` does one read.
///
/// # Errors
///
/// Those of `read`.
pub fn run(plan: &Paced, mut read: impl FnMut() -> io::Result<()>) -> io::Result<Report> {
    let mut schedule = Schedule::new(plan);
    let mut reads = Vec::with_capacity(plan.ios as usize);
    let mut due = schedule.next(clock::now());
    for _ in 0..plan.ios {
        clock::wait_until(due, plan.spin_us * US);
        let start = clock::now();
        read()?;
        let end = clock::now();
        reads.push(Read { due, start, end });
        due = schedule.next(end);
    }
    Ok(Report::new("paced", plan.ios, reads))
}

/// When reads are due.
enum Schedule {
    Think {
        pause: u64,
        jitter: u64,
        random: SplitMix64,
    },
    Every {
        period: u64,
        phase: u64,
    },
}

impl Schedule {
    fn new(plan: &Paced) -> Self {
        match plan.every_us {
            Some(period) => Schedule::Every {
                period: period * US,
                phase: plan.phase_us % period * US,
            },
            None => Schedule::Think {
                pause: plan.think_us.unwrap_or(0) * US,
                jitter: plan.jitter_us * US,
                random: SplitMix64::new(plan.seed),
            },
        }
    }

    /// Returns when the next read is due, the last having ended at `end`.
    fn next(&mut self, end: u64) -> u64 {
        match self {
            Schedule::Think {
                pause,
                jitter,
                random,
            } => end + *pause + random.up_to(*jitter),
            // A read that took longer than the period skips instants; it does not shift them.
            Schedule::Every { period, phase } => {
                end.saturating_sub(*phase).next_multiple_of(*period) + *phase
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Paced {
        Paced {
            ios: 3,
            think_us: None,
            jitter_us: 0,
            seed: 1,
            every_us: None,
            phase_us: 0,
            spin_us: 0,
        }
    }

    #[test]
    fn a_pace_keeps_its_phase() {
        let mut schedule = Schedule::new(&Paced {
            every_us: Some(4000),
            phase_us: 3900,
            ..plan()
        });
        assert_eq!(schedule.next(1), 3_900_000);
        assert_eq!(schedule.next(4_100_000), 7_900_000);
        assert_eq!(schedule.next(15_900_001), 19_900_000);
    }

    #[test]
    fn the_same_seed_gives_the_same_pauses() {
        let pauses = |seed| {
            let mut schedule = Schedule::new(&Paced {
                think_us: Some(4000),
                jitter_us: 400,
                seed,
                ..plan()
            });
            [0; 20].map(|end| schedule.next(end))
        };
        assert_eq!(pauses(5), pauses(5));
        assert_ne!(pauses(5), pauses(6));
        assert!(pauses(5)
            .iter()
            .all(|pause| (4_000_000..=4_400_000).contains(pause)));
    }

    #[test]
    fn a_pause_follows_the_end_of_a_read() {
        let plan = Paced {
            think_us: Some(500),
            ..plan()
        };
        let mut ends = Vec::new();
        let report = run(&plan, || {
            if let Some(end) = ends.last() {
                assert!(clock::now() >= end + 500_000);
            }
            clock::wait_until(clock::now() + 100_000, 0);
            ends.push(clock::now());
            Ok(())
        })
        .unwrap();
        assert_eq!(report.ios, 3);
        assert!(report.latency.min_ns >= 100_000);
        assert!(report.busy_ns + 2 * 500_000 <= report.wall_ns);
    }
}
