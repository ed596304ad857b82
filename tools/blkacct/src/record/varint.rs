// SPDX-License-Identifier: GPL-2.0
//! Numbers in as few bytes as they need: seven bits a byte, the lowest first (LEB128).

/// Appends a number.
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a number from the front; none if it does not end, or is more than 64 bits.
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        // The tenth byte has room for one bit.
        if shift == 63 && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Makes small numbers of small differences, whatever their sign.
pub fn zigzag(difference: u64) -> u64 {
    let sign = (difference as i64 >> 63) as u64;
    (difference << 1) ^ sign
}

/// Undoes [`zigzag`].
pub fn unzigzag(value: u64) -> u64 {
    (value >> 1) ^ (value & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_number_comes_back(value: u64, shift in 0..64u32) {
            let value = value >> shift;
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            prop_assert!(bytes.len() <= 10);
            let mut rest = &bytes[..];
            prop_assert_eq!(take(&mut rest), Some(value));
            prop_assert!(rest.is_empty());
            prop_assert_eq!(take(&mut &bytes[..bytes.len() - 1]), None);
            prop_assert_eq!(unzigzag(zigzag(value)), value);
            prop_assert_eq!(unzigzag(zigzag(value.wrapping_neg())), value.wrapping_neg());
        }
    }

    #[test]
    fn small_differences_are_small_and_what_is_too_long_is_no_number() {
        assert_eq!([0, 1, u64::MAX, 2].map(zigzag), [0, 2, 1, 4]);
        let mut endless = &[0x80; 20][..];
        assert_eq!(take(&mut endless), None);
        let mut more_than_64_bits = &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2][..];
        assert_eq!(take(&mut more_than_64_bits), None);
    }
}
