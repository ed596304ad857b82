// SPDX-License-Identifier: GPL-2.0
//! Figures with their unit, kept as exact fractions until they are printed.

use super::table::fraction;

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A plain number: a rate, a time in ms, a depth.
    Number,
    /// A number of things, which has no decimals.
    Count,
    /// KiB, which `-m` turns into MiB.
    Kib,
    /// Whole KiB or MiB.
    Total,
    /// KiB that stay KiB, as the mean size of a request.
    Size,
    /// Percent.
    Percent,
}

/// A fraction of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    part: u128,
    whole: u128,
    unit: Unit,
}

/// How figures are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Digits behind the point.
    pub digits: usize,
    /// Sizes in MiB.
    pub mega: bool,
    /// Sizes with the unit that suits them.
    pub human: bool,
}

impl Default for Style {
    fn default() -> Self {
        Style {
            digits: 2,
            mega: false,
            human: false,
        }
    }
}

impl Quantity {
    /// A fraction; none of nothing.
    pub fn new(part: u128, whole: u128, unit: Unit) -> Option<Self> {
        (whole > 0).then_some(Quantity { part, whole, unit })
    }

    /// A number of things.
    pub fn count(count: u64) -> Self {
        Quantity {
            part: count.into(),
            whole: 1,
            unit: Unit::Count,
        }
    }

    /// Nothing, in any unit.
    pub fn zero(unit: Unit) -> Self {
        Quantity {
            part: 0,
            whole: 1,
            unit,
        }
    }

    /// Returns its value, as near as a float can be.
    pub fn value(&self) -> f64 {
        self.part as f64 / self.whole as f64
    }

    /// Returns its value in the unit of `style`, rounded to its digits.
    pub fn rounded(&self, style: Style) -> f64 {
        let scaled = self.scaled(style);
        if self.unit == Unit::Total {
            return (scaled.part / scaled.whole) as f64;
        }
        scaled.times(style.digits) as f64 / 10f64.powi(style.digits as i32)
    }

    /// Writes it.
    pub fn text(&self, style: Style) -> String {
        match self.unit {
            Unit::Count => (self.part / self.whole).to_string(),
            Unit::Kib | Unit::Total | Unit::Size if style.human => self.human(),
            Unit::Percent if style.human => {
                let digits = style.digits.min(1);
                format!("{}%", self.decimal(digits))
            }
            Unit::Total => {
                let scaled = self.scaled(style);
                (scaled.part / scaled.whole).to_string()
            }
            _ => self.scaled(style).decimal(style.digits),
        }
    }

    /// Writes all of it, with six digits behind the point at most, and in KiB.
    pub fn exact(&self) -> String {
        let text = match self.unit {
            Unit::Count => return self.text(Style::default()),
            _ => self.decimal(6),
        };
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }

    fn scaled(&self, style: Style) -> Self {
        match self.unit {
            Unit::Kib | Unit::Total if style.mega => Quantity {
                whole: self.whole.saturating_mul(1024),
                ..*self
            },
            _ => *self,
        }
    }

    /// Returns so many powers of ten of it, rounded.
    fn times(&self, digits: usize) -> u128 {
        let scaled = self.part.saturating_mul(2 * 10u128.pow(digits as u32));
        scaled.saturating_add(self.whole) / self.whole.saturating_mul(2)
    }

    fn decimal(&self, digits: usize) -> String {
        let scaled = self.times(digits);
        match digits {
            0 => scaled.to_string(),
            _ => fraction(i128::try_from(scaled).unwrap_or(i128::MAX), digits),
        }
    }

    fn human(&self) -> String {
        let mut quantity = *self;
        let mut units = ["k", "M", "G", "T", "P"].into_iter();
        let mut unit = units.next().unwrap_or_default();
        // What would be written as 1024.0 has gone over, too.
        while quantity.times(1) >= 10240 {
            let Some(next) = units.next() else {
                break;
            };
            unit = next;
            quantity.whole = quantity.whole.saturating_mul(1024);
        }
        format!("{}{unit}", quantity.decimal(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kib(part: u128, whole: u128) -> Quantity {
        Quantity::new(part, whole, Unit::Kib).unwrap()
    }

    #[test]
    fn figures_are_rounded_and_not_cut() {
        let number = |part, whole| Quantity::new(part, whole, Unit::Number).unwrap();
        let plain = Style::default();
        assert_eq!(number(2, 3).text(plain), "0.67");
        assert_eq!(number(1, 3).text(plain), "0.33");
        assert_eq!(number(1, 8).text(plain), "0.13");
        let whole = Style { digits: 0, ..plain };
        assert_eq!(number(5, 2).text(whole), "3");
        assert_eq!(number(2, 3).rounded(plain), 0.67);
        assert_eq!(number(2, 3).exact(), "0.666667");
        assert_eq!(number(7, 1).exact(), "7");
        assert_eq!(Quantity::count(7).text(plain), "7");
        assert_eq!(Quantity::new(1, 0, Unit::Number), None);
    }

    #[test]
    fn sizes_have_the_unit_that_was_asked_for() {
        let mega = Style {
            mega: true,
            ..Style::default()
        };
        assert_eq!(kib(2048, 1).text(mega), "2.00");
        let total = Quantity::new(4095, 2, Unit::Total).unwrap();
        assert_eq!(total.text(Style::default()), "2047");
        assert_eq!((total.text(mega).as_str(), total.rounded(mega)), ("1", 1.0));
        let size = Quantity::new(2048, 1, Unit::Size).unwrap();
        assert_eq!(size.text(mega), "2048.00");
        let human = Style {
            human: true,
            ..Style::default()
        };
        for (part, text) in [
            (0, "0.0k"),
            (28, "28.0k"),
            (1023, "1023.0k"),
            (1024, "1.0M"),
            (9756, "9.5M"),
            (29_698_112, "28.3G"),
        ] {
            assert_eq!(kib(part, 1).text(human), text);
        }
        assert_eq!(kib(1_023_970, 1000).text(human), "1.0M");
        let percent = Quantity::new(1665, 100, Unit::Percent).unwrap();
        assert_eq!(percent.text(human), "16.7%");
    }
}
