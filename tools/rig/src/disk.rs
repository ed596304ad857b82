// SPDX-License-Identifier: GPL-2.0
//! Direct reads of one block: no page cache between the load and the device.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Length and alignment of a read, in bytes: what any direct I/O accepts.
const BLOCK: usize = 4096;

/// An open disk with a buffer of its own.
pub struct Disk {
    file: File,
    buffer: Vec<u8>,
    /// Length of the disk, in blocks.
    blocks: u64,
    /// Reads done.
    count: u64,
}

impl Disk {
    /// Opens a disk or a regular file for direct reads.
    ///
    /// # Errors
    ///
    /// Those of opening; `UnexpectedEof` if there is no whole block in it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::options()
            .read(true)
            .custom_flags(OFlags::DIRECT.bits() as i32)
            .open(path)?;
        let blocks = file.seek(SeekFrom::End(0))? / BLOCK as u64;
        if blocks == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Disk {
            file,
            buffer: vec![0; 2 * BLOCK],
            blocks,
            count: 0,
        })
    }

    /// Reads the next block.
    ///
    /// # Errors
    ///
    /// Those of the read.
    pub fn read(&mut self) -> io::Result<()> {
        let start = self.buffer.as_ptr().align_offset(BLOCK);
        let offset = block(self.count, self.blocks) * BLOCK as u64;
        self.count += 1;
        self.file
            .read_exact_at(&mut self.buffer[start..start + BLOCK], offset)
    }
}

/// Returns the block of a read on a disk of `blocks`: never the neighbour of the one before, which
/// could be merged with it, and back to the start at the end of the disk.
fn block(count: u64, blocks: u64) -> u64 {
    count % blocks.div_ceil(2) * 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_block_and_again() {
        let blocks = |n| [0, 1, 2, 3].map(|count| block(count, n));
        assert_eq!(blocks(5), [0, 2, 4, 0]);
        assert_eq!(blocks(4), [0, 2, 0, 2]);
        assert_eq!(blocks(1), [0; 4]);
    }

    #[test]
    fn what_cannot_be_read_is_not_opened() {
        let error = Disk::open(Path::new("/proc/self/nothing")).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
