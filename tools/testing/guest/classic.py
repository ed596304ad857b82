#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""classic.py equal|steady|hangs NUMBER DEVICE...: reads the kernel's statistics so often.

Those of /proc/diskstats and of each device's "stat", which have the same fields.

equal   in mode 2: at each read the busy time is blkacct's io_ticks in whole jiffies, and once idle
        neither a jiffy more nor less; idle until the file $READY is there, and then waits for a
        load; wants it to end when the file is gone
steady  in any mode: nothing steps back, and in no window is there more busy time than time
hangs   half a second apart: the busy time grows by exactly the time that passes
"""

import math
import os
import sys
import time
from pathlib import Path

JIFFY_NS, JIFFY_MS = 4_000_000, 4  # CONFIG_HZ=250
IN_FLIGHT, TICKS = 8, 9
# Emulated CPUs lose the host's for so long between two steps that belong together: a start's
# clock and its arrival, a tick and its count. Anything that is charged twice adds up to more.
HELD_UP_MS = 250


def numbers(path):
    with open(path, "rb", buffering=0) as file:
        return [int(word) for word in file.read(4096).split()]


def ours(devices):
    """Returns the io_ticks of blkacct, in ns."""
    return {name: numbers(f"/sys/class/block/{name}/blkacct/stat")[1] for name in devices}


def kernels(devices):
    """Returns (file, device, fields) for each device in each of the kernel's files."""
    found = []
    with open("/proc/diskstats") as file:
        for line in file:
            _, _, name, *fields = line.split()
            if name in devices:
                found.append(("diskstats", name, [int(field) for field in fields]))
    for name in devices:
        found.append(("stat", name, numbers(f"/sys/class/block/{name}/stat")))
    if len(found) != 2 * len(devices):
        sys.exit("a device is missing")
    return found


def jiffies_in_ms(ns):
    return ns // JIFFY_NS * JIFFY_MS


def equal(number, devices):
    before = ours(devices)
    # What the kernel has counted itself, in other modes.
    own = {name: fields[TICKS] - jiffies_in_ms(before[name]) for _, name, fields in kernels(devices)}
    if ours(devices) != before:
        sys.exit("not idle")
    Path(os.environ["READY"]).touch()
    deadline = time.monotonic() + 30
    while ours(devices) == before and time.monotonic() < deadline:
        time.sleep(0.01)
    changes = 0
    for _ in range(number):
        before = ours(devices)
        found = kernels(devices)
        after = ours(devices)
        for file, name, fields in found:
            least, most = jiffies_in_ms(before[name]), jiffies_in_ms(after[name])
            # Of a start that is held up, ours are shown as the time allows (stock.rs).
            if not least <= fields[TICKS] - own[name] <= most + HELD_UP_MS:
                sys.exit(f"{file} {name}: {fields[TICKS] - own[name]} ms, ours {least} to {most} ms")
            changes += most > least
    Path(os.environ["READY"]).unlink()
    wait_until_equal(own, devices)
    return changes


def wait_until_equal(own, devices):
    """Waits until the load has ended and all is the same, which is soon."""
    deadline = time.monotonic() + 60
    while True:
        before = ours(devices)
        found = kernels(devices)
        unlike = [
            f"{file} {name}: {fields[TICKS] - own[name]} ms, ours {jiffies_in_ms(before[name])} ms"
            for file, name, fields in found
            if fields[TICKS] - own[name] != jiffies_in_ms(before[name]) or fields[IN_FLIGHT] > 0
        ]
        if not unlike and ours(devices) == before:
            return
        if time.monotonic() > deadline:
            sys.exit("once idle, " + "; ".join(unlike or ["the load goes on"]))
        time.sleep(0.01)


def steady(number, devices):
    last, idlest, changes = {}, {}, 0
    for _ in range(number):
        began = time.monotonic_ns() / 1e6
        found = kernels(devices)
        ended = time.monotonic_ns() / 1e6
        for file, name, fields in found:
            old = last.get(name, fields)
            for field, (now, then) in enumerate(zip(fields, old)):
                if now < then and field != IN_FLIGHT:
                    sys.exit(f"{file} {name}: field {field} steps back from {then} to {now}")
            # Over any of the windows that end here: the one with the most idle time before it.
            excess = fields[TICKS] - ended - idlest.get(name, fields[TICKS] - began)
            if excess > JIFFY_MS + HELD_UP_MS:
                sys.exit(f"{file} {name}: {excess:.3f} ms more busy than there was time")
            changes += fields[TICKS] > old[TICKS]
            idlest[name] = min(idlest.get(name, math.inf), fields[TICKS] - began)
            last[name] = fields
        time.sleep(0.015)
    return changes


def hangs(number, devices):
    first, changes = {}, 0
    for _ in range(number):
        began = time.monotonic_ns()
        found = kernels(devices)
        ended = time.monotonic_ns()
        for file, name, fields in found:
            then = first.setdefault((file, name), (began, ended, fields[TICKS]))
            busy = fields[TICKS] - then[2]
            least, most = (began - then[1]) / 1e6 - JIFFY_MS, (ended - then[0]) / 1e6 + JIFFY_MS
            if not least <= busy <= most:
                sys.exit(f"{file} {name}: {busy} ms busy within {least:.3f} to {most:.3f} ms")
            changes += busy > 0
        time.sleep(0.5)
    return changes


def main():
    what, number, devices = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    changes = {"equal": equal, "steady": steady, "hangs": hangs}[what](number, devices)
    print(f"{number} reads, {changes} changes seen")
    if changes < number // 20:
        sys.exit("too few: there was no load")


main()
