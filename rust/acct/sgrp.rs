// SPDX-License-Identifier: GPL-2.0

//! Stat groups: the kinds of I/O that are counted apart.
//!
//! The kernel has four, and everything that is neither read nor discard is a write to it. Here
//! operations that move no data, or never merge, have groups of their own.
//!
//! C header: [`include/linux/blk_types.h`](srctree/include/linux/blk_types.h)

/// The direction of an I/O, as `op_is_write()` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the device.
    Read,
    /// To the device.
    Write,
}

/// The kernel's `enum stat_group`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classic {
    /// `STAT_READ`
    Read,
    /// `STAT_WRITE`
    Write,
    /// `STAT_DISCARD`
    Discard,
    /// `STAT_FLUSH`
    Flush,
}

/// A stat group. The order is that of the fields in `stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatGroup {
    /// Reads.
    Read,
    /// Writes, and secure erases.
    Write,
    /// Discards.
    Discard,
    /// Flushes of the write cache.
    Flush,
    /// Writes to where a zone's write pointer happens to be.
    ZoneAppend,
    /// Opening, closing, finishing and resetting zones.
    ZoneMgmt,
    /// Writes of zeroes that carry no data.
    WriteZeroes,
    /// Private commands of the driver or of passthrough that read.
    DrvIn,
    /// Private commands of the driver or of passthrough that write.
    DrvOut,
}

/// The low bits of a request's or bio's flags that hold the operation.
const OP_MASK: u32 = 0xff;

/// The group of each operation.
static GROUPS: [StatGroup; OP_MASK as usize + 1] = {
    let mut groups = [StatGroup::Read; OP_MASK as usize + 1];
    let mut op = 0;
    while op <= OP_MASK {
        groups[op as usize] = StatGroup::look_up(op);
        op += 1;
    }
    groups
};

/// Names of the groups, by [`StatGroup::index`].
const NAMES: [&str; StatGroup::COUNT] = [
    "read",
    "write",
    "discard",
    "flush",
    "zone_append",
    "zone_mgmt",
    "write_zeroes",
    "drv_in",
    "drv_out",
];

impl StatGroup {
    /// The number of groups.
    pub const COUNT: usize = 9;

    /// All groups, in order.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Read,
        Self::Write,
        Self::Discard,
        Self::Flush,
        Self::ZoneAppend,
        Self::ZoneMgmt,
        Self::WriteZeroes,
        Self::DrvIn,
        Self::DrvOut,
    ];

    /// Returns the group of an operation, given with or without its flags.
    ///
    /// An operation that this version does not know goes by its direction, as in the kernel.
    #[inline(always)]
    pub fn of(op: u32) -> Self {
        GROUPS[(op & OP_MASK) as usize]
    }

    /// Returns the group of an operation without flags.
    const fn look_up(op: u32) -> Self {
        match op {
            0 => Self::Read,
            2 => Self::Flush,
            3 => Self::Discard,
            7 => Self::ZoneAppend,
            9 => Self::WriteZeroes,
            11 | 13 | 15 | 17 | 19 => Self::ZoneMgmt,
            34 => Self::DrvIn,
            35 => Self::DrvOut,
            op if op & 1 == 1 => Self::Write,
            _ => Self::Read,
        }
    }

    /// Returns the group's place in the order.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the group's name in text.
    pub const fn name(self) -> &'static str {
        NAMES[self.index()]
    }

    /// Returns the direction in which the group's I/O is in flight.
    #[inline(always)]
    pub const fn direction(self) -> Direction {
        const READS: u32 = 1 << StatGroup::Read as u32
            | 1 << StatGroup::Flush as u32
            | 1 << StatGroup::DrvIn as u32;
        if READS >> self.index() & 1 == 1 {
            Direction::Read
        } else {
            Direction::Write
        }
    }

    /// Returns the kernel's group for the same I/O, for the fields which the kernel counts exactly.
    ///
    /// A flush is `STAT_FLUSH` where the kernel counts it at all; `op_stat_group()` never says so.
    pub const fn classic(self) -> Classic {
        match self {
            Self::Read | Self::DrvIn => Classic::Read,
            Self::Discard => Classic::Discard,
            Self::Flush => Classic::Flush,
            _ => Classic::Write,
        }
    }

    /// Returns the place among the groups whose sectors are counted here, at the start.
    ///
    /// These never merge, so the start knows the size. The kernel lumps them into another group.
    #[inline(always)]
    pub(super) const fn own_sectors(self) -> Option<usize> {
        // The common groups first, in one comparison.
        if self.index() < Self::ZoneAppend.index() {
            return None;
        }
        match self {
            Self::ZoneAppend => Some(0),
            Self::WriteZeroes => Some(1),
            Self::DrvIn => Some(2),
            Self::DrvOut => Some(3),
            _ => None,
        }
    }
}

#[cfg(any(test, CONFIG_KUNIT))]
#[cfg_attr(CONFIG_KUNIT, kernel::macros::kunit_tests(blkacct_sgrp))]
mod tests {
    use super::*;

    #[test]
    fn operations_have_their_groups() {
        assert_eq!(StatGroup::of(0), StatGroup::Read);
        assert_eq!(StatGroup::of(5), StatGroup::Write);
        assert_eq!(StatGroup::of(7), StatGroup::ZoneAppend);
        assert_eq!(StatGroup::of(9), StatGroup::WriteZeroes);
        assert_eq!(StatGroup::of(19), StatGroup::ZoneMgmt);
    }

    #[test]
    fn flags_do_not_matter() {
        assert_eq!(StatGroup::of(0xffff_ff03), StatGroup::Discard);
        assert_eq!(StatGroup::of(0xabcd_0022), StatGroup::DrvIn);
    }

    #[test]
    fn the_unknown_go_by_direction() {
        assert_eq!(StatGroup::of(200), StatGroup::Read);
        assert_eq!(StatGroup::of(201), StatGroup::Write);
    }

    #[test]
    fn direction_is_the_parity_of_the_operation() {
        for op in 0..=OP_MASK {
            let write = StatGroup::of(op).direction() == Direction::Write;
            assert_eq!(write, op & 1 == 1);
        }
    }

    #[test]
    fn the_kernel_sees_reads_writes_and_discards() {
        for op in [0, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 34, 35] {
            let kernel = match op {
                3 => Classic::Discard,
                op if op & 1 == 1 => Classic::Write,
                _ => Classic::Read,
            };
            assert_eq!(StatGroup::of(op).classic(), kernel);
        }
    }

    #[test]
    fn names_and_places_agree() {
        for (place, group) in StatGroup::ALL.iter().enumerate() {
            assert_eq!(group.index(), place);
        }
        assert_eq!(StatGroup::WriteZeroes.name(), "write_zeroes");
        assert_eq!(StatGroup::DrvOut.name(), "drv_out");
    }
}
