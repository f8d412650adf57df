#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""LAPACK's own tests: the programs and inputs of Debian's liblapack-test, one line for each job with what it says of itself.

usage: lapack_tests.py [--list] [--jobs N] [--keep FOLDER] [JOB...]
A job is a program and an input, xeigtstd/ded; a program alone stands for all of its inputs. A test that misses its threshold, an illegal argument, a routine's error and a program
that does not end well are failures. --keep FOLDER keeps what the programs print. Exit status 77 if the tests are not installed.
"""
import argparse
import concurrent.futures
import glob
import json
import re
import subprocess
import sys
import time
from pathlib import Path

TIMEOUT = 1800
# What all four types share; the others begin with the letter of the type.
SHARED_INPUTS = ("nep", "sep", "se2", "svd", "csd", "glm", "gqr", "gsv", "lse")
TYPED_INPUTS = ("bak", "bal", "bb", "ec", "ed", "gbak", "gbal", "gd", "gg", "sb", "sg")


def folder():
    """Where programs and inputs are, or None."""
    found = sorted(glob.glob("/usr/lib/*/lapack/xeigtstd"))
    return Path(found[0]).parent if found else None


def jobs():
    """(name, program, input) of each job whose two files are there."""
    listed = []
    for letter in "sdcz":
        listed += [(f"xeigtst{letter}", name) for name in SHARED_INPUTS + tuple(letter + name for name in TYPED_INPUTS)]
        listed += [(f"xlintst{letter}", f"{letter}test"), (f"xlintstrf{letter}", f"{letter}test_rfp")]
    listed += [("xlintstds", "dstest"), ("xlintstzc", "zctest")]
    at = folder()
    return [(f"{program}/{name}", at / program, at / f"{name}.in") for program, name in listed
            if at and (at / program).exists() and (at / f"{name}.in").exists()]


def failures(text):
    """Tests that missed their threshold, illegal arguments, and errors that routines returned."""
    missed = sum(int(n) for n in re.findall(r"(\d+) out of", text))
    return missed + sum(1 for line in text.splitlines() if "illegal" in line.lower() or " INFO" in line)


def run(job, keep):
    name, program, given = job
    begin = time.perf_counter()
    with given.open() as stdin:
        try:
            done = subprocess.run([program], stdin=stdin, capture_output=True, timeout=TIMEOUT)
            status, text = done.returncode, done.stdout.decode(errors="replace")
        except subprocess.TimeoutExpired as stopped:
            status, text = 124, (stopped.stdout or b"").decode(errors="replace")
    if keep:
        Path(keep, name.replace("/", "_") + ".out").write_text(text)
    tests = sum(int(n) for n in re.findall(r"(\d+)\s+tests? run\)", text))
    return {"job": name, "tests": tests, "failed": failures(text) + (1 if status != 0 else 0), "status": status,
            "seconds": round(time.perf_counter() - begin, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", nargs="*")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep")
    parser.add_argument("--list", action="store_true", help="only say what there is")
    options = parser.parse_args()
    there = jobs()
    if not there:
        return 77
    unknown = set(options.job) - {name for job in there for name in (job[0], job[0].split("/")[0])}
    if unknown:
        parser.error(f"no job {', '.join(sorted(unknown))}; --list names them")
    chosen = [job for job in there if not options.job or job[0] in options.job or job[0].split("/")[0] in options.job]
    if options.list:
        return print("\n".join(name for name, _, _ in chosen)) or 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(lambda job: run(job, options.keep), chosen):
            print(json.dumps(result), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
