#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes docs/benchmarks.md from the records in lab/results (tools/site/benchmark_tables.py).

usage: write_benchmarks.py [--check] [SOURCE_DIR]
       --check: writes nothing, fails where the page is not what the records say
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "site"))
import benchmark_tables


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[1]
    page, wanted = root / "docs/benchmarks.md", benchmark_tables.text(root)
    if "--check" not in sys.argv[1:]:
        page.write_text(wanted)
        return 0
    is_same = page.exists() and page.read_text() == wanted
    print("docs/benchmarks.md is what the records say" if is_same else "docs/benchmarks.md is not what the records say: run tools/write_benchmarks.py")
    return 0 if is_same else 1


if __name__ == "__main__":
    sys.exit(main())
