#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""table.py table|json: reads what `run` printed and shows it."""

import json
import sys

HEADS = ("", "path", "more", "ratio", "all", "more", "repeats differ by")
LEGEND = """\
Instructions per read. more: than iostats1; for dm, than dm_plain. ratio: to what it is compared with.
path  the I/O's own way: the median batch of 256, which no timer tick and no other process came into
all   the mean: with ticks, and with what other processes do for it
blktrace is given by its mean in the JSON: most of its work is that of the process that takes the records."""

# Most of the work is another process's.
BY_MEAN = {"blktrace"}


def baseline(name):
    """Returns the variant that another is compared with."""
    return "dm_plain" if name.startswith("dm_") and name != "dm_plain" else "iostats1"


def middle(values):
    return sorted(values)[len(values) // 2]


def figure(row):
    """Returns the one figure of a variant."""
    return middle(row["mean" if row["variant"] in BY_MEAN else "median"])


def lines(rows):
    """Yields the cells of each variant of one load."""
    by_name = {row["variant"]: row for row in rows}
    for row in rows:
        against = by_name.get(baseline(row["variant"]))
        cells = [row["variant"]]
        for kind in ("median", "mean"):
            value = middle(row[kind])
            cells.append(f"{value:.1f}")
            cells.append(f"{value - middle(against[kind]):+.1f}" if against else "-")
            if kind == "median":
                cells.append(f"{value / middle(against[kind]):.3f}" if against else "-")
        spread = [max(row[kind]) - min(row[kind]) for kind in ("median", "mean")]
        cells.append(f"{spread[0]:.2f} / {spread[1]:.2f}")
        yield cells


def show(loads):
    for load, rows in loads.items():
        table = [(load, *HEADS[1:]), *lines(rows)]
        widths = [max(map(len, column)) for column in zip(*table)]
        print()
        for cells in table:
            figures = (cell.rjust(width) for cell, width in zip(cells[1:], widths[1:]))
            print("  ".join([cells[0].ljust(widths[0]), *figures]))
    print("", LEGEND, sep="\n")


def main(form):
    loads = {}
    for line in sys.stdin:
        row = json.loads(line)
        loads.setdefault(row["load"], []).append(row)
    if form == "json":
        figures = {
            load: {row["variant"]: round(figure(row), 2) for row in rows} for load, rows in loads.items()
        }
        print(json.dumps(figures, indent=2))
    else:
        show(loads)


if __name__ == "__main__":
    main(*sys.argv[1:])
