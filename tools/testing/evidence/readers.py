#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""readers.py DISK: what reading all statistics costs a reader of DISK on the same CPU.

Reads 4 KiB at a time, alone and then beside a loop that reads every file of blkacct of every
disk. Times are the machine's: in a guest whose time counts instructions they are the same in
every run. Exit status 3 if a disk's files take 1 ms, or the reader loses 5 %.
"""

import mmap
import os
import resource
import sys
import time
from multiprocessing import Process, Value
from pathlib import Path

READS = 2000


def reads_per_second(disk):
    """Returns how many reads a second of 4 KiB there are, one after the other."""
    block = mmap.mmap(-1, 4096)
    device = os.open(f"/dev/{disk}", os.O_RDONLY | os.O_DIRECT)
    begin = time.monotonic()
    for _ in range(READS):
        os.preadv(device, [block], 0)
    taken = time.monotonic() - begin
    os.close(device)
    return READS / taken


def read_once(files):
    """Reads all files, which stay open, as with a monitor."""
    for file in files:
        os.pread(file, 4096, 0)


def read_all(files, rounds, stop):
    """Reads them again and again, until told to stop."""
    while not stop.value:
        read_once(files)
        rounds.value += 1


def main(disk):
    os.sched_setaffinity(0, {0})
    resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 16, 1 << 16))
    disks = [each for each in Path("/sys/block").glob("*/blkacct")
             if (each / "iostats").read_text() == "2\n"]
    files = [os.open(file, os.O_RDONLY) for each in disks for file in each.iterdir()]
    alone = reads_per_second(disk)
    rounds, stop = Value("i", 0), Value("b", 0)
    begin = time.monotonic()
    read_once(files)
    each = (time.monotonic() - begin) / len(disks)
    loop = Process(target=read_all, args=(files, rounds, stop))
    loop.start()
    beside = reads_per_second(disk)
    stop.value = 1
    loop.join()
    lost = 100 * (1 - beside / alone)
    print(f"{len(disks)} disks in mode 2, {len(files)} files; all files of a disk take {each * 1e6:.0f} us")
    print(f"reads/s alone {alone:.0f}, beside the loop {beside:.0f} ({lost:.1f} % less), "
          f"{rounds.value} rounds meanwhile")
    return 3 if each >= 1e-3 or lost >= 5 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
