// SPDX-License-Identifier: GPL-2.0
//! What a case holds, as data.

/// One parsed case file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Case {
    /// Events and expectations in file order; event times never step back.
    pub steps: Vec<Step>,
}

/// One line of a case that says something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The line's number in the file, from 1.
    pub line: usize,
    /// What the line says.
    pub what: What,
}

/// An event, or a statement about the accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Something happens to a device.
    Event {
        /// When, in microseconds.
        at_us: u64,
        /// What.
        event: Event,
    },
    /// Exact accounting reports this.
    Expect(Expect),
}

/// A request as an event line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Io {
    /// The request's name, unique while it is in flight.
    pub request: u64,
    /// The device, `d0` or a partition such as `d0p1`.
    pub device: String,
    /// The operation.
    pub op: Op,
    /// Sectors of 512 bytes the event is about.
    pub sectors: u64,
}

/// Something that happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// `S`: accounting start.
    Start(Io),
    /// `E`: final completion.
    End(Io),
    /// `M`: absorbed by the request `into`.
    Merge {
        /// The request that goes away.
        io: Io,
        /// The request that goes on for both.
        into: u64,
    },
    /// `P`: partial completion.
    Partial(Io),
    /// `Q`: requeue.
    Requeue(Io),
    /// `f`: an internal flush command is issued.
    FlushIssue(Io),
    /// `g`: an internal flush command is done.
    FlushDone(Io),
    /// `T`: iostats is switched.
    Switch {
        /// The whole disk.
        device: String,
        /// On or off.
        on: bool,
    },
    /// `R`: the statistics are read.
    Read,
    /// `X`: the device is removed.
    Remove {
        /// The whole disk.
        device: String,
    },
}

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    /// `R`
    Read,
    /// `W`
    Write,
    /// `D`
    Discard,
    /// `F`
    Flush,
}

/// What must hold, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expect {
    /// Holds at this time in microseconds, after the lines above it; without a time, at the end.
    pub at_us: Option<u64>,
    /// The device the statement is about.
    pub device: String,
    /// Keys and the values they must have.
    pub want: Vec<(Key, u64)>,
}

/// A number that an expectation can be about. Times are in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// Length of the union of all in-flight intervals.
    Busy,
    /// Integral of in-flight over time.
    Queue,
    /// Sum over completed I/O of end minus the earliest start it inherited.
    Lat,
    /// Completed I/O.
    Ios,
    /// Requests in flight.
    Inflight,
    /// Requests absorbed by another.
    Merges,
    /// Internal flush commands done.
    Flushes,
    /// Their time, from issue to done.
    FlushUs,
}

impl Key {
    /// Every key with its name in the file.
    pub const NAMES: [(&'static str, Key); 8] = [
        ("busy", Key::Busy),
        ("queue", Key::Queue),
        ("lat", Key::Lat),
        ("ios", Key::Ios),
        ("inflight", Key::Inflight),
        ("merges", Key::Merges),
        ("flushes", Key::Flushes),
        ("flush_us", Key::FlushUs),
    ];

    /// Returns the key's name in the file.
    pub fn name(self) -> &'static str {
        // The table lists the keys in the order of the enum; a test holds it to that.
        Self::NAMES[self as usize].0
    }
}
