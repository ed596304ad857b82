// SPDX-License-Identifier: GPL-2.0
//! Lines made of what real traces are made of: each event that is printed is read back as it was,
//! whatever the command is called; lines of all formats in any order are read or refused.

use blkacct::source::{Dev, Event, Format, Group, Kind, On, Said, Unread};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const DEV: Dev = Dev { major: 8, minor: 0 };

/// Names that look like what stands behind or between names.
const LOOKS: [&[u8]; 15] = [
    b"-1 [0] 1.000: x",
    b"kworker/0:1H-ev",
    b"-1 [0] 1.000000",
    b"x-1 [0] 1.0: e:",
    b"1 [0] 1.000000:",
    b"1 1.000000: ab:",
    b"-1 0. 1.000000:",
    b"(  1) [0] x-1 (",
    b"CPU:0 [LOST 1 E",
    b"# tracer: nop",
    b"cpus=4",
    b"=> f",
    b"\tffffffff81 f (",
    b"8,0 1 1 0.1 5 G",
    b"",
];

const PIECES: [&[u8]; 14] = [
    b"-", b" ", b"[", b"]", b":", b"0", b"7", b".", b"(", b")", b"\t", b"a", b",", b"\xff",
];

/// A command's name as the kernel keeps it: 15 bytes at most, of any kind but the end of a line.
fn name() -> impl Strategy<Value = Vec<u8>> {
    let pieces = vec(select(&PIECES[..]), 0..16);
    prop_oneof![
        select(&LOOKS[..]).prop_map(<[u8]>::to_vec),
        pieces.prop_map(|pieces| pieces.concat()),
        vec(
            any::<u8>().prop_map(|byte| if byte == b'\n' { b' ' } else { byte }),
            0..16
        ),
    ]
}

/// An event, and how it is printed.
#[derive(Clone, Debug)]
struct Printed {
    name: Vec<u8>,
    on: On,
    us: u64,
    event: (&'static str, Kind),
    rwbs: (&'static str, Group),
    sector: u64,
    sectors: u64,
    /// Blanks are as the tool prints them, or one between words.
    columns: bool,
    /// Flags, thread group, I/O priority.
    more: [bool; 3],
}

const EVENTS: [(&str, Kind); 11] = [
    ("block_io_start", Kind::Start),
    ("block_io_done", Kind::Done),
    ("block_rq_issue", Kind::Issue),
    ("block_rq_requeue", Kind::Requeue),
    ("block_rq_complete", Kind::Complete),
    ("block_rq_error", Kind::Error),
    ("block_rq_merge", Kind::Merge),
    ("block_getrq", Kind::Allocate),
    ("block_bio_queue", Kind::Queue),
    ("block_bio_frontmerge", Kind::GrowFront),
    ("block_bio_backmerge", Kind::GrowBack),
];

const RWBS: [(&str, Group); 8] = [
    ("R", Group::Read),
    ("RA", Group::Read),
    ("WS", Group::Write),
    ("FWFSM", Group::Write),
    ("D", Group::Discard),
    ("ZAS", Group::ZoneAppend),
    ("WZS", Group::WriteZeroes),
    ("FF", Group::Flush),
];

fn printed() -> impl Strategy<Value = Printed> {
    let who = (name(), 0..4096u32, 0..4_194_304u32, 0..1u64 << 40);
    let what = (
        select(&EVENTS[..]),
        select(&RWBS[..]),
        0..1u64 << 60,
        1..1u64 << 32,
    );
    (who, what, any::<bool>(), any::<[bool; 3]>()).prop_map(|(who, what, columns, more)| Printed {
        name: who.0,
        on: On {
            cpu: who.1,
            pid: who.2,
        },
        us: who.3,
        event: what.0,
        rwbs: what.1,
        sector: what.2,
        sectors: what.3,
        columns,
        more,
    })
}

impl Printed {
    fn event(&self) -> Event {
        Event {
            time: self.us * 1000,
            kind: self.event.1,
            rwbs: blkacct::source::rwbs::parse(self.rwbs.0.as_bytes()).unwrap(),
            sector: self.sector,
            sectors: self.sectors,
            on: self.on,
            failed: self.event.1 == Kind::Error,
        }
    }

    /// The text behind the event's name.
    fn text(&self) -> Vec<u8> {
        let (rwbs, sector, sectors) = (self.rwbs.0, self.sector, self.sectors);
        let priority = if self.more[2] { " be,0,4" } else { "" };
        let place = format!("{sector} + {sectors}{priority}");
        let last = match self.event.1 {
            Kind::Complete | Kind::Requeue => b"0".to_vec(),
            Kind::Error => b"-5".to_vec(),
            _ => self.name.clone(),
        };
        let front = match self.event.1 {
            Kind::Allocate | Kind::Queue | Kind::GrowFront | Kind::GrowBack => {
                format!("8,0 {rwbs} {sector} + {sectors}")
            }
            Kind::Complete | Kind::Requeue | Kind::Error => format!("8,0 {rwbs} () {place}"),
            _ => format!("8,0 {rwbs} 4096 () {place}"),
        };
        [front.as_bytes(), b" [", &last, b"]"].concat()
    }

    fn ftrace(&self) -> Vec<u8> {
        let pad = if self.columns {
            16usize.saturating_sub(self.name.len())
        } else {
            0
        };
        let flags = if self.more[0] { " d..1." } else { "" };
        let group = if self.more[1] {
            format!(" ({:>7})", self.on.pid)
        } else {
            String::new()
        };
        let time = format!("{}.{:06}", self.us / 1_000_000, self.us % 1_000_000);
        let (pid, cpu, event) = (self.on.pid, self.on.cpu, self.event.0);
        let rest = match self.columns {
            true => format!("-{pid:<7}{group} [{cpu:03}]{flags} {time:>12}: {event}: "),
            false => format!("-{pid}{group} [{cpu}]{flags} {time}: {event}: "),
        };
        [
            &b" ".repeat(pad)[..],
            &self.name,
            rest.as_bytes(),
            &self.text(),
        ]
        .concat()
    }

    fn perf(&self) -> Vec<u8> {
        let pad = if self.columns {
            16usize.saturating_sub(self.name.len())
        } else {
            0
        };
        let ns = if self.more[0] { "000" } else { "" };
        let period = if self.more[1] { "         1 " } else { "" };
        let time = format!("{}.{:06}{ns}", self.us / 1_000_000, self.us % 1_000_000);
        let (pid, cpu, event) = (self.on.pid, self.on.cpu, self.event.0);
        let pid = if self.more[2] {
            format!("{pid}/{pid}")
        } else {
            pid.to_string()
        };
        let rest = format!(" {pid:>5} [{cpu:03}] {time:>12}: {period}block:{event}: ");
        [
            &b" ".repeat(pad)[..],
            &self.name,
            rest.as_bytes(),
            &self.text(),
        ]
        .concat()
    }

    fn blkparse(&self) -> Vec<u8> {
        let action = match self.event.1 {
            Kind::Start | Kind::Allocate => "G",
            Kind::Issue => "D",
            Kind::Requeue => "R",
            Kind::Merge | Kind::MergeOrGrow | Kind::GrowBack => "M",
            Kind::GrowFront => "F",
            Kind::Queue => "Q",
            Kind::Done | Kind::Complete | Kind::Error => "C",
        };
        let (pid, cpu, sector, sectors) = (self.on.pid, self.on.cpu, self.sector, self.sectors);
        let time = format!("{}.{:06}000", self.us / 1_000_000, self.us % 1_000_000);
        let front = format!(
            "  8,0   {cpu:2} {:8} {time:>15} {pid:5} {action:>2} {:>3} {sector} + {sectors} [",
            1, self.rwbs.0
        );
        [front.as_bytes(), &self.name, b"]"].concat()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_tracefs_and_perf_print_is_read_back(printed in printed()) {
        let event = Ok(Said::Event(printed.event()));
        let show = |line: &[u8]| String::from_utf8_lossy(line).into_owned();
        let line = printed.ftrace();
        prop_assert_eq!(Format::Ftrace.parse(&line, DEV), event, "{}", show(&line));
        let line = printed.perf();
        prop_assert_eq!(Format::PerfScript.parse(&line, DEV), event, "{}", show(&line));
    }

    #[test]
    fn what_blkparse_prints_is_read_back(printed in printed()) {
        let line = printed.blkparse();
        let Ok(Said::Event(event)) = Format::Blkparse.parse(&line, DEV) else {
            panic!("{}", String::from_utf8_lossy(&line));
        };
        prop_assert_eq!(event.rwbs.group, Some(printed.rwbs.1));
        let place = (event.time, event.on, event.sector, event.sectors);
        prop_assert_eq!(place, (printed.us * 1000, printed.on, printed.sector, printed.sectors));
    }

    #[test]
    fn a_line_of_one_format_is_no_event_of_another(printed in printed()) {
        for (format, lines) in [
            (Format::Ftrace, [printed.perf(), printed.blkparse()]),
            (Format::PerfScript, [printed.ftrace(), printed.blkparse()]),
            (Format::Blkparse, [printed.ftrace(), printed.perf()]),
        ] {
            for line in lines {
                let said = format.parse(&line, DEV);
                prop_assert!(!matches!(said, Ok(Said::Event(_))), "{}", String::from_utf8_lossy(&line));
            }
        }
    }
}

/// How long a line of 64 KiB takes at most, in units of what the plain scan for its end takes.
/// Reading is linear, so this is some tens; a parser that starts over at each piece takes thousands.
const MOST: u32 = 500;

#[test]
fn no_line_takes_more_than_time_in_its_length() {
    let least = |work: &mut dyn FnMut()| {
        let times = (0..5).map(|_| {
            let begun = std::time::Instant::now();
            work();
            begun.elapsed()
        });
        times.min().unwrap()
    };
    for piece in [
        "[0] ",
        "-1 [0] ",
        "x-1 [0] 1 ",
        "1 [0] 1.000000",
        "-1 (1) [0] ",
        "[0][0]",
        "[",
        "(",
        ")",
        "-1 ",
        " ",
        "0",
        "1.000000: ",
        "1 1.000000: ",
        "0d 1.000000: ",
        "=> ",
        "8,0 ",
        "CPU:0 [",
        ",123",
        "(1",
        "x (1)",
        "1us : ",
    ] {
        let line = piece.repeat(65536 / piece.len());
        let plain = least(&mut || {
            let sum = line.bytes().map(u32::from).fold(0, u32::wrapping_add);
            std::hint::black_box(sum);
        });
        for format in [Format::Ftrace, Format::PerfScript, Format::Blkparse] {
            let took = least(&mut || {
                let said = format.parse(line.as_bytes(), DEV);
                assert!(matches!(
                    said,
                    Err(Unread::Expected(_) | Unread::Refused(_)) | Ok(_)
                ));
            });
            println!("{format:?} {piece:?}: {took:?}, {plain:?}");
            assert!(
                took < plain * MOST,
                "{format:?} {piece:?}: {took:?}, {plain:?}"
            );
        }
    }
}
