# SPDX-License-Identifier: GPL-2.0
"""The rigs: a device, a load, and the busy share that follows from their parameters.

`expected` leaves out what the system adds to a request (dispatch, interrupt): some us where
guest time counts instructions, more where it is the host's. The truth of a run has it in.
"""

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Callable, ContextManager, Optional, Tuple

from measure import fio, rig
from nullb import NullBlk

US = 1000
MS = 1000 * US

# How far apart trace and accounting may read the clock for one event. The default of `blkacct check`
# holds where guest time counts instructions. Where it is the host's, a virtual CPU may lose its real
# one between the two readings.
EXACT = 2 * US
EMULATED = 1 * MS


@dataclass(frozen=True)
class Rig:
    """One row of the table."""

    title: str
    disk: Callable[[], ContextManager[str]]
    load: Callable
    # Least and most share of time busy, in percent; none if only the trace can tell.
    expected: Optional[Tuple[float, float]] = None
    seconds: int = 5
    skew_ns: int = EXACT


def null_blk(nsec):
    """Returns what makes a null_blk disk whose requests take `nsec`."""
    return lambda: NullBlk("rig0", nsec)


def share(busy, period):
    """Returns `expected` for a device that is busy for a part of each period."""
    return (100 * busy / period, 100 * busy / period)


RIGS = {
    "slow-disk": Rig(
        title="slow disk: one 12.09 ms read after the other",
        disk=null_blk(12_090 * US),
        load=fio("slow-disk.fio"),
        expected=(99.8, 100),
    ),
    "batch": Rig(
        title="virtio-scsi: batches of 16 reads that merge",
        disk=lambda: nullcontext("sda"),
        load=fio("batch.fio"),
    ),
    "short-pauses": Rig(
        title="600 us reads, 300 us pauses",
        disk=null_blk(600 * US),
        load=rig("paced", "--ios=1000000", "--think-us=300"),
        expected=share(600, 900),
    ),
    "think": Rig(
        title="100 us reads, 4 ms pauses",
        disk=null_blk(100 * US),
        load=rig("paced", "--ios=1000000", "--think-us=4000"),
        expected=share(100, 4100),
    ),
    "think-jitter": Rig(
        title="100 us reads, 4.0 to 4.4 ms pauses",
        disk=null_blk(100 * US),
        load=rig("paced", "--ios=1000000", "--think-us=4000", "--jitter-us=400"),
        expected=share(100, 4300),
    ),
    "in-tick": Rig(
        title="100 us read every 4 ms, between two ticks",
        disk=null_blk(100 * US),
        load=rig("paced", "--ios=1000000", "--every-us=4000", "--phase-us=500", "--spin-us=500"),
        expected=share(100, 4000),
    ),
    "across-tick": Rig(
        title="100 us read every 4 ms, across the tick",
        disk=null_blk(100 * US),
        load=rig("paced", "--ios=1000000", "--every-us=4000", "--phase-us=3950", "--spin-us=500"),
        expected=share(100, 4000),
    ),
    # Needs CPUs that run at the same time.
    "together": Rig(
        title="2 CPUs read at once, every 100 ms",
        disk=null_blk(1380 * US),
        # A long spin: a busy host gives both CPUs their cores in that time more often than not.
        load=rig("together", "--threads=2", "--every-ms=100", "--rounds=100000", "--spin-us=8000"),
        expected=(100 * 1.38 / 100, 100 * 2 * 1.38 / 100),
        seconds=10,
        skew_ns=EMULATED,
    ),
}
