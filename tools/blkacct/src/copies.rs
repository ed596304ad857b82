// SPDX-License-Identifier: GPL-2.0
//! Two copies of `stat`, as they are given with a trace.
//!
//! A read of the file itself is what the module says. A copy went through hands: it may be cut off
//! or joined of two, and the other one may be of another boot or of another disk that had this name.
//! A copy has no mark of either, but within one life of a disk no counter steps back, and what is
//! counted stays the same. Two copies that break this are unfit evidence, and say nothing about the
//! module.

use std::path::Path;

use acct::wire::Stat;
use anyhow::{bail, Context};

use crate::invariants::{self, Violation};
use crate::snapshot;
use crate::terminal::quoted;

/// Numbers in the shortest line that two copies can make if no blank is left between them.
const JOINED: usize = 2 * 40 - 1;

/// Reads the copies from the beginning and the end of a window.
///
/// # Errors
///
/// A file that is not one whole copy; two that cannot be of one life of a disk.
pub fn read(before: &Path, after: &Path) -> anyhow::Result<(Stat, Stat)> {
    let stats = (copy(before)?, copy(after)?);
    of_one_life(&stats.0, &stats.1).with_context(|| {
        let (before, after) = (before.display(), after.display());
        format!("no verdict: {before} and {after}")
    })?;
    Ok(stats)
}

fn copy(path: &Path) -> anyhow::Result<Stat> {
    let stat = snapshot::stat(path)?;
    whole(&snapshot::text(path)?, &stat)
        .with_context(|| format!("{}: not one whole copy of blkacct/stat", path.display()))?;
    Ok(stat)
}

/// Succeeds if `text`, which begins with `stat`, is one line as the module writes it.
fn whole(text: &str, stat: &Stat) -> anyhow::Result<()> {
    let Some(line) = text.strip_suffix('\n') else {
        bail!("its line has no end: it is cut off, copy it again");
    };
    let lines = line.lines().filter(|line| !line.trim().is_empty()).count();
    if lines > 1 {
        bail!("it has {lines} lines: give each copy in a file of its own");
    }
    let words = line.split_ascii_whitespace();
    let numbers = words.clone().count();
    if numbers >= JOINED {
        bail!("it has {numbers} numbers, of two copies: give each in a file of its own");
    }
    let written = stat.to_string();
    let mut written = written.split_ascii_whitespace();
    for (place, word) in words.enumerate() {
        // What a later version appends are numbers, too.
        let is_number = word
            .parse::<u64>()
            .is_ok_and(|number| number.to_string() == word);
        if !is_number || written.next().is_some_and(|known| known != word) {
            bail!("its word {} is `{}`, not a number", place + 1, quoted(word));
        }
    }
    Ok(())
}

fn of_one_life(before: &Stat, after: &Stat) -> anyhow::Result<()> {
    if after.time_ns <= before.time_ns {
        bail!("the second is not later than the first; exchange them, or take both in one boot");
    }
    let counts = |stat: &Stat| (stat.errors.is_some(), stat.device.is_some());
    if counts(before) != counts(after) {
        bail!("only one of them has the device side: not of one boot or one life of the disk");
    }
    let violations = invariants::check(before, after).into_iter();
    let steps: Vec<String> = violations
        .filter(|violation| matches!(violation, Violation::StepsBack { .. }))
        .map(|violation| violation.to_string())
        .collect();
    match steps.as_slice() {
        [] => Ok(()),
        [step] => bail!("not of one boot or one life of the disk: {step}"),
        [step, others @ ..] => bail!(
            "not of one boot or one life of the disk: {step}, and so do {} others",
            others.len()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a line of `count` numbers, each of which is at least `from`.
    fn numbers(count: usize, from: usize) -> String {
        let numbers: Vec<String> = (from..from + count).map(|n| n.to_string()).collect();
        numbers.join(" ")
    }

    fn refusal(text: &str) -> Option<String> {
        whole(text, &text.parse().unwrap())
            .err()
            .map(|error| error.to_string())
    }

    #[test]
    fn only_one_whole_line_of_numbers_is_a_copy() {
        for count in [40, 41, 54, 60] {
            assert_eq!(refusal(&format!("{}\n", numbers(count, 1))), None);
        }
        let copy = numbers(40, 1);
        for (text, why) in [
            (copy.clone(), "cut off"),
            (format!("{copy}\n{copy}\n"), "2 lines"),
            (format!("{copy} {copy}\n"), "80 numbers"),
            (format!("{copy}{copy}\n"), "79 numbers"),
            (format!("{} x\n", numbers(54, 1)), "its word 55 is `x`"),
            (format!("0{copy}\n"), "its word 1 is `01`"),
            (format!("{} \0\n", numbers(54, 1)), "its word 55 is `\0`"),
        ] {
            let told = refusal(&text).unwrap_or_default();
            assert!(told.contains(why), "{why}: {told}");
        }
    }

    #[test]
    fn two_lives_are_told_apart() {
        let read = |text: String| text.parse::<Stat>().unwrap();
        let told = |before: &Stat, after: &Stat| {
            of_one_life(before, after).map_err(|error| error.to_string())
        };
        let (before, after) = (read(numbers(54, 100)), read(numbers(54, 200)));
        assert_eq!(told(&before, &after), Ok(()));
        assert!(told(&after, &before).unwrap_err().contains("exchange them"));
        let without = Stat {
            device: None,
            ..after
        };
        assert!(told(&before, &without).unwrap_err().contains("device side"));
        let mut less = after;
        less.groups[0].ios = 1;
        let one = "not of one boot or one life of the disk: read ios steps back from 104 to 1";
        assert_eq!(told(&before, &less).unwrap_err(), one);
        less.groups[1].nsecs = 1;
        assert_eq!(
            told(&before, &less).unwrap_err(),
            format!("{one}, and so do 1 others")
        );
        // What a wrong module may say is no matter of the copies.
        let busy = Stat {
            io_ticks: 9000,
            ..after
        };
        assert_eq!(told(&before, &busy), Ok(()));
    }
}
