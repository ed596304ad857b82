// SPDX-License-Identifier: GPL-2.0
//! Samples from a recording.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{bail, Context};

use super::frame::KEY;
use super::frames::{Damage, Found, Frames};
use super::header::{self, Fault, Header};
use super::payload;
use crate::exit::NotAvailable;
use crate::sample::{Sample, Source};

/// Notes are kept up to so many: one that is damaged all over has not more to tell.
const MOST_NOTES: usize = 1000;

/// A recording that is read from begin to end, or from any sample on.
pub struct Replay {
    path: PathBuf,
    frames: Frames<File>,
    header: Option<Header>,
    /// Where the frames begin.
    begin: u64,
    last: Option<Sample>,
    notes: Vec<Note>,
}

/// Where each key frame is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    keys: Vec<Key>,
    /// How many samples there are.
    pub samples: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    offset: u64,
    /// The number of its sample, from 0.
    sample: u64,
    wall_ns: u64,
}

/// What is wrong with a recording; the rest of it can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Bytes that are no frames.
    Damage(Damage),
    /// A frame that is whole, and does not say what it should.
    Payload(u64, payload::Fault),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Damage(damage) => {
                let Damage { offset, bytes, .. } = damage;
                if damage.is_torn_tail {
                    return write!(
                        f,
                        "ends in the middle of a sample, whose {bytes} bytes from byte {offset} on \
                         are left out"
                    );
                }
                write!(
                    f,
                    "damaged: {bytes} bytes from byte {offset} on, up to the next key frame or the \
                     end, are left out"
                )
            }
            Note::Payload(offset, fault) => {
                write!(
                    f,
                    "damaged: the sample at byte {offset} is left out: {fault}"
                )
            }
        }
    }
}

impl Replay {
    /// Opens a recording.
    ///
    /// # Errors
    ///
    /// What the system says; a file of another kind, or of a later version.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let named = || path.display().to_string();
        let file = File::open(path).with_context(named)?;
        let mut replay = Replay {
            path: path.to_owned(),
            frames: Frames::new(file, 0),
            header: None,
            begin: 0,
            last: None,
            notes: Vec::new(),
        };
        replay.read_header().with_context(named)?;
        Ok(replay)
    }

    fn read_header(&mut self) -> anyhow::Result<()> {
        let begin = self.frames.peek(header::LONGEST)?;
        let line = memchr::memchr(b'\n', begin).map_or(begin, |end| &begin[..end]);
        let length = line.len();
        match Header::read(line) {
            Ok(header) if length < begin.len() => {
                self.frames.skip(length + 1);
                self.begin = (length + 1) as u64;
                self.header = Some(header);
            }
            // The frames may be readable nevertheless.
            Ok(_) | Err(Fault::Damaged | Fault::Kind(_))
                if memchr::memmem::find(begin, &KEY).is_some() => {}
            Ok(_) | Err(Fault::Damaged) if length == begin.len() => {
                bail!("ends in its header: nothing was recorded")
            }
            Ok(_) => bail!(Fault::Damaged),
            Err(fault) => bail!(fault),
        }
        Ok(())
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what it says of itself; none if that is damaged.
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// Takes what was found to be wrong since the last time.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    fn note(&mut self, note: Note) {
        if self.notes.len() < MOST_NOTES {
            self.notes.push(note);
        }
    }

    /// Goes back to the first sample.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn rewind(&mut self) -> anyhow::Result<()> {
        self.go_to(self.begin)
    }

    fn go_to(&mut self, offset: u64) -> anyhow::Result<()> {
        self.last = None;
        let sought = self.frames.seek(offset);
        sought.with_context(|| {
            format!(
                "{}: cannot be read twice: is it a pipe?",
                self.path.display()
            )
        })
    }

    /// Reads all, and returns where it can be begun to be read. It stands at the first sample then.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn index(&mut self) -> anyhow::Result<Index> {
        let mut index = Index::default();
        self.rewind()?;
        while let Some(found) = self
            .frames
            .next()
            .with_context(|| self.path.display().to_string())?
        {
            let Found::Frame {
                offset,
                is_key,
                payload,
            } = found
            else {
                continue;
            };
            if is_key {
                index.keys.push(Key {
                    offset,
                    sample: index.samples,
                    wall_ns: payload::wall_ns(&payload).unwrap_or_default(),
                });
            }
            index.samples += 1;
        }
        self.rewind()?;
        Ok(index)
    }

    /// Goes to a sample by its number, from 0.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn seek(&mut self, index: &Index, sample: u64) -> anyhow::Result<()> {
        let after = index.keys.partition_point(|key| key.sample <= sample);
        let Some(key) = after.checked_sub(1).and_then(|place| index.keys.get(place)) else {
            return self.rewind();
        };
        self.go_to(key.offset)?;
        for _ in key.sample..sample.min(index.samples) {
            self.next()?;
        }
        Ok(())
    }

    /// Returns the name that the kernel had for a device, which may be given by any of its names.
    /// It stands at the first sample then.
    ///
    /// # Errors
    ///
    /// [`NotAvailable`] if it is in no sample; what the system says.
    pub fn find(&mut self, name: &str) -> anyhow::Result<String> {
        let mut names: Vec<String> = Vec::new();
        while let Some(sample) = self.next()? {
            for device in &sample.devices {
                let identity = &device.identity;
                if identity.is_called(name) {
                    let found = identity.name.clone();
                    self.rewind()?;
                    self.notes.clear();
                    return Ok(found);
                }
                if names.last() != Some(&identity.name) && !names.contains(&identity.name) {
                    names.push(identity.name.clone());
                }
            }
        }
        let names = match &names[..] {
            [] => "no device".to_owned(),
            [begin @ .., _] if begin.len() >= 20 => format!("{} and more", begin.join(" ")),
            names => names.join(" "),
        };
        let path = self.path.display();
        bail!(NotAvailable(format!(
            "{path}: {name}: not in it, it has {names}"
        )))
    }
}

impl Index {
    /// Returns the number of the sample to begin with to see this time: of the last key frame not
    /// after it.
    pub fn at(&self, wall_ns: u64) -> u64 {
        let after = self.keys.partition_point(|key| key.wall_ns <= wall_ns);
        let key = after.checked_sub(1).and_then(|place| self.keys.get(place));
        key.map_or(0, |key| key.sample)
    }
}

impl Source for Replay {
    fn next(&mut self) -> anyhow::Result<Option<Sample>> {
        loop {
            let found = self.frames.next();
            let (offset, is_key, payload) =
                match found.with_context(|| self.path.display().to_string())? {
                    None => return Ok(None),
                    Some(Found::Damage(damage)) => {
                        self.last = None;
                        self.note(Note::Damage(damage));
                        continue;
                    }
                    Some(Found::Frame {
                        offset,
                        is_key,
                        payload,
                    }) => (offset, is_key, payload),
                };
            let before = self.last.take().filter(|_| !is_key);
            match payload::read(&payload, before.as_ref()) {
                Ok(sample) => {
                    self.last = Some(sample.clone());
                    return Ok(Some(sample));
                }
                Err(fault) => {
                    self.frames.give_up();
                    self.note(Note::Payload(offset, fault));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
