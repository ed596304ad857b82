#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""percentiles.py FIO.JSON BLKACCT.JSON: compares fio's completion latencies of reads with the
total side of `blkacct latency --json`. They may differ by the bucket error, and by the time fio
takes to look at a completion."""

import json
import sys

BUCKET_ERROR = 0.125
FIO_LOOKS_NS = 200_000

with open(sys.argv[1]) as fio_json:
    clat = json.load(fio_json)["jobs"][0]["read"]["clat_ns"]
with open(sys.argv[2]) as tool_json:
    rows = json.load(tool_json)
ours = next(row for row in rows if row["group"] == "read" and row["side"] == "total")

wrong = 0
theirs = [*clat["percentile"].items(), ("max", clat["max"])]
for (name, fio), tool in zip(theirs, [*ours["percentiles"], ours["max"]], strict=True):
    within = fio * (1 - BUCKET_ERROR) - FIO_LOOKS_NS <= tool <= fio * (1 + BUCKET_ERROR)
    print(f"p{name}: fio {fio} ns, blkacct {tool} ns{'' if within else ': too far apart'}")
    wrong += not within
if clat["N"] != ours["count"]:
    print(f"count: fio {clat['N']}, blkacct {ours['count']}")
    wrong += 1
sys.exit(wrong > 0)
