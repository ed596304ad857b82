// SPDX-License-Identifier: GPL-2.0
//! SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014): the
//! pauses of a run must be the same next time, and need no more than that.

/// A generator.
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Starts at `seed`.
    pub fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }

    /// Returns the next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number from 0 to `most`, both included, evenly to within 2^-64 of the range.
    pub fn up_to(&mut self, most: u64) -> u64 {
        // The upper half of the product maps 2^64 numbers onto the range, without a division.
        ((u128::from(self.next()) * (u128::from(most) + 1)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_sequence() {
        let mut random = SplitMix64::new(1_234_567);
        let want = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!([random.next(), random.next(), random.next()], want);
    }

    #[test]
    fn the_range_is_used_to_both_ends() {
        let mut random = SplitMix64::new(7);
        let mut seen = [0; 4];
        for _ in 0..1000 {
            seen[random.up_to(3) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| n > 200), "{seen:?}");
        assert_eq!(random.up_to(0), 0);
        random.up_to(u64::MAX);
    }
}
