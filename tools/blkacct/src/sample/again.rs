// SPDX-License-Identifier: GPL-2.0
//! A file of sysfs or procfs that is read again and again.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::{diskstats, snapshot};

/// A file that stays open, so that a read is one system call for each page.
#[derive(Debug)]
pub struct Again {
    path: PathBuf,
    file: Option<File>,
    text: Vec<u8>,
    /// More than this is not read.
    longest: usize,
}

impl Again {
    /// The file of this path, which is opened when it is first read. It has one page, as all of sysfs.
    pub fn new(path: PathBuf) -> Self {
        Again {
            path,
            file: None,
            text: Vec::new(),
            longest: snapshot::LONGEST,
        }
    }

    /// A file with a line for each device.
    pub fn list(path: PathBuf) -> Self {
        Again {
            longest: diskstats::LONGEST,
            ..Again::new(path)
        }
    }

    /// Returns its path.
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Reads all of it.
    ///
    /// # Errors
    ///
    /// What the system says: `NotFound` or `ENODEV` if the device is gone, or the module unloaded.
    /// A file that is too long or not text.
    pub fn read(&mut self) -> io::Result<&str> {
        match self.read_open() {
            // The file of a module that was loaded anew, or of another device of that name, is
            // another one.
            Err(error) if self.file.is_some() && error.raw_os_error() == Some(libc::ENODEV) => {
                self.file = None;
                self.read_open()?;
            }
            read => read?,
        }
        snapshot::as_text(&self.text, self.longest)
    }

    fn read_open(&mut self) -> io::Result<()> {
        let file = match self.file.take() {
            Some(file) => file,
            None => File::open(&self.path)?,
        };
        self.text.clear();
        match read_from_start(&file, &mut self.text, self.longest) {
            // A pipe has no start to go back to: it is read to its end, and opened again next time.
            Err(error) if error.raw_os_error() == Some(libc::ESPIPE) => file
                .take(self.longest as u64 + 1)
                .read_to_end(&mut self.text)
                .map(drop),
            read => {
                self.file = Some(file);
                read
            }
        }
    }
}

/// Appends the whole file, wherever it was read to before. One that is too long is not read to its
/// end.
fn read_from_start(file: &File, text: &mut Vec<u8>, longest: usize) -> io::Result<()> {
    while text.len() <= longest {
        let (begin, room) = (text.len(), text.len().max(4096));
        text.resize(begin + room, 0);
        let read = file.read_at(&mut text[begin..], begin as u64);
        text.truncate(begin + *read.as_ref().unwrap_or(&0));
        match read {
            // sysfs gives a file in one piece, procfs does not.
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_from_its_start_each_time_and_as_long_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stat");
        let mut again = Again::new(path.clone());
        assert_eq!(again.read().unwrap_err().kind(), ErrorKind::NotFound);
        for length in [3, 4095, 4096, 4097, 20_000, 0, 7] {
            let text = "7".repeat(length);
            std::fs::write(&path, &text).unwrap();
            assert_eq!(again.read().unwrap(), text);
        }
        // It stays open: another file of that name is not looked for.
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "other").unwrap();
        assert_eq!(again.read().unwrap(), "7777777");
    }
}
