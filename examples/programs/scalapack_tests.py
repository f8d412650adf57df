#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ScaLAPACK's own testers, of Debian's scalapack-mpi-test for Open MPI, on four ranks; one line for each with what it says of itself.

usage: scalapack_tests.py [--list] [--keep FOLDER] [TESTER...]
Ranks share the processors of a small machine, so more of them than processors are allowed, and they yield when they wait. By default all
testers of FP64 but the two of the MRRR eigensolver (xdsyevr, xzheevr), whose inputs ask for distribution by single columns: every product
has inner size 1 then, hundreds of thousands of them. By name they run too, on an input of their kind that takes seconds. Exit status 77 if
the testers are not installed.
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# By themselves, with no library preloaded, the testers hang or abort by chance where a grid of fewer ranks than there are follows
# another: "MPI_ERR_TRUNCATE". They are run again; `attempts` says how often in all, `again` why, and programs.py how often is too often.
TIMEOUT = 90  # they take seconds
ATTEMPTS = 6
TESTERS = ("xdlu", "xzlu", "xdllt", "xzllt", "xdinv", "xzinv", "xdqr", "xzqr", "xdbrd", "xzbrd", "xdhrd", "xzhrd", "xdtrd", "xztrd",
           "xdsvd", "xdsep", "xzsep", "xdgsep", "xzgsep", "xdnep", "xznep", "xzevc", "xdls", "xzls", "xddblu", "xzdblu", "xdpbllt",
           "xzpbllt", "xdhseqr")
# One matrix by single columns, on one rank and on a grid of four: TEST 10 of the testers' own SEPR.dat has order 500 and seven grids.
# They judge by two variables that they never set, VL and VU: a NaN reads as FAILED (mrrr_unset_bounds.py). In xdsyevr they lie where
# the dynamic loader saves the vector registers while it looks up a function at its first call, so all are looked up at the start.
MRRR = ("xdsyevr", "xzheevr")
MRRR_INPUT = """'Symmetric eigensolver by single columns'
' '
'sepr.out'
6               device out
4               maximum number of processes
'Y'
' '
'TEST 1'
1               number of matrices
150             sizes
1               number of uplo choices
'U'
2               number of processor configurations
1 2             rows of the grid
1 2             columns of the grid
1 1             columns of a block
1               number of matrix types
8
'N'             subset tests
250.0           threshold
-1              absolute tolerance
' '
'End of tests'
-1
"""


def folder():
    """Where the testers and their inputs are, or None."""
    found = sorted(glob.glob("/usr/lib/*/scalapack/openmpi-tests/xdlu"))
    return Path(found[0]).parent if found else None


def failures(text):
    """Tests that failed, by the words of the testers, or 1 if none says how many passed."""
    failed = sum(int(n) for n in re.findall(r"(\d+)\s+tests\s+(?:completed and\s+)?failed", text, re.I))
    failed += len(re.findall(r"\bFAILED\b", text)) if failed == 0 else 0
    return failed if re.search(r"passed", text, re.I) else max(failed, 1)


def attempt(command, inputs):
    """(status, output): 124 for one that did not end. mpiexec itself ends its ranks."""
    environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment.pop("LD_PRELOAD", "")
    process = subprocess.Popen(command, cwd=inputs, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    try:
        text, _ = process.communicate(timeout=TIMEOUT)
        return process.returncode, text.decode(errors="replace")
    except subprocess.TimeoutExpired:
        process.terminate()
        text, _ = process.communicate()
        return 124, text.decode(errors="replace")


def why_again(status, text):
    """Why an attempt says nothing of the products, or None."""
    return "hung" if status == 124 else "truncated" if "MPI_ERR_TRUNCATE" in text else None


def on_ranks(ranks, variables):
    """The beginning of a command: so many ranks, with these variables and the library that this process has preloaded."""
    preload = os.environ.get("LD_PRELOAD", "")  # of the ranks only
    variables = ({"LD_PRELOAD": preload} if preload else {}) | variables
    command = ["mpiexec.openmpi", "-n", str(ranks), "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
    return command + (["env", *(f"{name}={value}" for name, value in variables.items())] if variables else [])


def run(tester, keep):
    begin = time.perf_counter()
    command = on_ranks(4, {"LD_BIND_NOW": os.environ.get("LD_BIND_NOW", "1")} if tester in MRRR else {})
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch, "SEPR.dat").write_text(MRRR_INPUT)
        again = []
        for attempts in range(1, ATTEMPTS + 1):
            status, text = attempt(command + [str(Path(folder(), tester))], scratch if tester in MRRR else folder())
            reason = why_again(status, text)
            if not reason:
                break
            again.append(reason)
    if keep:
        Path(keep, f"{tester}.out").write_text(text)
    failed = failures(text) + (1 if status != 0 else 0)
    if failed:
        print(f"{tester}, status {status}:\n{text[-4000:]}", file=sys.stderr)
    return {"job": tester, "failed": failed, "status": status, "attempts": attempts, "again": again,
            "seconds": round(time.perf_counter() - begin, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tester", nargs="*")
    parser.add_argument("--keep")
    parser.add_argument("--list", action="store_true", help="only say what there is")
    options = parser.parse_args()
    if folder() is None:
        return 77
    unknown = [tester for tester in options.tester if not Path(folder(), tester).exists()]
    if unknown:
        parser.error(f"no tester {', '.join(unknown)} in {folder()}")
    if options.list:
        return print("\n".join(options.tester or TESTERS)) or 0
    for tester in options.tester or TESTERS:
        print(json.dumps(run(tester, options.keep)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
