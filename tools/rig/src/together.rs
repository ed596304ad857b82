// SPDX-License-Identifier: GPL-2.0
//! Reads that begin at the same instant on several CPUs, after a time in which nothing happened.
//!
//! The instants are fixed in advance, so the threads need no barrier, which would itself decide who
//! goes first. They wake up a little early and spin: a wake-up takes longer than the race to be hit.

use std::io;
use std::thread;

use anyhow::Context;
use rustix::thread::{sched_setaffinity, CpuSet};

use crate::cli::Together;
use crate::clock;
use crate::report::{Read, Report};

const US: u64 = 1000;
const MS: u64 = 1000 * US;
/// Until the first instant, for the threads to start.
const LEAD: u64 = 50 * MS;

/// Runs the load: a thread for each of `reads`, on the CPU of its position.
///
/// # Errors
///
/// Those of a read, or of moving to a CPU.
pub fn run<F>(plan: &Together, reads: Vec<F>) -> anyhow::Result<Report>
where
    F: FnMut() -> io::Result<()> + Send,
{
    let first = clock::now() + LEAD + plan.spin_us * US;
    let all = thread::scope(|scope| {
        let threads: Vec<_> = reads
            .into_iter()
            .enumerate()
            .map(|(cpu, read)| scope.spawn(move || one(plan, cpu, first, read)))
            .collect();
        let mut all = Vec::new();
        for each in threads {
            all.extend(each.join().expect("a thread of the load panicked")?);
        }
        anyhow::Ok(all)
    })?;
    Ok(Report::new("together", plan.rounds, all))
}

/// What one thread does.
fn one(
    plan: &Together,
    cpu: usize,
    first: u64,
    mut read: impl FnMut() -> io::Result<()>,
) -> anyhow::Result<Vec<Read>> {
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    sched_setaffinity(None, &cpus).with_context(|| format!("CPU {cpu}"))?;
    let mut reads = Vec::with_capacity(plan.rounds as usize);
    for round in 0..u64::from(plan.rounds) {
        let due = first + round * plan.every_ms * MS;
        clock::wait_until(due, plan.spin_us * US);
        let start = clock::now();
        read()?;
        let end = clock::now();
        reads.push(Read { due, start, end });
    }
    Ok(reads)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(threads: u32) -> Together {
        Together {
            threads,
            every_ms: 5,
            rounds: 3,
            spin_us: 500,
        }
    }

    #[test]
    fn nobody_reads_before_the_instant() {
        let before = clock::now();
        let report = run(&plan(1), vec![|| Ok(())]).unwrap();
        assert_eq!((report.rounds, report.ios), (3, 3));
        // Three instants are two periods apart; a late last read only adds to it.
        assert!(clock::now() - before >= LEAD + 2 * 5 * MS);
        assert!(report.wall_ns + report.late.max_ns >= 2 * 5 * MS);
    }

    #[test]
    fn every_thread_takes_part_in_every_round() {
        let Ok(cpus) = thread::available_parallelism() else {
            return;
        };
        let threads = cpus.get().min(2);
        let report = run(&plan(threads as u32), vec![|| Ok(()); threads]).unwrap();
        assert_eq!(report.ios, 3 * threads as u64);
    }

    #[test]
    fn a_failed_read_ends_the_load() {
        let fail = || Err(io::Error::from_raw_os_error(5));
        assert!(run(&plan(1), vec![fail]).is_err());
    }
}
