// SPDX-License-Identifier: GPL-2.0

//! Made of `tools/testing/cases`; a test of `tools/cases` tells when it must be made anew.

use super::{
    Key::*,
    Step::{
        self,
        *, //
    }, //
};
use crate::acct::sgrp::StatGroup;

/// Name and lines of each case.
#[rustfmt::skip]
pub(crate) static CASES: &[(&str, &[Step])] = &[
    ("A1", &[
        Start(0, 0, 0, StatGroup::Write),
        End(100, 0),
        Start(1000000, 1, 0, StatGroup::Write),
        Start(1000000, 2, 0, StatGroup::Write),
        End(1001380, 1),
        End(1001380, 2),
        Expect(1001380, 0, &[(Busy, 1480), (Queue, 2860), (Lat, 2860), (Ios, 3), (Inflight, 0)]),
    ]),
    ("A2", &[
        Start(1000, 1, 0, StatGroup::Read),
        Start(1200, 2, 0, StatGroup::Read),
        End(13000, 1),
        End(21000, 2),
        Start(5021000, 3, 0, StatGroup::Read),
        Start(5021200, 4, 0, StatGroup::Read),
        End(5033000, 3),
        End(5041000, 4),
        Expect(5041000, 0, &[(Busy, 40000), (Queue, 63600), (Lat, 63600), (Ios, 4), (Inflight, 0)]),
    ]),
    ("A8", &[
        Start(200, 1, 0, StatGroup::Read),
        End(3800, 1),
        Start(4200, 2, 0, StatGroup::Read),
        End(7800, 2),
        Start(8200, 3, 0, StatGroup::Read),
        End(11800, 3),
        Expect(11800, 0, &[(Busy, 10800), (Queue, 10800), (Lat, 10800), (Ios, 3), (Inflight, 0)]),
    ]),
    ("A9", &[
        Start(3900, 1, 0, StatGroup::Read),
        End(4100, 1),
        Start(7900, 2, 0, StatGroup::Read),
        End(8100, 2),
        Start(11900, 3, 0, StatGroup::Read),
        End(12100, 3),
        Expect(12100, 0, &[(Busy, 600), (Queue, 600), (Lat, 600), (Ios, 3), (Inflight, 0)]),
    ]),
    ("B3", &[
        Start(0, 1, 0, StatGroup::Read),
        Start(4000, 2, 0, StatGroup::Read),
        End(5000, 1),
        End(8000, 2),
        Expect(8000, 0, &[(Busy, 8000), (Queue, 9000), (Lat, 9000), (Ios, 2), (Inflight, 0)]),
    ]),
    ("B4", &[
        Start(0, 1, 0, StatGroup::Write),
        Read(1000000),
        Expect(1000000, 0, &[(Busy, 1000000), (Queue, 1000000), (Lat, 0), (Ios, 0), (Inflight, 1)]),
        Read(2000000),
        Expect(2000000, 0, &[(Busy, 2000000), (Queue, 2000000), (Lat, 0), (Ios, 0), (Inflight, 1)]),
        End(60000000, 1),
        Expect(60000000, 0, &[(Busy, 60000000), (Queue, 60000000), (Lat, 60000000), (Ios, 1), (Inflight, 0)]),
    ]),
    ("D1", &[
        Start(0, 1, 2, StatGroup::Write),
        Requeue(1),
        End(5000, 1),
        Expect(5000, 0, &[(Busy, 5000), (Queue, 5000), (Lat, 5000), (Ios, 1), (Inflight, 0)]),
        Expect(5000, 1, &[(Busy, 0), (Queue, 0), (Lat, 0), (Ios, 0), (Inflight, 0)]),
        Expect(5000, 2, &[(Busy, 5000), (Queue, 5000), (Lat, 5000), (Ios, 1), (Inflight, 0)]),
    ]),
    ("F1", &[
        Start(0, 1, 0, StatGroup::Read),
        Start(5, 2, 0, StatGroup::Read),
        Start(10, 3, 0, StatGroup::Read),
        Start(15, 4, 0, StatGroup::Read),
        End(80, 1),
        End(85, 2),
        End(90, 3),
        End(95, 4),
        Expect(95, 0, &[(Busy, 95), (Queue, 320), (Lat, 320), (Ios, 4), (Inflight, 0)]),
    ]),
    ("G4", &[
        Start(0, 1, 0, StatGroup::Write),
        Switch(false),
        Start(2000, 2, 0, StatGroup::Write),
        Switch(true),
        End(4000, 1),
        End(5000, 2),
        Start(6000, 3, 0, StatGroup::Write),
        End(7000, 3),
        Expect(7000, 0, &[(Busy, 5000), (Queue, 5000), (Lat, 5000), (Ios, 2), (Inflight, 0)]),
    ]),
    ("H6", &[
        Start(0, 1, 0, StatGroup::Write),
        End(3000, 1),
        Expect(300000, 0, &[(Busy, 3000), (Queue, 3000), (Lat, 3000), (Ios, 1), (Inflight, 0)]),
        Remove,
        Start(310000, 2, 0, StatGroup::Write),
        End(311000, 2),
        Expect(311000, 0, &[(Busy, 1000), (Queue, 1000), (Lat, 1000), (Ios, 1), (Inflight, 0)]),
    ]),
    ("L1", &[
        Start(0, 1, 0, StatGroup::Write),
        FlushIssue,
        FlushDone,
        FlushIssue,
        FlushDone,
        End(24000, 1),
        Expect(24000, 0, &[(Busy, 24000), (Queue, 24000), (Lat, 24000), (Ios, 1), (Inflight, 0)]),
    ]),
    ("L13", &[
        Start(4000, 2, 0, StatGroup::Write),
        Start(10000, 1, 0, StatGroup::Write),
        Merge(12000, 2, 1),
        End(20000, 1),
        Expect(20000, 0, &[(Busy, 16000), (Queue, 18000), (Lat, 16000), (Ios, 1), (Inflight, 0), (Merges, 1)]),
    ]),
    ("L14", &[
        Start(0, 1, 0, StatGroup::Write),
        Requeue(1),
        Requeue(1),
        End(5000, 1),
        Expect(5000, 0, &[(Busy, 5000), (Queue, 5000), (Lat, 5000), (Ios, 1), (Inflight, 0)]),
    ]),
    ("L4", &[
        Start(0, 1, 0, StatGroup::Read),
        End(9000, 1),
        Expect(9000, 0, &[(Busy, 9000), (Queue, 9000), (Lat, 9000), (Ios, 1), (Inflight, 0)]),
    ]),
];
