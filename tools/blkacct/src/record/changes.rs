// SPDX-License-Identifier: GPL-2.0
//! What has changed in a long row of numbers: runs of changes, and how many numbers lie before each.

use super::varint::{put, take, unzigzag, zigzag};

/// No run is longer: its length has three bits, and 0 is the end.
const LONGEST: usize = 7;

/// Writes changes, in the order of their places.
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// The place after the last run.
    after: usize,
    begin: usize,
    run: [u64; LONGEST],
    length: usize,
}

impl<'a> Writer<'a> {
    /// Changes that are appended here.
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Writer {
            out,
            after: 0,
            begin: 0,
            run: [0; LONGEST],
            length: 0,
        }
    }

    /// Adds a number, if it is not what it was. Its place is behind those before.
    pub fn add(&mut self, place: usize, old: u64, new: u64) {
        if old == new {
            return;
        }
        if self.length == LONGEST || place != self.begin + self.length {
            self.end_run();
        }
        if self.length == 0 {
            self.begin = place;
        }
        self.run[self.length] = new.wrapping_sub(old);
        self.length += 1;
    }

    fn end_run(&mut self) {
        if self.length == 0 {
            return;
        }
        let skipped = self.begin - self.after;
        put(self.out, (skipped << 3 | self.length) as u64);
        for difference in &self.run[..self.length] {
            put(self.out, zigzag(*difference));
        }
        self.after = self.begin + self.length;
        self.length = 0;
    }

    /// Ends the changes.
    pub fn end(mut self) {
        self.end_run();
        self.out.push(0);
    }
}

/// Takes changes from the front, and has each made: its place, below `places`, and what to add.
/// None if they are not what [`Writer`] writes.
pub fn read(bytes: &mut &[u8], places: usize, mut change: impl FnMut(usize, u64)) -> Option<()> {
    let mut place = 0usize;
    loop {
        let head = take(bytes)?;
        if head == 0 {
            return Some(());
        }
        let (skipped, length) = (usize::try_from(head >> 3).ok()?, head as usize & LONGEST);
        place = place.checked_add(skipped)?;
        if length == 0 || place.checked_add(length)? > places {
            return None;
        }
        for place in place..place + length {
            change(place, unzigzag(take(bytes)?));
        }
        place += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_change_comes_back(
            rows in prop::collection::vec((prop::sample::select(vec![0u64, 0, 1, 2]), 0u64..3), 0..60),
            big: u64,
        ) {
            let value = |n: u64| if n == 2 { big } else { n };
            let (old, new): (Vec<u64>, Vec<u64>) =
                rows.iter().map(|&(a, b)| (value(a), value(b))).unzip();
            let mut bytes = Vec::new();
            let mut changes = Writer::new(&mut bytes);
            for (place, (&old, &new)) in old.iter().zip(&new).enumerate() {
                changes.add(place, old, new);
            }
            changes.end();
            let mut read_back = old.clone();
            let mut rest = &bytes[..];
            let add = |place: usize, by: u64| {
                let row: &mut u64 = &mut read_back[place];
                *row = row.wrapping_add(by);
            };
            prop_assert_eq!(read(&mut rest, old.len(), add), Some(()));
            prop_assert_eq!(read_back, new);
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn no_bytes_lead_beyond_the_row(bytes: Vec<u8>) {
            let mut rest = &bytes[..];
            let _ = read(&mut rest, 10, |place, _| assert!(place < 10));
        }
    }
}
