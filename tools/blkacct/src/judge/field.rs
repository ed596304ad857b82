// SPDX-License-Identifier: GPL-2.0
//! One figure, from all who report it.

use serde::Serialize;

use crate::source::Group;

/// What a field counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Events.
    Count,
}

/// One field, from all who report it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Field {
    /// Its name, with the group in front if it has one.
    pub name: String,
    /// What it counts.
    pub unit: Unit,
    /// What the events say; none if they leave it open, or do not show it.
    pub truth: Option<u64>,
    /// The least and the most that the events allow; none if a trace does not show it.
    pub range: Option<(u64, u64)>,
    /// What blkacct says.
    pub iostats2: Option<u64>,
    /// What the kernel says, in its own resolution.
    pub iostats1: Option<u64>,
    /// What blkacct may say, least and most; none if it is not judged.
    pub allowed: Option<(u64, u64)>,
    /// Whether blkacct is right, if that was asked.
    pub ok: Option<bool>,
    /// The group it is of; fields of a group that had nothing are left out.
    #[serde(skip)]
    pub group: Option<Group>,
}

impl Field {
    /// A field of which the events say this, give or take `open`.
    pub fn new(name: &str, unit: Unit, truth: u64, open: u64) -> Self {
        Field {
            name: name.to_owned(),
            unit,
            truth: (open == 0).then_some(truth),
            range: around(truth, open),
            iostats2: None,
            iostats1: None,
            allowed: None,
            ok: None,
            group: None,
        }
    }

    /// Blkacct says this.
    pub fn iostats2(self, iostats2: Option<u64>) -> Self {
        Field { iostats2, ..self }
    }

    /// The kernel says this.
    pub fn iostats1(self, iostats1: Option<u64>) -> Self {
        Field { iostats1, ..self }
    }

    /// Blkacct may say this.
    pub fn allowed(self, allowed: Option<(u64, u64)>) -> Self {
        Field { allowed, ..self }
    }

    /// Fills in the verdict.
    pub fn judge(&mut self) {
        self.ok = self
            .allowed
            .zip(self.iostats2)
            .map(|((low, high), found)| (low..=high).contains(&found));
    }

    /// Returns the distance of what somebody says from what the events allow.
    pub fn error(&self, found: Option<u64>) -> Option<i128> {
        let (found, (low, high)) = (found?, self.range?);
        Some(i128::from(found) - i128::from(found.clamp(low, high)))
    }

    /// Takes in the same field by another way to read the events.
    pub fn join(&mut self, other: &Field) {
        let both = |a: Option<(u64, u64)>, b: Option<(u64, u64)>| {
            let ((a_low, a_high), (b_low, b_high)) = a.zip(b)?;
            Some((a_low.min(b_low), a_high.max(b_high)))
        };
        self.range = both(self.range, other.range);
        self.allowed = both(self.allowed, other.allowed);
        self.truth = self.range.filter(|(low, high)| low == high).map(|r| r.0);
    }

    /// Returns whether it is of what the driver has.
    pub fn of_driver(&self) -> bool {
        self.name.contains("device_")
    }

    /// Returns whether nobody says anything but zero.
    pub fn is_nothing(&self) -> bool {
        self.range.is_none_or(|range| range == (0, 0)) && self.iostats2.unwrap_or_default() == 0
    }
}

/// Returns what lies no further from a value than `slack`.
pub fn around(value: u64, slack: u64) -> Option<(u64, u64)> {
    Some((value.saturating_sub(slack), value.saturating_add(slack)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_readings_are_a_range() {
        let mut field = Field::new("io_ticks", Unit::Ns, 10, 0).allowed(Some((8, 12)));
        assert_eq!((field.truth, field.range), (Some(10), Some((10, 10))));
        field.join(&Field::new("io_ticks", Unit::Ns, 15, 0).allowed(Some((13, 17))));
        assert_eq!((field.truth, field.range), (None, Some((10, 15))));
        assert_eq!(field.allowed, Some((8, 17)));
        assert_eq!(field.error(Some(12)), Some(0));
        assert_eq!(field.error(Some(17)), Some(2));
        assert_eq!(field.error(Some(7)), Some(-3));
        field.iostats2 = Some(17);
        field.judge();
        assert_eq!(field.ok, Some(true));
    }
}
