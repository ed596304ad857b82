// SPDX-License-Identifier: GPL-2.0
//! A cursor over the words of one line. It allocates nothing: a trace has millions of lines.

/// The rest of a line.
#[derive(Clone, Copy)]
pub struct Scan<'a>(pub &'a [u8]);

impl<'a> Scan<'a> {
    /// Takes the next word, or an empty one at the end.
    pub fn word(&mut self) -> &'a [u8] {
        let from = self.0.iter().position(|&b| b != b' ' && b != b'\t');
        let rest = &self.0[from.unwrap_or(self.0.len())..];
        let len = rest.iter().position(|&b| b == b' ' || b == b'\t');
        let (word, rest) = rest.split_at(len.unwrap_or(rest.len()));
        self.0 = rest;
        word
    }

    /// Takes the next word if it is `want`.
    pub fn expect(&mut self, want: &[u8]) -> Option<()> {
        (self.word() == want).then_some(())
    }

    /// Takes the next word as a number.
    pub fn number(&mut self) -> Option<u64> {
        number(self.word())
    }

    /// Takes what stands in parentheses.
    pub fn parenthesis(&mut self) -> Option<&'a [u8]> {
        let rest = self.0.trim_ascii_start().strip_prefix(b"(")?;
        let len = rest.iter().position(|&b| b == b')')?;
        self.0 = &rest[len + 1..];
        Some(&rest[..len])
    }

    /// Returns what the brackets at the end hold.
    pub fn last_bracket(&self) -> Option<&'a [u8]> {
        let text = self.0.trim_ascii_end().strip_suffix(b"]")?;
        let open = text.iter().rposition(|&b| b == b'[')?;
        Some(&text[open + 1..])
    }
}

/// Reads a whole word of decimal digits.
pub fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0u64, |n, &b| {
        let digit = b.is_ascii_digit().then(|| u64::from(b - b'0'))?;
        n.checked_mul(10)?.checked_add(digit)
    })
}

/// Reads `seconds.fraction` as ns; three to nine digits of fraction.
pub fn seconds(word: &[u8]) -> Option<u64> {
    let dot = word.iter().position(|&b| b == b'.')?;
    let (whole, fraction) = (&word[..dot], &word[dot + 1..]);
    let scale = 9usize.checked_sub(fraction.len()).filter(|&n| n <= 6)?;
    let ns = number(fraction)?.checked_mul(10u64.pow(scale as u32))?;
    number(whole)?.checked_mul(1_000_000_000)?.checked_add(ns)
}

/// Reads `major,minor`.
pub fn dev(word: &[u8]) -> Option<super::Dev> {
    let comma = word.iter().position(|&b| b == b',')?;
    Some(super::Dev {
        major: number(&word[..comma])?.try_into().ok()?,
        minor: number(&word[comma + 1..])?.try_into().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_us_and_ns() {
        assert_eq!(seconds(b"12.345678"), Some(12_345_678_000));
        assert_eq!(seconds(b"12.345678901"), Some(12_345_678_901));
        for word in [
            &b"12"[..],
            b"12.",
            b"12.3456789012",
            b".5",
            b"a.123",
            b"1.-23",
        ] {
            assert_eq!(seconds(word), None);
        }
    }

    #[test]
    fn numbers_do_not_wrap() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(number(b"18446744073709551616"), None);
        assert_eq!(number(b""), None);
    }

    #[test]
    fn words_end_at_the_end() {
        let mut scan = Scan(b"  a bc");
        assert_eq!(scan.word(), b"a");
        assert_eq!(scan.word(), b"bc");
        assert_eq!(scan.word(), b"");
    }
}
