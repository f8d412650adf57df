#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Eigenproblems by ELPA (Debian's libelpa-dev, over Open MPI) on 1, 2 and 4 ranks: elpa_eigenproblems.c is compiled, and judges the results; one line
for each run with how many of its checks failed.

usage: elpa_tests.py [--list] [--keep FOLDER] [RUN...]
A run is the type, the stages of the reduction to tridiagonal form and the ranks: real_2stage_4. Exit status 77 if ELPA or Open MPI's compiler is not
installed.
"""
import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import scalapack_tests

RUNS = [f"{scalar}_{stages}stage_{ranks}" for scalar in ("real", "complex") for stages in (1, 2) for ranks in (1, 2, 4)]
ORDER = 200
NUM_CHECKS = 7


def flags():
    """Where ELPA's headers are, or None."""
    found = subprocess.run(["pkg-config", "--cflags", "elpa"], capture_output=True, text=True) if shutil.which("pkg-config") else None
    is_there = found and found.returncode == 0 and shutil.which("mpicc.openmpi") and shutil.which("mpiexec.openmpi")
    return shlex.split(found.stdout) if is_there else None


def compiled(folder):
    """The program; not with Kizami: the compiler itself calls no BLAS."""
    program = Path(folder, "elpa_eigenproblems")
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    subprocess.run(["mpicc.openmpi", "-O2", *flags(), str(Path(__file__).with_name("elpa_eigenproblems.c")), "-lelpa", "-lm", "-o", str(program)],
                   check=True, env=environment)
    return program


def failures(status, text):
    """Checks that failed; those that were not made have."""
    good = len(re.findall(r'^\{"check": .*"good": true\}$', text, re.M))
    return NUM_CHECKS - good + (status != 0 and good == NUM_CHECKS)


def run(program, name, keep):
    scalar, stages, ranks = name.split("_")
    begin = time.perf_counter()
    command = scalapack_tests.on_ranks(int(ranks), {}) + [str(program), scalar, stages[0], str(ORDER)]
    again = []
    for attempts in range(1, scalapack_tests.ATTEMPTS + 1):
        status, text = scalapack_tests.attempt(command, program.parent)
        reason = scalapack_tests.why_again(status, text)
        if not reason:
            break
        again.append(reason)
    if keep:
        Path(keep, f"{name}.out").write_text(text)
    failed = failures(status, text)
    if failed:
        print(f"{name}, status {status}:\n{text[-4000:]}", file=sys.stderr)
    ratios = [float(ratio) for ratio in re.findall(r'"ratio": ([^,]+),', text)]
    return {"job": name, "failed": failed, "status": status, "attempts": attempts, "again": again, "worst_ratio": max(ratios, default=None),
            "seconds": round(time.perf_counter() - begin, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="*")
    parser.add_argument("--keep")
    parser.add_argument("--list", action="store_true", help="only say what there is")
    options = parser.parse_args()
    if flags() is None:
        return 77
    unknown = [name for name in options.run if name not in RUNS]
    if unknown:
        parser.error(f"no run {', '.join(unknown)}; --list names them")
    if options.list:
        return print("\n".join(options.run or RUNS)) or 0
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(folder)
        for name in options.run or RUNS:
            print(json.dumps(run(program, name, options.keep)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
