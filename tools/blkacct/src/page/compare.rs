// SPDX-License-Identifier: GPL-2.0
//! Two runs side by side.

use super::quantity::Quantity;
use super::run::{Disk, Run};
use super::table::Table;

/// What is compared of each disk.
const WHAT: [(Quantity, &str); 10] = [
    (Quantity::Reads, "reads"),
    (Quantity::Writes, "writes"),
    (Quantity::ReadBytes, "read"),
    (Quantity::WriteBytes, "written"),
    (Quantity::Whole, "await"),
    (Quantity::Queue, "Q2D"),
    (Quantity::Driver, "D2C"),
    (Quantity::Util, "%util"),
    (Quantity::Depth, "depth"),
    (Quantity::Stalled, "stalled"),
];

/// Returns a row for each figure of each disk that is in both.
pub fn table(before: &Run, after: &Run) -> Table {
    let mut table = Table::new(&["Disk", "figure", "before", "after", "change"]);
    for (name, a, b) in both(before, after) {
        for (what, shown) in WHAT {
            let (Some(a), Some(b)) = (value(a, what), value(b, what)) else {
                continue;
            };
            table.rows.push(vec![
                name.to_owned(),
                shown.to_owned(),
                what.unit().text(a),
                what.unit().text(b),
                change(a, b),
            ]);
        }
    }
    table
}

/// Says of the busiest disk of both what changed.
pub fn verdict(before: &Run, after: &Run) -> String {
    let busy = |disk: &Disk| disk.whole().map_or(0, |sums| sums.busy_ns);
    let busiest = both(before, after).max_by_key(|(_, a, b)| busy(a).saturating_add(busy(b)));
    let Some((name, a, b)) = busiest else {
        return "The two have no disk of one name in common.".to_owned();
    };
    let told = [
        (Quantity::Whole, "mean latency"),
        (Quantity::Reads, "reads"),
        (Quantity::Writes, "writes"),
    ];
    let said: Vec<String> = told
        .into_iter()
        .filter_map(|(what, shown)| {
            let (a, b) = (value(a, what)?, value(b, what)?);
            (a > 0 || b > 0).then(|| {
                format!(
                    "{shown} {} to {} ({})",
                    what.unit().text(a),
                    what.unit().text(b),
                    change(a, b)
                )
            })
        })
        .collect();
    match &said[..] {
        [] => format!("{name} did nothing in either."),
        said => format!("{name}, before to after: {}.", said.join(", ")),
    }
}

fn both<'a>(
    before: &'a Run,
    after: &'a Run,
) -> impl Iterator<Item = (&'a str, &'a Disk, &'a Disk)> {
    let disks = before.disks.iter();
    disks.filter_map(|(name, a)| Some((name.as_str(), a, after.disks.get(name)?)))
}

fn value(disk: &Disk, what: Quantity) -> Option<u64> {
    what.of(&disk.whole()?)
}

/// Writes a change in percent, or as a factor.
fn change(a: u64, b: u64) -> String {
    if a == b {
        return "same".to_owned();
    }
    if a == 0 {
        return "-".to_owned();
    }
    let tenths = (i128::from(b) - i128::from(a)) * 1000 / i128::from(a);
    let sign = if b > a { "+" } else { "-" };
    let tenths = tenths.unsigned_abs();
    format!("{sign}{}.{} %", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::testing::history;

    #[test]
    fn changes_have_a_sign_and_a_base() {
        for (a, b, text) in [
            (100, 150, "+50.0 %"),
            (200, 100, "-50.0 %"),
            (0, 5, "-"),
            (7, 7, "same"),
            (1000, 999, "-0.1 %"),
        ] {
            assert_eq!(change(a, b), text);
        }
    }

    #[test]
    fn disks_of_one_name_are_compared() {
        let (a, b) = (history(2, 30, &[]), history(1, 60, &[]));
        let table = table(&a, &b);
        assert_eq!(table.rows.len(), WHAT.len());
        assert!(table.rows.iter().all(|row| row[0] == "sda"));
        assert!(verdict(&a, &b).starts_with("sda, before to after: mean latency"));
        assert!(verdict(&a, &Run::default()).contains("no disk"));
    }
}
