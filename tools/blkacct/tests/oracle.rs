// SPDX-License-Identifier: GPL-2.0
//! The sweep against a naive model on random I/O, and the allowed ranges against random clocks.

use blkacct::oracle::edge::Edge;
use blkacct::oracle::{Oracle, Truth};
use blkacct::source::{rwbs, Event, Group, Kind, On};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
struct Io {
    start: u64,
    end: u64,
}

/// What a window shows of I/O: union, integral, ends, sum of latencies, in-flight at its end. The union
/// asks for each of its pieces whether any I/O covers it.
fn naive(ios: &[Io], from: u64, to: u64) -> (u64, u64, u64, u64, u64) {
    let clip = |t: u64| t.clamp(from, to);
    let mut cuts: Vec<u64> = ios
        .iter()
        .flat_map(|io| [clip(io.start), clip(io.end)])
        .collect();
    cuts.sort_unstable();
    let covered = |w: &&[u64]| ios.iter().any(|io| io.start <= w[0] && w[1] <= io.end);
    let union = cuts.windows(2).filter(covered).map(|w| w[1] - w[0]).sum();
    let integral = ios.iter().map(|io| clip(io.end) - clip(io.start)).sum();
    let ended = ios.iter().filter(|io| (from..=to).contains(&io.end));
    let nsecs = ended.clone().map(|io| io.end - io.start).sum();
    let in_flight = ios
        .iter()
        .filter(|io| io.start <= to && io.end > to)
        .count();
    (
        union,
        integral,
        ended.count() as u64,
        nsecs,
        in_flight as u64,
    )
}

fn in_flight_at(ios: &[Io], time: u64) -> u64 {
    ios.iter()
        .filter(|io| io.start < time && io.end >= time)
        .count() as u64
}

/// Gives the oracle the events from `since` on; each I/O has a sector of its own.
fn truth(
    ios: &[Io],
    since: u64,
    (from, to): (impl Into<Edge>, impl Into<Edge>),
    skew: u64,
    counted: (u64, u64),
) -> Truth {
    let event = |time, kind, io: usize| Event {
        time,
        kind,
        rwbs: rwbs::parse(b"R").unwrap(),
        sector: io as u64 * 8,
        sectors: 8,
        on: On::default(),
        failed: false,
    };
    let both = |(i, io): (usize, &Io)| {
        [
            event(io.start, Kind::Start, i),
            event(io.end, Kind::Done, i),
        ]
    };
    let mut events: Vec<Event> = ios.iter().enumerate().flat_map(both).collect();
    // Stable: an I/O that takes no time still starts before it ends.
    events.sort_by_key(|event| event.time);
    let mut oracle = Oracle::window(from, skew);
    oracle.close(to, counted);
    for event in events.iter().filter(|event| event.time >= since) {
        oracle.event(event);
    }
    oracle.finish()
}

/// What a module reads of I/O at `time`, if it comes to the ends a while after that, and to the
/// starts a while after the ends: how many have ended, how many are in flight, and the integral.
fn read(ios: &[Io], time: u64, (to_ends, to_starts): (u64, u64)) -> (u64, u64, i64) {
    let ends = ios.iter().map(|io| io.end);
    let ends: Vec<u64> = ends.filter(|&end| end <= time + to_ends).collect();
    let starts = ios.iter().map(|io| io.start);
    let starts: Vec<u64> = starts
        .filter(|&start| start <= time + to_ends + to_starts)
        .collect();
    let sum = |times: &[u64]| times.iter().sum::<u64>() as i64;
    let open = (starts.len() - ends.len()) as i64;
    let queue = sum(&ends) - sum(&starts) + open * time as i64;
    (ends.len() as u64, open as u64, queue)
}

fn ios() -> impl Strategy<Value = Vec<Io>> {
    let io = (0u64..2000, 0u64..150).prop_map(|(start, len)| Io {
        start,
        end: start + len,
    });
    prop::collection::vec(io, 1..40)
}

fn window() -> impl Strategy<Value = (u64, u64)> {
    (0u64..1000, 1u64..1500).prop_map(|(from, len)| (from, from + len))
}

proptest! {
    #[test]
    fn a_sweep_equals_the_naive_model(ios in ios(), (from, to) in window()) {
        let (union, integral, ended, nsecs, in_flight) = naive(&ios, from, to);
        let counted = (in_flight_at(&ios, from), in_flight);
        let figures = *truth(&ios, 0, (from, to), 0, counted).figures();
        prop_assert_eq!(figures.io_ticks, union);
        prop_assert_eq!(figures.io_ticks_range, (union, union));
        prop_assert_eq!(figures.time_in_queue, integral);
        let read = figures.groups[Group::Read as usize];
        prop_assert_eq!((read.ios, read.nsecs), (ended, nsecs));
        prop_assert_eq!(figures.in_flight, in_flight);
    }

    #[test]
    fn io_from_before_the_trace_is_clipped_and_not_dropped(
        ios in ios(), (from, to) in window(), late in 0u64..200,
    ) {
        // The trace begins before the window, after some of the starts.
        let since = from.saturating_sub(late);
        let (union, integral, ended, _, in_flight) = naive(&ios, from, to);
        let counted = (in_flight_at(&ios, from), in_flight);
        let figures = *truth(&ios, since, (from, to), 0, counted).figures();
        prop_assume!(figures.edge_changes == 0);
        prop_assert_eq!(figures.io_ticks, union);
        prop_assert_eq!(figures.time_in_queue, integral);
        prop_assert_eq!(figures.groups[Group::Read as usize].ios, ended);
        prop_assert_eq!(figures.in_flight, in_flight);
        prop_assert_eq!(figures.surplus_ends, 0);
    }

    #[test]
    fn a_read_that_takes_a_while_is_within_the_allowed_ranges(
        ios in ios(), (from, to) in window(), whiles in prop::array::uniform4(0u64..60),
    ) {
        let [a, b, c, d] = whiles;
        // The first read is over when the second begins.
        let to = to.max(from + a + b);
        let edge = |time, took| Edge { time, begun: time, over: time + took };
        let (before, after) = (read(&ios, from, (a, b)), read(&ios, to, (c, d)));
        let edges = (edge(from, a + b), edge(to, c + d));
        let truth = truth(&ios, 0, edges, 0, (before.1, after.1));
        let figures = truth.figures();
        let ios = figures.groups[Group::Read as usize];
        prop_assert!(ios.ios.abs_diff(after.0 - before.0) <= ios.edge_ios);
        prop_assert!(figures.in_flight.abs_diff(after.1) <= figures.edge_changes);
        let queue = after.2 - before.2;
        let off = (figures.time_in_queue as i64).abs_diff(queue);
        prop_assert!(off <= figures.time_in_queue_slack, "{} {}", queue, figures.time_in_queue);
    }

    #[test]
    fn accounting_that_reads_the_clock_apart_is_within_the_allowed_ranges(
        ios in ios(), (from, to) in window(), skew in 0u64..30,
        offsets in prop::collection::vec((-1.0f64..=1.0, -1.0f64..=1.0), 40),
    ) {
        let shift = |t: u64, by: f64| t.saturating_add_signed((by * skew as f64) as i64);
        let shifted: Vec<Io> = ios.iter().zip(&offsets).map(|(io, &(a, b))| {
            let start = shift(io.start, a);
            Io { start, end: shift(io.end, b).max(start) }
        }).collect();
        let (union, integral, ended, nsecs, in_flight) = naive(&shifted, from, to);
        let counted = (in_flight_at(&shifted, from), in_flight);
        let truth = truth(&ios, 0, (from, to), skew, counted);
        let figures = truth.figures();
        let (low, high) = figures.io_ticks_range;
        prop_assert!((low..=high).contains(&union), "{} not in {}..={}", union, low, high);
        prop_assert!(figures.time_in_queue.abs_diff(integral) <= figures.time_in_queue_slack);
        prop_assert!(figures.in_flight.abs_diff(in_flight) <= figures.edge_changes);
        let read = figures.groups[Group::Read as usize];
        prop_assert!(read.ios.abs_diff(ended) <= read.edge_ios);
        let slack = 2 * skew * (read.ios + read.edge_ios) + read.edge_nsecs;
        prop_assert!(read.nsecs.abs_diff(nsecs) <= slack);
    }
}
