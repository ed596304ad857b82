#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""watch.py NUMBER DEVICE...: reads the stat files so often, as fast as it can.

Fails when a field of a device steps back, or when a time grows by more than the one that
bounds it, as the ABI text has them, between two reads or over all of them. Prints how many
reads there were, and how many saw a change.
"""

import sys

TICKS = 1
# Each time, and what it grows by no more than.
BOUNDS = [
    ("io_ticks", 1, "time_ns", 0),
    ("io_ticks", 1, "time_in_queue", 2),
    ("device_ticks", 41, "io_ticks", 1),
    ("device_ticks", 41, "device_time_in_queue", 42),
]
# No counters: the requests in flight, and those of them that the driver has.
IN_FLIGHT = (3, 43)


def check(device, now, before):
    for field, (new, old) in enumerate(zip(now, before)):
        if new < old and field not in IN_FLIGHT:
            sys.exit(f"{device}: field {field} steps back from {old} to {new}")
    for name, field, bound_name, bound in BOUNDS:
        grown, room = now[field] - before[field], now[bound] - before[bound]
        if grown > room:
            sys.exit(f"{device}: {name} grows by {grown} ns, {bound_name} by {room} ns")


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
