#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""aio.py BATCH...: submits direct I/O in an exact order, and waits for all of it. Prints the ns from
before the first is submitted until after the last is.

A batch is one io_submit() call: I/Os joined by commas, each DEVICE:r|w:SECTOR:COUNT.
The kernel plugs a batch of three or more, so neighbours in it can merge before they
are queued; I/Os of different batches can merge only in a scheduler's queue.
"""

import ctypes
import mmap
import os
import sys
import time

IO_SETUP, IO_GETEVENTS, IO_SUBMIT = 206, 208, 209  # x86-64
COMMANDS = {"r": 0, "w": 1}
libc = ctypes.CDLL(None, use_errno=True)


class Iocb(ctypes.Structure):
    """struct iocb of <linux/aio_abi.h>, little-endian."""

    _fields_ = [
        ("data", ctypes.c_uint64),
        ("key", ctypes.c_uint32),
        ("rw_flags", ctypes.c_int32),
        ("opcode", ctypes.c_uint16),
        ("reqprio", ctypes.c_int16),
        ("fildes", ctypes.c_uint32),
        ("buf", ctypes.c_uint64),
        ("nbytes", ctypes.c_uint64),
        ("offset", ctypes.c_int64),
        ("reserved2", ctypes.c_uint64),
        ("flags", ctypes.c_uint32),
        ("resfd", ctypes.c_uint32),
    ]


class IoEvent(ctypes.Structure):
    """struct io_event."""

    _fields_ = [
        ("data", ctypes.c_uint64),
        ("obj", ctypes.c_uint64),
        ("res", ctypes.c_int64),
        ("res2", ctypes.c_int64),
    ]


def call(number, *arguments):
    result = libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def main():
    files, keep, batches = {}, [], []
    for batch in sys.argv[1:]:
        iocbs = []
        for io in batch.split(","):
            device, command, sector, count = io.split(":")
            if device not in files:
                files[device] = os.open(f"/dev/{device}", os.O_RDWR | os.O_DIRECT)
            memory = mmap.mmap(-1, int(count) * 512)
            keep.append(memory)
            iocbs.append(
                Iocb(
                    opcode=COMMANDS[command],
                    fildes=files[device],
                    buf=ctypes.addressof(ctypes.c_char.from_buffer(memory)),
                    nbytes=len(memory),
                    offset=int(sector) * 512,
                )
            )
        pointers = [ctypes.pointer(iocb) for iocb in iocbs]
        batches.append((ctypes.POINTER(Iocb) * len(iocbs))(*pointers))

    context = ctypes.c_uint64()
    total = len(keep)
    call(IO_SETUP, total, ctypes.byref(context))
    begun = time.monotonic_ns()
    for batch in batches:
        if call(IO_SUBMIT, context, ctypes.c_long(len(batch)), batch) != len(batch):
            sys.exit("not all was submitted")
    print(time.monotonic_ns() - begun)
    events = (IoEvent * total)()
    number = ctypes.c_long(total)
    call(IO_GETEVENTS, context, number, number, events, None)
    for event in events:
        if event.res < 0:
            sys.exit(f"I/O failed: {os.strerror(-event.res)}")


main()
