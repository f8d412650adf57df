#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""libkizami_cublas.so on a device that is full, shared by 8 processes, or fails, with gpu_memory_program. Prints what it saw.

usage: memory_test.py PRELOAD PROGRAM [PROCESSES [ROUNDS]]
"""
import os
import re
import subprocess
import sys
import unittest

MIB = 1 << 20
PROCESSES, ROUNDS = 8, 5


class Program:
    """A process of the program. Its threads multiply matrices of the sizes, a size each."""

    def __init__(self, sizes, preload=True, **variables):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("KIZAMI_", "LD_PRELOAD"))}
        environment.update(variables, KIZAMI_SCHEME="ozaki2", KIZAMI_SUMMARY="1")
        if preload:
            environment["LD_PRELOAD"] = PRELOAD
        self.process = subprocess.Popen([PROGRAM] + [str(size) for size in sizes], env=environment, text=True,
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
    return number(r": (\d+) calls emulated", summary)


def in_less_memory(summary):
    return number(r"lack of memory (\d+) calls ran in a smaller workspace", summary)


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
        programs = [Program([4096, 3000, 2048], KIZAMI_WORKSPACE_TOTAL=str(total)) for _ in range(PROCESSES)]
        for program in programs:
            program.hear()

        def round_of_all(times):
            for program in programs:
                program.tell(f"round {times}")
            for program in programs:
                self.assertEqual(program.hear(), f"ok {3 * times}")

        round_of_all(1)  # loads kernels
        before = number(r"ok (\d+)", programs[0].ask("left"))
        round_of_all(ROUNDS)
        after = number(r"ok (\d+)", programs[0].ask("left"))
        summaries = [program.end() for program in programs]
        print(summaries[0])
        print(f"{PROCESSES} processes: {before} bytes of the device were left after a round, {after} after {ROUNDS} more; held at "
              f"most: {[most_held(summary) for summary in summaries]}; calls emulated: {[emulated(s) for s in summaries]}; in less "
              f"memory: {[in_less_memory(s) for s in summaries]}")
        self.assertLessEqual(before - after, PROCESSES * total)
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


def has_device():
    program = Program([16], preload=False)
    program.end()
    return program.process.returncode != 77


if __name__ == "__main__":
    PRELOAD, PROGRAM = sys.argv[1:3]
    PROCESSES, ROUNDS = [int(x) for x in sys.argv[3:]] + [PROCESSES, ROUNDS][len(sys.argv) - 3:]
    if not has_device():
        print("no CUDA device")
        sys.exit(77 if os.environ.get("KIZAMI_REQUIRE_GPU") is None else 1)
    unittest.main(argv=sys.argv[:1])
