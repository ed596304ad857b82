# SPDX-License-Identifier: GPL-2.0
"""One run of a load: truth, blkacct's account and the kernel's, of the same requests."""

import json
import os
import subprocess
import time
from pathlib import Path

SYS = Path("/sys/block")
FIO = Path(__file__).resolve().parents[3] / "samples" / "fio"

# How long a load may take to its first request, and to its end when it is told to stop: far more
# than they need in a guest, and an end to a load that hangs.
PATIENCE = 60


def fio(job):
    """Returns the command of a job of samples/fio; it runs until it is stopped."""
    return lambda disk: (["fio", "--output=/dev/null", str(FIO / job)], {"DISK": disk, "SECONDS": "3600"})


def rig(*arguments):
    """Returns the command of a load of `rig`; it runs until it is stopped."""
    return lambda disk: (["rig", f"--disk=/dev/{disk}", *arguments], {})


def check(disk, load, seconds, skew_ns):
    """Runs `load` on `disk` and returns what `blkacct check` found of a window in its middle.

    Raises RuntimeError if there was no such window or no verdict on it.
    """
    found = during(disk, load, seconds, skew_ns, "--json", stdout=subprocess.PIPE)
    return json.loads(found)


def during(disk, load, seconds, skew_ns, *options, stdout=None):
    """As `check`, with options of `blkacct check`; returns its output, unless that goes elsewhere."""
    (SYS / disk / "blkacct" / "iostats").write_text("2\n")
    command, variables = load(disk)
    with subprocess.Popen(
        command, env=os.environ | variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    ) as process:
        try:
            _wait_for_reads(disk, process)
            found = subprocess.run(
                ["blkacct", "check", f"--live={disk}", f"--seconds={seconds}",
                 f"--skew-ns={skew_ns}", *options],
                stdout=stdout, text=True, check=False,
            )
            if process.poll() is not None:
                raise RuntimeError(f"{command[0]} ended before the window did")
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
    # 0 and 3 are verdicts.
    if found.returncode not in (0, 3):
        raise RuntimeError(f"blkacct check: no verdict (status {found.returncode})")
    return found.stdout


def _wait_for_reads(disk, process):
    stat = SYS / disk / "blkacct" / "stat"
    reads = lambda: int(stat.read_text().split()[4])
    before, deadline = reads(), time.monotonic() + PATIENCE
    while reads() == before:
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{process.args[0]} does not read from {disk}")
        time.sleep(0.05)
