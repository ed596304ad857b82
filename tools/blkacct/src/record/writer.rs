// SPDX-License-Identifier: GPL-2.0
//! Writes a recording, a whole frame at a time.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{bail, Context};

use super::header::Header;
use super::{frame, payload};
use crate::sample::Sample;

/// A key frame comes after so many frames: as much is lost at most by one that is damaged.
const KEY_EVERY: u32 = 60;

/// Makes frames of samples.
#[derive(Default)]
pub struct Encoder {
    last: Option<Sample>,
    sum: u32,
    /// Frames since the key frame, with it.
    frames: u32,
    payload: Vec<u8>,
}

impl Encoder {
    /// Appends the frame of a sample; returns whether it is a key frame.
    ///
    /// # Errors
    ///
    /// More devices than a recording can have. Nothing is appended then.
    pub fn frame(&mut self, out: &mut Vec<u8>, sample: Sample) -> anyhow::Result<bool> {
        let before = self.last.take().filter(|_| self.frames < KEY_EVERY);
        let is_key = before.is_none();
        self.payload.clear();
        payload::write(&mut self.payload, before.as_ref(), &sample)?;
        if self.payload.len() > frame::LONGEST {
            bail!(
                "a sample of {} devices does not fit into a recording: name some",
                sample.devices.len()
            );
        }
        self.sum = frame::put(out, is_key, self.sum, &self.payload);
        self.frames = if is_key { 1 } else { self.frames + 1 };
        self.last = Some(sample);
        Ok(is_key)
    }
}

/// A recording that is being written.
pub struct Writer {
    path: PathBuf,
    file: File,
    /// Of the file, what is whole frames.
    length: u64,
    encoder: Encoder,
    bytes: Vec<u8>,
}

impl Writer {
    /// Begins a file, which must not be there yet but with `overwrite`.
    ///
    /// # Errors
    ///
    /// A file that is there; what the system says.
    pub fn create(path: &Path, overwrite: bool, header: &Header) -> anyhow::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true);
        match overwrite {
            true => options.create(true).truncate(true),
            false => options.create_new(true),
        };
        let file = options.open(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => anyhow::anyhow!(
                "{}: is already there: give another name to -o, or --overwrite",
                path.display()
            ),
            _ => anyhow::Error::from(error).context(path.display().to_string()),
        })?;
        let mut writer = Writer {
            path: path.to_owned(),
            file,
            length: 0,
            encoder: Encoder::default(),
            bytes: Vec::new(),
        };
        writer.append(&header.line())?;
        Ok(writer)
    }

    /// Appends a sample.
    ///
    /// # Errors
    ///
    /// What the system says, above all that the disk is full. The file ends with the last sample
    /// that is whole then.
    pub fn write(&mut self, sample: Sample) -> anyhow::Result<()> {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        self.encoder.frame(&mut bytes, sample)?;
        let written = self.append(&bytes);
        self.bytes = bytes;
        if written.is_err() {
            // What comes next does not follow this one.
            self.encoder = Encoder::default();
        }
        written
    }

    /// Appends whole frames, or nothing.
    ///
    /// # Errors
    ///
    /// As [`Writer::write`].
    pub fn append(&mut self, frames: &[u8]) -> anyhow::Result<()> {
        if let Err(error) = self.file.write_all(frames) {
            // What remains of a frame would be read as a torn tail, so it does no harm if this
            // fails too.
            let _ = self.file.set_len(self.length);
            let _ = self.file.seek(SeekFrom::Start(self.length));
            return Err(error).with_context(|| {
                format!(
                    "{}: cannot be written; what was recorded before is whole, {} bytes",
                    self.path.display(),
                    self.length
                )
            });
        }
        self.length += frames.len() as u64;
        Ok(())
    }

    /// Returns how long the file is, in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Ends the file: it is on the disk then.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn finish(self) -> anyhow::Result<()> {
        match self.file.sync_data() {
            // Not every file can be: a pipe, /dev/null.
            Err(error) if error.raw_os_error() != Some(libc::EINVAL) => {
                Err(error).with_context(|| self.path.display().to_string())
            }
            _ => Ok(()),
        }
    }
}
