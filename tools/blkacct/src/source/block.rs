// SPDX-License-Identifier: GPL-2.0
//! The text of the block tracepoints, as the kernel prints it.
//!
//! Of requests (`block_rq_requeue`, `block_rq_complete` and `block_rq_error` lack the bytes), and
//! of bios:
//!
//! ```text
//! block_io_start: 8,0 R 4096 () 1234 + 8 none,0,0 [fio]
//! block_rq_error: 8,0 R () 1234 + 8 none,0,0 [-5]
//! block_bio_backmerge: 8,0 W 1234 + 8 [fio]
//! ```
//!
//! The parentheses hold the bytes of a SCSI command on kernels that print them.

use super::context::Context;
use super::scan::{self, Scan};
use super::{rwbs, Dev, Event, Group, Kind, Said, Unread};

const REQUEST: Unread = Unread::Expected("`major,minor rwbs [bytes] () sector + sectors ...`");
const BIO: Unread = Unread::Expected("`major,minor rwbs sector + sectors [command]`");

/// Returns what the event called `name` is of.
fn kind(name: &[u8]) -> Option<Kind> {
    Some(match name {
        b"block_io_start" => Kind::Start,
        b"block_io_done" => Kind::Done,
        b"block_rq_issue" => Kind::Issue,
        b"block_rq_requeue" => Kind::Requeue,
        b"block_rq_complete" => Kind::Complete,
        b"block_rq_error" => Kind::Error,
        b"block_rq_merge" => Kind::Merge,
        b"block_getrq" => Kind::Allocate,
        b"block_bio_queue" => Kind::Queue,
        b"block_bio_frontmerge" => Kind::GrowFront,
        b"block_bio_backmerge" => Kind::GrowBack,
        _ => return None,
    })
}

/// Reads an event's text.
pub fn said(context: Context<'_>, dev: Dev) -> Result<Said, Unread> {
    let time = context.time;
    let name = context.name.strip_prefix(b"block:").unwrap_or(context.name);
    let Some(kind) = name.strip_suffix(b":").and_then(kind) else {
        return Ok(Said::Elsewhere { time, kind: None });
    };
    let bio = matches!(
        kind,
        Kind::Allocate | Kind::Queue | Kind::GrowFront | Kind::GrowBack
    );
    let shape = if bio { BIO } else { REQUEST };
    let mut text = context.text;
    if scan::dev(text.word()).ok_or(shape)? != dev {
        let kind = Some(kind);
        return Ok(Said::Elsewhere { time, kind });
    }
    event(text, kind, bio, context).ok_or(shape)
}

fn event(mut text: Scan<'_>, kind: Kind, bio: bool, context: Context<'_>) -> Option<Said> {
    let mut rwbs = rwbs::parse(text.word())?;
    if !bio {
        let mut behind = text;
        if let Some(_bytes) = scan::number(behind.word()) {
            text = behind;
        }
        text.parenthesis()?;
    }
    let sector = text.number()?;
    text.expect(b"+")?;
    let sectors = text.number()?;
    sector.checked_add(sectors)?;
    // Kernels before 6.19 have no letters for write zeroes. They print 0 sectors of a driver
    // command, and of every end, whose request the letters then do not tell.
    if rwbs.group.is_none() && sectors > 0 {
        rwbs.group = Some(Group::WriteZeroes);
    }
    let failed = match kind {
        Kind::Error => true,
        Kind::Complete => text.last_bracket()? != b"0",
        _ => false,
    };
    Some(Said::Event(Event {
        time: context.time,
        kind,
        rwbs,
        sector,
        sectors,
        on: context.on,
        failed,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::On;

    const DEV: Dev = Dev { major: 8, minor: 0 };
    const ON: On = On { cpu: 1, pid: 9 };

    fn read(text: &str) -> Result<Said, Unread> {
        let (name, text) = text.split_once(' ').unwrap();
        let context = Context {
            time: 5,
            on: ON,
            name: name.as_bytes(),
            text: Scan(text.as_bytes()),
        };
        said(context, DEV)
    }

    fn event(text: &str) -> Event {
        match read(text) {
            Ok(Said::Event(event)) => event,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn every_kind_is_read_with_its_place() {
        for (text, kind) in [
            (
                "block_io_start: 8,0 W 4096 () 96 + 8 none,0,0 [fio]",
                Kind::Start,
            ),
            (
                "block:block_io_start: 8,0 W 4096 () 96 + 8 [fio]",
                Kind::Start,
            ),
            (
                "block_rq_issue: 8,0 W 4096 () 96 + 8 none,0,0 [fio]",
                Kind::Issue,
            ),
            (
                "block_rq_requeue: 8,0 W () 96 + 8 none,0,0 [0]",
                Kind::Requeue,
            ),
            (
                "block_rq_merge: 8,0 W 4096 () 96 + 8 be,0,4 [fio]",
                Kind::Merge,
            ),
            ("block_rq_error: 8,0 W () 96 + 8 none,0,0 [-5]", Kind::Error),
            ("block_getrq: 8,0 W 96 + 8 [fio]", Kind::Allocate),
            ("block_bio_queue: 8,0 W 96 + 8 [fio]", Kind::Queue),
            ("block_bio_frontmerge: 8,0 W 96 + 8 [fio]", Kind::GrowFront),
            ("block_bio_backmerge: 8,0 W 96 + 8 [fio]", Kind::GrowBack),
        ] {
            let event = event(text);
            assert_eq!((event.time, event.on, event.kind), (5, ON, kind), "{text}");
            let place = (event.rwbs.group, event.sector, event.sectors);
            assert_eq!(place, (Some(Group::Write), 96, 8), "{text}");
            assert_eq!(event.failed, kind == Kind::Error, "{text}");
        }
        let done = event("block_io_done: 8,0 W 0 () 96 + 0 none,0,0 [swapper/0]");
        assert_eq!((done.kind, done.sector, done.sectors), (Kind::Done, 96, 0));
    }

    #[test]
    fn a_completion_tells_whether_it_failed() {
        let flushed = event("block_rq_complete: 8,0 FF () 0 + 0 none,0,0 [0]");
        assert_eq!(flushed.rwbs.group, Some(Group::Flush));
        assert!(!flushed.failed);
        assert!(event("block_rq_complete: 8,0 FF () 0 + 0 none,0,0 [-5]").failed);
        let part = event("block_rq_complete: 8,0 R () 96 + 8 none,0,0 [-61]");
        assert_eq!(
            (part.kind, part.sectors, part.failed),
            (Kind::Complete, 8, true)
        );
        let zeroes = event("block_rq_complete: 8,0 NS () 0 + 80 be,0,4 [0]");
        assert_eq!(zeroes.rwbs.group, Some(Group::WriteZeroes));
    }

    #[test]
    fn a_driver_command_may_have_its_bytes() {
        let event = event("block_io_start: 8,0 N 36 (12 00 00 00 24 00 ..) 0 + 0 [scsi_id]");
        assert_eq!((event.rwbs.group, event.sectors), (None, 0));
    }

    #[test]
    fn sectors_without_an_operation_are_write_zeroes_of_older_kernels() {
        let start = event("block_io_start: 8,0 NS 40960 () 0 + 80 be,0,4 [blkdiscard]");
        assert_eq!(start.rwbs.group, Some(Group::WriteZeroes));
        assert!(start.rwbs.kept.sync);
        let done = event("block_io_done: 8,0 NS 0 () 0 + 0 none,0,0 [swapper/3]");
        assert_eq!(done.rwbs.group, None);
        assert!(done.rwbs.kept.sync);
    }

    #[test]
    fn what_is_not_ours_still_tells_the_time() {
        let elsewhere = |text: &str, kind| {
            assert_eq!(read(text), Ok(Said::Elsewhere { time: 5, kind }), "{text}");
        };
        let other = "block_io_start: 8,16 W 4096 () 96 + 8 none,0,0 [fio]";
        elsewhere(other, Some(Kind::Start));
        elsewhere("block_rq_insert: 8,0 W 4096 () 96 + 8 none,0,0 [fio]", None);
        elsewhere(
            "sched_switch: prev_comm=block_io_start: next_comm=8,0",
            None,
        );
        elsewhere("blk_mq_start_request <-scsi_queue_rq", None);
    }

    #[test]
    fn a_broken_text_is_an_error() {
        for text in [
            "block_io_start: ",
            "block_io_start: 8 W 4096 () 96 + 8 [fio]",
            "block_io_start: 8,0 Q 4096 () 96 + 8 [fio]",
            "block_io_start: 8,0 W 4096 96 + 8 [fio]",
            "block_io_start: 8,0 W 4096 (12 96 + 8 [fio]",
            "block_io_start: 8,0 W 4096 () 96 +",
            "block_io_start: 8,0 W 4096 () 96 - 8 [fio]",
            "block_io_start: 8,0 W 4096 () 18446744073709551615 + 8 [fio]",
            "block_rq_complete: 8,0 FF () 0 + 0",
            "block_bio_queue: 8,0 W () 96 + 8 [fio]",
        ] {
            assert!(matches!(read(text), Err(Unread::Expected(_))), "{text}");
        }
    }
}
