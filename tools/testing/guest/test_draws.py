#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Whatever the seed, what is drawn has the fate that is said, and some of each kind is drawn:
`python3 -B tools/testing/guest/test_draws.py`."""

import errno
import random
import re
import unittest

import parameters
import stores

SEEDS = range(3000)


def as_the_kernel_reads(text):
    """Returns the number of a text if it is one of the module's parameters, else None."""
    found = re.fullmatch(r"0x([0-9a-f]+)|0o([0-7]+)|0b([01]+)|([1-9][0-9]*|0)", text)
    if not found:
        return None
    base, digits = next(
        (base, digits) for base, digits in zip((16, 8, 2, 10), found.groups()) if digits is not None
    )
    number = int(digits, base)
    return number if number < 256 else None


class Draws(unittest.TestCase):
    def test_a_parameter_is_taken_or_refused_as_is_said(self):
        for seed in SEEDS:
            drawn = parameters.draw(random.Random(seed))
            self.assertEqual(len(drawn), 13)
            for name, text, number in drawn:
                self.assertEqual(as_the_kernel_reads(text), number, f"seed {seed}: {name}={text!r}")
            for name in parameters.NAMES:
                fates = [number for each, _, number in drawn if each == name]
                self.assertIn(0, fates)
                self.assertEqual(sum(fate is not None and fate > 0 for fate in fates), 2)
                self.assertGreaterEqual(fates.count(None), 3)

    def test_each_file_gets_each_mode_and_much_that_is_none(self):
        for seed in SEEDS:
            drawn = stores.draw(random.Random(seed), 3, ["a", "b"])
            self.assertEqual(len(drawn), 120)
            for file in "ab":
                taken = {what for each, what in drawn if each == file and stores.fate(what)[0]}
                self.assertGreaterEqual(taken, {b"0", b"1", b"2", b"0\n", b"1\n", b"2\n"})
            refused = [what for _, what in drawn if stores.fate(what) == (None, errno.EINVAL)]
            self.assertGreaterEqual(len(refused), 12)


if __name__ == "__main__":
    unittest.main()
