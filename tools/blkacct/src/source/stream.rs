// SPDX-License-Identifier: GPL-2.0
//! A trace from its first byte to its last: lines, format, order, and what it is worth as evidence.

use std::io::{self, Read};

use super::{scan, sniff, Dev, Event, Evidence, Format, Lines, Next, Reorder, Said, Unread};
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
    /// A line of another format.
    #[error("{file}:{line}: this line is of the format {other}; give --format {other}")]
    Other {
        /// The trace.
        file: String,
        /// The line's number, from 1.
        line: u64,
        /// The format that it is of.
        other: &'static str,
    },
    /// A form of the format that is not read.
    #[error("{file}:{line}: {why}")]
    Refused {
        /// The trace.
        file: String,
        /// The line's number, from 1.
        line: u64,
        /// Why, and what to do.
        why: &'static str,
    },
    /// A file that is no text.
    #[error("{file}:1: this is {what}")]
    NoText {
        /// The trace.
        file: String,
        /// What it is, and what to do.
        what: String,
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

/// So many lines are read before one asks whether to go on.
const LOOK: u64 = 256;

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
    /// The latest time so far, and whether the first was zero.
    latest: Option<(u64, bool)>,
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
            latest: None,
            progress,
        }
    }

    /// Hands every event to `sink`, in order, until the source has no more at the moment.
    ///
    /// # Errors
    ///
    /// The source's, a line that is not of the format, events out of order beyond the window.
    pub fn read(&mut self, sink: &mut impl FnMut(Event)) -> Result<(), TraceError> {
        self.read_while(|| true, sink)
    }

    /// As [`Stream::read`], but no longer than `go_on` wants: a source may have more as fast as it
    /// is read.
    ///
    /// # Errors
    ///
    /// As [`Stream::read`].
    pub fn read_while(
        &mut self,
        mut go_on: impl FnMut() -> bool,
        sink: &mut impl FnMut(Event),
    ) -> Result<(), TraceError> {
        loop {
            if self.line % LOOK == LOOK - 1 && !go_on() {
                return Ok(());
            }
            let said = match self.lines.next_line() {
                Ok(Next::Line(line)) => {
                    self.line += 1;
                    self.progress.tick(self.line);
                    let line = line.strip_suffix(b"\r").unwrap_or(line);
                    let line = match self.line {
                        1 => sniff::text(line).map_err(|what| no_text(&self.name, what))?,
                        _ => line,
                    };
                    match self.format.parse(line, self.dev) {
                        Ok(said) => said,
                        Err(Unread::Expected(_)) if self.over && !is_event(line) => Said::Nothing,
                        Err(error) => {
                            let line = line.to_owned();
                            return Err(self.unread(&line, error));
                        }
                    }
                }
                Ok(Next::Dry) if self.line > 0 => return Ok(()),
                Ok(Next::Dry) => {
                    let head = sniff::text(self.lines.pending());
                    return head.map(|_| ()).map_err(|what| no_text(&self.name, what));
                }
                Err(error) => {
                    if self.line == 0 {
                        sniff::text(self.lines.pending())
                            .map_err(|what| no_text(&self.name, what))?;
                    }
                    let file = self.name.clone();
                    return Err(TraceError::Io { file, error });
                }
            };
            self.evidence.add(&said);
            match said {
                Said::Over => self.over = true,
                Said::Nothing | Said::Lost(_) => {}
                Said::Elsewhere { time, .. } => self.at(time)?,
                Said::Event(event) => {
                    self.at(event.time)?;
                    let ready = self.order.push(event).map_err(|_| TraceError::Disorder {
                        file: self.name.clone(),
                        line: self.line,
                    })?;
                    if let Some(event) = ready {
                        sink(event);
                    }
                }
            }
        }
    }

    /// Looks whether the times are those of `perf script --deltatime`: each since the one before.
    /// `perf` prints its events sorted, so that its times do not step back otherwise.
    fn at(&mut self, time: u64) -> Result<(), TraceError> {
        let (latest, from_zero) = self.latest.unwrap_or((time, time == 0));
        self.latest = Some((latest.max(time), from_zero));
        let back = time < latest && (from_zero || time < latest / 2);
        if back && self.format == Format::PerfScript {
            return Err(TraceError::Refused {
                file: self.name.clone(),
                line: self.line,
                why: "the time steps back as with perf script --deltatime; print it without",
            });
        }
        Ok(())
    }

    /// Says why a line is not read.
    fn unread(&self, line: &[u8], error: Unread) -> TraceError {
        let file = self.name.clone();
        let number = self.line;
        if let Some(other) = sniff::other(line, self.format, self.dev) {
            return TraceError::Other {
                file,
                line: number,
                other: other.name(),
            };
        }
        match error {
            Unread::Refused(why) => TraceError::Refused {
                file,
                line: number,
                why,
            },
            Unread::Expected(wanted) => TraceError::Malformed {
                file,
                line: number,
                wanted,
                found: String::from_utf8_lossy(&line[..line.len().min(1000)])
                    .trim_start()
                    .chars()
                    .take(60)
                    .collect(),
            },
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

fn no_text(name: &str, what: &'static str) -> TraceError {
    TraceError::NoText {
        file: name.to_owned(),
        what: sniff::advice(what, name),
    }
}

/// Whether a line begins as an event of blkparse does, behind whose totals another disk's events
/// may follow.
fn is_event(line: &[u8]) -> bool {
    scan::dev(scan::Scan(line).word()).is_some()
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
