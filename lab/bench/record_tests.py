#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a GoogleTest program on a device, and records what passed and what did not.

  python3 lab/bench/record_tests.py --commit $(git rev-parse --short HEAD) --json late_ctas.jsonl build/bin/test_gpu_late_ctas

Everything behind the program's name is passed on to it. Appends one line of JSON; a program that crashes or is stopped after --at-most
SECONDS has a line too, which says so (has_ended), with the tests that had ended by then. Its exit code is 0 if the program's is.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

ENDED = re.compile(r"^\[ *(OK|FAILED|SKIPPED) *\] (\S+?)(?:, where .*)? \(\d+ ms\)$")


def device():
    """(name, driver) of the first device."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        name, driver = subprocess.run(query, check=True, capture_output=True, text=True).stdout.splitlines()[0].split(", ")
    except (OSError, subprocess.CalledProcessError, IndexError, ValueError):
        return "unknown", "unknown"
    return name, driver


def run(command, shards, at_most):
    """(exit codes, lines): what the program printed, in as many processes as shards; on stdout too as it comes."""
    processes = []
    for shard in range(shards):
        environment = dict(os.environ, GTEST_TOTAL_SHARDS=str(shards), GTEST_SHARD_INDEX=str(shard)) if shards > 1 else None
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment))
    lines = []

    def read(process):
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            sys.stdout.write(line)
            sys.stdout.flush()

    readers = [threading.Thread(target=read, args=(process,)) for process in processes]
    timer = threading.Timer(at_most or 1e6, lambda: [process.kill() for process in processes])
    timer.daemon = True
    timer.start()
    for thread in readers:
        thread.start()
    for thread in readers:
        thread.join()
    timer.cancel()
    return [process.wait() for process in processes], lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=pathlib.Path, help="appends the record to this file instead of printing it last")
    parser.add_argument("--commit", default="unknown", help="what the record says was tested")
    parser.add_argument("--build", default="now", help="how it was built, where that differs from the commit's")
    parser.add_argument("--shards", type=int, default=1, help="processes side by side, each with its part of the tests")
    parser.add_argument("--at-most", type=float, metavar="SECONDS", help="kills the program then")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.at_most is not None and options.at_most <= 0:
        parser.error(f"--at-most {options.at_most:g}, must be above 0")
    if options.shards < 1:
        parser.error(f"--shards {options.shards}, must be 1 or more")
    begin = time.monotonic()
    try:
        codes, lines = run([options.program, *options.arguments], options.shards, options.at_most)
    except OSError as error:
        sys.exit(f"record_tests: {options.program}: {error.strerror}")
    ends = [match.groups() for match in map(ENDED.match, lines) if match]
    results = [result for result, _ in ends]
    name, driver = device()
    record = {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"), "commit": options.commit, "device": name, "driver": driver,
        "bench": "record_tests", "program": pathlib.Path(options.program).name, "arguments": options.arguments, "build": options.build,
        "passed": results.count("OK"), "failed": results.count("FAILED"), "skipped": results.count("SKIPPED"),
        "shards": options.shards, "seconds": round(time.monotonic() - begin),
        "has_ended": sum(bool(re.match(r"^\[==========\] \d+ tests? .* ran", line)) for line in lines) == options.shards, "exit_codes": codes,
        "failed_tests": sorted({test for result, test in ends if result == "FAILED"}),
    }
    line = json.dumps(record)
    if options.json:
        with options.json.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
    else:
        print(line)
    sys.exit(0 if not any(codes) else 1)


if __name__ == "__main__":
    main()
