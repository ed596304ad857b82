// SPDX-License-Identifier: GPL-2.0
//! Text to [`Case`], one line at a time.

use std::io::{BufRead, Read};

use super::{Case, Event, Expect, Io, Key, Op, Step, What};

/// Why a case could not be read, and at which line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct ParseError {
    /// The line's number in the file, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A word that the line needs is not there.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A word is not what its place asks for.
    #[error("`{word}` is not {wanted}")]
    Bad {
        /// The word as written.
        word: String,
        /// What its place asks for.
        wanted: &'static str,
    },
    /// The line is longer than any of a case.
    #[error("a line of more than 64 KiB")]
    Long,
    /// The line cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// There are words after the end of the line's grammar.
    #[error("`{0}` is one word too many")]
    Extra(String),
    /// The event happens before the one above it.
    #[error("{at_us} us is before the event above it, at {last_us} us")]
    Backwards {
        /// The event's time.
        at_us: u64,
        /// The time that came before.
        last_us: u64,
    },
}

/// A line longer than this is not of a case.
const LONGEST: u64 = 64 * 1024;

/// Characters of a word that an error quotes.
const QUOTED: usize = 40;

/// Parses the text of a case file.
///
/// # Errors
///
/// The first line that does not follow the format, with its number.
pub fn parse(text: &str) -> Result<Case, ParseError> {
    let steps = read(text.as_bytes()).collect::<Result<_, _>>()?;
    Ok(Case { steps })
}

/// Reads a case from `source`, of which no more than a line is in memory.
pub fn read<R: BufRead>(source: R) -> Steps<R> {
    Steps {
        source,
        line: 0,
        last_us: 0,
        raw: Vec::new(),
        over: false,
    }
}

/// The steps of a case that is being read. The first error is the end.
pub struct Steps<R> {
    source: R,
    line: usize,
    last_us: u64,
    raw: Vec<u8>,
    over: bool,
}

impl<R: BufRead> Iterator for Steps<R> {
    type Item = Result<Step, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.over {
            self.line += 1;
            let line = self.line;
            match self.next_line() {
                Ok(Some(what)) => return Some(Ok(Step { line, what })),
                Ok(None) => {}
                Err(fault) => {
                    self.over = true;
                    return Some(Err(ParseError { line, fault }));
                }
            }
        }
        None
    }
}

impl<R: BufRead> Steps<R> {
    /// Reads one line; none if it says nothing.
    fn next_line(&mut self) -> Result<Option<What>, Fault> {
        self.raw.clear();
        let mut source = Read::take(&mut self.source, LONGEST + 1);
        let read = source.read_until(b'\n', &mut self.raw);
        let len = read.map_err(|error| Fault::Unreadable(error.to_string()))?;
        self.over = len == 0;
        if len as u64 > LONGEST {
            return Err(Fault::Long);
        }
        // What is not text is in a comment, or else no word of the format.
        let raw = String::from_utf8_lossy(&self.raw);
        step(raw.split('#').next().unwrap_or_default(), &mut self.last_us)
    }
}

/// Reads one line without its comment; a blank one says nothing.
fn step(said: &str, last_us: &mut u64) -> Result<Option<What>, Fault> {
    let mut words = Words(said.split_whitespace());
    let Some(first) = words.0.next() else {
        return Ok(None);
    };
    let what = match first.strip_prefix("expect") {
        Some(when) => What::Expect(expect(when, &mut words)?),
        None => {
            let at_us = number(first, "a time in microseconds or `expect`")?;
            if at_us < *last_us {
                let last_us = *last_us;
                return Err(Fault::Backwards { at_us, last_us });
            }
            *last_us = at_us;
            let event = event(&mut words)?;
            What::Event { at_us, event }
        }
    };
    match words.0.next() {
        Some(extra) => Err(Fault::Extra(quoted(extra))),
        None => Ok(Some(what)),
    }
}

fn event(words: &mut Words<'_>) -> Result<Event, Fault> {
    let kind = words.take("the event")?;
    Ok(match kind {
        "S" => Event::Start(words.io()?),
        "E" => Event::End(words.io()?),
        "M" => Event::Merge {
            io: words.io()?,
            into: words.number("the absorbing request")?,
        },
        "P" => Event::Partial(words.io()?),
        "Q" => Event::Requeue(words.io()?),
        "f" => Event::FlushIssue(words.io()?),
        "g" => Event::FlushDone(words.io()?),
        "T" => Event::Switch {
            device: words.device()?,
            on: match words.take("0 or 1")? {
                "0" => false,
                "1" => true,
                word => return Err(bad(word, "0 or 1")),
            },
        },
        "R" => Event::Read,
        "X" => Event::Remove {
            device: words.device()?,
        },
        word => return Err(bad(word, "an event (S E M P Q T R X f g)")),
    })
}

fn expect(when: &str, words: &mut Words<'_>) -> Result<Expect, Fault> {
    let at_us = match when.strip_prefix('@') {
        Some(time) => Some(number(time, "a time in microseconds")?),
        None if when.is_empty() => None,
        None => return Err(bad(when, "`@` and a time")),
    };
    let device = words.device()?;
    let mut want = Vec::new();
    for word in words.0.by_ref() {
        let (name, value) = word.split_once('=').ok_or_else(|| bad(word, "key=value"))?;
        let key = Key::NAMES
            .iter()
            .find_map(|&(known, key)| (known == name).then_some(key))
            .ok_or_else(|| {
                bad(
                    name,
                    "a key (busy queue lat ios inflight merges flushes flush_us)",
                )
            })?;
        want.push((key, number(value, "a whole number")?));
    }
    if want.is_empty() {
        return Err(Fault::Missing("key=value"));
    }
    Ok(Expect {
        at_us,
        device,
        want,
    })
}

/// The words of one line that are still to be read.
struct Words<'a>(std::str::SplitWhitespace<'a>);

impl<'a> Words<'a> {
    fn take(&mut self, what: &'static str) -> Result<&'a str, Fault> {
        self.0.next().ok_or(Fault::Missing(what))
    }

    fn number(&mut self, what: &'static str) -> Result<u64, Fault> {
        number(self.take(what)?, what)
    }

    /// A disk `d<n>` or a partition of one, `d<n>p<m>`.
    fn device(&mut self) -> Result<String, Fault> {
        let word = self.take("the device")?;
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        let known = word
            .strip_prefix('d')
            .is_some_and(|rest| match rest.split_once('p') {
                Some((disk, part)) => digits(disk) && digits(part),
                None => digits(rest),
            });
        if known {
            Ok(word.to_owned())
        } else {
            Err(bad(word, "a device such as d0 or d0p1"))
        }
    }

    fn io(&mut self) -> Result<Io, Fault> {
        Ok(Io {
            request: self.number("the request's number")?,
            device: self.device()?,
            op: match self.take("the operation")? {
                "R" => Op::Read,
                "W" => Op::Write,
                "D" => Op::Discard,
                "F" => Op::Flush,
                word => return Err(bad(word, "an operation (R W D F)")),
            },
            sectors: self.number("the number of sectors")?,
        })
    }
}

fn number(word: &str, wanted: &'static str) -> Result<u64, Fault> {
    // `u64::from_str` would also take a sign.
    if !word.bytes().all(|b| b.is_ascii_digit()) {
        return Err(bad(word, wanted));
    }
    word.parse().map_err(|_| bad(word, wanted))
}

fn bad(word: &str, wanted: &'static str) -> Fault {
    Fault::Bad {
        word: quoted(word),
        wanted,
    }
}

/// Returns the beginning of a word.
fn quoted(word: &str) -> String {
    match word.char_indices().nth(QUOTED) {
        None => word.to_owned(),
        Some((end, _)) => format!("{}...", &word[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn reads_every_event() {
        let text = "# all of them\n\n0 S 1 d0 R 8\n1 Q 1 d0 R 8\n2 P 1 d0 R 4\n3 R\n4 f 1 d0 F 0\n\
                    5 g 1 d0 F 0\n6 M 2 d0p1 W 8 1 # absorbed\n7 T d0 0\n8 E 1 d0 D 8\n9 X d0\n";
        let case = parse(text).unwrap();
        let kinds: Vec<usize> = case.steps.iter().map(|step| step.line).collect();
        assert_eq!(kinds, (3..=12).collect::<Vec<_>>());
        assert_eq!(
            case.steps[6].what,
            What::Event {
                at_us: 6,
                event: Event::Merge {
                    io: Io {
                        request: 2,
                        device: "d0p1".to_owned(),
                        op: Op::Write,
                        sectors: 8
                    },
                    into: 1
                }
            }
        );
    }

    #[test]
    fn reads_expectations_with_and_without_a_time() {
        let case = parse("expect@30 d0 busy=1 queue=2\nexpect d1p12 flush_us=3\n").unwrap();
        let What::Expect(first) = &case.steps[0].what else {
            panic!("not an expectation");
        };
        assert_eq!(first.at_us, Some(30));
        assert_eq!(first.want, [(Key::Busy, 1), (Key::Queue, 2)]);
        let What::Expect(second) = &case.steps[1].what else {
            panic!("not an expectation");
        };
        assert_eq!((second.at_us, second.device.as_str()), (None, "d1p12"));
    }

    #[test]
    fn names_are_in_the_order_of_the_enum() {
        for (name, key) in Key::NAMES {
            assert_eq!(key.name(), name);
        }
    }

    #[test]
    fn says_where_and_what() {
        assert_eq!(
            message("0 S 1 d0 R 8\n1 E"),
            "line 2: the request's number is missing"
        );
        assert_eq!(
            message("x S 1 d0 R 8"),
            "line 1: `x` is not a time in microseconds or `expect`"
        );
        assert_eq!(
            message("1 Z 1 d0 R 8"),
            "line 1: `Z` is not an event (S E M P Q T R X f g)"
        );
        assert_eq!(
            message("1 S 1 sda R 8"),
            "line 1: `sda` is not a device such as d0 or d0p1"
        );
        assert_eq!(
            message("1 S 1 d0p R 8"),
            "line 1: `d0p` is not a device such as d0 or d0p1"
        );
        assert_eq!(
            message("1 S 1 d0 r 8"),
            "line 1: `r` is not an operation (R W D F)"
        );
        assert_eq!(
            message("1 S 1 d0 R +8"),
            "line 1: `+8` is not the number of sectors"
        );
        assert_eq!(
            message("1 S 1 d0 R 8 9"),
            "line 1: `9` is one word too many"
        );
        assert_eq!(
            message("1 M 1 d0 R 8"),
            "line 1: the absorbing request is missing"
        );
        assert_eq!(message("1 T d0 2"), "line 1: `2` is not 0 or 1");
        assert_eq!(
            message("5 R\n4 R"),
            "line 2: 4 us is before the event above it, at 5 us"
        );
    }

    #[test]
    fn a_case_without_end_is_read_no_further_than_its_first_fault() {
        let zeros = std::io::BufReader::new(std::io::repeat(0).take(1 << 28));
        let steps: Vec<_> = read(zeros).collect();
        let told = "line 1: a line of more than 64 KiB";
        assert_eq!(steps.len(), 1);
        assert_eq!(steps[0].as_ref().unwrap_err().to_string(), told);
        // A last line needs no end, and one of just the bound is none too many.
        let longest = format!("#{}\n1 R", "x".repeat(64 * 1024 - 2));
        assert_eq!(parse(&longest).unwrap().steps.len(), 1);
        assert_eq!(message(&format!("#{longest}")), told);
    }

    #[test]
    fn a_long_word_is_quoted_in_part() {
        let long = "x".repeat(1000);
        let begin = format!("`{}...`", "x".repeat(40));
        assert_eq!(
            message(&format!("1 {long}")),
            format!("line 1: {begin} is not an event (S E M P Q T R X f g)")
        );
        assert_eq!(
            message(&format!("1 R {long}")),
            format!("line 1: {begin} is one word too many")
        );
    }

    #[test]
    fn says_what_is_wrong_with_an_expectation() {
        assert_eq!(message("expect d0"), "line 1: key=value is missing");
        assert_eq!(message("expect d0 busy"), "line 1: `busy` is not key=value");
        assert_eq!(
            message("expect d0 busy=-1"),
            "line 1: `-1` is not a whole number"
        );
        assert_eq!(
            message("expected d0 busy=1"),
            "line 1: `ed` is not `@` and a time"
        );
        assert!(message("expect d0 speed=1").starts_with("line 1: `speed` is not a key"));
        assert_eq!(
            message("expect d0 busy=99999999999999999999"),
            "line 1: `99999999999999999999` is not a whole number"
        );
    }
}
