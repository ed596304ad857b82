// SPDX-License-Identifier: GPL-2.0
//! How a sample lies in the file: a marker, the length, a checksum, the payload.
//!
//! The checksum is over the checksum of the frame before, the marker, the length and the payload.
//! So a frame that is whole but does not follow the one that it was written after is found out. A
//! key frame begins anew, from 0.

/// Marks a frame that can be read without the ones before it.
pub const KEY: [u8; 4] = *b"\x89BAK";
/// Marks a frame that says what has changed since the one before it.
pub const DELTA: [u8; 4] = *b"\x89BAD";
/// Bytes before the payload.
pub const HEAD: usize = 12;
/// No payload is longer: some 20000 busy disks have this much.
pub const LONGEST: usize = 32 << 20;

/// What stands before the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Whether it is a key frame.
    pub is_key: bool,
    /// Bytes of the payload.
    pub length: usize,
    /// The checksum.
    pub sum: u32,
}

impl Head {
    /// Reads the head of a frame; none if there is none, or its length cannot be.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (marker, rest) = bytes.split_first_chunk::<4>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (sum, _) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let is_marked = *marker == KEY || *marker == DELTA;
        (is_marked && length <= LONGEST).then_some(Head {
            is_key: *marker == KEY,
            length,
            sum: u32::from_le_bytes(*sum),
        })
    }

    /// Whether this is the payload, of a frame that follows one with that checksum.
    pub fn fits(&self, before: u32, payload: &[u8]) -> bool {
        self.sum == sum(self.is_key, before, payload)
    }
}

/// Appends a frame; returns its checksum. `before` is that of the frame before.
pub fn put(out: &mut Vec<u8>, is_key: bool, before: u32, payload: &[u8]) -> u32 {
    let sum = sum(is_key, before, payload);
    out.extend(marker(is_key));
    out.extend(length(payload));
    out.extend(sum.to_le_bytes());
    out.extend(payload);
    sum
}

fn marker(is_key: bool) -> [u8; 4] {
    if is_key {
        KEY
    } else {
        DELTA
    }
}

/// Whoever writes keeps to [`LONGEST`], which is below 4 GiB.
fn length(payload: &[u8]) -> [u8; 4] {
    (payload.len() as u32).to_le_bytes()
}

fn sum(is_key: bool, before: u32, payload: &[u8]) -> u32 {
    let before = if is_key { 0 } else { before };
    let mut sum = crc32fast::Hasher::new();
    sum.update(&before.to_le_bytes());
    sum.update(&marker(is_key));
    sum.update(&length(payload));
    sum.update(payload);
    sum.finalize()
}
