// SPDX-License-Identifier: GPL-2.0

//! The text of the sysfs files: what is written is read as it was, and no text makes the reader panic.

#![cfg(not(loom))]
#![allow(missing_docs)]

use std::fmt::Display;
use std::str::FromStr;

use acct::hist::{Counts, Latency, Line, BUCKETS, DEVICE, TOTAL};
use acct::wire::{Anomalies, Error, InFlight, Stat};
use proptest::array::uniform5;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), Just(0), Just(u64::MAX)]
}

/// The text of a `stat`: without an end, with the errors, and with the device side behind them.
fn stat() -> impl Strategy<Value = String> {
    let fields = prop_oneof![Just(40), Just(41), Just(54)];
    fields
        .prop_flat_map(|fields| vec(number(), fields))
        .prop_map(|numbers| {
            let words: Vec<String> = numbers.iter().map(u64::to_string).collect();
            words.join(" ") + "\n"
        })
}

fn counts() -> impl Strategy<Value = Counts> {
    vec(number(), BUCKETS).prop_map(|counts| Counts(counts.try_into().unwrap()))
}

/// Reads a text; what can be read, is read again as it was after it is written.
fn goes_round<T>(text: &str)
where
    T: FromStr<Err = Error> + Display + PartialEq,
{
    if let Ok(value) = text.parse::<T>() {
        assert!(value.to_string().parse() == Ok(value), "{text}");
    }
}

fn read_all(text: &str) {
    goes_round::<Stat>(text);
    goes_round::<InFlight>(text);
    goes_round::<Anomalies>(text);
    let _ = text.parse::<Latency>();
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn stat_goes_round(text in stat()) {
        let stat: Stat = text.parse().unwrap();
        prop_assert_eq!(stat.to_string(), text);
    }

    #[test]
    fn the_small_files_go_round(numbers in uniform5(number())) {
        let [clamped, orphans, lost_starts, late_starts, bound_ns] = numbers;
        let anomalies = Anomalies { clamped, orphans, lost_starts, late_starts, bound_ns };
        prop_assert_eq!(anomalies.to_string().parse(), Ok(anomalies));
        let in_flight = InFlight { reads: clamped, writes: orphans };
        prop_assert_eq!(in_flight.to_string().parse(), Ok(in_flight));
    }

    #[test]
    fn histograms_go_round(total in counts(), device in proptest::option::of(counts())) {
        let mut text = Line(TOTAL, &total).to_string();
        if let Some(device) = &device {
            text += &Line(DEVICE, device).to_string();
        }
        prop_assert_eq!(text.parse(), Ok(Latency { total, device }));
    }

    #[test]
    fn any_text_can_be_read_or_not(bytes in vec(any::<u8>(), 0..400)) {
        read_all(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn a_text_with_a_fault_can_be_read_or_not(text in stat(), at in any::<Index>(), byte in any::<u8>()) {
        let mut text = text.into_bytes();
        let at = at.index(text.len());
        text[at] = byte;
        read_all(&String::from_utf8_lossy(&text));
    }
}
