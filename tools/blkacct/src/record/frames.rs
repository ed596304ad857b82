// SPDX-License-Identifier: GPL-2.0
//! Finds the frames of a file, also of one that is damaged or was cut off.

use std::io::{self, ErrorKind, Read, Seek, SeekFrom};

use memchr::memmem;

use super::frame::{self, Head, HEAD, KEY};

/// How much is read at once.
const CHUNK: usize = 64 * 1024;
/// Bytes that are gone through in vain for lengths that lie. No accident makes as many.
const PATIENCE: u64 = 4 << 30;

/// The frames of a file, from where it stands.
pub struct Frames<R> {
    file: R,
    buffer: Vec<u8>,
    /// Of the buffer, what is done with.
    done: usize,
    /// The place in the file of the first byte that is not.
    offset: u64,
    ended: bool,
    /// The checksum of the frame before; none if only a key frame can be read now.
    before: Option<u32>,
    patience: u64,
}

/// What is found in a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// A frame.
    Frame {
        /// Where it begins.
        offset: u64,
        /// Whether it can be read without the ones before it.
        is_key: bool,
        /// What is in it.
        payload: Vec<u8>,
    },
    /// Something else.
    Damage(Damage),
}

/// Bytes that are no frame, or one that cannot be read without another that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where they begin.
    pub offset: u64,
    /// How many there are.
    pub bytes: u64,
    /// Whether it is the begin of a frame that the file ends in: whoever wrote it was stopped.
    pub is_torn_tail: bool,
}

/// What is at the begin of the buffer.
enum Here {
    Frame(Head),
    /// A frame that goes on after the end of the file.
    Torn,
    Bad,
}

impl<R: Read> Frames<R> {
    /// Frames from the place `offset` of a file, where it stands.
    pub fn new(file: R, offset: u64) -> Self {
        Frames {
            file,
            buffer: Vec::new(),
            done: 0,
            offset,
            ended: false,
            before: None,
            patience: PATIENCE,
        }
    }

    /// Returns what comes next; none at the end.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn next(&mut self) -> io::Result<Option<Found>> {
        if !self.fill(1)? {
            return Ok(None);
        }
        let head = match self.here()? {
            Here::Frame(head) => head,
            Here::Torn => return self.damage(true).map(Some),
            Here::Bad => return self.damage(false).map(Some),
        };
        let payload = self.rest()[HEAD..HEAD + head.length].to_vec();
        let offset = self.offset;
        self.skip(HEAD + head.length);
        self.before = Some(head.sum);
        Ok(Some(Found::Frame {
            offset,
            is_key: head.is_key,
            payload,
        }))
    }

    /// Goes on at the next key frame: a payload could not be read.
    pub fn give_up(&mut self) {
        self.before = None;
    }

    /// Returns up to so many bytes of what comes next.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn peek(&mut self, bytes: usize) -> io::Result<&[u8]> {
        self.fill(bytes)?;
        Ok(&self.rest()[..self.rest().len().min(bytes)])
    }

    fn rest(&self) -> &[u8] {
        &self.buffer[self.done..]
    }

    /// Goes on after so many bytes that were peeked at.
    pub fn skip(&mut self, bytes: usize) {
        self.done += bytes;
        self.offset += bytes as u64;
    }

    /// Reads on until the buffer has so many bytes; false if the file does not.
    fn fill(&mut self, bytes: usize) -> io::Result<bool> {
        while self.rest().len() < bytes && !self.ended {
            self.buffer.drain(..self.done);
            self.done = 0;
            // No more than the file has, whatever a length says.
            let (old, room) = (self.buffer.len(), self.buffer.len().clamp(CHUNK, 1 << 22));
            self.buffer.resize(old + room, 0);
            let read = self.file.read(&mut self.buffer[old..]);
            self.buffer.truncate(old + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => self.ended = true,
                Ok(_) => (),
                Err(error) if error.kind() == ErrorKind::Interrupted => (),
                Err(error) => return Err(error),
            }
        }
        Ok(self.rest().len() >= bytes)
    }

    fn here(&mut self) -> io::Result<Here> {
        if !self.fill(HEAD)? {
            let rest = self.rest();
            let marker = &rest[..rest.len().min(KEY.len())];
            let is_begun = KEY.starts_with(marker) || frame::DELTA.starts_with(marker);
            return Ok(if is_begun { Here::Torn } else { Here::Bad });
        }
        let Some(head) = Head::read(self.rest()) else {
            return Ok(Here::Bad);
        };
        if !self.fill(HEAD + head.length)? {
            return Ok(Here::Torn);
        }
        let before = match (head.is_key, self.before) {
            (true, _) => 0,
            (false, Some(before)) => before,
            (false, None) => return Ok(Here::Bad),
        };
        let payload = &self.rest()[HEAD..HEAD + head.length];
        if head.fits(before, payload) {
            return Ok(Here::Frame(head));
        }
        self.patience = self.patience.saturating_sub(head.length as u64);
        Ok(Here::Bad)
    }

    /// Goes to the next key frame, or to the end.
    fn damage(&mut self, mut is_torn_tail: bool) -> io::Result<Found> {
        let begin = self.offset;
        self.before = None;
        self.skip(1);
        while self.fill(KEY.len())? && self.patience > 0 {
            match memmem::find(self.rest(), &KEY) {
                Some(place) => {
                    self.skip(place);
                    if matches!(self.here()?, Here::Frame(_)) {
                        is_torn_tail = false;
                        break;
                    }
                    self.skip(1);
                }
                // The marker may lie across the end of the buffer.
                None => self.skip(self.rest().len() - (KEY.len() - 1)),
            }
        }
        if self.patience == 0 || !self.fill(KEY.len())? {
            while self.fill(1)? {
                self.skip(self.rest().len());
            }
        }
        Ok(Found::Damage(Damage {
            offset: begin,
            bytes: self.offset - begin,
            is_torn_tail,
        }))
    }
}

impl<R: Read + Seek> Frames<R> {
    /// Goes to a place in the file, where a key frame begins.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn seek(&mut self, offset: u64) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(offset))?;
        self.buffer.clear();
        (self.done, self.offset) = (0, offset);
        (self.ended, self.before) = (false, None);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames with these payloads, the letters of key frames large.
    fn file(payloads: &[&str]) -> Vec<u8> {
        let (mut file, mut before) = (Vec::new(), 0);
        for payload in payloads {
            let is_key = payload.starts_with(|c: char| c.is_ascii_uppercase());
            before = frame::put(&mut file, is_key, before, payload.as_bytes());
        }
        file
    }

    /// Reads all, a few bytes at a time; of damage, whether it is a torn tail.
    fn read(bytes: &[u8]) -> (String, Vec<bool>) {
        let (mut payloads, mut damage) = (Vec::new(), Vec::new());
        let mut frames = Frames::new(bytes, 0);
        let mut end = 0;
        while let Some(found) = frames.next().unwrap() {
            match found {
                Found::Frame {
                    offset, payload, ..
                } => {
                    assert_eq!(offset, end);
                    end += (HEAD + payload.len()) as u64;
                    payloads.push(String::from_utf8(payload).unwrap());
                }
                Found::Damage(found) => {
                    assert_eq!(found.offset, end);
                    assert!(found.bytes > 0);
                    end += found.bytes;
                    damage.push(found.is_torn_tail);
                }
            }
        }
        assert_eq!(end, bytes.len() as u64, "every byte is told of");
        (payloads.join(" "), damage)
    }

    const ALL: [&str; 6] = ["Abc", "d", "", "Ef", "g", "Hi"];

    #[test]
    fn a_cut_file_is_read_up_to_the_last_whole_frame() {
        let bytes = file(&ALL);
        assert_eq!(read(&bytes), ("Abc d  Ef g Hi".to_owned(), vec![]));
        let mut whole = 0;
        let ends: Vec<usize> = ALL
            .iter()
            .map(|payload| {
                whole += HEAD + payload.len();
                whole
            })
            .collect();
        for cut in 0..bytes.len() {
            let count = ends.iter().filter(|&&end| end <= cut).count();
            let is_torn = cut > 0 && !ends.contains(&cut);
            let want = (ALL[..count].join(" "), vec![true; usize::from(is_torn)]);
            assert_eq!(read(&bytes[..cut]), want, "{cut}");
        }
    }

    #[test]
    fn a_flipped_bit_costs_no_more_than_up_to_the_next_key_frame() {
        let bytes = file(&ALL);
        for place in 0..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[place] ^= 1 << bit;
                let (payloads, damage) = read(&flipped);
                let want = match place {
                    0..15 => "Ef g Hi",
                    15..28 => "Abc Ef g Hi",
                    28..40 => "Abc d Ef g Hi",
                    40..54 => "Abc d  Hi",
                    54..67 => "Abc d  Ef Hi",
                    _ => "Abc d  Ef g",
                };
                assert_eq!((&*payloads, damage.len()), (want, 1), "{place} {bit}");
            }
        }
    }

    #[test]
    fn a_frame_that_is_missing_or_twice_there_is_found_out() {
        let (a, d, e) = (file(&["Abc"]), file(&ALL[..2]), file(&["Ef"]));
        let bytes = file(&ALL[..3]);
        let missing = [&a[..], &bytes[d.len()..], &e[..]].concat();
        assert_eq!(read(&missing), ("Abc Ef".to_owned(), vec![false]));
        let twice = [&d[..], &d[a.len()..], &e[..]].concat();
        assert_eq!(read(&twice), ("Abc d Ef".to_owned(), vec![false]));
    }

    #[test]
    fn a_marker_across_two_reads_is_found() {
        for junk in CHUNK - 20..CHUNK + 20 {
            let bytes = [vec![b'x'; junk], file(&["Key"])].concat();
            assert_eq!(read(&bytes), ("Key".to_owned(), vec![false]), "{junk}");
        }
    }

    #[test]
    fn lengths_that_lie_cost_neither_memory_nor_patience() {
        let lie = [&KEY[..], &(frame::LONGEST as u32).to_le_bytes()].concat();
        let bytes = [lie.repeat(1000), vec![0; 100_000]].concat();
        let mut frames = Frames::new(&bytes[..], 0);
        while frames.next().unwrap().is_some() {}
        assert!(frames.buffer.capacity() < 4 * bytes.len());
        let mut frames = Frames::new(&bytes[..], 0);
        frames.patience = 0;
        let found = frames.next().unwrap().unwrap();
        assert!(matches!(found, Found::Damage(damage) if damage.bytes == bytes.len() as u64));
    }
}
