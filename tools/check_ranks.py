#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that includes go down one ladder: the ranks and rules of tools/ranks.txt.

usage: check_ranks.py [ROOT]         check the tree at ROOT (default: this file's repository)
       check_ranks.py --count [ROOT] arrows between rooms of src/ (which include which), and the includes that they stand for
       check_ranks.py --self-test    check that violations are seen
"""
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

SUFFIXES = {".hpp", ".cpp", ".h", ".c", ".cu", ".cuh"}
FOLDERS = ["include", "src", "tile", "dropin", "apps", "python", "lab", "examples", "demo", "tests"]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
TARGET_INCLUDE = re.compile(r'^\s*#\s*define\s+HWY_TARGET_INCLUDE\s+(")([^"]+)"')  # Highway includes the file itself again
CUDA_HEADER = re.compile(r"^(cuda|cublas|cute/|cutlass/|nvrtc|nccl|mma\.h)")


def is_below(path, prefix):
    """True if `path` is `prefix` or lies below it; whole components, so that src/plan does not cover src/planner."""
    return path == prefix or path.startswith(prefix + "/")


class Rules:
    def __init__(self, text):
        self.ranks, self.deny, self.no_cuda, self.cuda_ok, self.public_only = {}, [], [], [], []
        self.public_ok = []
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split("#")[0].split()
            if not words:
                continue
            kind, args = words[0], words[1:]
            if kind == "rank" and len(args) == 2:
                self.ranks[args[0]] = float(args[1]) if "." in args[1] else int(args[1])
            elif kind in ("deny", "public_ok") and len(args) == 2:
                getattr(self, kind).append(tuple(args))
            elif kind in ("no_cuda", "cuda_ok", "public_only") and len(args) == 1:
                getattr(self, kind).append(args[0])
            else:
                raise SystemExit(f"ranks.txt:{number}: not understood: {line}")

    def unit(self, path):
        """The longest rank entry that covers `path`: (entry, rank), or None. FOLDER/* is an entry for each folder in FOLDER."""
        entries = {}
        for entry, rank in self.ranks.items():
            if entry.endswith("/*"):
                depth = entry.count("/") + 1
                entry = "/".join(path.split("/")[:depth]) if path.count("/") >= depth and is_below(path, entry[:-2]) else None
            if entry and is_below(path, entry):
                entries.setdefault(entry, rank)
        return max(entries.items(), key=lambda item: len(item[0]), default=None)


def resolve(root, file, name):
    """The project file (relative to root) that an include of `name` in `file` means, or None."""
    candidates = [file.parent / name, root / "src" / name, root / "include" / name,
                  root / "tile/include" / name, root / "apps" / name,
                  root / "tests" / name, root / name]
    for candidate in candidates:
        if candidate.is_file():
            return candidate.relative_to(root).as_posix()
    return None


def judge(rules, root, file, name):
    """What is wrong with `#include name` in `file`, or None."""
    source = file.relative_to(root).as_posix()
    if "../" in name:
        return "relative include: write it from src/ or include/"
    target = resolve(root, file, name)
    if target is None:
        if CUDA_HEADER.match(name) and source not in rules.cuda_ok and any(is_below(source, p) for p in rules.no_cuda):
            return "no CUDA header belongs here"
        if name.startswith("kizami/") or rules.unit(f"src/{name}"):
            return "no such file in this project"
        return None
    own, other = rules.unit(source), rules.unit(target)
    if other is None:
        return f"{target} has no rank: add it to tools/ranks.txt"
    same_folder = Path(source).parent == Path(target).parent or own[0] == other[0]
    if any(is_below(source, p) for p in rules.public_only):
        allowed = ["include/kizami", "tile/include/kizami"] + rules.public_only + [file for path, file in rules.public_ok if is_below(source, path)]
        if not same_folder and not any(is_below(target, p) for p in allowed):
            return "only installed headers (kizami/...) may be included here"
    for prefix, denied in rules.deny:
        if is_below(source, prefix) and is_below(target, denied):
            return f"{prefix} does not see {denied}"
    if other[1] > own[1] or (other[1] == own[1] and not same_folder):
        return f"rank {own[1]} includes {target} of rank {other[1]}"
    return None


def check(root):
    """Every violation in the tree, as text; and the number of files read."""
    root = Path(root).resolve()
    rules = Rules((root / "tools" / "ranks.txt").read_text())
    problems, num_files = [], 0
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in SUFFIXES or not file.is_file():
                continue
            num_files += 1
            source = file.relative_to(root).as_posix()
            if rules.unit(source) is None:
                problems.append(f"{source}: has no rank: add it to tools/ranks.txt")
                continue
            for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
                match = INCLUDE.match(line) or TARGET_INCLUDE.match(line)
                problem = match and judge(rules, root, file, match.group(2))
                if problem:
                    problems.append(f'{source}:{number}: "{match.group(2)}": {problem}')
    return problems, num_files


def self_test():
    """Small trees, each with one include; the verdict must be as written."""
    rules = (Path(__file__).resolve().parent / "ranks.txt").read_text()
    files = ["include/kizami/status.hpp", "include/kizami/gemm.hpp", "include/kizami/plan.hpp", "src/base/check.hpp", "src/base/fork_safe.hpp",
             "src/num/crt.hpp", "src/problem/problem.hpp", "src/product/product.hpp", "src/plan/plan.hpp",
             "src/engines/cpu_ref/engine.hpp", "src/engines/native/engine.hpp", "src/schemes/ozaki2/split.hpp", "src/exec/exec.hpp",
             "src/engines/shared.hpp", "apps/kizami/commands.hpp", "apps/check/case.hpp"]
    cases = [  # file, include, is it legal?
        ("src/exec/x.cpp", "schemes/ozaki2/split.hpp", True), ("src/exec/x.cpp", "engines/native/engine.hpp", True),
        ("src/num/x.hpp", "base/check.hpp", True), ("src/num/x.hpp", "num/crt.hpp", True),
        ("src/engines/native/x.cpp", "product/product.hpp", True), ("include/kizami/kizami.hpp", "kizami/gemm.hpp", True),
        ("apps/kizami/x.cpp", "kizami/gemm.hpp", True), ("apps/kizami/x.cpp", "commands.hpp", True),
        ("apps/kizami/x.cpp", "check/case.hpp", True), ("tests/exec/x_test.cpp", "check/case.hpp", True),
        ("src/engines/native/x.cpp", "engines/shared.hpp", True), ("src/engines/x.hpp", "product/product.hpp", True),
        ("src/plan/x.cpp", "engines/shared.hpp", False), ("src/exec/x.cpp", "check/case.hpp", False),
        ("apps/check/x.cpp", "num/crt.hpp", False), ("apps/check/x.cpp", "kizami/commands.hpp", False),
        ("tests/exec/x_test.cpp", "exec/exec.hpp", True), ("src/base/x.cpp", "vector", True),
        ("src/engines/native/x.cu", "cuda_runtime.h", True), ("include/kizami/cuda.hpp", "cuda_runtime.h", True),
        ("src/base/x.hpp", "num/crt.hpp", False), ("src/num/x.hpp", "plan/plan.hpp", False),
        ("src/problem/x.hpp", "product/product.hpp", False), ("src/plan/x.cpp", "engines/cpu_ref/engine.hpp", False),
        ("src/engines/native/x.cpp", "engines/cpu_ref/engine.hpp", False),
        ("src/engines/native/x.cpp", "plan/plan.hpp", False), ("src/schemes/ozaki2/x.cpp", "engines/native/engine.hpp", False),
        ("src/num/x.hpp", "../base/check.hpp", False), ("src/num/x.hpp", "base/../base/check.hpp", False),
        ("include/kizami/status.hpp", "kizami/gemm.hpp", False), ("src/exec/x.cpp", "kizami/gemm.hpp", False),
        ("src/num/x.hpp", "base/absent.hpp", False), ("src/num/x.hpp", "kizami/absent.hpp", False),
        ("dropin/x.cpp", "base/fork_safe.hpp", True), ("apps/kizami/x.cpp", "base/fork_safe.hpp", False),
        ("dropin/x.cpp", "base/check.hpp", False), ("apps/kizami/x.cpp", "base/check.hpp", False), ("examples/x.cpp", "exec/exec.hpp", False),
        ("src/plan/x.hpp", "cuda_runtime.h", False), ("include/kizami/types.hpp", "cublas_v2.h", False),
        ("include/kizami/unranked.hpp", "vector", False), ("src/unranked/x.hpp", "vector", False),
    ]
    wrong = []
    for source, include, legal in cases:
        for spelling in (f'#include "{include}"', f"#  include <{include}>  // reason"):
            with tempfile.TemporaryDirectory() as name:
                root = Path(name)
                for file in files + [source, "tools/ranks.txt"]:
                    (root / file).parent.mkdir(parents=True, exist_ok=True)
                    (root / file).write_text("")
                (root / "tools/ranks.txt").write_text(rules)
                (root / source).write_text(f"#pragma once\n{spelling}\n")
                problems, _ = check(root)
                if bool(problems) == legal:
                    wrong.append(f"{source} with {spelling}: expected {'no problem' if legal else 'a problem'}, got {problems}")
    print("\n".join(wrong + [f"self-test: {len(cases)} cases, {len(wrong)} wrong"]))
    return 1 if wrong else 0


def count(root):
    """The rooms of src/, how many arrows join them, and how many includes cross from one to another, of how many."""
    root = Path(root).resolve()
    includes = Counter()
    for file in sorted((root / "src").rglob("*")):
        if file.suffix not in SUFFIXES or not file.is_file():
            continue
        for line in file.read_text(errors="replace").splitlines():
            match = INCLUDE.match(line) or TARGET_INCLUDE.match(line)
            target = match and resolve(root, file, match.group(2))
            if target and target.startswith("src/"):
                includes[file.relative_to(root / "src").parts[0], target.split("/")[1]] += 1
    arrows = {pair: number for pair, number in includes.items() if pair[0] != pair[1]}
    rooms = {room for pair in includes for room in pair}
    return f"{len(rooms)} rooms, {len(arrows)} arrows, {sum(arrows.values())} of {sum(includes.values())} includes across"


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if sys.argv[1:2] == ["--count"]:
        print(count(sys.argv[2] if len(sys.argv) > 2 else Path(__file__).resolve().parent.parent))
        return 0
    problems, num_files = check(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    print("\n".join(problems + [f"{num_files} files, {len(problems)} violations"]))
    return 1 if problems or num_files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
