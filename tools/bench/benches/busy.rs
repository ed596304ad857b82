// SPDX-License-Identifier: GPL-2.0

//! ns per I/O (a start and an end) of the busy time, and how many times less the core takes than the
//! plain port, from one run. Both include two readings of the clock. `ratio` leaves them in, `net` takes
//! the time of a load that does nothing else off both; the processor overlaps some of it with the rest.

#![allow(missing_docs)]

use std::time::Duration;

use bench::core::Core;
use bench::load;
use bench::plain::Plain;
use bench::{Account, Nothing};
use criterion::Criterion;

const THREADS: [usize; 2] = [1, 2];
const DEPTHS: [usize; 2] = [1, 4];
const CPUS: [usize; 3] = [2, 64, 512];

/// Measures one contender; returns its ns per I/O, the median of criterion's samples: the fastest
/// are those in which the threads did not run at the same time.
fn measure(
    criterion: &mut Criterion,
    name: &str,
    account: &impl Account,
    threads: usize,
    depth: usize,
) -> f64 {
    let mut samples = Vec::new();
    criterion.bench_function(name, |bencher| {
        bencher.iter_custom(|ios| {
            let taken = load::run(account, threads, depth, ios);
            samples.push(taken.as_nanos() as f64 / ios as f64);
            taken
        });
    });
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(20)
        .configure_from_args();
    let mut lines = Vec::new();
    for threads in THREADS {
        let name = format!("clock/{threads} threads");
        let clock = measure(&mut criterion, &name, &Nothing, threads, 1);
        for depth in DEPTHS {
            for cpus in CPUS {
                let name = |what| format!("{what}/{threads} threads/depth {depth}/{cpus} CPUs");
                let plain = Plain::new(cpus);
                let plain = measure(&mut criterion, &name("plain"), &plain, threads, depth);
                let core = Core::new(cpus);
                let core = measure(&mut criterion, &name("core"), &core, threads, depth);
                lines.push(format!(
                    "{threads:>7} {depth:>6} {cpus:>5} {clock:>6.1} {plain:>8.1} {core:>8.1} {:>6.1} {:>6.1}",
                    plain / core,
                    (plain - clock) / (core - clock)
                ));
            }
        }
    }
    criterion.final_summary();
    println!("\nthreads  depth  CPUs  clock    plain     core  ratio    net   ns per I/O; net of the clock");
    println!("{}", lines.join("\n"));
}
