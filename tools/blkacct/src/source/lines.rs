// SPDX-License-Identifier: GPL-2.0
//! Lines of a file, a pipe or `trace_pipe`, out of one buffer that is used again and again.

use std::io::{self, ErrorKind, Read};

/// A line longer than this is not a trace.
const LONGEST: usize = 64 * 1024;

/// What the source has next.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<'a> {
    /// A whole line, without its newline.
    Line(&'a [u8]),
    /// Nothing at the moment: the end of a file, or an empty `trace_pipe`.
    Dry,
}

/// Splits a source into lines.
pub struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    /// The part of the buffer that is still to be handed out.
    from: usize,
    to: usize,
}

impl<R: Read> Lines<R> {
    /// Reads from `source`, which may be non-blocking.
    pub fn new(source: R) -> Self {
        Lines {
            source,
            buffer: vec![0; 2 * LONGEST],
            from: 0,
            to: 0,
        }
    }

    /// Hands out the next line.
    ///
    /// # Errors
    ///
    /// Those of the source, and a line that is too long.
    pub fn next_line(&mut self) -> io::Result<Next<'_>> {
        let mut searched = 0;
        loop {
            let open = &self.buffer[self.from + searched..self.to];
            if let Some(found) = memchr::memchr(b'\n', open) {
                let line = self.from..self.from + searched + found;
                self.from = line.end + 1;
                return Ok(Next::Line(&self.buffer[line]));
            }
            searched = self.to - self.from;
            if searched > LONGEST {
                return Err(io::Error::new(
                    ErrorKind::InvalidData,
                    "a line of more than 64 KiB",
                ));
            }
            if self.fill()? == 0 {
                return Ok(Next::Dry);
            }
        }
    }

    /// Returns what has been read of a line that has no end yet.
    pub fn pending(&self) -> &[u8] {
        &self.buffer[self.from..self.to]
    }

    /// Whether the source stopped in the middle of a line.
    pub fn is_cut(&self) -> bool {
        self.from != self.to
    }

    /// Reads more; zero if there is nothing now.
    fn fill(&mut self) -> io::Result<usize> {
        self.buffer.copy_within(self.from..self.to, 0);
        self.to -= self.from;
        self.from = 0;
        loop {
            match self.source.read(&mut self.buffer[self.to..]) {
                Ok(len) => {
                    self.to += len;
                    return Ok(len);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(0),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out a byte at a time.
    struct Drops(&'static [u8]);

    impl Read for Drops {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = self.0.len().min(1);
            buffer[..len].copy_from_slice(&self.0[..len]);
            self.0 = &self.0[len..];
            Ok(len)
        }
    }

    #[test]
    fn lines_do_not_depend_on_the_reads() {
        let mut lines = Lines::new(Drops(b"one\n\nthree\nfo"));
        assert_eq!(lines.next_line().unwrap(), Next::Line(b"one"));
        assert_eq!(lines.next_line().unwrap(), Next::Line(b""));
        assert_eq!(lines.next_line().unwrap(), Next::Line(b"three"));
        assert!(!lines.is_cut());
        assert_eq!(lines.next_line().unwrap(), Next::Dry);
        assert!(lines.is_cut());
    }

    #[test]
    fn an_endless_line_is_an_error() {
        let mut lines = Lines::new(io::repeat(b'x'));
        assert_eq!(
            lines.next_line().unwrap_err().kind(),
            ErrorKind::InvalidData
        );
    }
}
