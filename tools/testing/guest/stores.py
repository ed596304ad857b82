#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""stores.py SEED NUMBER DISK PARTITION: writes so many random texts to the files of a disk.

What is refused is EINVAL and changes nothing that can be read; what is taken is one of the modes,
perhaps with a newline, and changes the mode alone. Files that are only to be read cannot be opened
for a write.
"""

import errno
import os
import random
import sys
from pathlib import Path

MODES = [b"0", b"1", b"2"]
PIECES = MODES + [b"3", b"", b" ", b"\n", b"\0", b"-", b"+", b"0x", b"\t", b"2\n", b"\xff", b"22222222"]


def text(rng):
    """Returns a text: a mode, pieces of some, any bytes, or one of more than a page."""
    kind = rng.randrange(10)
    if kind < 3:
        return rng.choice(MODES) + rng.choice([b"", b"\n"])
    if kind < 7:
        return b"".join(rng.choices(PIECES, k=rng.randrange(1, 5)))
    if kind < 9:
        return rng.randbytes(rng.randrange(1, 20))
    return rng.choice(MODES) * rng.randrange(4000, 5000)


def write(path, what):
    """Writes in one call; returns the number of the error, or 0."""
    try:
        file = os.open(path, os.O_WRONLY)
        try:
            os.write(file, what)
        finally:
            os.close(file)
    except OSError as error:
        return error.errno
    return 0


def read(path):
    try:
        content = path.read_bytes()
    except OSError as error:
        return errno.errorcode[error.errno]
    # The first of the numbers is the time.
    return content.split()[1:] if path.name == "stat" and path.parent.name == "blkacct" else content


def files(*directories):
    return [path for directory in directories for path in sorted(directory.iterdir()) if path.is_file()]


def check(condition, *what):
    if not condition:
        sys.exit(" ".join(str(each) for each in what))


def main():
    seed, number = int(sys.argv[1]), int(sys.argv[2])
    disk, partition = (Path("/sys/class/block") / name for name in sys.argv[3:5])
    print(f"seed {seed}")
    rng = random.Random(seed)
    switches = [disk / "queue/iostats", disk / "blkacct/iostats"]
    modes = switches + [partition / "blkacct/iostats"]
    ours = files(disk / "blkacct", partition / "blkacct")
    others = files(disk / "queue") + [disk / "stat", partition / "stat"]
    readable = [path for path in ours + others if path not in modes and path.name != "counted_ns"]
    for path in ours:
        if path not in switches:
            check(write(path, b"1") == errno.EACCES, path, "can be written to")
    taken = 0
    mode = modes[0].read_bytes()
    before = {path: read(path) for path in readable}
    for _ in range(number):
        path, what = rng.choice(switches), text(rng)
        status = write(path, what)
        digit = what.removesuffix(b"\n")
        if status == 0 and what:
            check(digit in MODES, path, "took", what)
            mode = digit + b"\n"
            taken += 1
        elif what:
            check(digit not in MODES and status == errno.EINVAL, path, what, "is error", status)
        for shown in modes:
            check(shown.read_bytes() == mode, shown, "is not", mode, "after", what, "to", path)
        for other, content in before.items():
            now = read(other)
            check(now == content, other, "was", content, "and is", now, "after", what, "to", path)
    print(f"{number} texts, {taken} taken")
    check(0 < taken < number, "all were of one kind")


main()
