#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Reads what `run` printed and shows it as one table.

Exit status: 0, or 3 if a figure of iostats=2 is off by more than the bound of `blkacct check`.
"""

import json
import sys

MS = 1_000_000
HEADS = ("load", "expected", "truth: busy", "", "iostats=2", "iostats=1", "error of 2", "error of 1")
LEGEND = """\
truth      time with at least one request in flight, from the kernel's trace events of the same run
iostats=2  blkacct, of the same run
iostats=1  the kernel's own, /proc/diskstats, of the same run: what iostat shows
expected   from the load's parameters alone, without what the system adds to a request"""


def cells(row):
    """Returns the cells of a rig's line."""
    report = row["report"]
    window = report["to_ns"] - report["from_ns"]
    busy = find(report, "io_ticks")
    truth, exact, stock = busy["truth"], busy["iostats2"], busy["iostats1"]
    share = lambda ns: f"{100 * ns / window:.2f} %"
    return [
        row["title"],
        expected(row),
        f"{truth / MS:.3f} ms",
        share(truth),
        share(exact),
        share(stock),
        f"{(exact - truth) / MS:+.3f} ms",
        f"{(stock - truth) / MS:+.0f} ms",
    ]


def expected(row):
    """Returns what follows from the parameters, as text."""
    if not row["expected"]:
        return "-"
    low, high = row["expected"]
    return f"{low:.2f} %" if low == high else f"{low:.1f}-{high:.1f} %"


def wrong(row):
    """Returns a sentence for each figure of iostats=2 that is outside of its bound."""
    sentences = []
    for field in row["report"]["fields"]:
        allowed, found = field["allowed"], field["iostats2"]
        if allowed and not allowed[0] <= found <= allowed[1]:
            sentences.append(
                f"WRONG: {row['title']}: {field['name']} of iostats=2 is {found} {field['unit']}, "
                f"the trace allows {allowed[0]} to {allowed[1]}"
            )
    return sentences


def find(report, name):
    """Returns the field of a report with this name."""
    return next(field for field in report["fields"] if field["name"] == name)


def align(lines):
    """Returns lines of cells as text: the first column to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    return [
        "  ".join(
            cell.ljust(width) if number == 0 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(line, widths))
        ).rstrip()
        for line in lines
    ]


def show(rows, out):
    """Writes the table and the verdict, and returns the exit status."""
    text = align([HEADS, *map(cells, rows)])
    text.insert(1, "-" * max(map(len, text)))
    sentences = [sentence for row in rows for sentence in wrong(row)]
    skews = sorted({row["report"]["skew_ns"] for row in rows})
    verdict = sentences or [
        f"iostats=2 is right in all {len(rows)} runs, to within what reading the clock "
        f"{' or '.join(f'{skew // 1000} us' for skew in skews)} apart for an event can explain"
    ]
    print("", *text, "", LEGEND, "", *verdict, sep="\n", file=out)
    return 3 if sentences else 0


def main():
    rows = [json.loads(line) for line in sys.stdin]
    if not rows:
        print("table: no results", file=sys.stderr)
        return 1
    return show(rows, sys.stdout)


if __name__ == "__main__":
    sys.exit(main())
