#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library as the system's libblas.so.3, in front of all others on the loader's path: programs that know nothing of it.

usage: alternative_test.py FOLDER CALLS
FOLDER holds the libblas.so.3; CALLS is calls.cpp, linked with a libblas.so.3.
"""
import glob
import sys
import unittest

from command import run

FOLDER = CALLS = None
COMMON_CALLS = 396  # of calls.cpp


class AlternativeTest(unittest.TestCase):
    def test_calls_are_emulated_or_left_to_the_library_behind(self):
        done = run([CALLS, "common", "plain", "40"], libraries=FOLDER, KIZAMI_MIN_SIZE="0")
        self.assertEqual((done.status, done.errors, done.calls("emulated")), (0, "", COMMON_CALLS), done.out)
        done = run([CALLS, "common", "plain", "40"], libraries=FOLDER)
        self.assertEqual((done.status, done.errors, done.calls("native")), (0, "", COMMON_CALLS), done.out)

    def test_level_1_of_the_library_behind_is_found(self):
        programs = glob.glob("/usr/lib/*/blas/xblat1d")
        if not programs:
            self.skipTest("package libblas-test is not installed")
        done = run(programs[:1], libraries=FOLDER)
        self.assertEqual((done.status, done.out.count("PASS"), done.out.count("FAIL")), (0, 13, 0), done.out + done.errors)


if __name__ == "__main__":
    FOLDER, CALLS = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
