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
//! * `Q` is a bio that comes to the disk.
//!
//! What stands behind the letters:
//!
//! ```text
//! R 223490 + 8 [fio]               a place
//! R 223490 + 8 (   15264) [0]      with the time since G, of blkparse -t; the error of C and R
//! FWS [jbd2/sda1-8]                an empty flush, which has no place; WS 0 [0] is its end
//! FN [kworker/0:1]                 the flush command that the block layer sends for it
//! N [scsi_id]                      a driver command
//! R 254 (12 00 00 00 fe 00 ..) [x] a driver command with its length and its bytes
//! ```
//!
//! Times count from the start of blktrace, so they cannot be laid over a `stat` file.

use super::scan::{self, Scan};
use super::{rwbs, totals, Dev, Event, Group, Kind, On, Rwbs, Said, Unread};

const EVENT: Unread =
    Unread::Expected("`major,minor cpu sequence seconds pid action ...` of blkparse without -f");
const TEXT: Unread = Unread::Expected("`action rwbs sector + sectors ...` of blkparse without -f");
const COLUMN: Unread = Unread::Refused(
    "this line has a column that blkparse prints only with a format of the user's; \
     print it without -f",
);

/// Reads a line.
pub fn line(line: &[u8], dev: Dev) -> Result<Said, Unread> {
    let mut scan = Scan(line);
    let Some(seen) = scan::dev(scan.word()) else {
        return totals::line(line).ok_or(EVENT);
    };
    let head = head(&mut scan);
    let Some((time, on)) = head else {
        // Whose event it is matters more than how it is written.
        return if seen == dev {
            Err(EVENT)
        } else {
            Ok(Said::Nothing)
        };
    };
    let kind = match scan.word() {
        b"G" => Kind::Start,
        b"D" => Kind::Issue,
        b"R" => Kind::Requeue,
        b"C" => Kind::Complete,
        b"M" => Kind::MergeOrGrow,
        b"F" => Kind::GrowFront,
        b"Q" => Kind::Queue,
        b"" if seen == dev => return Err(EVENT),
        _ => return Ok(Said::Elsewhere { time, kind: None }),
    };
    if seen != dev {
        let kind = Some(kind);
        return Ok(Said::Elsewhere { time, kind });
    }
    let rwbs = letters(scan.word()).ok_or(TEXT)?;
    let place = place(scan, kind)?;
    // A driver command has its bytes, or no letter.
    let rwbs = match place {
        Place::Command => Rwbs {
            group: None,
            ..rwbs
        },
        Place::At { .. } => rwbs,
    };
    let (sector, sectors) = match place {
        Place::Command => (0, 0),
        Place::At { sector, sectors } => (sector, sectors),
    };
    let error = scan.last_bracket().unwrap_or(b"0");
    Ok(Said::Event(Event {
        time,
        kind,
        rwbs,
        sector,
        sectors,
        on,
        failed: kind == Kind::Complete && is_error(error),
    }))
}

/// Reads what stands between the device and the action.
fn head(scan: &mut Scan<'_>) -> Option<(u64, On)> {
    let cpu = scan.number()?.try_into().ok()?;
    scan.number()?;
    let time = scan::seconds(scan.word())?;
    let pid = scan.number()?.try_into().ok()?;
    Some((time, On { cpu, pid }))
}

/// Reads the letters. An `F` in front of no operation is the flush command itself.
fn letters(word: &[u8]) -> Option<Rwbs> {
    let rwbs = rwbs::parse(word)?;
    let flush = rwbs.group.is_none() && rwbs.preflush;
    Some(match flush {
        true => Rwbs {
            group: Some(Group::Flush),
            preflush: false,
            ..rwbs
        },
        false => rwbs,
    })
}

/// What stands behind the letters.
#[derive(Clone, Copy)]
enum Place {
    /// A first sector and a size; both are zero of what has none.
    At { sector: u64, sectors: u64 },
    /// The bytes of a driver command.
    Command,
}

fn place(mut scan: Scan<'_>, kind: Kind) -> Result<Place, Unread> {
    let nowhere = Place::At {
        sector: 0,
        sectors: 0,
    };
    priority(&mut scan);
    let rest = scan.0.trim_ascii_start();
    if rest.starts_with(b"[") {
        // An end has a place, if need be zero, unless it is that of a driver command.
        return Ok(match ends(kind) {
            true => Place::Command,
            false => nowhere,
        });
    }
    if rest.starts_with(b"(") {
        // Digits alone are the time since `G`; what has neither a place nor bytes is a flush.
        let inner = scan.parenthesis().ok_or(TEXT)?;
        let elapsed = scan::number(inner.trim_ascii()).is_some();
        let more = timed(kind);
        return match elapsed {
            true if more => Ok(nowhere),
            true => Err(COLUMN),
            false => Ok(Place::Command),
        };
    }
    let sector = scan.number().ok_or(TEXT)?;
    let rest = scan.0.trim_ascii_start();
    if rest.starts_with(b"+") {
        scan.expect(b"+").ok_or(TEXT)?;
        let sectors = scan.number().ok_or(TEXT)?;
        sector.checked_add(sectors).ok_or(TEXT)?;
        let column = scan.0.trim_ascii_start().starts_with(b"(");
        return match column && !timed(kind) {
            true => Err(COLUMN),
            false => Ok(Place::At { sector, sectors }),
        };
    }
    if rest.starts_with(b"(") {
        let inner = scan.parenthesis().ok_or(TEXT)?;
        if scan::number(inner.trim_ascii()).is_none() {
            return Ok(Place::Command);
        }
    } else if !rest.starts_with(b"[") {
        return Err(TEXT);
    }
    match kind {
        // A completion of nothing is written without a size.
        _ if ends(kind) => Ok(Place::At { sector, sectors: 0 }),
        // The number was the length of a driver command without bytes.
        _ => Ok(Place::Command),
    }
}

/// Whether `blkparse -t` writes the time since `G` behind such an action.
fn timed(kind: Kind) -> bool {
    kind == Kind::Issue || ends(kind)
}

/// Whether the last column is an error.
fn ends(kind: Kind) -> bool {
    matches!(kind, Kind::Complete | Kind::Requeue)
}

/// Skips the I/O priority that newer versions can print.
fn priority(scan: &mut Scan<'_>) {
    let mut behind = *scan;
    if matches!(behind.word(), b"NONE" | b"REAL" | b"BEST" | b"IDLE") {
        behind.number();
        *scan = behind;
    }
}

/// Reads the last column of a completion: an error's number, its sign lost or not. A format of the
/// user's may have a name there.
fn is_error(word: &[u8]) -> bool {
    let digits = word.strip_prefix(b"-").unwrap_or(word);
    scan::number(digits).is_some_and(|error| error != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEV: Dev = Dev { major: 8, minor: 0 };

    fn read(text: &str) -> Result<Said, Unread> {
        line(
            format!("  8,0    3        1     0.000001234   697  {text}").as_bytes(),
            DEV,
        )
    }

    fn event(text: &str) -> Event {
        match read(text) {
            Ok(Said::Event(event)) => event,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn the_actions_that_account_are_read() {
        for (action, kind) in [
            ("Q", Kind::Queue),
            ("G", Kind::Start),
            ("D", Kind::Issue),
            ("R", Kind::Requeue),
            ("C", Kind::Complete),
            ("M", Kind::MergeOrGrow),
            ("F", Kind::GrowFront),
        ] {
            let event = event(&format!("{action}   W 7040 + 8 [kjournald]"));
            assert_eq!((event.kind, event.time), (kind, 1234));
            assert_eq!((event.sector, event.sectors), (7040, 8));
            assert_eq!(event.on, On { cpu: 3, pid: 697 });
            assert_eq!(event.rwbs.group, Some(Group::Write));
        }
    }

    #[test]
    fn an_end_tells_its_error() {
        for (column, failed) in [
            ("[0]", false),
            ("[65531]", true),
            ("[-5]", true),
            ("(    1520) [65531]", true),
            ("[swapper/0]", false),
        ] {
            let end = event(&format!("C   W 7040 + 8 {column}"));
            assert_eq!((end.failed, end.sectors), (failed, 8), "{column}");
        }
        assert!(!event("G   W 7040 + 8 [5]").failed);
    }

    #[test]
    fn what_has_no_place_or_no_size_is_read() {
        for (text, group, preflush, sector) in [
            ("Q FWS [jbd2/sda1-8]", Group::Write, true, 0),
            ("G FWS [jbd2/sda1-8]", Group::Write, true, 0),
            ("D  FN [kworker/0:1]", Group::Flush, false, 0),
            ("D  FN (     852) [kworker/0:1]", Group::Flush, false, 0),
            ("C  FN 0 [0]", Group::Flush, false, 0),
            ("C  WS 0 [0]", Group::Write, false, 0),
            ("C  WS 0 (2079253365) [0]", Group::Write, false, 0),
            ("C  WS 808 [0]", Group::Write, false, 808),
            ("R  WS 808 [0]", Group::Write, false, 808),
        ] {
            let event = event(text);
            assert_eq!(event.rwbs.group, Some(group), "{text}");
            let rest = (event.rwbs.preflush, event.sector, event.sectors);
            assert_eq!(rest, (preflush, sector, 0), "{text}");
        }
    }

    #[test]
    fn driver_commands_have_no_group() {
        for text in [
            "G   N [scsi_id]",
            "D   R 254 (12 00 00 00 fe 00 ..) [scsi_id]",
            "D   N 0 [scsi_id]",
            "D   W 36 [sg_raw]",
            "C   R (12 00 00 00 fe 00 ..) [0]",
            "C   R [0]",
            "C   N [0]",
        ] {
            let event = event(text);
            let rest = (event.rwbs.group, event.sector, event.sectors);
            assert_eq!(rest, (None, 0, 0), "{text}");
        }
    }

    #[test]
    fn letters_and_columns_of_other_versions_are_read() {
        assert_eq!(event("G  WB 7040 + 8 [x]").rwbs.group, Some(Group::Write));
        assert_eq!(event("G WBS 7040 + 8 [x]").rwbs.group, Some(Group::Write));
        assert_eq!(event("D  DE 7040 + 8 [x]").rwbs.group, Some(Group::Write));
        assert_eq!(event("G WS BEST 4 7040 + 8 [x]").sector, 7040);
        assert_eq!(event("D W 7040 + 8 (     852) [x]").sectors, 8);
    }

    #[test]
    fn other_lines_tell_the_time() {
        let elsewhere = |kind| Ok(Said::Elsewhere { time: 1234, kind });
        for text in [
            "I   W 7040 + 8 [x]",
            "P   N [x]",
            "UT  N [x] 2",
            "X   W 7040 / 7044 [x]",
            "A   W 7040 + 8 <- (8,1) 4992",
            "m   N cfq697S / alloced",
        ] {
            assert_eq!(read(text), elsewhere(None), "{text}");
        }
        let other = "8,16   3        1     0.000001234   697  G   W 7040 + 8 [x]";
        assert_eq!(line(other.as_bytes(), DEV), elsewhere(Some(Kind::Start)));
    }

    #[test]
    fn broken_lines_and_formats_of_the_users_are_refused() {
        for text in [
            "G",
            "G   W",
            "G   W 7040 + [x]",
            "G   W 7040 +",
            "G   W 7040 8",
            "G   W here + 8 [x]",
            "G   W 18446744073709551615 + 8 [x]",
            "G   Y 7040 + 8 [x]",
        ] {
            assert_eq!(read(text), Err(TEXT), "{text}");
        }
        for text in ["G   W 7040 + 8 (   0) [x]", "Q   W (   0) [x]"] {
            assert_eq!(read(text), Err(COLUMN), "{text}");
        }
        for text in [
            "nonsense",
            "8,0 3 1",
            "8,0 3 1 soon 697 G W 7040 + 8 [x]",
            "0.000001234 8,0 G W 7040 8",
        ] {
            assert_eq!(line(text.as_bytes(), DEV), Err(EVENT), "{text}");
        }
    }
}
