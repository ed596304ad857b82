#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""watch.py NUMBER DEVICE...: reads the stat files so often, as fast as it can.

Fails when a field of a device steps back, or when the busy time grows by more than
the time that passes, between two reads or over all of them. Prints how many reads
there were, and how many saw a change.
"""

import sys

TIME, TICKS = 0, 1
# No counters: the requests in flight, and those of them that the driver has.
IN_FLIGHT = (3, 43)


def check(device, now, before):
    for field, (new, old) in enumerate(zip(now, before)):
        if new < old and field not in IN_FLIGHT:
            sys.exit(f"{device}: field {field} steps back from {old} to {new}")
    busy, passed = now[TICKS] - before[TICKS], now[TIME] - before[TIME]
    if busy > passed:
        sys.exit(f"{device}: {busy} ns busy within {passed} ns")


def main():
    number, devices = int(sys.argv[1]), sys.argv[2:]
    files = {
        device: open(f"/sys/class/block/{device}/blkacct/stat", "rb", buffering=0)
        for device in devices
    }

    def read(device):
        files[device].seek(0)
        return [int(word) for word in files[device].read(4096).split()]

    first = {device: read(device) for device in devices}
    last, changes = dict(first), 0
    for _ in range(number):
        for device in devices:
            now = read(device)
            check(device, now, last[device])
            changes += now[TICKS] > last[device][TICKS]
            last[device] = now
    for device in devices:
        check(device, last[device], first[device])
    print(f"{number * len(devices)} reads, {changes} saw a change")
    if changes < number // 100:
        sys.exit("too few: there was no load")


main()
