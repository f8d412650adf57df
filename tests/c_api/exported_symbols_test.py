#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What libkizami.so exports: exactly the C functions of exported_symbols.txt, each declared in kizami.h or multi.h, and of C++ the
public names of namespace kizami only. A line of exported_symbols.txt is a promise: lines are added, never removed.

usage: exported_symbols_test.py NM LIBRARY SOURCE_DIR
"""
import re
import subprocess
import sys
from pathlib import Path

# Namespaces of src/: nothing of theirs is for users.
INTERNAL = re.compile(r"^kizami::(api|base|certify|device|ec|engines|exec|fp64|native|num|ozaki1|ozaki2|plan|problem|product|schemes)::")


def names(nm, library, *options):
    """The dynamic symbols that the library defines, one name each."""
    command = [nm, "-D", "--defined-only", *options, library]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line.split(maxsplit=2)[2] for line in text.splitlines()]


def problems(exported, demangled, promised, declared):
    c_names = {name for name in exported if not name.startswith("_Z")}
    found = [f"exported, but not in exported_symbols.txt: {name}" for name in sorted(c_names - promised)]
    found += [f"promised, but not exported: {name}" for name in sorted(promised - c_names)]
    found += [f"declared, but not exported: {name}" for name in sorted(declared - c_names)]
    found += [f"exported, but not declared in a header: {name}" for name in sorted(c_names - declared)]
    for name in demangled:
        without_result = re.sub(r"^kizami::(Status|Result<.*?>) (?=kizami::)", "", name)
        if name not in c_names and (INTERNAL.match(without_result) or not without_result.startswith("kizami::")):
            found.append(f"not part of the C++ API: {name}")
    return found


def self_test():
    good = (["kizami_a", "_Z1"], ["kizami_a", "kizami::Status kizami::run<double>(int)"], {"kizami_a"}, {"kizami_a"})
    bad = [
        (["kizami_a", "kizami_b"], ["kizami_a", "kizami_b"], {"kizami_a"}, {"kizami_a", "kizami_b"}),
        ([], [], {"kizami_a"}, set()), (["kizami_a"], ["kizami_a"], {"kizami_a"}, set()),
        ([], [], set(), {"kizami_a"}), (["_Z1"], ["kizami::exec::run(int)"], set(), set()),
        (["_Z1"], ["kizami::Status kizami::exec::run<double>(int)"], set(), set()),
        (["_Z1"], ["std::f()"], set(), set()),
    ]
    return not problems(*good) and all(problems(*case) for case in bad)


def main():
    nm, library, source = sys.argv[1:]
    header = "".join((Path(source) / "include/kizami" / name).read_text() for name in ("kizami.h", "multi.h"))
    declared = set(re.findall(r"KIZAMI_API [\w *]*?\b(kizami_\w+)\(", header))
    promised = set((Path(__file__).parent / "exported_symbols.txt").read_text().split())
    found = problems(names(nm, library), names(nm, library, "-C"), promised, declared)
    if not self_test():
        found.append("self-test: a violation was not seen, or a clean library was refused")
    print("\n".join(found + [f"{len(promised)} C functions, {len(found)} problems"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
