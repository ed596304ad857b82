#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""sgio.py DISK INQUIRIES READS: sends so many INQUIRYs, and reads of 512 bytes, by SG_IO."""

import ctypes
import fcntl
import os
import sys

SG_IO = 0x2285
FROM_DEVICE = -3


class Header(ctypes.Structure):
    """struct sg_io_hdr of <scsi/sg.h>."""

    _fields_ = [
        ("interface_id", ctypes.c_int),
        ("dxfer_direction", ctypes.c_int),
        ("cmd_len", ctypes.c_ubyte),
        ("mx_sb_len", ctypes.c_ubyte),
        ("iovec_count", ctypes.c_ushort),
        ("dxfer_len", ctypes.c_uint),
        ("dxferp", ctypes.c_void_p),
        ("cmdp", ctypes.c_void_p),
        ("sbp", ctypes.c_void_p),
        ("timeout", ctypes.c_uint),
        ("flags", ctypes.c_uint),
        ("pack_id", ctypes.c_int),
        ("usr_ptr", ctypes.c_void_p),
        ("status", ctypes.c_ubyte),
        ("masked_status", ctypes.c_ubyte),
        ("msg_status", ctypes.c_ubyte),
        ("sb_len_wr", ctypes.c_ubyte),
        ("host_status", ctypes.c_ushort),
        ("driver_status", ctypes.c_ushort),
        ("resid", ctypes.c_int),
        ("duration", ctypes.c_uint),
        ("info", ctypes.c_uint),
    ]


def send(disk, command, length):
    """Sends a command that returns up to `length` bytes; exits if the disk refuses it."""
    buffer = ctypes.create_string_buffer(length)
    cdb = ctypes.create_string_buffer(bytes(command), len(command))
    header = Header(
        interface_id=ord("S"), dxfer_direction=FROM_DEVICE, cmd_len=len(command), dxfer_len=length,
        dxferp=ctypes.addressof(buffer), cmdp=ctypes.addressof(cdb), timeout=10_000,
    )
    fcntl.ioctl(disk, SG_IO, header)
    if header.status or header.host_status:
        sys.exit(f"sgio: command {command[0]:#x}: status {header.status}, host {header.host_status}")


def main(name, inquiries, reads):
    disk = os.open(f"/dev/{name}", os.O_RDWR)
    for _ in range(int(inquiries)):
        send(disk, [0x12, 0, 0, 0, 96, 0], 96)
    for at in range(int(reads)):
        send(disk, [0x28, 0, *at.to_bytes(4, "big"), 0, 0, 1, 0], 512)


if __name__ == "__main__":
    main(*sys.argv[1:])
