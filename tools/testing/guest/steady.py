#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""steady.py SECONDS DEVICE...: reads blkacct/stat and the kernel's stat all the time,
or until it is told to end by SIGTERM.

Fails when a counter of either steps back, whatever mode the device is in, or when ours
grows by more busy time than time. What is in flight is no counter: two fields of ours, and
the ninth of the kernel's.
"""

import signal
import sys
import time

IN_FLIGHT = {"blkacct/stat": (3, 43), "stat": (8,)}
TIME, TICKS = 0, 1


def check(device, name, now, before):
    for field, (new, old) in enumerate(zip(now, before)):
        if new < old and field not in IN_FLIGHT[name]:
            sys.exit(f"{device} {name}: field {field} steps back from {old} to {new}")
    if name == "blkacct/stat" and now[TICKS] - before[TICKS] > now[TIME] - before[TIME]:
        sys.exit(f"{device}: {now[TICKS] - before[TICKS]} ns busy within {now[TIME] - before[TIME]} ns")


def main():
    seconds, devices = int(sys.argv[1]), sys.argv[2:]
    files = {
        (device, name): open(f"/sys/class/block/{device}/{name}", "rb", buffering=0)
        for device in devices
        for name in IN_FLIGHT
    }
    told = []
    signal.signal(signal.SIGTERM, lambda *_: told.append(True))
    last, reads, changed = {}, 0, set()
    end = time.monotonic() + seconds
    while not told and time.monotonic() < end:
        for (device, name), file in files.items():
            file.seek(0)
            now = [int(word) for word in file.read(4096).split()]
            before = last.get((device, name), now)
            check(device, name, now, before)
            if now[1:] != before[1:]:
                changed.add((device, name))
            last[device, name] = now
        reads += 1
        time.sleep(0.003)
    print(f"{reads} reads of each")
    if len(changed) != len(files):
        sys.exit("there was no load on some")


main()
