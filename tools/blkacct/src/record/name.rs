// SPDX-License-Identifier: GPL-2.0
//! How long, and by what name.

use std::path::PathBuf;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// Where the name of a file comes from.
#[derive(Clone, Debug)]
pub enum Name {
    /// It was given.
    Given(PathBuf),
    /// It is made of the time.
    Time,
}

impl Name {
    /// Returns a name for a file that is begun now.
    pub fn now(&self) -> PathBuf {
        match self {
            Name::Given(path) => path.clone(),
            Name::Time => at(Timestamp::now()),
        }
    }
}

fn at(time: Timestamp) -> PathBuf {
    time.strftime("blkacct-%Y%m%dT%H%M%SZ.rec")
        .to_string()
        .into()
}

/// Reads a time: `90` and `0.5` are seconds, `10m`, `24h` and `1h30m` what they say.
///
/// # Errors
///
/// What is none, or is nothing.
pub fn duration(text: &str) -> Result<Duration, String> {
    let is_bare = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let with_unit = if is_bare {
        format!("{text}s")
    } else {
        text.to_owned()
    };
    let read = with_unit.parse::<SignedDuration>().ok();
    let time = read.and_then(|time| Duration::try_from(time).ok());
    time.filter(|time| !time.is_zero())
        .ok_or_else(|| format!("{text}: no time, such as 90, 10m, 24h or 1h30m"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, seconds) in [
            ("90", 90),
            ("90s", 90),
            ("10m", 600),
            ("24h", 86400),
            ("1h30m", 5400),
            ("1h 30m", 5400),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(duration("0.5"), Ok(Duration::from_millis(500)));
        for text in ["", "0", "-1", "-5m", "m", "5x", "1.2.3", "."] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_name_tells_the_time() {
        let name = at(Timestamp::from_second(1_800_000_000).unwrap());
        assert_eq!(name.to_str(), Some("blkacct-20270115T080000Z.rec"));
    }
}
