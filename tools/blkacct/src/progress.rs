// SPDX-License-Identifier: GPL-2.0
//! One line on standard error that tells how far a long trace has been read, or how much recorded.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// The line, or nothing.
pub struct Progress {
    shown: Option<Instant>,
    printed: bool,
}

impl Progress {
    /// Shows progress if asked to, or if standard error is a terminal.
    pub fn new(wanted: bool) -> Self {
        Progress {
            shown: (wanted || io::stderr().is_terminal()).then(Instant::now),
            printed: false,
        }
    }

    /// So many lines have been read. The clock is looked at every 65536 lines.
    pub fn tick(&mut self, lines: u64) {
        if lines % 65536 == 0 {
            self.show(|| format!("{:.1} million lines", lines as f64 / 1e6));
        }
    }

    /// Tells how far it is, if that was not told just now.
    pub fn show(&mut self, so_far: impl FnOnce() -> String) {
        if let Some(last) = self
            .shown
            .filter(|last| last.elapsed() > Duration::from_millis(500))
        {
            self.shown = Some(last + last.elapsed());
            self.printed = true;
            // A closed standard error is no reason to stop.
            let _ = write!(io::stderr(), "\r{}", so_far());
        }
    }

    /// Ends the line.
    pub fn done(&self) {
        if self.printed {
            let _ = writeln!(io::stderr());
        }
    }
}
