// SPDX-License-Identifier: GPL-2.0
//! Tries many histories, and keeps the smallest of each kind of fault.

use std::collections::BTreeMap;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::plan::{plans, Flavour, Plan};
use crate::print::Format;
use crate::verdict::{Checker, Fault, Outcome};

/// How often a history that fails is made smaller.
const SHRINKS: usize = 400;

/// A kind of fault.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Histories that have it.
    pub count: u64,
    /// The seed of the first.
    pub seed: u64,
    /// That one, made small.
    pub smallest: Fault,
}

/// What came out.
#[derive(Default)]
pub struct Survey {
    /// Histories.
    pub histories: u64,
    /// Traces by flavour, format and outcome.
    pub outcomes: BTreeMap<String, [u64; 3]>,
    /// Traces of everything from the beginning on, by outcome.
    pub whole: [u64; 3],
    /// Doubts.
    pub doubts: BTreeMap<String, u64>,
    /// Faults by kind.
    pub faults: BTreeMap<String, Kind>,
}

impl Survey {
    /// Tries the history of this seed. The first of each kind of fault is made small, unless it is
    /// `known`.
    ///
    /// # Errors
    ///
    /// Those of the machine.
    pub fn try_one(
        &mut self,
        checker: &Checker,
        flavour: Flavour,
        seed: u64,
        known: &dyn Fn(&str) -> bool,
    ) -> anyhow::Result<()> {
        let plan = tree(flavour, seed)?.current();
        self.histories += 1;
        let faults = checker.judge(&plan, &Format::ALL, &mut |format, whole, outcome, why| {
            let part = if whole { "whole" } else { "in part" };
            let key = format!("{flavour:?} {format:?}, {part}");
            self.outcomes.entry(key).or_default()[outcome as usize] += 1;
            if whole {
                self.whole[outcome as usize] += 1;
            }
            if outcome == Outcome::Doubt {
                *self.doubts.entry(why.to_owned()).or_default() += 1;
            }
        })?;
        for fault in faults {
            if let Some(known) = self.faults.get_mut(&fault.kind) {
                known.count += 1;
                continue;
            }
            let kind = fault.kind.clone();
            let smallest = match known(&kind) {
                true => fault,
                false => shrink(checker, tree(flavour, seed)?, fault)?,
            };
            let count = 1;
            self.faults.insert(
                kind,
                Kind {
                    count,
                    seed,
                    smallest,
                },
            );
        }
        Ok(())
    }
}

/// Draws the plan of a seed, with what it can be shrunk to.
fn tree(flavour: Flavour, seed: u64) -> anyhow::Result<impl ValueTree<Value = Plan>> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8] = flavour as u8;
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let tree = plans(flavour).new_tree(&mut runner);
    tree.map_err(|reason| anyhow::anyhow!("{reason}"))
}

fn shrink(
    checker: &Checker,
    mut tree: impl ValueTree<Value = Plan>,
    fault: Fault,
) -> anyhow::Result<Fault> {
    let mut smallest = fault;
    let mut simpler = tree.simplify();
    for _ in 0..SHRINKS {
        if !simpler {
            break;
        }
        let faults = checker.judge(&tree.current(), &[smallest.format], &mut |_, _, _, _| {})?;
        let same = faults.into_iter().find(|fault| fault.kind == smallest.kind);
        simpler = match same {
            Some(fault) => {
                smallest = fault;
                tree.simplify()
            }
            None => tree.complicate(),
        };
    }
    Ok(smallest)
}
