#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""nbd.py DEVICE MIB: a network block device over a socket pair, served from memory,
until the device is disconnected. The protocol is that of <linux/nbd.h>.
"""

import fcntl
import os
import socket
import struct
import sys

SET_SOCK, SET_BLKSIZE, DO_IT, SET_SIZE_BLOCKS = 0xAB00, 0xAB01, 0xAB03, 0xAB07
REQUEST, REPLY = 0x25609513, 0x67446698
READ, WRITE, DISCONNECT = 0, 1, 2


def receive(server, length):
    data = bytearray()
    while len(data) < length:
        part = server.recv(length - len(data))
        if not part:
            sys.exit(0)
        data += part
    return data


def serve(server, memory):
    while True:
        magic, command, cookie, start, length = struct.unpack(">II8sQI", receive(server, 28))
        if magic != REQUEST or command == DISCONNECT:
            return
        if command == WRITE:
            memory[start : start + length] = receive(server, length)
        server.sendall(struct.pack(">II8s", REPLY, 0, cookie))
        if command == READ:
            server.sendall(memory[start : start + length])


def main():
    device, size = os.open(sys.argv[1], os.O_RDWR), int(sys.argv[2]) << 20
    client, server = socket.socketpair()
    if os.fork() == 0:
        os.close(device)
        client.close()
        serve(server, bytearray(size))
        return
    server.close()
    fcntl.ioctl(device, SET_BLKSIZE, 4096)
    fcntl.ioctl(device, SET_SIZE_BLOCKS, size // 4096)
    fcntl.ioctl(device, SET_SOCK, client.fileno())
    fcntl.ioctl(device, DO_IT)


main()
