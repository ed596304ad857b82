#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""stores.py SEED ROUNDS DISK PARTITION: writes random texts to the files of a disk.

What is refused is EINVAL and changes nothing that can be read; what is taken is one of the modes,
perhaps with a newline, and changes the mode alone. Files that are only to be read cannot be opened
for a write. In each round both files get each mode, and texts of each other kind, in any order.

stores.py SEED ROUNDS: prints what would be drawn, and writes none of it.
"""

import errno
import itertools
import os
import random
import sys
from pathlib import Path

MODES = [b"0", b"1", b"2"]
PIECES = MODES + [b"3", b"", b" ", b"\n", b"\0", b"-", b"+", b"0x", b"\t", b"2\n", b"\xff", b"22222222"]


def others(rng):
    """Returns texts of each kind that is not made to be a mode: pieces of some, any bytes, and one of
    more than a page. The pieces and the bytes can still be one, by chance."""
    pieces = [b"".join(rng.choices(PIECES, k=rng.randrange(1, 5))) for _ in range(16)]
    any_bytes = [rng.randbytes(rng.randrange(1, 20)) for _ in range(8)]
    return pieces + any_bytes + [rng.choice(MODES) * rng.randrange(4000, 5000) for _ in range(4)]


def draw(rng, rounds, switches):
    """Returns (file, text) pairs."""
    drawn = []
    for _ in range(rounds):
        drawn += itertools.product(switches, (mode + end for mode in MODES for end in (b"", b"\n")))
        drawn += [(rng.choice(switches), text) for text in others(rng)]
    rng.shuffle(drawn)
    return drawn


def fate(what):
    """Returns the mode that a text sets, or None, and the error of its write. An empty text does not
    get as far as the file."""
    if what.removesuffix(b"\n") in MODES:
        return what.removesuffix(b"\n"), 0
    return None, errno.EINVAL if what else 0


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
    seed, rounds = int(sys.argv[1]), int(sys.argv[2])
    print(f"seed {seed}")
    rng = random.Random(seed)
    if len(sys.argv) == 3:
        for path, what in draw(rng, rounds, ["queue/iostats", "blkacct/iostats"]):
            print(path, what[:30], *fate(what))
        return
    disk, partition = (Path("/sys/class/block") / name for name in sys.argv[3:5])
    switches = [disk / "queue/iostats", disk / "blkacct/iostats"]
    modes = switches + [partition / "blkacct/iostats"]
    ours = files(disk / "blkacct", partition / "blkacct")
    kernels = files(disk / "queue") + [disk / "stat", partition / "stat"]
    readable = [path for path in ours + kernels if path not in modes and path.name != "counted_ns"]
    for path in ours:
        if path not in switches:
            check(write(path, b"1") == errno.EACCES, path, "can be written to")
    taken = 0
    shown = modes[0].read_bytes()
    before = {path: read(path) for path in readable}
    drawn = draw(rng, rounds, switches)
    for path, what in drawn:
        mode, error = fate(what)
        status = write(path, what)
        check(status == error, path, what, "is error", status, "and not", error)
        if mode is not None:
            shown = mode + b"\n"
            taken += 1
        for each in modes:
            now = each.read_bytes()
            check(now == shown, each, "is", now, "and not", shown, "after", what, "to", path)
        for other, content in before.items():
            now = read(other)
            check(now == content, other, "was", content, "and is", now, "after", what, "to", path)
    print(f"{len(drawn)} texts, {taken} taken")


if __name__ == "__main__":
    main()
