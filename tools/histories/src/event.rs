// SPDX-License-Identifier: GPL-2.0
//! What happens in a history: events with the request they are about.

/// An index into [`crate::world::World::requests`]; never printed.
pub type Id = usize;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// A read.
    Read,
    /// A write, or an empty flush.
    Write,
    /// A discard.
    Discard,
    /// Write zeroes.
    WriteZeroes,
    /// A zone append.
    ZoneAppend,
    /// Zone open, close, finish, reset: the letter.
    Zone(char),
    /// The flush that the block layer makes itself.
    Flush,
    /// Passthrough.
    Driver,
}

/// The groups of statistics, in the order of blkacct's `stat`.
pub const GROUPS: [&str; 9] = [
    "read",
    "write",
    "discard",
    "flush",
    "zone_append",
    "zone_mgmt",
    "write_zeroes",
    "drv_in",
    "drv_out",
];

impl Op {
    /// Returns the index in [`GROUPS`].
    pub fn group(self) -> usize {
        match self {
            Op::Read => 0,
            Op::Write => 1,
            Op::Discard => 2,
            Op::Flush => 3,
            Op::ZoneAppend => 4,
            Op::Zone(_) => 5,
            Op::WriteZeroes => 6,
            Op::Driver => 7,
        }
    }

    /// Whether requests of this kind take part in merges.
    pub fn merges(self) -> bool {
        matches!(self, Op::Read | Op::Write | Op::Discard)
    }
}

/// An operation and its flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opf {
    /// The operation.
    pub op: Op,
    /// A flush first.
    pub preflush: bool,
    /// The data on the medium at completion.
    pub fua: bool,
    /// Someone waits.
    pub sync: bool,
    /// Read ahead.
    pub ahead: bool,
    /// Metadata.
    pub meta: bool,
    /// Not to be merged.
    pub nomerge: bool,
}

impl Opf {
    /// An operation without flags.
    pub fn plain(op: Op) -> Self {
        Opf {
            op,
            preflush: false,
            fua: false,
            sync: false,
            ahead: false,
            meta: false,
            nomerge: false,
        }
    }

    /// The letters of the tracepoints; kernels before 6.19 had none for write zeroes.
    pub fn letters(self, old: bool) -> String {
        let mut text = String::new();
        if self.preflush {
            text.push('F');
        }
        match self.op {
            Op::Read => text.push('R'),
            Op::Write => text.push('W'),
            Op::Discard => text.push('D'),
            Op::WriteZeroes if old => text.push('N'),
            Op::WriteZeroes => text.push_str("WZ"),
            Op::ZoneAppend => text.push_str("ZA"),
            Op::Zone(letter) => text.extend(['Z', letter]),
            Op::Flush => text.push('F'),
            Op::Driver => text.push('N'),
        }
        self.flags(&mut text);
        text
    }

    /// The letters of blkparse for an event of so many bytes.
    pub fn blkparse(self, bytes: u64) -> String {
        let mut text = String::new();
        if self.preflush || self.op == Op::Flush {
            text.push('F');
        }
        text.push(match self.op {
            Op::Discard => 'D',
            Op::Read | Op::Driver | Op::Flush if bytes == 0 => 'N',
            Op::Read | Op::Driver | Op::Flush => 'R',
            _ => 'W',
        });
        self.flags(&mut text);
        text
    }

    fn flags(self, text: &mut String) {
        for (set, letter) in [
            (self.fua, 'F'),
            (self.ahead, 'A'),
            (self.sync, 'S'),
            (self.meta, 'M'),
        ] {
            if set {
                text.push(letter);
            }
        }
    }
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A bio comes to the disk.
    Queue,
    /// A bio joins the end of a request.
    BackMerge,
    /// A bio joins the front of a request.
    FrontMerge,
    /// A bio is cut before this sector.
    Split(u64),
    /// A request is allocated for a bio.
    GetRq,
    /// Its accounting starts.
    Start,
    /// It is given to the scheduler.
    Insert,
    /// It goes to the driver.
    Issue,
    /// The driver gives it back undone.
    Requeue,
    /// So many sectors are done.
    Complete {
        /// A stay at the driver ends by it.
        stay: bool,
        /// The request is over.
        last: bool,
    },
    /// It fails, or a part of it.
    Error,
    /// The end of the accounting, or the middle of a flush sequence.
    Done {
        /// A stay at the driver ends by it.
        stay: bool,
        /// The request is over.
        last: bool,
    },
    /// It is absorbed by another.
    Merge(Id),
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When, in ns.
    pub time: u64,
    /// Where.
    pub cpu: usize,
    /// By whom: an index into the tasks, none for idle.
    pub task: Option<usize>,
    /// The disk's index.
    pub disk: usize,
    /// What happens.
    pub what: What,
    /// To whom; none for a bio.
    pub request: Option<Id>,
    /// The flush queue whose lock is held, if one is.
    pub flush_queue: Option<usize>,
    /// The operation, as it is at this moment.
    pub opf: Opf,
    /// The first sector that the event names.
    pub sector: u64,
    /// How many.
    pub sectors: u64,
    /// Whether it names an error.
    pub failed: bool,
}
