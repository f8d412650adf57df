#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run_tests.py JUNIT [--left-out WORDS]... -- CTEST...: ctest, and its last lines in words.

Passes on what ctest prints, but for its lists of names at the end. In their place: how many tests passed of each build and kind, how many were
skipped for which reason, what was left out, and, last, ctest's summary. Names of tests that failed are kept. Exits as ctest does.
--self-test: the words of known results, and those of a run of ctest with two tests.
"""

import argparse
import collections
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

TREES = {"asan.": "under AddressSanitizer and UndefinedBehaviorSanitizer", "tsan.": "under ThreadSanitizer", "": "release"}
SUMMARY = re.compile(r"^\d+% tests passed, \d+ tests failed out of \d+")
REASONS = (  # GoogleTest, pytest, scripts
    re.compile(r"^.*: Skipped\n(.+)$", re.M),
    re.compile(r"^SKIPPED \[\d+\] [^ ]+ (.+)$", re.M),
    re.compile(r"^(?:skipped|not compiled): *(.+)$", re.M),
)
MOST_REASONS, MOST_FOLDERS = 40, 12


def reason_of(output):
    """Why a test says that it was skipped: its own words, else its last line."""
    for pattern in REASONS:
        if found := pattern.findall(output):
            return found[-1].strip()
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no reason given"


def tree_and_folder_of(name):
    prefix = next(prefix for prefix in TREES if name.startswith(prefix))
    return TREES[prefix], name[len(prefix) :].split(".")[0]


def words_of(junit, left_out):
    """The lines that say what passed, what was skipped and why."""
    passed, skipped, seconds = collections.defaultdict(collections.Counter), collections.defaultdict(list), {}
    for case in ElementTree.fromstring(junit).iter("testcase"):
        name, status = case.get("name"), case.get("status")
        seconds[name] = float(case.get("time") or 0)
        if case.find("skipped") is not None or status in ("notrun", "disabled"):
            skipped[reason_of(case.findtext("system-out") or "")].append(name)
        elif status == "run":
            tree, folder = tree_and_folder_of(name)
            passed[tree][folder] += 1
    lines = []
    for tree in TREES.values():
        if folders := passed.get(tree):
            parts = [f"{count} {folder}" for folder, count in folders.most_common(MOST_FOLDERS)]
            if more := sum(folders.values()) - sum(count for _, count in folders.most_common(MOST_FOLDERS)):
                parts.append(f"{more} in {len(folders) - MOST_FOLDERS} more folders")
            lines.append(f"passed, {tree}: {sum(folders.values())} ({', '.join(parts)})")
    if skipped:
        lines.append(f"skipped: {sum(map(len, skipped.values()))}")
    by_number = sorted(skipped.items(), key=lambda entry: -len(entry[1]))
    for reason, names in by_number[:MOST_REASONS]:
        more = ", ..." if len(names) > 1 else ""
        lines.append(f"  {len(names)}: {reason} ({names[0].split('/')[0]}{more})")
    if rest := by_number[MOST_REASONS:]:
        lines.append(f"  {sum(len(names) for _, names in rest)}: {len(rest)} more reasons, see the log")
    lines += [f"left out: {words}" for words in left_out]
    slowest = sorted(seconds, key=seconds.get, reverse=True)[:5]
    lines.append("slowest: " + ", ".join(f"{name} {seconds[name]:.0f} s" for name in slowest))
    return lines


def run(junit, left_out, command):
    junit.unlink(missing_ok=True)
    process = subprocess.Popen([*command, "--output-junit", str(junit.resolve())], stdout=subprocess.PIPE, text=True, errors="replace")
    summary, end = "", []
    for line in process.stdout:
        if SUMMARY.match(line):
            summary = line
        if summary:
            end.append(line)
        else:
            print(line, end="", flush=True)
    code = process.wait()
    if not summary or not junit.exists():
        print("".join(end), end="")
        return code
    text = "".join(end)
    failed = re.search(r"^The following tests FAILED:\n(?:\s+\d+ - .*\n?)*", text, re.M)
    total = re.search(r"^Total Test time.*$", text, re.M)
    print("\n" + "\n".join(words_of(junit.read_text(errors="replace"), left_out)))
    if failed:
        print("\n" + failed[0].rstrip())
    print(f"\n{total[0] if total else ''}\n{summary}", end="")
    return code


def self_test():
    def case(name, status, inside=""):
        return f'<testcase name="{name}" time="1.5" status="{status}">{inside}</testcase>'

    def skip(output):
        return f'<skipped message="SKIP"/><system-out>{output}</system-out>'

    cases = [
        case("num.A.B", "run"),
        case("num.A.C", "run"),
        case("asan.num", "run"),
        case("cli.gemm", "run"),
        case("num.C.D", "fail"),
        case("gpu.E.F/0  # GetParam() = 16-byte object", "notrun", skip("x.cpp:3: Skipped\nno CUDA device\n[  SKIPPED ] E.F")),
        case("gpu.E.G", "notrun", skip("x.cpp:4: Skipped\nno CUDA device\n[  SKIPPED ] E.G")),
        case("python.jax", "notrun", skip("SKIPPED [1] tests/python/jax_test.py:3: no JAX\n1 skipped in 0.1s")),
        case("c_api.fortran", "notrun", skip("skipped: no gfortran")),
        case("odd", "notrun", skip("")),
        *(case(f"folder{i}.A.B", "run") for i in range(MOST_FOLDERS)),
    ]
    more = ", ".join(f"1 folder{i}" for i in range(MOST_FOLDERS - 2))
    said = words_of(f"<testsuite>{''.join(cases)}</testsuite>", ["programs"])
    expected = [
        "passed, under AddressSanitizer and UndefinedBehaviorSanitizer: 1 (1 num)",
        f"passed, release: {3 + MOST_FOLDERS} (2 num, 1 cli, {more}, 2 in 2 more folders)",
        "skipped: 5",
        "  2: no CUDA device (gpu.E.F, ...)",
        "  1: no JAX (python.jax)",
        "  1: no gfortran (c_api.fortran)",
        "  1: no reason given (odd)",
        "left out: programs",
    ]
    if said[:-1] != expected or not said[-1].startswith("slowest: num.A.B 2 s, "):
        sys.exit("run_tests.py says\n" + "\n".join(said))
    self_test_of_a_run()


def self_test_of_a_run():
    """The results are named from the folder of the caller, which is not ctest's."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        tree.mkdir()
        (tree / "CTestTestfile.cmake").write_text(
            'add_test(num.A.B "true")\nadd_test(gpu.E.F "sh" "-c" "echo skipped: no CUDA device && exit 77")\n'
            "set_tests_properties(gpu.E.F PROPERTIES SKIP_RETURN_CODE 77)\n"
        )
        command = [sys.executable, str(Path(__file__).resolve()), "results.xml", "--left-out", "programs", "--", "ctest", "--test-dir", "tree"]
        said = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout
    end = r"\npassed, release: 1 \(1 num\)\nskipped: 1\n  1: no CUDA device \(gpu\.E\.F\)\nleft out: programs\nslowest: .*\n\nTotal Test time .*\n100% tests passed, .*\n\Z"
    if not re.search(end, said):
        sys.exit("run_tests.py says of a run\n" + said)


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    own, command = sys.argv[1:], []
    if "--" in own:
        own, command = own[: own.index("--")], own[own.index("--") + 1 :]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("junit", type=Path)
    parser.add_argument("--left-out", action="append", default=[], metavar="WORDS")
    args = parser.parse_args(own)
    if not command:
        parser.error("no command after --")
    sys.exit(run(args.junit, args.left_out, command))


if __name__ == "__main__":
    main()
