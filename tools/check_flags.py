#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that every translation unit of a build is compiled with the flags that bit identity rests on.

usage: check_flags.py COMPILE_COMMANDS SOURCE_DIR
       check_flags.py --self-test
"""
import json
import re
import shlex
import sys
from pathlib import Path

FORBIDDEN = re.compile(
    r"^(-ffast-math|-Ofast|-march=.*|-mtune=native|-mfma|-mavx.*|-funsafe-math-optimizations|-fassociative-math"
    r"|-freciprocal-math|-fno-signed-zeros|-ffinite-math-only|-fno-rounding-math|--?use_fast_math|-ffp-contract=(?!off).*"
    r"|--?fmad=true)$")


def words_of(entry):
    return entry.get("arguments") or shlex.split(entry["command"])


def judge(entry):
    """What is wrong with one entry of compile_commands.json: a list of texts."""
    words = words_of(entry)
    is_cuda = entry["file"].endswith(".cu")
    problems = [f"forbidden {word}" for word in words if FORBIDDEN.match(word)]
    needed = ["-fmad=false", "-Xcompiler=-ffp-contract=off"] if is_cuda else ["-ffp-contract=off"]
    return problems + [f"lacks {flag}" for flag in needed if flag not in words]


def check(entries, source_dir):
    problems, num_units, num_library = [], 0, 0
    for entry in entries:
        file = Path(entry["directory"], entry["file"]).resolve()
        folders = [source_dir, Path(entry["directory"]).resolve()]  # several sources as one, and generated ones, lie in the build tree
        if not any(map(file.is_relative_to, folders)):
            continue
        num_units += 1
        num_library += any(file.is_relative_to(folder / "src") for folder in folders)
        problems += [f"{file}: {problem}" for problem in judge(entry)]
    if num_library == 0:
        problems.append("no translation unit of the library was seen")
    return problems, num_units


def self_test():
    def entry(file, command):
        return {"directory": "/p/build", "file": file, "command": command}

    good = entry("/p/src/a.cpp", "c++ -O3 -ffp-contract=off -c a.cpp")
    cases = [  # entries, is it legal?
        ([good], True), ([good, entry("/p/src/k.cu", "nvcc -fmad=false -Xcompiler=-ffp-contract=off -c k.cu")], True),
        ([good, entry("/elsewhere/x.cpp", "c++ -c x.cpp")], True), ([], False),
        ([entry("/p/src/a.cpp", "c++ -O3 -c a.cpp")], False), ([entry("/p/src/k.cu", "nvcc -c k.cu")], False),
        ([entry("/p/src/a.cpp", "c++ -ffp-contract=off -march=native -c a.cpp")], False),
        ([entry("/p/src/a.cpp", "c++ -ffp-contract=off -ffp-contract=fast -c a.cpp")], False),
        ([entry("/p/src/a.cpp", "c++ -ffp-contract=off -ffast-math -c a.cpp")], False),
        ([good, entry("/p/tests/a.cpp", "c++ -c a.cpp")], False),
        ([entry("/p/build/src/Unity/unity_0.cxx", "c++ -ffp-contract=off -c unity_0.cxx")], True),
        ([good, {"directory": "/b", "file": "/b/tests/Unity/unity_0.cxx", "command": "c++ -c unity_0.cxx"}], False),
    ]
    wrong = [str(entries) for entries, legal in cases if bool(check(entries, Path("/p"))[0]) == legal]
    print("\n".join(wrong + [f"self-test: {len(cases)} cases, {len(wrong)} wrong"]))
    return 1 if wrong else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    problems, num_units = check(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]).resolve())
    print("\n".join(problems + [f"{num_units} translation units, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
