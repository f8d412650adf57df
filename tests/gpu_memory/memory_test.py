#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""libkizami_cublas.so on a device that is full, shared by 8 processes, or fails, with gpu_memory_program. Prints what it saw.

usage: memory_test.py PRELOAD PROGRAM [PROCESSES [ROUNDS]] [--json FILE] [--commit COMMIT] [options of unittest, as -k share]

--json adds what the processes that share the device held to a file, a line of JSON.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import time
import unittest

MIB = 1 << 20


class Program:
    """A process of the program. Its threads multiply matrices of the sizes, a size each."""

    def __init__(self, sizes, preload=True, **variables):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("KIZAMI_", "LD_PRELOAD"))}
        environment.update(variables, KIZAMI_SCHEME="ozaki2", KIZAMI_SUMMARY="1")
        if preload:
            environment["LD_PRELOAD"] = OPTIONS.preload
        self.process = subprocess.Popen([OPTIONS.program] + [str(size) for size in sizes], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline().strip()
        if not line.startswith(("ok", "ready")):
            raise AssertionError(f"{line!r}; {self.process.communicate()}")
        return line

    def ask(self, command):
        self.tell(command)
        return self.hear()

    def end(self):
        """What stands on stderr."""
        _, errors = self.process.communicate(timeout=120)
        return errors


def number(pattern, text):
    found = re.search(pattern, text)
    return int(found.group(1)) if found else 0


def emulated(summary):
    return number(r": (\d+) calls? emulated", summary)


def in_less_memory(summary):
    return number(r"lack of memory (\d+) calls? ran in a smaller workspace", summary)


def most_held(summary):
    return number(r"workspaces held at most (\d+) bytes", summary)


class MemoryTest(unittest.TestCase):
    def test_a_full_device(self):
        """An FP64 product of 8192 wishes 4.8 GB; 2 GB are left."""
        program = Program([8192])
        program.hear()
        program.ask("leave 2048")
        self.assertEqual(program.ask("round 2"), "ok 2")
        summary = program.end()
        print(summary)
        self.assertEqual((emulated(summary), in_less_memory(summary)), (2, 2), "a product was left to cuBLAS")

    def test_memory_that_is_free_again(self):
        """An FP64 product of 3000 wishes 0.7 GB."""
        program = Program([3000])
        program.hear()
        program.ask("leave 480")
        self.assertEqual(program.ask("round 3"), "ok 3")
        program.ask("free")
        self.assertEqual(program.ask("round 70"), "ok 70")
        summary = program.end()
        print(summary)
        self.assertEqual(emulated(summary), 73, "a product was left to cuBLAS")
        self.assertGreaterEqual(in_less_memory(summary), 3)
        self.assertLess(in_less_memory(summary), 73, "one of 64 calls asks again")
        self.assertGreater(most_held(summary), 480 * MIB)

    def test_processes_share_a_device(self):
        total = 256 * MIB
        sizes = [4096, 3000, 2048]
        programs = [Program(sizes, KIZAMI_WORKSPACE_TOTAL=str(total)) for _ in range(OPTIONS.processes)]
        for program in programs:
            program.hear()
        facts = json.loads(programs[0].ask("facts").removeprefix("ok "))
        begin = time.monotonic()

        def round_of_all(times):
            for program in programs:
                program.tell(f"round {times}")
            for program in programs:
                self.assertEqual(program.hear(), f"ok {len(sizes) * times}")

        round_of_all(1)  # loads kernels
        before = number(r"ok (\d+)", programs[0].ask("left"))
        round_of_all(OPTIONS.rounds)
        after = number(r"ok (\d+)", programs[0].ask("left"))
        seconds = time.monotonic() - begin
        summaries = [program.end() for program in programs]
        print(summaries[0])
        append_record({"bench": "gpu_memory", "date": facts["date"], "commit": OPTIONS.commit, "device": facts["device"],
                       "driver": facts["driver"], "processes": OPTIONS.processes, "limit_bytes": total, "sizes": sizes,
                       "calls": len(sizes) * (1 + OPTIONS.rounds) * OPTIONS.processes, "seconds": round(seconds, 3),
                       "device_free_before_bytes": before, "device_free_after_bytes": after,
                       "peak_bytes": [most_held(s) for s in summaries], "emulated": [emulated(s) for s in summaries],
                       "in_less_memory": [in_less_memory(s) for s in summaries]})
        self.assertLessEqual(before - after, OPTIONS.processes * total)
        for summary in summaries:
            self.assertGreater(emulated(summary), 0)
            self.assertGreater(in_less_memory(summary), 0, "the products wish more than the limit")
            self.assertGreater(most_held(summary), 0)
            self.assertLessEqual(most_held(summary), total)

    def test_a_device_that_fails(self):
        expected = 13  # CUBLAS_STATUS_EXECUTION_FAILED
        program = Program([2048])
        program.hear()
        self.assertEqual(program.ask("round 2"), "ok 2")
        self.assertEqual(program.ask("fault"), f"ok {expected}")
        for _ in range(3):
            self.assertNotEqual(program.ask("fault"), "ok 0", "later calls are cuBLAS', which returns an error, too")
        errors = program.end()
        print(errors)
        self.assertEqual(errors.count("CUDA does not work any more in this process"), 1)
        self.assertIn("kizami: cublasDgemm_v2 2048x2048x2048: ", errors)


def append_record(record):
    text = json.dumps(record)
    print(text)
    if OPTIONS.json:
        with open(OPTIONS.json, "a", encoding="utf-8") as file:
            file.write(text + "\n")


def options_of(arguments):
    """Ours, and those that are left for unittest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("preload")
    parser.add_argument("program")
    parser.add_argument("processes", nargs="?", type=int, default=8)
    parser.add_argument("rounds", nargs="?", type=int, default=5)
    parser.add_argument("--json", default="", help="a file to which the record is added")
    parser.add_argument("--commit", default="", help="the commit in the record")
    return parser.parse_known_args(arguments)


def has_device():
    program = Program([16], preload=False)
    program.end()
    return program.process.returncode != 77


if __name__ == "__main__":
    OPTIONS, REST = options_of(sys.argv[1:])
    if not has_device():
        print("no CUDA device")
        sys.exit(77 if os.environ.get("KIZAMI_REQUIRE_GPU") is None else 1)
    unittest.main(argv=sys.argv[:1] + REST)
