# SPDX-License-Identifier: GPL-2.0
"""One measurement: a load under a variant, several times."""

import statistics

from variants import BUILT, tell

LOADS = ("psync", "io_uring")
REPEATS = 3

# As in load.c. A batch is shorter than a tick of 4 ms, so that most have none in them.
BATCH = 256
WARM_UP = 16
BATCHES = 80


def measure(variant, disk, load, repeats):
    """Returns the figures of each repeat, in instructions per read.

    `median` is of the batches. A batch that a timer tick or another process came into is longer,
    and fewer than half are, so the median has none of that: it is the cost of the path itself.
    `mean` has all of it.

    Raises RuntimeError if the variant has seen fewer reads than there were.
    """
    with variant(disk) as (device, seen):
        runs = [batches(load, device) for _ in range(repeats)]
        counted = seen()
    reads = repeats * (WARM_UP + BATCHES) * BATCH
    if counted is not None and counted < reads:
        raise RuntimeError(f"saw {counted} of {reads} reads")
    return {
        "median": [statistics.median(times) / BATCH for times in runs],
        "mean": [statistics.mean(times) / BATCH for times in runs],
    }


def batches(load, device):
    return list(map(int, tell(str(BUILT / "load"), load, device, str(BATCHES)).split()))
