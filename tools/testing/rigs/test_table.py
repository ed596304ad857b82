#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of the table: `python3 -B tools/testing/rigs/test_table.py`."""

import copy
import io
import unittest

import table


def field(name, truth, exact, stock, allowed, unit="ns"):
    return {"name": name, "unit": unit, "truth": truth, "iostats2": exact, "iostats1": stock,
            "allowed": allowed}


ROW = {
    "title": "a load",
    "expected": [2.5, 2.5],
    "report": {
        "from_ns": 1_000_000_000,
        "to_ns": 6_000_000_000,
        "skew_ns": 2000,
        "fields": [
            field("io_ticks", 130_000_000, 130_000_500, 5_000_000_000, [129_000_000, 131_000_000]),
            field("in_flight at the end", 0, 0, 0, [0, 0], "count"),
            field("flush ios", None, 3, None, None, "count"),
        ],
    },
}


def show(row):
    out = io.StringIO()
    return table.show([row], out), out.getvalue()


class Table(unittest.TestCase):
    def test_a_line_has_all_figures(self):
        status, text = show(ROW)
        self.assertEqual(status, 0)
        self.assertIn("iostats=2 is right in all 1 runs, to within what reading the clock 2 us", text)
        line = next(line for line in text.splitlines() if line.startswith("a load"))
        self.assertEqual(
            line.split("  ", 1)[1].split(),
            "2.50 % 130.000 ms 2.60 % 2.60 % 100.00 % +0.001 ms +4870 ms".split(),
        )

    def test_one_ns_beyond_the_bound_is_wrong(self):
        for low_or_high, found in ((0, 128_999_999), (1, 131_000_001)):
            row = copy.deepcopy(ROW)
            busy = row["report"]["fields"][0]
            busy["iostats2"] = busy["allowed"][low_or_high]
            self.assertEqual(show(row)[0], 0)
            busy["iostats2"] = found
            status, text = show(row)
            self.assertEqual(status, 3)
            self.assertIn(f"WRONG: a load: io_ticks of iostats=2 is {found} ns", text)

    def test_any_judged_field_can_be_wrong(self):
        row = copy.deepcopy(ROW)
        row["report"]["fields"][1]["iostats2"] = 1
        status, text = show(row)
        self.assertEqual(status, 3)
        self.assertIn("in_flight at the end of iostats=2 is 1 count", text)

    def test_the_kernel_may_be_as_wrong_as_it_is(self):
        row = copy.deepcopy(ROW)
        row["report"]["fields"][0]["iostats1"] = 0
        self.assertEqual(show(row)[0], 0)


if __name__ == "__main__":
    unittest.main()
