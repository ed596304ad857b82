// SPDX-License-Identifier: GPL-2.0
//! What the checker said of one trace.

use std::fmt::Write;

use serde_json::Value;

/// What one run said.
pub struct Said {
    /// Its exit status.
    pub status: i32,
    /// What it printed.
    pub json: Value,
    /// What it complained of.
    pub errors: String,
}

impl Said {
    /// Whether it gives a reason for no verdict.
    pub fn has_doubt(&self) -> bool {
        self.json["doubts"]
            .as_array()
            .is_some_and(|doubts| !doubts.is_empty())
    }

    /// Returns the doubts, without their figures.
    pub fn doubts(&self) -> String {
        let doubts = self.json["doubts"].as_array().into_iter().flatten();
        let texts: Vec<&str> = doubts.filter_map(Value::as_str).collect();
        match texts.is_empty() {
            true => plain(&self.errors),
            false => plain(&texts.join("; ")),
        }
    }

    /// Returns what was said of each field.
    pub fn summary(&self) -> String {
        let mut text = format!(
            "from {} to {} doubts {} notes {}\n",
            self.json["from_ns"], self.json["to_ns"], self.json["doubts"], self.json["notes"]
        );
        for field in self.json["fields"].as_array().into_iter().flatten() {
            let name = field["name"].as_str().unwrap_or_default();
            let _ = write!(text, "{name}: {} {}", field["truth"], field["range"]);
            if field["iostats2"] != Value::Null {
                let (found, allowed) = (&field["iostats2"], &field["allowed"]);
                let _ = write!(
                    text,
                    ", reported {found}, allowed {allowed}: {}",
                    field["ok"]
                );
            }
            text.push('\n');
        }
        text
    }

    /// Returns the names of the fields that are told to be wrong.
    pub fn wrong(&self) -> String {
        let fields = self.json["fields"].as_array().into_iter().flatten();
        let wrong = fields.filter(|field| field["ok"] == Value::Bool(false));
        let names: Vec<&str> = wrong.filter_map(|field| field["name"].as_str()).collect();
        let violations = self.json["violations"].as_array().into_iter().flatten();
        let violations: Vec<&str> = violations.filter_map(Value::as_str).collect();
        match names.is_empty() && violations.is_empty() {
            true => self.doubts(),
            false => format!("{} {}", names.join(", "), plain(&violations.join("; "))),
        }
    }
}

/// Takes the figures out of a text.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for c in text.trim().chars() {
        match c.is_ascii_digit() {
            true if plain.ends_with('N') => {}
            true => plain.push('N'),
            false => plain.push(c),
        }
    }
    plain
}
