#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""live.py CHECK.json: shows what is wrong or doubted in a report of `blkacct check --json`.
live.py CHECK.json NAME truth|iostats1|iostats2: a figure; 0 if it has none.
live.py CHECK.json rate: events a second.
live.py CHECK.json against TRACE.json: holds what a report says of the module against what
another trace of the same I/O says is true, within 1 % and 50 us a request."""

import json
import sys


def figures(report):
    return {field["name"]: field for field in report["fields"]}


def show(report):
    for kind in ("doubts", "violations"):
        for line in report[kind]:
            print(f"{kind}: {line}")
    for field in report["fields"]:
        if field["ok"] is False:
            print(f"FAIL: {field}")
    for note in report["notes"]:
        print(f"note: {note}")


def against(ours, trace):
    ours, trace = figures(ours), figures(trace)
    requests = sum(f["truth"] or 0 for name, f in trace.items() if name.endswith(" ios"))
    wrong = 0
    for name, field in trace.items():
        want, got = field["truth"], ours.get(name, {}).get("iostats2")
        if want is None or got is None or name.startswith("flush") or "merges" in name:
            continue
        slack = 0
        if field["unit"] == "ns":
            slack = want // 100 + 50_000 * requests
        low, high = field.get("allowed") or (want, want)
        fits = min(low, want) - slack <= got <= max(high, want) + slack
        print(f"{name}: {got}, by blktrace {want}{'' if fits else ': FAIL'}")
        wrong += not fits
    sys.exit(wrong > 0)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    if not text:
        return print("no report")
    report = json.loads(text)
    match sys.argv[2:]:
        case []:
            show(report)
        case ["rate"]:
            print(report["events"] * 10**9 // (report["to_ns"] - report["from_ns"]))
        case ["against", other]:
            with open(other, encoding="utf-8") as file:
                against(report, json.load(file))
        case [name, of]:
            print(figures(report).get(name, {}).get(of) or 0)


main()
