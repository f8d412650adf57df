#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Nothing that the child of a fork would wait for: no static variable of ours that is initialised at first use in a library,
and no lock in the sources that the table of docs/adr/0021-nothing-is-locked-across-a-fork.md lacks.

usage: shared_locks_test.py SOURCE_DIR READELF LIBRARY...
"""
import re
import subprocess
import sys
from pathlib import Path

TABLE = "docs/adr/0021-nothing-is-locked-across-a-fork.md"
LOCK = re.compile(r"\b(std::(recursive_|shared_|timed_)*mutex|pthread_(mutex|rwlock|spinlock|cond)_t|std::once_flag|std::call_once|"
                  r"std::condition_variable\w*|std::(counting|binary)_semaphore|std::latch|std::barrier)\b")
SUFFIXES = {".cpp", ".hpp", ".cu", ".cuh"}


def guards(symbols):
    """Guards of our static variables. Those of threads (TLS) have no lock; in nvcc's stubs they guard a stored pointer."""
    found = []
    for line in symbols.splitlines():
        words = line.split()
        if len(words) < 8 or not words[7].startswith("_ZGV") or words[3] != "OBJECT":
            continue
        if "6kizami" in words[7] and "__device_stub" not in words[7]:
            found.append(words[7])
    return sorted(set(found))


def locks(root):
    """Files of the libraries that have a lock."""
    found = set()
    for folder in ["include", "src", "tile", "dropin"]:
        for file in (root / folder).rglob("*"):
            if file.suffix in SUFFIXES and LOCK.search(re.sub(r"//[^\n]*", "", file.read_text())):
                found.add(file.relative_to(root).as_posix())
    return found


def main():
    root, readelf, libraries = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    listed = set(re.findall(r"^\| `([\w/.]+)` \|", (root / TABLE).read_text(), re.M))
    there = locks(root)
    found = [f"{file}: its lock is not in {TABLE}" for file in sorted(there - listed)]
    found += [f"{file} of {TABLE} has no lock" for file in sorted(listed - there)]
    for library in libraries:
        symbols = subprocess.run([readelf, "--syms", "--wide", library], capture_output=True, text=True, check=True).stdout
        if not re.search(r" FUNC .*6kizami\S*10PerProcess|_ZN6kizami4base9num_forksEv", symbols):
            found.append(f"{library}: its local symbols cannot be read")
        found += [f"{library}: {name} is initialised at first use: MadeOnce of src/base/fork_safe.hpp" for name in guards(symbols)]
    line = "  7: 0000000000000010     8 {kind}  LOCAL  DEFAULT   25 {name}"
    for kind, name, is_seen in [("OBJECT", "_ZGVZN6kizami1fEvE1x", True), ("TLS", "_ZGVZN6kizami1fEvE1x", False),
                                ("OBJECT", "_ZGVZL28__device_stub__ZN6kizami1fEvE5__tmp", False),
                                ("OBJECT", "_ZGVNSt7collateIcE2idE", False)]:
        if bool(guards(line.format(kind=kind, name=name))) != is_seen:
            found.append(f"self-test: {kind} {name}")
    print("\n".join(found + [f"{len(there)} files with locks, {len(libraries)} libraries, {len(found)} problems"]))
    return 1 if found or not libraries else 0


if __name__ == "__main__":
    sys.exit(main())
