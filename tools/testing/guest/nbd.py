#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""nbd.py DEVICE MIB: makes DEVICE, of nbd, a disk of so many MiB in memory, until it is
killed.

The kernel's end of a pair of sockets is the device; ours serves it by the protocol of
include/uapi/linux/nbd.h, one request after the other.
"""

import fcntl
import socket
import struct
import sys
import threading

SET_SOCK, SET_BLKSIZE, DO_IT, SET_SIZE_BLOCKS = 0xAB00, 0xAB01, 0xAB03, 0xAB07
BLOCK = 512
REQUEST, REPLY = struct.Struct(">IHHQQI"), struct.Struct(">IIQ")
REPLY_MAGIC = 0x67446698
READ, WRITE = 0, 1


def serve(end, data):
    while header := end.recv(REQUEST.size, socket.MSG_WAITALL):
        _magic, _flags, command, cookie, start, length = REQUEST.unpack(header)
        place = slice(start, start + length)
        if command == WRITE:
            data[place] = end.recv(length, socket.MSG_WAITALL)
        end.sendall(REPLY.pack(REPLY_MAGIC, 0, cookie))
        if command == READ:
            end.sendall(data[place])


def main():
    device = open(sys.argv[1], "rb")
    data = bytearray(int(sys.argv[2]) << 20)
    ours, kernels = socket.socketpair()
    for request, argument in (
        (SET_BLKSIZE, BLOCK),
        (SET_SIZE_BLOCKS, len(data) // BLOCK),
        (SET_SOCK, kernels.fileno()),
    ):
        fcntl.ioctl(device, request, argument)
    threading.Thread(target=serve, args=(ours, data), daemon=True).start()
    fcntl.ioctl(device, DO_IT)


main()
