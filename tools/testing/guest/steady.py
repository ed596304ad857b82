#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""steady.py SECONDS DEVICE: reads blkacct/stat and the kernel's stat all the time.

Fails when a counter of either steps back, whatever mode the device is in. in_flight is
no counter; the kernel's own stat has it as the ninth field.
"""

import sys
import time

FILES = {"blkacct/stat": 3, "stat": 8}


def main():
    seconds, device = int(sys.argv[1]), sys.argv[2]
    files = {
        name: open(f"/sys/class/block/{device}/{name}", "rb", buffering=0) for name in FILES
    }
    last, reads, changes = {}, 0, 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for name, file in files.items():
            file.seek(0)
            now = [int(word) for word in file.read(4096).split()]
            for field, (new, old) in enumerate(zip(now, last.get(name, now))):
                if new < old and field != FILES[name]:
                    sys.exit(f"{name}: field {field} steps back from {old} to {new}")
            changes += now[1:] != last.get(name, now)[1:]
            last[name] = now
        reads += 1
        time.sleep(0.003)
    print(f"{reads} reads of each, {changes} saw a change")
    if not changes:
        sys.exit("there was no load")


main()
