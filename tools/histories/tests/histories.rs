// SPDX-License-Identifier: GPL-2.0
//! The checker against random histories: some hundred, or as many as `HISTORIES` says.
//! `HISTORIES_KNOWN=1` shows traces of known faults, too. `BLKACCT_SEED` is the seed of the first, each next one has the next number.

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
const KNOWN: [(&str, &str); 5] = [
    (", begun before", "what was in flight when the trace began is guessed in rare cases"),
    ("Blkparse: errors", "a flush that fails is counted as an error of its own"),
    ("Blkparse: device_", "zone commands that are requeued, appends that end elsewhere"),
    ("Blkparse: in_flight", "appends that end elsewhere"),
    (
        "time_in_queue: the truth is less",
        "a sequence that fails in its pre-flush where block_rq_complete is not recorded; neighbours \
         of a sequence done in parts on old kernels; appends in blkparse",
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
    let shown = number("HISTORIES_KNOWN").is_some_and(|n| n > 0);
    let mut survey = Survey::default();
    for n in 0..count {
        let is_known = |kind: &str| !shown && known(kind).is_some();
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
            Some((_, what)) if !shown => println!("known: {what}"),
            named => {
                new += u32::from(named.is_none());
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
