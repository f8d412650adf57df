#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The test programs of the reference BLAS, levels 2 and 3, Fortran or C, with every product forced through emulation.

Both interfaces run on the reference library itself; Fortran also on the program's own choice of BLAS.
usage: reference_suite_test.py LIBRARY fortran|c LETTER [FOLDER]
FOLDER holds the programs and their inputs; by default that of the distribution's package libblas-test.
"""
import glob
import re
import sys
from pathlib import Path

from command import run

# Calls that emulation must have taken, of the suites of 3.11: a tenth fewer would pass by accident, none would not.
LEAST_EMULATED = 10000


def suite_folder(arguments):
    folders = arguments or sorted(glob.glob("/usr/lib/*/blas"))
    return next((folder for folder in folders if Path(folder, "xblat3d").exists()), None)


def programs(folder, interface, letter):
    for level in (2, 3):
        name, data = ((f"xblat{level}{letter}", f"{letter}blat{level}.in") if interface == "fortran" else
                      (f"x{letter}cblat{level}", f"{letter}in{level}"))
        yield level, Path(folder, name), Path(folder, data)


def problems(level, done, report):
    """What is wrong with a run whose verdicts are in `report`."""
    found = [] if done.status == 0 else [f"ended with {done.status}: {done.errors[-500:]}"]
    found += re.findall(r".*(?:FAIL|SUSPECT|NOT BEING DETECTED|FATAL|ABANDONED).*", report, re.IGNORECASE)
    passed = len(re.findall(r"PASSED THE (?:TESTS OF ERROR-EXITS|.*COMPUTATIONAL TESTS)", report))
    if passed < 6:
        found.append(f"only {passed} verdicts")
    if level == 3:
        ratios = done.ratios()
        if done.calls("emulated") < LEAST_EMULATED:
            found.append(f"{done.calls('emulated')} calls emulated, must be at least {LEAST_EMULATED}")
        if not ratios or not all(ratio <= 1 for ratio in ratios):
            found.append(f"a sample is beyond its bound: {max(ratios, default='no sample')}")
        found += [line for line in done.summary.splitlines()
                  if "native: " in line and not re.search("native: (an argument is not valid|nothing is multiplied|"
                                                          "there is no block beside the diagonal),", line)]
    return found


def self_test():
    class Run:
        status, errors, summary = 0, "", "native: the planner prefers it, 1 s"
        def calls(self, kind): return 20000
        def ratios(self): return [0.5]
    verdicts = " X PASSED THE COMPUTATIONAL TESTS\n" * 6
    good, bad = Run(), Run()
    good.summary = "native: nothing is multiplied, 1 s"
    nan = Run()
    nan.summary, nan.ratios = "", lambda: [0.5, float("nan")]
    return (not problems(3, good, verdicts) and problems(3, bad, verdicts) and problems(3, nan, verdicts) and
            problems(3, good, "") and problems(2, good, verdicts + "***** FATAL ERROR"))


def main():
    library, interface, letter = sys.argv[1:4]
    folder = suite_folder(sys.argv[4:])
    if folder is None:
        print("skipped: the test programs of the reference BLAS are not here (package libblas-test)")
        return 77
    found = [] if self_test() else ["self-test: a failure was not seen, or a good run was refused"]
    for libraries in [folder] + ([""] if interface == "fortran" else []):
        for level, program, data in programs(folder, interface, letter):
            with open(data) as stdin:
                done = run([program], preload=library, libraries=libraries, stdin=stdin, KIZAMI_MIN_SIZE="0",
                           KIZAMI_MONITOR="7")
            report = done.out + "".join(text for name, text in done.files.items() if name.endswith(".out"))
            bad = problems(level, done, report)
            print(f"{program.name} on {libraries or 'the installed BLAS'}: {done.calls('emulated')} calls emulated, "
                  f"{len(done.ratios())} samples, {len(bad)} problems")
            found += bad
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
