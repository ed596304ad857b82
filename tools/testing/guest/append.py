#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""append.py DEVICE ZONES NUMBER: appends NUMBER times 4 KiB to each of the first ZONES zones of
an NVMe namespace (/dev/ngXnY), some at once. Zones are of 4 MiB, blocks of 512 bytes."""

import ctypes
import fcntl
import mmap
import os
import sys
import threading

NVME_IOCTL_IO_CMD = 0xC0484E43
ZONE_APPEND = 0x7D
BLOCKS, ZONE_BLOCKS = 8, 4 * 1024 * 1024 // 512


class Command(ctypes.Structure):
    """struct nvme_passthru_cmd of <linux/nvme_ioctl.h>."""

    _fields_ = [
        ("opcode", ctypes.c_uint8),
        ("flags", ctypes.c_uint8),
        ("rsvd1", ctypes.c_uint16),
        ("nsid", ctypes.c_uint32),
        ("cdw2", ctypes.c_uint32),
        ("cdw3", ctypes.c_uint32),
        ("metadata", ctypes.c_uint64),
        ("addr", ctypes.c_uint64),
        ("metadata_len", ctypes.c_uint32),
        ("data_len", ctypes.c_uint32),
        ("cdw10", ctypes.c_uint32),
        ("cdw11", ctypes.c_uint32),
        ("cdw12", ctypes.c_uint32),
        ("cdw13", ctypes.c_uint32),
        ("cdw14", ctypes.c_uint32),
        ("cdw15", ctypes.c_uint32),
        ("timeout_ms", ctypes.c_uint32),
        ("result", ctypes.c_uint32),
    ]


def append(file, zone, number):
    memory = mmap.mmap(-1, BLOCKS * 512)
    command = Command(
        opcode=ZONE_APPEND,
        nsid=1,
        addr=ctypes.addressof(ctypes.c_char.from_buffer(memory)),
        data_len=len(memory),
        cdw10=zone * ZONE_BLOCKS,
        cdw12=BLOCKS - 1,
    )
    for _ in range(number):
        status = fcntl.ioctl(file, NVME_IOCTL_IO_CMD, command)
        if status:
            print(f"zone {zone}: status {status:#x}")
            os._exit(1)


def main():
    file = os.open(sys.argv[1], os.O_RDWR)
    zones, number = int(sys.argv[2]), int(sys.argv[3])
    threads = [threading.Thread(target=append, args=(file, zone, number)) for zone in range(zones)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


main()
