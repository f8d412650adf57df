#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that every operation that tile/docs/supported.md lists is in the body of a kernel of operations.hpp, all of which
run on host and device.

usage: coverage_test.py [--self-test]
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
GROUPS = ("creation", "casts", "shapes", "arithmetic", "mathematics", "reductions", "scans", "matrices", "memory", "atomics",
          "assumptions", "position")
VIEWS = ("tensor_span", "partition_view", "strided_view", "gather_scatter_view")
VIEW_MEMBERS = ("load", "load_masked", "store", "store_masked", "atomic_add", "atomic_sub", "atomic_and", "atomic_or", "atomic_xor",
                "atomic_max", "atomic_min")


def operations_of(page):
    """The names of the groups that are operations."""
    names, seen = list(VIEWS), set()
    for line in page.partition("## Not supported")[0].splitlines():
        cells = line.split("|")
        if len(cells) > 2 and cells[1].strip() in GROUPS:
            seen.add(cells[1].strip())
            names += re.findall(r"`([A-Za-z_]\w*)`", cells[2])
    return names, sorted(set(GROUPS) - seen)


def missing_in(text, names):
    """The names that no kernel uses, members of views among them. Comments do not count."""
    code = re.sub(r"//[^\n]*", "", text)
    return [n for n in names if not re.search(rf"\bct::{n}\b", code)] + \
           [f"view.{n}" for n in VIEW_MEMBERS if not re.search(rf"\.{n}\(", code)]


def main():
    page = (ROOT / "tile/docs/supported.md").read_text()
    text = (ROOT / "tile/tests/operations/operations.hpp").read_text()
    names, absent = operations_of(page)
    if "--self-test" in sys.argv:
        without = re.sub(r"ct::permute\b", "ct::transpose", text)
        is_seen = missing_in(without, names) == ["permute"] and operations_of("| casts | `one` |")[0] == [*VIEWS, "one"]
        print("self-test: " + ("ok" if is_seen else "FAILED"))
        return 0 if is_seen else 1
    problems = [f"no kernel runs {n}" for n in missing_in(text, names)] + [f"the page has no group {g}" for g in absent]
    print("\n".join(problems + [f"{len(names)} operations, {len(problems)} problems"]))
    return 1 if problems or len(names) < 90 else 0


if __name__ == "__main__":
    sys.exit(main())
