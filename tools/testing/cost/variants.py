# SPDX-License-Identifier: GPL-2.0
"""What is compared: ways to account for a disk's I/O, each from being set up to being undone.

A variant is a context manager of a disk. It yields the device to read from and a function that
returns how many reads the variant itself has seen since: what saw nothing was not measured.
"""

import json
import subprocess
from contextlib import contextmanager
from pathlib import Path

from wait import until

TOP = Path(__file__).resolve().parents[3]
BUILT = TOP / "build" / "bench"
MODULE = TOP / "build" / "stock" / "blkacct.ko"
SYS = Path("/sys/block")


def tell(*command):
    """Runs a command and returns what it prints."""
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


@contextmanager
def running(command):
    """Runs a command meanwhile; it is ended if it has not been."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def set_iostats(disk, mode):
    (SYS / disk / "queue" / "iostats").write_text(f"{mode}\n")


def kernel_reads(disk):
    """Returns a function that counts the reads by the kernel's own statistics."""
    number = lambda: int((SYS / disk / "stat").read_text().split()[0])
    before = number()
    return lambda: number() - before


def iostats(mode):
    """The kernel's own accounting, off or on, without the module."""

    @contextmanager
    def variant(disk):
        set_iostats(disk, mode)
        yield f"/dev/{disk}", kernel_reads(disk) if mode else lambda: None
        set_iostats(disk, 1)

    return variant


@contextmanager
def module(**wanted):
    """The module, with those of these parameters that it has."""
    known = tell("modinfo", "-F", "parm", str(MODULE)).splitlines()
    known = {line.split(":")[0] for line in known}
    parameters = [f"{name}={value}" for name, value in wanted.items() if name in known]
    tell("insmod", str(MODULE), *parameters)
    yield
    tell("rmmod", "blkacct")


@contextmanager
def loaded(disk):
    with module():
        yield f"/dev/{disk}", kernel_reads(disk)


def our_reads(disk):
    """Returns a function that counts the reads by our `stat`."""
    number = lambda: int((SYS / disk / "blkacct" / "stat").read_text().split()[4])
    before = number()
    return lambda: number() - before


def mode2(**parameters):
    """Mode 2, with these parameters of the module."""

    @contextmanager
    def variant(disk):
        with module(**parameters):
            set_iostats(disk, 2)
            yield f"/dev/{disk}", our_reads(disk)
            set_iostats(disk, 1)

    return variant


PINNED = Path("/sys/fs/bpf/lean")


@contextmanager
def ebpf_lean(disk):
    if not PINNED.parent.is_mount():
        tell("mount", "-t", "bpf", "bpf", str(PINNED.parent))
    tell("bpftool", "prog", "loadall", str(BUILT / "lean.bpf.o"), str(PINNED), "autoattach")

    def count():
        slots = json.loads(tell("bpftool", "-j", "map", "dump", "name", "latency"))
        return sum(cpu["value"] for slot in slots for cpu in slot["formatted"]["values"])

    yield f"/dev/{disk}", count
    tell("rm", "-r", str(PINNED))


KEYED = """
rawtracepoint:block_io_start { @start[arg0] = nsecs; }
rawtracepoint:block_io_done /@start[arg0]/ { @ns = hist(nsecs - @start[arg0]); delete(@start, arg0); }
"""


def watched_by_ebpf():
    return any(link.get("tp_name") == "block_io_done" for link in json.loads(tell("bpftool", "-j", "link")))


@contextmanager
def ebpf_keyed(disk):
    with running(["bpftrace", "-f", "json", "-e", KEYED]) as tracer:
        until(watched_by_ebpf, "bpftrace attaches", 120)

        def count():
            tracer.terminate()
            # There are warnings of the compiler among the lines.
            lines = [line for line in tracer.communicate()[0].splitlines() if line.startswith("{")]
            slots = next(line["data"]["@ns"] for line in map(json.loads, lines) if line["type"] == "hist")
            return sum(slot["count"] for slot in slots)

        yield f"/dev/{disk}", count


@contextmanager
def blktrace(disk):
    """The recorder, its records thrown away after they have been counted."""
    record = 48  # bytes, at least; there are several for a read
    with running(["sh", "-c", f"exec blktrace -d /dev/{disk} -o - | wc -c"]) as pipe:
        until(lambda: Path(f"/sys/kernel/debug/block/{disk}/trace0").exists(), "blktrace starts", 60)

        def count():
            tell("pkill", "-INT", "-x", "blktrace")
            return int(pipe.communicate()[0]) // record

        yield f"/dev/{disk}", count


@contextmanager
def dm_plain(disk):
    sectors = (SYS / disk / "size").read_text().strip()
    table = f"0 {sectors} linear /dev/{disk} 0"
    tell("dmsetup", "create", "bench", "--noudevsync", "--table", table)
    mapped = tell("dmsetup", "info", "-c", "--noheadings", "-o", "blkdevname", "bench").strip()
    yield f"/dev/{mapped}", kernel_reads(mapped)
    tell("dmsetup", "remove", "--retry", "--noudevsync", "bench")


@contextmanager
def dm_stats(disk):
    with dm_plain(disk) as (device, _):
        region = "@stats_create - /1 2 precise_timestamps histogram:1000,10000,100000,1000000"
        tell("dmsetup", "message", "bench", "0", *region.split())
        # Start and length of the region come first.
        yield device, lambda: int(tell("dmsetup", "message", "bench", "0", "@stats_print", "0").split()[1])


@contextmanager
def dm_mode2(disk):
    with module():
        with dm_plain(disk) as (device, _):
            mapped = device.removeprefix("/dev/")
            set_iostats(mapped, 2)
            yield device, our_reads(mapped)
            set_iostats(mapped, 1)


VARIANTS = {
    "off": iostats(0),
    "iostats1": iostats(1),
    "iostats1_loaded": loaded,
    "iostats2": mode2(device=0),
    "iostats2_device": mode2(),
    "ebpf_lean": ebpf_lean,
    "ebpf_keyed": ebpf_keyed,
    "blktrace": blktrace,
    "dm_plain": dm_plain,
    "dm_stats": dm_stats,
    "dm_iostats2": dm_mode2,
}
