#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ScaLAPACK on 1, 2 and 4 ranks over the BLAS library, every product emulated: its own testers (Debian's scalapack-mpi-test for
Open MPI) of LU, Cholesky and QR on one matrix and one grid each, within seconds. All of its testers, some of which hang by themselves, are among the long tests
(examples/programs/scalapack_tests.py).

usage: scalapack_ranks_test.py LIBRARY
Exit status 77 if the testers are not installed.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

GRIDS = {1: (1, 1), 2: (1, 2), 4: (2, 2)}
SIZE, BLOCK = 130, 24
ATTEMPTS = 3  # the start of ranks may fail or hang on a busy machine, without a tester's word
TIMEOUT = 30


def input_of(kind, rows, cols):
    """One matrix, one block size, one grid; two right-hand sides, with condition estimate and iterative refinement where there are any."""
    head = ["'ScaLAPACK'", "'one grid'", "'out'", "6 device out"]
    grid = ["1 grid", str(rows), str(cols)]
    square = ["1 matrix", str(SIZE)]
    rectangle = ["1 matrix", str(SIZE), str(SIZE - 30)]
    block = ["1 block size", str(BLOCK)]
    sides = ["1 number of right-hand sides", "2", "1 block of those", "2"]
    lines = {"LU": [*head, "1 matrix", str(SIZE), str(SIZE), *block, *sides, *grid, "1.0", "T"],
             "LLT": [*head, "'L'", *square, *block, *sides, *grid, "3.0", "T"],
             "QR": [*head, "3 factorizations", "'QR' 'LQ' 'QP'", *rectangle, *block, str(BLOCK), *grid, "5.0"]}[kind]
    return "\n".join(lines) + "\n"


# Program and kind of input: a complex one of LU stands for the other types.
TESTERS = {"xdlu": "LU", "xzlu": "LU", "xdllt": "LLT", "xdqr": "QR"}


def run(library, folder, tester, ranks):
    """(exit status, output, calls that each rank had emulated); status 124 for one that did not end."""
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch, f"{TESTERS[tester]}.dat").write_text(input_of(TESTERS[tester], *GRIDS[ranks]))
        summary = Path(scratch, "summary.txt")
        settings = {"LD_PRELOAD": library, "KIZAMI_SCHEME": "ozaki2", "KIZAMI_OWN_LINES": "1", "KIZAMI_MIN_SIZE": "0", "KIZAMI_THREADS": "1",
                    "KIZAMI_SUMMARY": str(summary), "OPENBLAS_NUM_THREADS": "1"}
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("KIZAMI_", "LD_PRELOAD"))}
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        command = ["mpiexec.openmpi", "-n", str(ranks), "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "env",
                   *(f"{key}={value}" for key, value in settings.items()), str(folder / tester)]
        process = subprocess.Popen(command, cwd=scratch, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        try:
            text, status = process.communicate(timeout=TIMEOUT)[0], process.returncode
        except subprocess.TimeoutExpired:
            process.terminate()  # mpiexec ends its ranks
            text, status = process.communicate()[0], 124
        emulated = [int(n) for n in re.findall(r"(\d+) calls? emulated", summary.read_text())] if summary.exists() else []
        return status, text, emulated


def problems_of(status, text, emulated, ranks):
    found = [] if status == 0 else [f"exit status {status}"]
    passed = sum(int(n) for n in re.findall(r"(\d+)\s+tests completed and passed", text))
    failed = sum(int(n) for n in re.findall(r"(\d+)\s+tests completed and failed", text))
    found += [] if passed > 0 and failed == 0 else [f"{passed} tests passed, {failed} failed"]
    return found + ([] if len(emulated) == ranks and all(emulated) else [f"emulated calls of the ranks: {emulated}, must be some on each of {ranks}"])


def self_test():
    good = (0, "    1 tests completed and passed residual checks.\n    0 tests completed and failed", [3, 4], 2)
    bad = [(1, *good[1:]), (0, "0 tests completed and passed", [3, 4], 2), (0, good[1].replace("0 tests", "1 tests"), [3, 4], 2),
           (0, good[1], [3], 2), (0, good[1], [3, 0], 2), (0, "", [3, 4], 2)]
    return not problems_of(*good) and all(problems_of(*case) for case in bad)


def main():
    (library,) = sys.argv[1:]
    testers = sorted(glob.glob("/usr/lib/*/scalapack/openmpi-tests/xdlu"))
    if not testers or shutil.which("mpiexec.openmpi") is None:
        print("scalapack-mpi-test or openmpi-bin is not installed")
        return 77
    problems = [] if self_test() else ["self-test: a failure was not seen"]
    for tester in TESTERS:
        for ranks in GRIDS:
            for attempt in range(1, ATTEMPTS + 1):
                status, text, emulated = run(library, Path(testers[0]).parent, tester, ranks)
                if "tests completed" in text or attempt == ATTEMPTS:
                    break
            found = problems_of(status, text, emulated, ranks)
            print(f"{tester} on {ranks} ranks: emulated {emulated}, {len(found)} problems")
            problems += [f"{tester} on {ranks} ranks: {problem}\n{text[-2000:]}" for problem in found]
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
