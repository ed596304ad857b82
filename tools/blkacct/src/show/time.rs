// SPDX-License-Identifier: GPL-2.0
//! Wall-clock time as text.

use jiff::tz::TimeZone;
use jiff::Timestamp;

fn timestamp(wall_ns: u64) -> Timestamp {
    Timestamp::from_nanosecond(wall_ns.into()).unwrap_or(Timestamp::MAX)
}

/// Writes ns since 1970 as `2026-12-07T11:40:16.123456789Z`.
pub fn utc(wall_ns: u64) -> String {
    format!("{:.9}", timestamp(wall_ns))
}

/// Writes them in the local time zone, to the ms: `2026-12-07T12:40:16.123+0100`.
pub fn local(wall_ns: u64) -> String {
    in_zone(wall_ns, TimeZone::system())
}

fn in_zone(wall_ns: u64, zone: TimeZone) -> String {
    let time = timestamp(wall_ns).to_zoned_datetime(zone);
    time.strftime("%Y-%m-%dT%H:%M:%S.%3f%z").to_string()
}

/// Writes the date in the local time zone.
pub fn date(wall_ns: u64) -> String {
    let time = timestamp(wall_ns).to_zoned_datetime(TimeZone::system());
    time.strftime("%Y-%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_and_tell_their_zone() {
        let ns = 1_796_643_616_123_456_789;
        assert_eq!(utc(ns), "2026-12-07T11:40:16.123456789Z");
        assert_eq!(
            utc(1_796_643_616_000_000_000),
            "2026-12-07T11:40:16.000000000Z"
        );
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        assert_eq!(in_zone(ns, zone), "2026-12-07T12:40:16.123+0100");
    }
}
