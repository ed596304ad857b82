// SPDX-License-Identifier: GPL-2.0
//! The letters that say what a request does, as `blk_fill_rwbs()` writes them.
//!
//! Order matters: `F` before the operation asks for a flush first, `F` after it for forced unit
//! access. `FF` is the flush command itself.

use std::fmt;

/// The statistics group a request is counted in. The order is that of blkacct's `stat` file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Reads.
    Read,
    /// Writes, secure erase included, as the kernel groups them.
    Write,
    /// Discards.
    Discard,
    /// Flush commands.
    Flush,
    /// Zone appends.
    ZoneAppend,
    /// Zone open, close, finish and reset.
    ZoneMgmt,
    /// Write zeroes.
    WriteZeroes,
    /// Driver commands that move data in.
    DrvIn,
    /// Driver commands that move data out.
    DrvOut,
}

impl Group {
    /// How many there are.
    pub const COUNT: usize = 9;
    /// Every group, in order.
    pub const ALL: [Group; Self::COUNT] = [
        Group::Read,
        Group::Write,
        Group::Discard,
        Group::Flush,
        Group::ZoneAppend,
        Group::ZoneMgmt,
        Group::WriteZeroes,
        Group::DrvIn,
        Group::DrvOut,
    ];

    /// Returns the name that the `stat` file's documentation uses.
    pub fn name(self) -> &'static str {
        match self {
            Group::Read => "read",
            Group::Write => "write",
            Group::Discard => "discard",
            Group::Flush => "flush",
            Group::ZoneAppend => "zone_append",
            Group::ZoneMgmt => "zone_mgmt",
            Group::WriteZeroes => "write_zeroes",
            Group::DrvIn => "drv_in",
            Group::DrvOut => "drv_out",
        }
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a request does, from its letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rwbs {
    /// Its group; none for a driver command (`N`), whose direction the letters do not tell.
    pub group: Option<Group>,
    /// A flush is asked for before the data.
    pub preflush: bool,
    /// The data must be on the medium at completion.
    pub fua: bool,
    /// The letters that a request keeps from its start to its end.
    pub kept: Kept,
}

/// Which of the letters behind the operation are there that the block layer never takes away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kept {
    /// `S`; a flush sequence gets it if it lacks it.
    pub sync: bool,
    /// `A`, read ahead.
    pub ahead: bool,
    /// `M`, metadata.
    pub meta: bool,
    /// `U`, to be written whole or not at all.
    pub atomic: bool,
}

impl Kept {
    /// Every letter.
    pub const ALL: Kept = Kept {
        sync: true,
        ahead: true,
        meta: true,
        atomic: true,
    };
}

/// Reads the letters; none for what the kernel does not write.
pub fn parse(word: &[u8]) -> Option<Rwbs> {
    let (preflush, rest) = match word {
        // A lone `F`, or one that only flags follow, is the operation.
        [b'F', next, ..] if b"WDFRZN".contains(next) => (true, &word[1..]),
        _ => (false, word),
    };
    let (group, flags) = match rest {
        [b'W', b'Z', flags @ ..] => (Some(Group::WriteZeroes), flags),
        [b'W', flags @ ..] => (Some(Group::Write), flags),
        [b'D', b'E', flags @ ..] => (Some(Group::Write), flags),
        [b'D', flags @ ..] => (Some(Group::Discard), flags),
        [b'F', flags @ ..] => (Some(Group::Flush), flags),
        [b'R', flags @ ..] => (Some(Group::Read), flags),
        [b'Z', b'A', flags @ ..] => (Some(Group::ZoneAppend), flags),
        [b'Z', b'R' | b'F' | b'O' | b'C', flags @ ..] => (Some(Group::ZoneMgmt), flags),
        [b'N', flags @ ..] => (None, flags),
        _ => return None,
    };
    // Kernels before 2.6.37 have barriers (`B`), which say nothing of the request's end.
    if !flags.iter().all(|flag| b"FASMUB".contains(flag)) {
        return None;
    }
    Some(Rwbs {
        group,
        preflush,
        fua: flags.first() == Some(&b'F'),
        kept: Kept {
            sync: flags.contains(&b'S'),
            ahead: flags.contains(&b'A'),
            meta: flags.contains(&b'M'),
            atomic: flags.contains(&b'U'),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(word: &str) -> (Option<Group>, bool, bool) {
        let rwbs = parse(word.as_bytes()).unwrap();
        (rwbs.group, rwbs.preflush, rwbs.fua)
    }

    #[test]
    fn place_decides_what_an_f_means() {
        assert_eq!(read("WS"), (Some(Group::Write), false, false));
        assert_eq!(read("FWS"), (Some(Group::Write), true, false));
        assert_eq!(read("WFS"), (Some(Group::Write), false, true));
        assert_eq!(read("FWFSM"), (Some(Group::Write), true, true));
        assert_eq!(read("FF"), (Some(Group::Flush), true, false));
        assert_eq!(read("FS"), (Some(Group::Flush), false, false));
        assert_eq!(read("FN"), (None, true, false));
    }

    #[test]
    fn two_letter_operations() {
        assert_eq!(read("WZS").0, Some(Group::WriteZeroes));
        assert_eq!(read("DE").0, Some(Group::Write));
        assert_eq!(read("DS").0, Some(Group::Discard));
        assert_eq!(read("ZAS").0, Some(Group::ZoneAppend));
        assert_eq!(read("ZRA").0, Some(Group::ZoneMgmt));
        assert_eq!(read("ZO").0, Some(Group::ZoneMgmt));
        assert_eq!(read("RAM").0, Some(Group::Read));
    }

    #[test]
    fn refuses_other_letters() {
        for word in ["", "X", "Z", "ZX", "WX", "R-"] {
            assert_eq!(parse(word.as_bytes()), None, "{word}");
        }
    }
}
