// SPDX-License-Identifier: GPL-2.0
//! A trace from its first byte to its last: lines, format, order, and what it is worth as evidence.

use std::io::{self, Read};

use super::{Dev, Event, Format, Lines, Next, Reorder, Said};
use crate::progress::Progress;

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// A line that is not of the format.
    #[error("{file}:{line}: expected {wanted}, found `{found}`; is --format right?")]
    Malformed {
        /// The trace.
        file: String,
        /// The line's number, from 1.
        line: u64,
        /// What the format has there.
        wanted: &'static str,
        /// How the line begins.
        found: String,
    },
    /// An event that came too late to be put in order.
    #[error(
        "{file}:{line}: the event is older than one {} lines above it; sort the trace by time",
        super::order::WINDOW
    )]
    Disorder {
        /// The trace.
        file: String,
        /// The line's number, from 1.
        line: u64,
    },
    /// The trace could not be read.
    #[error("{file}: {error}")]
    Io {
        /// The trace.
        file: String,
        /// What the system says.
        error: io::Error,
    },
}

/// What a trace is worth.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence {
    /// Events of the disk.
    pub events: u64,
    /// Events that the trace itself says are missing.
    pub lost: u64,
    /// Whether it says so at all; the number may be unknown.
    pub lossy: bool,
    /// Whether it stops in the middle of a line.
    pub cut: bool,
}

/// A trace being read.
pub struct Stream<R> {
    name: String,
    lines: Lines<R>,
    format: Format,
    dev: Dev,
    order: Reorder,
    evidence: Evidence,
    line: u64,
    over: bool,
    progress: Progress,
}

impl<R: Read> Stream<R> {
    /// Reads the events of the disk `dev` from `source`, which messages call `name`.
    pub fn new(name: &str, source: R, format: Format, dev: Dev, progress: Progress) -> Self {
        Stream {
            name: name.to_owned(),
            lines: Lines::new(source),
            format,
            dev,
            order: Reorder::default(),
            evidence: Evidence::default(),
            line: 0,
            over: false,
            progress,
        }
    }

    /// Hands every event to `sink`, in order, until the source has no more at the moment.
    ///
    /// # Errors
    ///
    /// The source's, a line that is not of the format, events out of order beyond the window.
    pub fn read(&mut self, sink: &mut impl FnMut(Event)) -> Result<(), TraceError> {
        loop {
            let line = match self.lines.next_line() {
                Ok(Next::Line(line)) => line,
                Ok(Next::Dry) => return Ok(()),
                Err(error) => {
                    let file = self.name.clone();
                    return Err(TraceError::Io { file, error });
                }
            };
            self.line += 1;
            self.progress.tick(self.line);
            match self.format.parse(line, self.dev) {
                Ok(Said::Nothing) => {}
                Ok(Said::Over) => self.over = true,
                Ok(Said::Lost(count)) => {
                    self.evidence.lossy = true;
                    self.evidence.lost = self.evidence.lost.saturating_add(count);
                }
                Ok(Said::Event(event)) => {
                    self.evidence.events += 1;
                    let ready = self.order.push(event).map_err(|_| TraceError::Disorder {
                        file: self.name.clone(),
                        line: self.line,
                    })?;
                    if let Some(event) = ready {
                        sink(event);
                    }
                }
                Err(_) if self.over => {}
                Err(wanted) => {
                    let line = String::from_utf8_lossy(line);
                    return Err(TraceError::Malformed {
                        file: self.name.clone(),
                        line: self.line,
                        wanted,
                        found: line.trim_start().chars().take(60).collect(),
                    });
                }
            }
        }
    }

    /// Hands out the events that waited for order, and says what the trace is worth.
    pub fn finish(mut self, sink: &mut impl FnMut(Event)) -> Evidence {
        while let Some(event) = self.order.pop() {
            sink(event);
        }
        self.progress.done();
        self.evidence.cut = self.lines.is_cut();
        self.evidence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEV: Dev = Dev { major: 8, minor: 0 };

    fn read(text: &str, format: Format) -> (Result<(), TraceError>, Vec<Event>, Evidence) {
        let mut events = Vec::new();
        let mut sink = |event| events.push(event);
        let mut stream = Stream::new("t", text.as_bytes(), format, DEV, Progress::new(false));
        let result = stream.read(&mut sink);
        let evidence = stream.finish(&mut sink);
        (result, events, evidence)
    }

    #[test]
    fn errors_name_file_and_line() {
        let (result, ..) = read("# header\nnonsense\n", Format::Ftrace);
        let message = result.unwrap_err().to_string();
        assert!(
            message.starts_with("t:2: expected `command-pid [cpu]"),
            "{message}"
        );
    }

    #[test]
    fn a_cut_line_is_no_event() {
        let text = "  8,0 1 1 0.000000100 5 G R 8 + 8 [x]\n  8,0 1 2 0.000000200 5 C R 8 + 8";
        let (result, events, evidence) = read(text, Format::Blkparse);
        assert!(result.is_ok());
        assert_eq!(events.len(), 1);
        assert!(evidence.cut);
    }

    #[test]
    fn the_totals_of_blkparse_are_no_events_but_tell_of_losses() {
        let text = "  8,0 1 1 0.000000100 5 G R 8 + 8 [x]\nCPU0 (8,0):\n Reads Queued: 1\n\n\
                    Events (8,0): 1 entries\nSkips: 3 forward (2 - 50.0%)\n";
        let (result, events, evidence) = read(text, Format::Blkparse);
        assert!(result.is_ok());
        assert_eq!((events.len(), evidence.lossy, evidence.lost), (1, true, 2));
        let (_, _, evidence) = read(
            &text.replace("3 forward (2", "0 forward (0"),
            Format::Blkparse,
        );
        assert!(!evidence.lossy);
    }
}
