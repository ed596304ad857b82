// SPDX-License-Identifier: GPL-2.0
//! The checker against random histories: some hundred, or as many as `HISTORIES` says.
//! `BLKACCT_SEED` is the seed of the first, each next one has the next number.

use std::path::Path;

use histories::plan::Flavour;
use histories::survey::Survey;
use histories::verdict::Checker;

/// Where the seeds begin without `BLKACCT_SEED`.
const SEED: u64 = 1;
/// How many of each flavour without `HISTORIES`.
const COUNT: u64 = 40;

/// Kinds of faults, by a part of their names, that the checker still has. Each line goes when what
/// it says is mended.
const KNOWN: [(&str, &str); 8] = [
    (
        ", begun before",
        "what was in flight when the trace began is guessed, not a range",
    ),
    (
        "device_",
        "which of two like requests was requeued, which flush ended first, is guessed",
    ),
    ("requeues", "the same"),
    ("Blkparse: errors", "passthrough is taken for an issue"),
    (
        "Blkparse: time_in_queue",
        "zone appends that end elsewhere have no owner",
    ),
    (
        "Apart Ftrace: time_in_queue: a range",
        "write zeroes of old kernels as ranges",
    ),
    (
        "time_in_queue: the truth is less",
        "parts of a split flush sequence on old kernels",
    ),
    (
        " nsecs",
        "which of two like requests a bio or a request joined is guessed",
    ),
];

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}: not a number: {text}")),
    )
}

/// Tries the histories of a flavour; of the whole traces, so many percent must come out exact.
fn try_all(flavour: Flavour, floor: u64) {
    let checker = Checker::new(Path::new(env!("CARGO_BIN_EXE_checker"))).unwrap();
    let first = number("BLKACCT_SEED").unwrap_or(SEED);
    let many = number("HISTORIES");
    let count = many.unwrap_or(COUNT);
    let known = |kind: &str| KNOWN.iter().find(|(part, _)| kind.contains(part));
    let mut survey = Survey::default();
    for n in 0..count {
        let is_known = |kind: &str| known(kind).is_some();
        survey
            .try_one(&checker, flavour, first + n, &is_known)
            .unwrap();
        if many.is_some() && n % 500 == 499 {
            let kinds = survey.faults.len();
            eprintln!(
                "{flavour:?}: {} of {count} histories, {kinds} kinds of faults",
                n + 1
            );
        }
    }
    for (name, [exact, range, doubt]) in &survey.outcomes {
        println!("{name}: {exact} exact, {range} with ranges, {doubt} without a verdict");
    }
    for (doubt, count) in &survey.doubts {
        println!("{count} times: {doubt}");
    }
    let mut new = 0;
    for (name, kind) in &survey.faults {
        let (count, seed) = (kind.count, kind.seed);
        println!("{count} times, first with BLKACCT_SEED={seed}: {name}");
        match known(name) {
            Some((_, what)) => println!("known: {what}"),
            None => {
                new += 1;
                println!("{}\n", kind.smallest.text);
            }
        }
    }
    assert_eq!(new, 0, "kinds of faults that are not known, see above");
    let [exact, ranges, doubts] = survey.whole;
    let share = exact * 100 / (exact + ranges + doubts).max(1);
    assert!(
        share >= floor,
        "{share} % of whole traces are exact, {floor} % should be"
    );
}

#[test]
fn what_cannot_be_mistaken_is_exact() {
    // The rest ends before anything is done.
    try_all(Flavour::Apart, 90);
}

#[test]
fn what_merges_apart_is_never_wrong() {
    try_all(Flavour::Islands, 80);
}

#[test]
fn what_lies_close_together_is_never_wrong() {
    try_all(Flavour::Wild, 80);
}
