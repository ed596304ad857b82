# SPDX-License-Identifier: GPL-2.0
"""Compares what `scale` printed in two guests, a line of JSON each, read from standard input."""

import json
import sys

few, many = map(json.loads, sys.stdin)
cpus = f"{many['possible_cpus']} possible CPUs against {few['possible_cpus']}"
disks = f"{many['disks']} disks against 1"
for load in few["one"]:
    print(f"{load}: {cpus}: {many['one'][load] / few['one'][load]:.4f}, {disks}: {many['all'][load] / many['one'][load]:.4f}")
print(f"stat: {many['stat_us']:.1f} us against {few['stat_us']:.1f}")
print(f"one disk: {sum(many['bytes_per_disk'].values()) / 1024:.0f} KiB against {sum(few['bytes_per_disk'].values()) / 1024:.0f}")
print(f"{many['disks'] - 1} disks to mode 2: {many['enable_s']:.2f} s against {few['enable_s']:.2f}")
