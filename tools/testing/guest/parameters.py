#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""parameters.py SEED MODULE DISK: loads the module again and again with a drawn text for one of its
parameters, and leaves it unloaded.

What is drawn is known to be taken, and as which number, or to be refused: some of both for each
parameter, whatever the seed. What is taken can be seen in the files of the disk; of a module that is
refused there is nothing.

parameters.py SEED: prints what would be drawn, and tries none of it.
"""

import random
import subprocess
import sys
from pathlib import Path

NAMES = ["classic", "device"]
MOST = 255
# Fields of "stat" with and without the driver's share.
WITH_DEVICE, WITHOUT_DEVICE = 54, 41


def taken(rng, number):
    """Returns a way to write a number."""
    return rng.choice([str, hex, oct, bin])(number)


def refused(rng):
    """Returns a text of each kind that is none."""
    number = rng.randrange(MOST + 1)
    return [
        str(rng.randrange(MOST + 1, 1 << rng.randrange(9, 80))),
        str(-rng.randrange(1, MOST + 1)),
        rng.choice("ghxyz_.") + str(number),
        str(number) + rng.choice("ghxyz_."),
        "",
        f" {number}",
        f"{number},{number}",
    ]


def draw(rng):
    """Returns [(name, text, number)], where None is the number of what is refused."""
    drawn = []
    for name in NAMES:
        for number in (0, 1, rng.randrange(1, MOST + 1)):
            drawn.append((name, taken(rng, number), number))
    # The kinds take turns at the parameters.
    first = rng.randrange(len(NAMES))
    for place, text in enumerate(refused(rng)):
        drawn.append((NAMES[(first + place) % len(NAMES)], text, None))
    rng.shuffle(drawn)
    return drawn


def same(what, got, wanted):
    if got != wanted:
        sys.exit(f"{what}: got {got}, wanted {wanted}")


def run(*command):
    """Returns the status of a command and what it says."""
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    return ended.returncode, (ended.stdout + ended.stderr).strip()


def check(name, text, number, module, files):
    """Loads the module and looks at what there is then."""
    parameter = f"{name}={text}"
    status, said = run("insmod", module, parameter)
    if number is None:
        same(f"insmod {parameter!r}", (status, said.rpartition(": ")[2]), (1, "Invalid parameters"))
        same(f"the module after {parameter!r}", Path("/sys/module/blkacct").exists(), False)
        same(f"the disk's files after {parameter!r}", files.exists(), False)
        return
    same(f"insmod {parameter!r}", (status, said), (0, ""))
    classic = number != 0 if name == "classic" else True
    device = number != 0 if name == "device" else True
    same(f"classic after {parameter!r}", (files / "classic").read_text().strip(), f"{classic:d}")
    fields = len((files / "stat").read_text().split())
    same(f"fields of stat after {parameter!r}", fields, WITH_DEVICE if device else WITHOUT_DEVICE)
    same("rmmod", run("rmmod", "blkacct"), (0, ""))


def main():
    seed = int(sys.argv[1])
    print(f"seed {seed}")
    drawn = draw(random.Random(seed))
    if len(sys.argv) == 2:
        for each in drawn:
            print(*each, sep="\t")
        return
    module, files = sys.argv[2], Path("/sys/class/block", sys.argv[3], "blkacct")
    for each in drawn:
        check(*each, module, files)
    wrong = sum(number is None for _, _, number in drawn)
    print(f"{len(drawn)} texts, {len(drawn) - wrong} taken, {wrong} refused")


if __name__ == "__main__":
    main()
