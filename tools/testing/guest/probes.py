#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""probes.py NAME=ADDRESS...: prints for each tracepoint whether it is on, 1 or 0.

A tracepoint's static key is on while a probe of anyone is attached; tracefs tells of
its own only. So this reads the kernel's memory. ADDRESS, in hex, is that of the struct
tracepoint, which begins with a pointer to its name, checked here, and the key's count.
"""

import struct
import sys


def main():
    with open("/proc/kcore", "rb", buffering=0) as core:
        # An ELF file whose segments are the kernel's address space.
        header = core.read(64)
        (table,) = struct.unpack_from("<Q", header, 32)
        size, number = struct.unpack_from("<HH", header, 54)
        core.seek(table)
        segments = [
            struct.unpack_from("<IIQQQQ", core.read(size)) for _ in range(number)
        ]

        def memory(address, length):
            for kind, _, offset, start, _, filled in segments:
                if kind == 1 and start <= address < start + filled:
                    core.seek(offset + address - start)
                    return core.read(length)
            sys.exit(f"no memory at {address:#x}")

        for argument in sys.argv[1:]:
            name, _, address = argument.partition("=")
            pointer, enabled = struct.unpack("<Qi", memory(int(address, 16), 12))
            if memory(pointer, len(name) + 1) != name.encode() + b"\0":
                sys.exit("struct tracepoint is not what it was")
            print(enabled)


main()
