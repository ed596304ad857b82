// SPDX-License-Identifier: GPL-2.0
//! Traces as streams of events.
//!
//! Each format has one file that turns one line into at most one [`Event`]. Everything that needs
//! more than a line (order, identity, accounting) happens behind this module.

mod blkparse;
mod block;
mod context;
mod evidence;
mod ftrace;
mod lines;
mod order;
mod perf;
pub mod rwbs;
mod scan;
pub mod sniff;
mod stream;
mod totals;

pub use evidence::{Evidence, Kinds, Printed};
pub use lines::{Lines, Next};
pub use order::Reorder;
pub use rwbs::{Group, Kept, Rwbs};
pub use stream::Stream;

/// A disk's device number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dev {
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
}

/// What an event does to the requests in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A request's accounting starts.
    Start,
    /// A request goes to the driver.
    Issue,
    /// The driver has given a request back undone.
    Requeue,
    /// A request is complete, or one step of a flush sequence is; the size is not known.
    Done,
    /// A request, or a part of it, fails; its end is told of apart.
    Error,
    /// So many sectors from the request's start are complete.
    Complete,
    /// A request is there for a bio: its start follows at once, in the same flow of control.
    Allocate,
    /// A bio comes to the disk: what becomes of it follows, told of by the same task.
    Queue,
    /// The request at this place is absorbed by the one that ends where it begins.
    Merge,
    /// A request at this place is absorbed, or else a bio joins the end of a request.
    MergeOrGrow,
    /// A bio joins the front of a request.
    GrowFront,
    /// A bio joins the end of a request.
    GrowBack,
}

/// Where an event was traced. Events of one CPU and task that follow each other are of one flow of
/// control, or of an interrupt within it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct On {
    /// The CPU.
    pub cpu: u32,
    /// The task that ran on it.
    pub pid: u32,
}

impl On {
    /// The trace does not say.
    pub const UNKNOWN: On = On {
        cpu: u32::MAX,
        pid: u32::MAX,
    };
}

/// One event of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, in ns of the trace's clock.
    pub time: u64,
    /// What happens.
    pub kind: Kind,
    /// What the request does.
    pub rwbs: Rwbs,
    /// The first sector the event names.
    pub sector: u64,
    /// How many sectors it names; the end is a sector's number, too.
    pub sectors: u64,
    /// Where it was traced.
    pub on: On,
    /// It names an error.
    pub failed: bool,
}

/// What a line of a trace says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// Nothing that matters: a comment, a header, a frame of a stack.
    Nothing,
    /// Another event, or another device: it tells that the trace goes on at that time.
    Elsewhere {
        /// When, in ns of the trace's clock.
        time: u64,
        /// What happens, if that is known.
        kind: Option<Kind>,
    },
    /// An event of the disk.
    Event(Event),
    /// So many events were lost; zero if the trace does not say how many.
    Lost(u64),
    /// The trace is over; what follows is a summary.
    Over,
}

/// Why a line is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It is not of the format; what the format has there.
    Expected(&'static str),
    /// It is, in a form that is not read: why, and what to do.
    Refused(&'static str),
}

/// The text formats of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `trace` and `trace_pipe` of tracefs, `trace-cmd report`.
    Ftrace,
    /// `perf script`.
    PerfScript,
    /// `blkparse`.
    Blkparse,
}

impl Format {
    /// Returns the name that `--format` takes.
    pub fn name(self) -> &'static str {
        match self {
            Format::Ftrace => "ftrace",
            Format::PerfScript => "perf-script",
            Format::Blkparse => "blkparse",
        }
    }

    /// Returns the event that ends a request. Where it is not [`Kind::Complete`], that one only
    /// tells what the driver has done.
    pub fn end(self) -> Kind {
        match self {
            Format::Ftrace | Format::PerfScript => Kind::Done,
            Format::Blkparse => Kind::Complete,
        }
    }

    /// Reads one line.
    ///
    /// # Errors
    ///
    /// A line that looks like an event of the format but cannot be read.
    pub fn parse(self, line: &[u8], dev: Dev) -> Result<Said, Unread> {
        match self {
            Format::Ftrace => ftrace::line(line, dev),
            Format::PerfScript => perf::line(line, dev),
            Format::Blkparse => blkparse::line(line, dev),
        }
    }
}
