// SPDX-License-Identifier: GPL-2.0
//! Prints a verdict: a table with times in ms, or JSON with times in ns.

use std::io::{self, Write};

use serde::Serialize;

use crate::judge::{Field, Unit};
use crate::oracle::models::Said;
use crate::show::table::{align, dash, fraction};
use crate::terminal;

/// A run and its verdict.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The disk as it was named.
    pub disk: String,
    /// The beginning of the window, in ns of the trace's clock.
    pub from_ns: u64,
    /// The end of the window.
    pub to_ns: u64,
    /// The skew allowed for one event, in ns.
    pub skew_ns: u64,
    /// Events of the disk in the trace.
    pub events: u64,
    /// Whether all that was judged is right, and could be judged.
    pub pass: bool,
    /// Why the evidence cannot carry a verdict.
    pub doubts: Vec<String>,
    /// What must hold between two reads of `stat` and does not.
    pub violations: Vec<String>,
    /// What else a reader should know.
    pub notes: Vec<String>,
    /// The figures.
    pub fields: Vec<Field>,
    /// What the algorithms of older kernels would have had, where it was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<Said>,
}

impl Report {
    /// Returns whether a field that was judged is wrong, or two reads contradict each other.
    pub fn is_wrong(&self) -> bool {
        !self.violations.is_empty() || self.fields.iter().any(|field| field.ok == Some(false))
    }

    /// Writes JSON.
    ///
    /// # Errors
    ///
    /// Those of the output.
    pub fn json(&self, out: &mut impl Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        writeln!(out)
    }

    /// Writes the table.
    ///
    /// # Errors
    ///
    /// Those of the output.
    pub fn table(&self, out: &mut impl Write) -> io::Result<()> {
        let window = self.to_ns.saturating_sub(self.from_ns);
        writeln!(
            out,
            "{}: {} s, {} events, times in ms",
            terminal::line(&self.disk),
            fraction(i128::from(window), 9),
            self.events
        )?;
        let judged = self.fields.iter().any(|field| field.iostats2.is_some());
        let rows = self.fields.iter().map(|field| row(field, judged));
        let derived = self.derived(window, judged);
        let heads: &[&str] = match judged {
            true => &HEADS,
            false => &HEADS[..2],
        };
        align(out, heads, rows.chain(derived).collect())?;
        if !self.models.is_empty() {
            let rows = self.models.iter().map(|said| {
                let util = percent(said.io_ticks, window);
                vec![
                    said.kernels.to_owned(),
                    fraction(i128::from(said.io_ticks), 6),
                    dash(util),
                ]
            });
            align(out, &["io_ticks by kernel", "ms", "%util"], rows.collect())?;
        }
        for violation in &self.violations {
            writeln!(out, "FAIL: {violation}")?;
        }
        for note in &self.notes {
            writeln!(out, "note: {}", terminal::line(note))?;
        }
        for doubt in &self.doubts {
            writeln!(out, "UNFIT: {}", terminal::line(doubt))?;
        }
        if judged {
            let verdict = match self.pass {
                true => "ok",
                false if self.doubts.is_empty() => "FAIL",
                false => "no verdict",
            };
            writeln!(out, "{verdict}")?;
        }
        Ok(())
    }

    /// Returns the rows that readers know from iostat.
    fn derived(&self, window: u64, judged: bool) -> Vec<Vec<String>> {
        let ratio = |name: &str, label: &str, scale: u128| {
            let field = self.fields.iter().find(|field| field.name == name)?;
            let of = |value: Option<u64>| {
                let value = value.filter(|_| window > 0)?;
                let micro = u128::from(value) * scale * 1_000_000 / u128::from(window);
                Some(fraction(i128::try_from(micro).ok()?, 6))
            };
            let truth = field.range.and_then(|(low, high)| {
                let (low, high) = (of(Some(low))?, of(Some(high))?);
                Some(stretch(low, high))
            });
            let mut row = vec![label.to_owned(), dash(truth)];
            if judged {
                row.extend([dash(of(field.iostats2)), dash(of(field.iostats1))]);
            }
            Some(row)
        };
        let util = ratio("io_ticks", "%util", 100);
        let depth = ratio("time_in_queue", "mean depth", 1);
        util.into_iter().chain(depth).collect()
    }
}

/// Returns 100 times `part` by `whole`, to the hundredth.
fn percent(part: u64, whole: u64) -> Option<String> {
    let hundredths = u128::from(part) * 10_000 / u128::from(whole.max(1));
    Some(fraction(i128::try_from(hundredths).ok()?, 2))
}

/// Writes a range, or the number that it is.
fn stretch(low: String, high: String) -> String {
    match low == high {
        true => low,
        false => format!("{low}..{high}"),
    }
}

const HEADS: [&str; 8] = [
    "field",
    "truth",
    "iostats=2",
    "iostats=1",
    "error of 2",
    "error of 1",
    "allowed",
    "",
];

fn row(field: &Field, judged: bool) -> Vec<String> {
    let show = |value: i128| match field.unit {
        Unit::Ns => fraction(value, 6),
        Unit::Count => value.to_string(),
    };
    let number = |value: u64| show(i128::from(value));
    let value = |value: Option<u64>| dash(value.map(number));
    let truth = field
        .range
        .map(|(low, high)| stretch(number(low), number(high)));
    let mut row = vec![field.name.clone(), dash(truth)];
    if judged {
        let error = |found: Option<u64>| {
            let off = field.error(found)?;
            Some(format!("{}{}", if off > 0 { "+" } else { "" }, show(off)))
        };
        let judged = field.allowed.filter(|_| field.ok.is_some());
        let allowed = judged.zip(field.range).map(|((low, high), (least, most))| {
            let (less, more) = (least.saturating_sub(low), high.saturating_sub(most));
            let less = show(i128::from(less));
            match high {
                u64::MAX => format!("-{less} or more"),
                _ => format!("-{less} +{}", show(i128::from(more))),
            }
        });
        row.extend([
            value(field.iostats2),
            value(field.iostats1),
            dash(error(field.iostats2)),
            dash(error(field.iostats1)),
            dash(allowed),
            match field.ok {
                Some(true) => "ok",
                Some(false) => "FAIL",
                None => "",
            }
            .to_owned(),
        ]);
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report {
            disk: "sda".to_owned(),
            from_ns: 0,
            to_ns: 2_000_000,
            skew_ns: 2000,
            events: 2,
            pass: true,
            doubts: Vec::new(),
            violations: Vec::new(),
            notes: Vec::new(),
            fields: vec![Field {
                name: "io_ticks".to_owned(),
                unit: Unit::Ns,
                truth: Some(1_000_000),
                range: Some((1_000_000, 1_000_000)),
                group: None,
                iostats2: Some(1_000_005),
                iostats1: Some(4_000_000),
                allowed: Some((996_000, 1_004_000)),
                ok: Some(true),
            }],
            models: Vec::new(),
        }
    }

    #[test]
    fn the_table_has_error_and_allowance() {
        let mut out = Vec::new();
        report().table(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let want = "\
sda: 0.002000000 s, 2 events, times in ms
field         truth  iostats=2   iostats=1  error of 2  error of 1              allowed
io_ticks   1.000000   1.000005    4.000000   +0.000005   +3.000000  -0.004000 +0.004000  ok
%util     50.000000  50.000250  200.000000
ok
";
        assert_eq!(text, want);
    }

    #[test]
    fn models_have_a_table_of_their_own() {
        let mut report = report();
        report.models.push(Said {
            kernels: "5.0 to 5.6",
            io_ticks: 4_000_000,
        });
        let mut out = Vec::new();
        report.table(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let want = "\
io_ticks by kernel        ms   %util
5.0 to 5.6          4.000000  200.00
ok
";
        assert!(text.ends_with(want), "{text}");
    }

    #[test]
    fn one_wrong_field_is_enough() {
        let mut report = report();
        assert!(!report.is_wrong());
        report.fields[0].ok = Some(false);
        assert!(report.is_wrong());
        report.fields[0].ok = Some(true);
        report.violations.push("time_ns steps back".to_owned());
        assert!(report.is_wrong());
    }
}
