// SPDX-License-Identifier: GPL-2.0
//! The default output of `blkparse`: `maj,min cpu seq seconds pid action rwbs text`.
//!
//! Which actions mark the accounting:
//!
//! * `G` (a request is allocated for a bio) stands for the start, a few instructions before it.
//! * `D` and `R` are the issue to the driver, and a requeue.
//! * `C` (the driver completed so many sectors) stands for the end, when they are the last ones.
//! * `M` is a request absorbed by another, or a bio joining the end of one; blktrace writes the
//!   same letter for both, and only the first kind has a start of its own at that place.
//! * `F` is a bio joining the front of a request: its first sector moves.
//!
//! Driver commands have a `C` and no `G`; they are marked `N` or carry their bytes in parentheses.
//! Times count from the start of blktrace, so they cannot be laid over a `stat` file.

use super::scan::{self, Scan};
use super::{rwbs, Dev, Event, Kind, On, Said};

/// Reads a line.
pub fn line(line: &[u8], dev: Dev) -> Result<Said, &'static str> {
    let mut scan = Scan(line);
    let first = scan.word();
    let Some(seen) = scan::dev(first) else {
        // After the events blkparse prints totals, which begin with `CPU0 (8,0):` or `Total`.
        let totals = first.starts_with(b"CPU") || first.starts_with(b"Total");
        return match first {
            b"" => Ok(Said::Nothing),
            b"Skips:" => skips(scan).ok_or("`Skips: n forward (n - ...)`"),
            _ if totals => Ok(Said::Over),
            _ => Err("`major,minor cpu sequence seconds pid action ...`"),
        };
    };
    if seen != dev {
        return Ok(Said::Nothing);
    }
    event(scan).ok_or("`major,minor cpu sequence seconds pid action rwbs sector + sectors ...`")
}

/// Reads `Skips: 3 forward (12 - 0.1%)`: sequence numbers that are missing, in so many places.
fn skips(mut scan: Scan<'_>) -> Option<Said> {
    scan.number()?;
    scan.expect(b"forward")?;
    Some(match scan::number(scan.word().strip_prefix(b"(")?)? {
        0 => Said::Nothing,
        missing => Said::Lost(missing),
    })
}

fn event(mut scan: Scan<'_>) -> Option<Said> {
    scan.number()?;
    scan.number()?;
    let time = scan::seconds(scan.word())?;
    scan.number()?;
    let kind = match scan.word() {
        b"G" => Kind::Start,
        b"D" => Kind::Issue,
        b"R" => Kind::Requeue,
        b"C" => Kind::Complete,
        b"M" => Kind::MergeOrGrow,
        b"F" => Kind::GrowFront,
        b"" => return None,
        _ => return Some(Said::Nothing),
    };
    let rwbs = rwbs::parse(scan.word())?;
    if rwbs.group.is_none() {
        return Some(Said::Nothing);
    }
    let sector = scan.word();
    if sector.starts_with(b"(") || sector.starts_with(b"[") {
        // A driver command with its bytes, or something without a place.
        return Some(Said::Nothing);
    }
    let sector = scan::number(sector)?;
    let sectors = match scan.word() {
        b"+" => scan.number()?,
        // A completion of nothing is written without a size.
        word if word.starts_with(b"[") => 0,
        _ => return None,
    };
    sector.checked_add(sectors)?;
    Some(Said::Event(Event {
        time,
        kind,
        rwbs,
        sector,
        sectors,
        on: On::default(),
        failed: false,
    }))
}

#[cfg(test)]
mod tests {
    use super::super::Group;
    use super::*;

    const DEV: Dev = Dev { major: 8, minor: 0 };

    fn read(text: &str) -> Result<Said, &'static str> {
        line(text.as_bytes(), DEV)
    }

    #[test]
    fn reads_the_actions_that_account() {
        for (action, kind) in [
            ("G", Kind::Start),
            ("D", Kind::Issue),
            ("R", Kind::Requeue),
            ("C", Kind::Complete),
            ("M", Kind::MergeOrGrow),
            ("F", Kind::GrowFront),
        ] {
            let text = format!(
                "  8,0    3        1     0.000001234   697  {action}   W 223490 + 8 [kjournald]"
            );
            let Ok(Said::Event(event)) = read(&text) else {
                panic!("{text}");
            };
            assert_eq!((event.kind, event.time), (kind, 1234));
            assert_eq!((event.sector, event.sectors), (223490, 8));
            assert_eq!(event.rwbs.group, Some(Group::Write));
        }
    }

    #[test]
    fn skips_the_rest() {
        for text in [
            "  8,0    3        1     0.000001234   697  Q   W 223490 + 8 [kjournald]",
            "  8,0    3        1     0.000001234   697  UT   N [kjournald] 2",
            "  8,16   3        1     0.000001234   697  G   W 223490 + 8 [kjournald]",
            "  8,0    3        1     0.000001234     0  C   N [0]",
            "  8,0    3        1     0.000001234     0  C   R (12 00 00 00) [0]",
            "",
        ] {
            assert_eq!(read(text), Ok(Said::Nothing), "{text}");
        }
    }

    #[test]
    fn stops_at_the_totals() {
        assert_eq!(read("CPU0 (8,0):"), Ok(Said::Over));
        assert_eq!(read("Total (8,0):"), Ok(Said::Over));
    }

    #[test]
    fn refuses_broken_lines() {
        for text in [
            "nonsense",
            "  8,0    3        1     0.000001234   697",
            "  8,0    3        1     soon   697  G   W 223490 + 8 [x]",
            "  8,0    3        1     0.000001234   697  G   W 223490 +",
            "  8,0    3        1     0.000001234   697  G   W here + 8 [x]",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
