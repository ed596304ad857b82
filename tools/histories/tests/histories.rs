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
const COUNT: u64 = 60;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}: not a number: {text}")),
    )
}

fn try_all(flavour: Flavour) -> Survey {
    let checker = Checker::new(Path::new(env!("CARGO_BIN_EXE_checker"))).unwrap();
    let first = number("BLKACCT_SEED").unwrap_or(SEED);
    let many = number("HISTORIES");
    let count = many.unwrap_or(COUNT);
    let mut survey = Survey::default();
    for n in 0..count {
        survey.try_one(&checker, flavour, first + n).unwrap();
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
    for kind in survey.faults.values() {
        println!(
            "{} times, first with BLKACCT_SEED={}:",
            kind.count, kind.seed
        );
        println!("{}\n", kind.smallest.text);
    }
    assert!(survey.faults.is_empty(), "see above");
    survey
}

#[test]
#[ignore = "run by make test-histories"]
fn what_cannot_be_mistaken_is_exact() {
    try_all(Flavour::Apart);
}

#[test]
#[ignore = "run by make test-histories"]
fn what_merges_apart_is_never_wrong() {
    try_all(Flavour::Islands);
}

#[test]
#[ignore = "run by make test-histories"]
fn what_lies_close_together_is_never_wrong() {
    try_all(Flavour::Wild);
}
