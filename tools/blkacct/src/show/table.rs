// SPDX-License-Identifier: GPL-2.0
//! Figures as text, and columns of them.

use std::io::{self, Write};

use crate::terminal::line;

/// Writes what there is, or a dash.
pub fn dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

/// Writes `value` with so many of its digits behind the point.
pub fn fraction(value: i128, digits: usize) -> String {
    let scale = 10u128.pow(digits as u32);
    let (whole, rest) = (value.unsigned_abs() / scale, value.unsigned_abs() % scale);
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{whole}.{rest:0digits$}")
}

/// Writes rows as columns: names to the left, figures to the right.
///
/// # Errors
///
/// Those of the output.
pub fn align(out: &mut impl Write, heads: &[&str], rows: Vec<Vec<String>>) -> io::Result<()> {
    let mut lines = vec![heads.iter().map(|head| line(head)).collect()];
    lines.extend(
        rows.into_iter()
            .map(|row| row.iter().map(|cell| line(cell)).collect::<Vec<_>>()),
    );
    let width = |column: usize| {
        lines
            .iter()
            .filter_map(|line| line.get(column))
            .map(|cell| cell.chars().count())
            .max()
    };
    let widths: Vec<usize> = (0..heads.len()).map_while(width).collect();
    for cells in &lines {
        let mut text = String::new();
        for (column, (cell, &width)) in cells.iter().zip(&widths).enumerate() {
            text += &match column {
                0 => format!("{cell:width$}"),
                _ => format!("  {cell:>width$}"),
            };
        }
        writeln!(out, "{}", text.trim_end())?;
    }
    Ok(())
}

/// Writes `part * scale / whole` with so many digits behind the point; none of nothing.
pub fn ratio(part: u64, whole: u64, scale: u64, digits: usize) -> Option<String> {
    let wanted = u128::from(part) * u128::from(scale) * 10u128.pow(digits as u32);
    let value = wanted.checked_div(u128::from(whole))?;
    Some(fraction(i128::try_from(value).ok()?, digits))
}

/// Writes a time in ns with three digits, rounded, and the unit that suits it.
pub fn duration(ns: u64) -> String {
    let (unit, name): (i128, _) = match ns {
        0..1_000 => return format!("{ns}ns"),
        1_000..1_000_000 => (1_000, "us"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    let ns = i128::from(ns);
    let digits = match ns / unit {
        0..10 => 2,
        10..100 => 1,
        _ => 0,
    };
    let scaled = ns * 10i128.pow(digits) + unit / 2;
    match digits {
        0 => format!("{}{name}", scaled / unit),
        _ => format!("{}{name}", fraction(scaled / unit, digits as usize)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_their_digits() {
        assert_eq!(fraction(1_234_567, 6), "1.234567");
        assert_eq!(fraction(-7, 6), "-0.000007");
        assert_eq!(fraction(0, 9), "0.000000000");
    }

    #[test]
    fn a_cell_is_one_line_and_its_signs_are_counted() {
        let mut out = Vec::new();
        let rows = [["ü\n", "1"], ["sda", "10"]].map(|row| row.map(str::to_owned).to_vec());
        align(&mut out, &["Device", "n"], rows.to_vec()).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "Device    n\nü\\u000a   1\nsda      10\n");
    }

    #[test]
    fn ratios_and_times() {
        assert_eq!(ratio(1, 3, 100, 2).as_deref(), Some("33.33"));
        assert_eq!(ratio(1, 0, 100, 2), None);
        for (ns, text) in [
            (0, "0ns"),
            (999, "999ns"),
            (1_000, "1.00us"),
            (12_090_000, "12.1ms"),
            (123_456_789, "123ms"),
            (275_000_000_000, "275s"),
        ] {
            assert_eq!(duration(ns), text);
        }
    }
}
