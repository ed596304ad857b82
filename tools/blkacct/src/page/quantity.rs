// SPDX-License-Identifier: GPL-2.0
//! The quantities that are drawn over time. All are integers of a small unit.

use super::sums::Sums;
use crate::show::table::{duration, fraction};

/// What a line is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Reads completed.
    Reads,
    /// Writes completed.
    Writes,
    /// Bytes read.
    ReadBytes,
    /// Bytes written.
    WriteBytes,
    /// Mean time from start to issue.
    Queue,
    /// Mean time from issue to completion.
    Driver,
    /// Mean time from start to completion, where the two are not told apart.
    Whole,
    /// Time with I/O in flight.
    Util,
    /// Time in which requests waited and the driver had none.
    Idle,
    /// What the kernel's own counter says of the busy time.
    Stock,
    /// Requests in flight, mean over the time.
    Depth,
    /// Of them those at the driver.
    AtDriver,
    /// Requests that failed.
    Errors,
    /// Requests that the driver gave back.
    Requeues,
    /// Time with I/O in flight and no completion.
    Stalled,
}

/// What a value counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Thousandths of one a second.
    Rate,
    /// Bytes a second.
    Bytes,
    /// Ns.
    Time,
    /// Hundredths of a percent.
    Share,
    /// Thousandths of a request.
    Depth,
}

impl Quantity {
    /// How many there are.
    pub const COUNT: usize = 15;
    /// All, in order.
    pub const ALL: [Quantity; Quantity::COUNT] = [
        Quantity::Reads,
        Quantity::Writes,
        Quantity::ReadBytes,
        Quantity::WriteBytes,
        Quantity::Queue,
        Quantity::Driver,
        Quantity::Whole,
        Quantity::Util,
        Quantity::Idle,
        Quantity::Stock,
        Quantity::Depth,
        Quantity::AtDriver,
        Quantity::Errors,
        Quantity::Requeues,
        Quantity::Stalled,
    ];

    /// Returns its value over some time; none if it is not known, or there was nothing to measure.
    pub fn of(self, sums: &Sums) -> Option<u64> {
        let rate = |count: u64| scaled(count, 1_000_000_000_000, sums.interval_ns);
        let bytes = |sectors: u64| scaled(sectors, 512_000_000_000, sums.interval_ns);
        let share = |ns: u64| scaled(ns, 10_000, sums.interval_ns);
        let mean = |ns: u64| scaled(ns, 1000, sums.interval_ns);
        match self {
            Quantity::Reads => rate(sums.read.ios),
            Quantity::Writes => rate(sums.write.ios),
            Quantity::ReadBytes => bytes(sums.read.sectors),
            Quantity::WriteBytes => bytes(sums.write.sectors),
            Quantity::Queue => sums.all.q2d(),
            Quantity::Driver => sums.all.d2c(),
            Quantity::Whole => sums.all.latency(),
            Quantity::Util => share(sums.busy_ns),
            Quantity::Idle => share(sums.idle_ns?),
            Quantity::Stock => {
                let (ms, ns) = sums.stock?;
                scaled(ms, 10_000_000_000, ns)
            }
            Quantity::Depth => mean(sums.queue_ns),
            Quantity::AtDriver => mean(sums.driver_ns?),
            Quantity::Errors => rate(sums.errors?),
            Quantity::Requeues => rate(sums.requeues?),
            Quantity::Stalled => share(sums.stalled_ns),
        }
    }

    /// Returns what its value counts.
    pub fn unit(self) -> Unit {
        match self {
            Quantity::Reads | Quantity::Writes | Quantity::Errors | Quantity::Requeues => {
                Unit::Rate
            }
            Quantity::ReadBytes | Quantity::WriteBytes => Unit::Bytes,
            Quantity::Queue | Quantity::Driver | Quantity::Whole => Unit::Time,
            Quantity::Util | Quantity::Idle | Quantity::Stock | Quantity::Stalled => Unit::Share,
            Quantity::Depth | Quantity::AtDriver => Unit::Depth,
        }
    }

    /// Returns its name in a legend.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Reads | Quantity::ReadBytes => "read",
            Quantity::Writes | Quantity::WriteBytes => "write",
            Quantity::Queue => "in the queue (Q2D)",
            Quantity::Driver => "at the driver (D2C)",
            Quantity::Whole => "start to completion",
            Quantity::Util => "busy (%util)",
            Quantity::Idle => "idle while queued",
            Quantity::Stock => "the kernel's own counter",
            Quantity::Depth => "in flight",
            Quantity::AtDriver => "of these at the driver",
            Quantity::Errors => "errors",
            Quantity::Requeues => "requeues",
            Quantity::Stalled => "stalled",
        }
    }

    /// Returns the class that has its colour in the style sheet.
    pub fn class(self) -> &'static str {
        match self {
            Quantity::Reads | Quantity::ReadBytes | Quantity::Util | Quantity::Whole => "read",
            Quantity::Writes | Quantity::WriteBytes => "write",
            Quantity::Queue | Quantity::Idle | Quantity::Depth => "queue",
            Quantity::Driver | Quantity::AtDriver => "driver",
            Quantity::Stock => "stock",
            Quantity::Errors => "bad",
            Quantity::Requeues => "write",
            Quantity::Stalled => "queue",
        }
    }
}

impl Unit {
    /// Writes a value.
    pub fn text(self, value: u64) -> String {
        match self {
            Unit::Rate => format!("{}/s", short(value.into())),
            Unit::Depth => short(value.into()),
            Unit::Bytes => {
                let text = short(u128::from(value) * 1000);
                match text.find(|c: char| c.is_ascii_alphabetic()) {
                    Some(at) => format!("{} {}B/s", &text[..at], &text[at..]),
                    None => format!("{text} B/s"),
                }
            }
            Unit::Time => spaced(&duration(value)),
            Unit::Share => format!("{} %", trimmed(&fraction(value.into(), 2))),
        }
    }
}

/// Returns `count * scale / whole`; none of nothing.
fn scaled(count: u64, scale: u64, whole: u64) -> Option<u64> {
    let value = (u128::from(count) * u128::from(scale)).checked_div(whole.into())?;
    Some(u64::try_from(value).unwrap_or(u64::MAX))
}

/// Writes thousandths with three digits at least, and k, M or G.
pub fn short(thousandths: u128) -> String {
    let (unit, name) = match thousandths {
        0..1_000_000 => (1_000, ""),
        1_000_000..1_000_000_000 => (1_000_000, "k"),
        1_000_000_000..1_000_000_000_000 => (1_000_000_000, "M"),
        _ => (1_000_000_000_000, "G"),
    };
    let digits = match thousandths / unit {
        0..10 => 2,
        10..100 => 1,
        _ => 0,
    };
    let value = thousandths * 10u128.pow(digits) / unit;
    match digits {
        0 => format!("{value}{name}"),
        _ => {
            let value = i128::try_from(value).unwrap_or(i128::MAX);
            format!("{}{name}", trimmed(&fraction(value, digits as usize)))
        }
    }
}

/// Leaves out zeroes at the end, of a number with a point.
fn trimmed(number: &str) -> &str {
    number.trim_end_matches('0').trim_end_matches('.')
}

/// Sets a space between a number and its unit.
pub fn spaced(duration: &str) -> String {
    match duration.find(|c: char| c.is_ascii_alphabetic()) {
        Some(at) if duration[..at].contains('.') => {
            format!("{} {}", trimmed(&duration[..at]), &duration[at..])
        }
        Some(at) => format!("{} {}", &duration[..at], &duration[at..]),
        None => duration.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_short_and_have_units() {
        for (unit, value, text) in [
            (Unit::Rate, 0, "0/s"),
            (Unit::Rate, 1_500, "1.5/s"),
            (Unit::Rate, 12_345_678, "12.3k/s"),
            (Unit::Rate, 200_000_000, "200k/s"),
            (Unit::Bytes, 999, "999 B/s"),
            (Unit::Bytes, 120_000_000, "120 MB/s"),
            (Unit::Time, 1_000_000, "1 ms"),
            (Unit::Time, 100_000, "100 us"),
            (Unit::Share, 9_950, "99.5 %"),
            (Unit::Share, 10_000, "100 %"),
            (Unit::Depth, 31_900, "31.9"),
        ] {
            assert_eq!(unit.text(value), text);
        }
        assert_eq!(Unit::Rate.text(u64::MAX), "18446744G/s");
    }

    #[test]
    fn a_quantity_of_no_time_is_unknown() {
        let nothing = Sums::default();
        assert!(Quantity::ALL.iter().all(|what| what.of(&nothing).is_none()));
        let second = Sums {
            interval_ns: 1_000_000_000,
            busy_ns: 250_000_000,
            stock: Some((1000, 1_000_000_000)),
            ..Sums::default()
        };
        assert_eq!(Quantity::Util.of(&second), Some(2_500));
        assert_eq!(Quantity::Stock.of(&second), Some(10_000));
        assert_eq!(Quantity::Idle.of(&second), None);
    }
}
