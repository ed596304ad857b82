# SPDX-License-Identifier: GPL-2.0
"""A null_blk disk on which every request takes the same time, independent of the others.

One submission queue for each CPU, depth 64, no scheduler, no writeback throttling, so that
nothing but the timer of the device decides when a request is done.
"""

import os
import subprocess
from pathlib import Path

CONFIG = Path("/sys/kernel/config/nullb")
SYS = Path("/sys/block")


class NullBlk:
    """The disk /dev/NAME, for the time of a `with`; `nsec` is the length of a request.

    Other attributes of null_blk may be given, or given another value.
    """

    def __init__(self, name, nsec, **attributes):
        self.name = name
        self.parameters = {
            "irqmode": 2,  # by timer
            "completion_nsec": nsec,
            "submit_queues": os.cpu_count(),
            "hw_queue_depth": 64,
            "size": 1024,  # MiB
        } | attributes

    def __enter__(self):
        if not CONFIG.is_dir():
            subprocess.run(["modprobe", "null_blk", "nr_devices=0"], check=True)
        config = CONFIG / self.name
        config.mkdir()
        try:
            for name, value in self.parameters.items():
                (config / name).write_text(f"{value}\n")
            (config / "power").write_text("1\n")
            queue = SYS / self.name / "queue"
            (queue / "scheduler").write_text("none\n")
            (queue / "wbt_lat_usec").write_text("0\n")
        except OSError:
            config.rmdir()
            raise
        return self.name

    def __exit__(self, *_):
        (CONFIG / self.name).rmdir()
