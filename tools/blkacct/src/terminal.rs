// SPDX-License-Identifier: GPL-2.0
//! What reaches a terminal or a log: nothing in it is more than text, and it never panics.
//!
//! Names of devices, files and commands come from elsewhere and may hold anything: escape
//! sequences, line ends, marks that turn the direction of writing. All output passes [`Out`], all
//! messages pass [`tell`]; both show such a character by its number, as JSON does, so that JSON stays
//! JSON.

use std::fmt::Display;
use std::io::{self, StdoutLock, Write};

/// Characters of a message or of a cell that are shown, half of them from either end.
const SHOWN: usize = 2000;

/// Characters of a word that is quoted in a message.
const QUOTED: usize = 60;

/// A stream on which only line ends and printable characters go out.
pub struct Plain<W>(W);

/// Standard output.
pub type Out = Plain<StdoutLock<'static>>;

/// Returns standard output.
pub fn out() -> Out {
    Plain(io::stdout().lock())
}

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut text = String::with_capacity(bytes.len());
        for chunk in bytes.utf8_chunks() {
            chunk.valid().chars().for_each(|c| match c {
                '\n' => text.push(c),
                c => push(&mut text, c),
            });
            if !chunk.invalid().is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        self.0.write_all(text.as_bytes()).map_err(named)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(named)
    }
}

fn named(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("standard output: {error}"))
}

/// Writes a message of one line to standard error. If nobody takes it, that is no error: the status
/// tells.
pub fn tell(message: impl Display) {
    let line = format!("blkacct: {}\n", line(&message.to_string()));
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Writes a text of ours, in which the command line may be quoted, to standard error, as [`tell`].
pub fn tell_all(text: impl Display) {
    let _ = write!(Plain(io::stderr()), "{text}");
}

/// Returns a text as one line, out of the middle of which a lot may be left.
pub fn line(text: &str) -> String {
    let mut line = String::new();
    match text.char_indices().nth(SHOWN) {
        None => text.chars().for_each(|c| push(&mut line, c)),
        Some(_) => {
            let head = text.chars().take(SHOWN / 2);
            let mut tail: Vec<char> = text.chars().rev().take(SHOWN / 2).collect();
            tail.reverse();
            head.for_each(|c| push(&mut line, c));
            line += " ... ";
            tail.into_iter().for_each(|c| push(&mut line, c));
        }
    }
    line
}

/// Returns the beginning of a word or a line, to be quoted.
pub fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// Appends a character, by its number if a terminal may take it for more than a sign on one line.
fn push(text: &mut String, c: char) {
    // Of those that `escape_debug` shows by more than themselves, three are no danger.
    if matches!(c, '"' | '\'' | '\\') || c.escape_debug().len() == 1 {
        return text.push(c);
    }
    for unit in c.encode_utf16(&mut [0; 2]) {
        *text += &format!("\\u{unit:04x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_plain_text_is_shown_by_its_number() {
        for (text, shown) in [
            (
                "sda: 5 % \\ \"x\" 'y' µs ü 漢",
                "sda: 5 % \\ \"x\" 'y' µs ü 漢",
            ),
            (
                "a\x1b[2Jb\x07\r\n\t\x7f",
                "a\\u001b[2Jb\\u0007\\u000d\\u000a\\u0009\\u007f",
            ),
            // CSI of eight bits; turned writing; nothing at all; a combining mark; a tag.
            ("\u{9b}2J", "\\u009b2J"),
            ("\u{202e}a\u{2066}", "\\u202ea\\u2066"),
            ("\u{200b}\u{feff}\u{2028}", "\\u200b\\ufeff\\u2028"),
            ("e\u{301}", "e\\u0301"),
            ("\u{e0041}", "\\udb40\\udc41"),
        ] {
            assert_eq!(line(text), shown);
            assert_eq!(line(&line(text)), shown, "once is as good as twice");
        }
    }

    #[test]
    fn a_stream_lets_lines_through_and_json_stays_json() {
        let written = |bytes: &[u8]| {
            let mut out = Plain(Vec::new());
            out.write_all(bytes).unwrap();
            String::from_utf8(out.0).unwrap()
        };
        assert_eq!(written(b"a\n\x1b\xffb\n"), "a\n\\u001b\u{fffd}b\n");
        let names = ["\u{9b}31m\u{202e}\n\u{e0041}\"", "sda"];
        let json = written(&serde_json::to_vec(&names).unwrap());
        assert!(json.is_ascii(), "{json}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), names);
    }

    #[test]
    fn a_message_is_short_and_keeps_both_ends() {
        let long = format!("begin{}end", "\x1b".repeat(1 << 20));
        let line = line(&long);
        assert!(line.len() < 10 * SHOWN, "{}", line.len());
        assert!(line.starts_with("begin\\u001b") && line.ends_with("\\u001bend"));
        assert_eq!(quoted(&"ü".repeat(61)), format!("{}...", "ü".repeat(60)));
        assert_eq!(quoted("sda"), "sda");
    }

    #[test]
    fn a_full_disk_keeps_its_kind_and_gets_a_name() {
        let mut full = Plain(
            std::fs::OpenOptions::new()
                .write(true)
                .open("/dev/full")
                .unwrap(),
        );
        let error = full.write_all(b"x").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(
            error.to_string().starts_with("standard output: "),
            "{error}"
        );
    }
}
