#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The house has no circles: which module of rust/ imports which, and none that is above it.

imports.py [--picture]: fails on a circle of imports, and on an import that goes up, from a room
to one that stands later in ROOMS. A module's own children are part of it. Tests are not
looked at, nor what is built for tests alone. With --picture it prints who imports whom.
"""

import re
import subprocess
import sys

# From the ground up: a room imports from those before it, and within itself without a circle.
ROOMS = [
    ("the core", ["acct"]),
    ("the kernel, wrapped", ["sys", "compat"]),
    ("what is kept for a device", ["account"]),
    ("which devices the probes know", ["table"]),
    ("what an event does", ["delivery", "device_events", "events", "bio_events"]),
    ("the hooks", ["hooks"]),
    ("a device, its mode and its files", ["disk", "mode", "attrs"]),
    ("which devices there are", ["disks"]),
    ("the module", ["blkacct"]),
]
FOR_TESTS = ["rig", "cases"]
# The core picks its atomics from the wrapped kernel, which knows its types of time.
ALLOWED = {("acct", "sys")}


def files():
    """Yields each source file with its place among the modules."""
    for path in subprocess.check_output(["git", "ls-files", "rust/*.rs"], text=True).split():
        yield path, path[len("rust/") : -len(".rs")].split("/")


def shipped(text):
    """Returns the source without comments and without its tests."""
    text = re.sub(r"//.*", "", text)
    return re.split(r"#\[cfg[^\n]*CONFIG_KUNIT[^\n]*\]\s*#\[[^\n]*kunit_tests", text)[0]


def paths(tree, prefix=()):
    """Yields the paths of a use declaration, as tuples of names."""
    tree = tree.strip()
    if not tree.endswith("}"):
        yield (*prefix, *tree.split(" as ")[0].split("::"))
        return
    head, inner = tree[:-1].split("{", 1)
    prefix = (*prefix, *[name for name in head.split("::") if name])
    depth, start = 0, 0
    for at, letter in enumerate(inner + ","):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            if inner[start:at].strip():
                yield from paths(inner[start:at], prefix)
            start = at + 1


def resolve(path, place, modules):
    """Returns the module that a path leads to, as a tuple; empty if it is none of ours."""
    base = [] if place == ["blkacct"] else list(place)
    path = list(path)
    if path[0] == "crate":
        base, path = [], path[1:]
    else:
        while path and path[0] == "super":
            base, path = base[:-1], path[1:]
    whole = tuple(base + [name for name in path if name != "self"])
    while whole and whole not in modules:
        whole = whole[:-1]
    return whole


def graph():
    """Returns each module's imports. Children count for what imports them, and are their own."""
    sources = {tuple(place): path for path, place in files() if place[0] not in FOR_TESTS}
    edges = {}
    for place, path in sources.items():
        with open(path, encoding="utf-8") as file:
            text = shipped(file.read())
        found = set()
        for tree in re.findall(r"\buse\s+([^;]+);", text):
            for target in map(lambda each: resolve(each, list(place), sources), paths(tree)):
                related = target[: len(place)] == place or place[: len(target)] == target
                if target and not related and target[0] not in FOR_TESTS:
                    found.add(target)
        edges[place] = found
    return edges


def top_level(edges):
    """Returns the imports between whole modules; sys's files, which are many, stay apart."""
    merged = {}
    for place, targets in edges.items():
        ours = place[:2] if place[0] == "sys" else place[:1]
        merged.setdefault(ours, set())
        for target in targets:
            other = target[:2] if target[0] == "sys" else target[:1]
            if other != ours:
                merged[ours].add(other)
    return merged


def circle(edges):
    """Returns a circle as a list of modules, or None."""
    done, way = set(), []

    def visit(place):
        if place in way:
            return way[way.index(place) :] + [place]
        if place in done:
            return None
        way.append(place)
        for target in sorted(edges.get(place, ())):
            found = visit(target)
            if found:
                return found
        way.pop()
        done.add(place)
        return None

    for place in sorted(edges):
        found = visit(place)
        if found:
            return found
    return None


def main():
    edges = top_level(graph())
    level = {name: at for at, (_, names) in enumerate(ROOMS) for name in names}
    wrong = []
    for place, targets in sorted(edges.items()):
        if place[0] not in level:
            wrong.append(f"rust/{place[0]}.rs is in no room of tools/testing/imports.py")
            continue
        for target in sorted(targets):
            up = level.get(target[0], 0) > level[place[0]]
            if up and (place[0], target[0]) not in ALLOWED:
                wrong.append(f"{'::'.join(place)} imports {'::'.join(target)}, which is above it")
        if "--picture" in sys.argv:
            print("::".join(place), "->", " ".join(sorted({"::".join(each) for each in targets})))
    core = {edge: {to for to in targets if (edge[0], to[0]) not in ALLOWED} for edge, targets in edges.items()}
    found = circle(core)
    if found:
        wrong.append("a circle: " + " -> ".join("::".join(each) for each in found))
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
