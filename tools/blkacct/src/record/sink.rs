// SPDX-License-Identifier: GPL-2.0
//! Where samples go: into a file at once, or into a ring that is written when asked for.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use super::command::name;
use super::header::Header;
use super::name::Name;
use super::writer::{Encoder, Writer};
use crate::cli::RecordArgs;
use crate::sample::Sample;
use crate::terminal;

/// Where samples go.
pub struct Sink {
    host: String,
    kernel: String,
    samples: u64,
    devices: usize,
    to: To,
}

enum To {
    File(PathBuf, Option<Writer>),
    Ring(Ring),
}

impl Sink {
    /// Begins a file, or a ring.
    ///
    /// # Errors
    ///
    /// A file that is there already; what the system says.
    pub fn new(args: &RecordArgs, first: &Sample) -> anyhow::Result<Self> {
        let system = rustix::system::uname();
        let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
        let (host, kernel) = (text(system.nodename()), text(system.release()));
        let to = match args.keep {
            Some(keep) => To::Ring(Ring {
                keep: u64::try_from(keep.as_nanos()).unwrap_or(u64::MAX),
                most: args.memory << 20,
                name: name(args),
                overwrite: args.overwrite,
                encoder: Encoder::default(),
                blocks: VecDeque::new(),
                bytes: 0,
                was_full: false,
            }),
            None => {
                let header = Header::new(first.wall_ns, host.clone(), kernel.clone());
                let (path, writer) = create(&name(args), args.overwrite, &header)?;
                To::File(path, Some(writer))
            }
        };
        Ok(Sink {
            host,
            kernel,
            samples: 0,
            devices: 0,
            to,
        })
    }

    /// Whether it is a ring.
    pub fn is_ring(&self) -> bool {
        matches!(self.to, To::Ring(_))
    }

    /// Takes a sample.
    ///
    /// # Errors
    ///
    /// As [`Writer::write`].
    pub fn write(&mut self, sample: Sample) -> anyhow::Result<()> {
        self.devices = sample.devices.len();
        match &mut self.to {
            To::File(_, Some(writer)) => writer.write(sample)?,
            To::File(_, None) => (),
            To::Ring(ring) => ring.write(sample)?,
        }
        self.samples += 1;
        Ok(())
    }

    /// Tells how much there is.
    pub fn so_far(&self) -> String {
        let (samples, devices) = (self.samples, self.devices);
        let bytes = match &self.to {
            To::File(_, writer) => writer.as_ref().map_or(0, Writer::length),
            To::Ring(ring) => ring.bytes,
        };
        format!(
            "{samples} samples of {devices} devices, {} KiB",
            bytes.div_ceil(1024)
        )
    }

    /// Writes the ring to a file, and says where, or why not: the recording goes on.
    pub fn save(&mut self) {
        let To::Ring(ring) = &mut self.to else {
            terminal::tell("there is no ring to save: record --keep TIME keeps one");
            return;
        };
        let begin = ring.blocks.front().map_or(0, |block| block.wall_ns);
        let header = Header::new(begin, self.host.clone(), self.kernel.clone());
        match ring.save(&header) {
            Ok((path, length)) => terminal::tell(format_args!(
                "{}: the last {} s, {} KiB",
                path.display(),
                ring.span_ns() / 1_000_000_000,
                length.div_ceil(1024)
            )),
            Err(error) => terminal::tell(format_args!("{error:#}")),
        }
    }

    /// Ends the file, and says what it has.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn finish(&mut self) -> anyhow::Result<()> {
        let so_far = self.so_far();
        if let To::File(path, writer) = &mut self.to {
            if let Some(writer) = writer.take() {
                writer.finish()?;
            }
            terminal::tell(format_args!("{}: {so_far}", path.display()));
        }
        Ok(())
    }

    /// Removes the file that was begun: there is nothing to record.
    pub fn discard(&mut self) {
        if let To::File(path, writer) = &mut self.to {
            *writer = None;
            // One that cannot be removed has a header and a sample, and does no harm.
            let _ = fs::remove_file(path);
        }
    }
}

/// Begins a file. One whose name was not given has another if that is taken.
fn create(name: &Name, overwrite: bool, header: &Header) -> anyhow::Result<(PathBuf, Writer)> {
    let path = name.now();
    let path = match name {
        Name::Given(_) => path,
        Name::Time => free(path),
    };
    let writer = Writer::create(&path, overwrite, header)?;
    Ok((path, writer))
}

/// Returns a name that is not taken: with .1, .2 and so on after it.
fn free(path: PathBuf) -> PathBuf {
    let numbered = |number: u32| {
        let mut name = path.clone().into_os_string();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    };
    let is_free = |path: &PathBuf| fs::symlink_metadata(path).is_err();
    std::iter::once(path.clone())
        .chain((1..=u32::MAX).map(numbered))
        .find(is_free)
        .unwrap_or(path)
}

/// The last frames, in memory.
struct Ring {
    keep: u64,
    most: u64,
    name: Name,
    overwrite: bool,
    encoder: Encoder,
    blocks: VecDeque<Block>,
    bytes: u64,
    was_full: bool,
}

/// A key frame and those that follow it.
struct Block {
    /// Of the first sample.
    wall_ns: u64,
    begin: u64,
    /// Of the last one.
    end: u64,
    frames: Vec<u8>,
}

impl Ring {
    fn write(&mut self, sample: Sample) -> anyhow::Result<()> {
        let wall_ns = sample.wall_ns;
        let now = sample.begin_ns.saturating_add(sample.suspended_ns);
        let mut frames = Vec::new();
        let is_key = self.encoder.frame(&mut frames, sample)?;
        self.bytes += frames.len() as u64;
        match self.blocks.back_mut().filter(|_| !is_key) {
            Some(block) => {
                block.end = now;
                block.frames.extend(frames);
            }
            None => self.blocks.push_back(Block {
                wall_ns,
                begin: now,
                end: now,
                frames,
            }),
        }
        let since = now.saturating_sub(self.keep);
        while let [_, second, ..] = self.blocks.make_contiguous() {
            let is_full = self.bytes > self.most;
            // What was asked for must begin in the second.
            if second.begin > since && !is_full {
                break;
            }
            if second.begin > since && !self.was_full {
                self.was_full = true;
                terminal::tell(format_args!(
                    "the ring is full and keeps less than was asked for: --memory {} or more",
                    2 * (self.most >> 20)
                ));
            }
            let first = self.blocks.pop_front();
            self.bytes -= first.map_or(0, |block| block.frames.len() as u64);
        }
        Ok(())
    }

    fn span_ns(&self) -> u64 {
        let ends = self.blocks.front().zip(self.blocks.back());
        ends.map_or(0, |(first, last)| last.end.saturating_sub(first.begin))
    }

    fn save(&mut self, header: &Header) -> anyhow::Result<(PathBuf, u64)> {
        let path = self.name.now();
        let path = if self.overwrite { path } else { free(path) };
        let mut writer = Writer::create(Path::new(&path), self.overwrite, header)?;
        for block in &self.blocks {
            writer.append(&block.frames)?;
        }
        let length = writer.length();
        writer.finish()?;
        Ok((path, length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::testing::machine;
    use crate::record::Replay;
    use crate::sample::Source;

    const SECOND: u64 = 1_000_000_000;

    fn ring(dir: &Path, keep: u64, most: u64) -> Ring {
        Ring {
            keep: keep * SECOND,
            most,
            name: Name::Given(dir.join("ring")),
            overwrite: false,
            encoder: Encoder::default(),
            blocks: VecDeque::new(),
            bytes: 0,
            was_full: false,
        }
    }

    /// A sample each second; returns the times of those that are in the file.
    fn saved(ring: &mut Ring, samples: u64) -> (PathBuf, Vec<u64>) {
        for second in 0..samples {
            let mut sample = machine(1);
            // A time asleep counts.
            sample.begin_ns = 60 * SECOND;
            sample.suspended_ns = second * SECOND;
            ring.write(sample).unwrap();
            let bytes: usize = ring.blocks.iter().map(|block| block.frames.len()).sum();
            assert_eq!(ring.bytes, bytes as u64);
        }
        let header = Header::new(0, String::new(), String::new());
        let (path, length) = ring.save(&header).unwrap();
        assert_eq!(length, fs::metadata(&path).unwrap().len());
        let mut replay = Replay::open(&path).unwrap();
        let mut times = Vec::new();
        while let Some(sample) = replay.next().unwrap() {
            times.push(sample.suspended_ns / SECOND);
        }
        assert_eq!(replay.take_notes(), []);
        (path, times)
    }

    #[test]
    fn a_ring_has_all_of_the_time_and_no_more_than_a_key_frames_before() {
        let dir = tempfile::tempdir().unwrap();
        let mut ring = ring(dir.path(), 100, u64::MAX);
        // 240 is a key frame, 190 to 289 are asked for, and 180 is the key frame before.
        let (_, times) = saved(&mut ring, 290);
        assert_eq!(times, (180..290).collect::<Vec<_>>());
        assert_eq!(ring.span_ns(), 109 * SECOND);
        assert!(!ring.was_full);
    }

    #[test]
    fn a_ring_that_is_full_keeps_the_last_and_each_save_has_a_file_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let mut ring = ring(dir.path(), 1000, 1);
        let (first, times) = saved(&mut ring, 130);
        assert_eq!(times, (120..130).collect::<Vec<_>>());
        assert!(ring.was_full);
        let (second, _) = saved(&mut ring, 0);
        assert_eq!(fs::read(&first).unwrap(), fs::read(&second).unwrap());
        assert!(first.ends_with("ring") && second.ends_with("ring.1"));
    }
}
