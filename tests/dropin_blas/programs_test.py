#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How often examples/programs lets ScaLAPACK's testers be run again with every product emulated: no more than native's rate explains. And
what it takes for a failure of ELPA.

usage: programs_test.py FOLDER
"""
import sys
import unittest

programs = scalapack_tests = elpa_tests = None


def jobs(again=None):
    names = list(scalapack_tests.TESTERS)
    lines = ['{"job": "%s", "failed": 0, "again": [%s]}' % (name, ", ".join(f'"{reason}"' for reason in (again or {}).get(name, [])))
             for name in names]
    return type("Run", (), {"text": "\n".join(lines)})


class TooOften(unittest.TestCase):
    def problems(self, before, after):
        tests = programs.OwnTests("scalapack_tests.py", 29, (), [])
        return tests.problems(tests.results(jobs(before)), tests.results(jobs(after)))

    def test_what_natives_rate_explains_is_reported_and_no_problem(self):
        again = {"xdllt": ["hung"] * 5, "xzsep": ["truncated", "hung"]}
        self.assertEqual(programs.OwnTests("", 1, (), []).results(jobs(again))["again"], again)
        self.assertEqual(self.problems({}, {}), [])
        self.assertEqual(self.problems({}, again), [])

    def test_a_job_that_hangs_more_often_is_one(self):
        self.assertEqual(self.problems({}, {"xzsep": ["hung"] * 3}), ["xzsep was run again 3 times, native 0 times"])
        self.assertEqual(self.problems({"xzsep": ["hung"] * 2}, {"xzsep": ["hung"] * 3}), ["xzsep was run again 3 times, native 2 times"])
        self.assertEqual(self.problems({"xzsep": ["hung"] * 3}, {"xzsep": ["hung"] * 3}), [])

    def test_many_jobs_that_hang_once_are_one(self):
        names = [name for name in scalapack_tests.TESTERS if name != "xdllt"]
        self.assertEqual(self.problems({}, {name: ["hung"] for name in names[:5]}), [])
        found = self.problems({}, {name: ["hung"] for name in names[:12]})
        self.assertEqual(len(found), 1)
        self.assertIn("12 attempts again of 29 jobs, native 0", found[0])
        self.assertEqual(self.problems({name: ["hung"] for name in names[:12]}, {name: ["hung"] for name in names[8:20]}), [])

    def test_reasons(self):
        self.assertEqual(scalapack_tests.why_again(124, "1 tests passed"), "hung")
        self.assertEqual(scalapack_tests.why_again(1, "*** MPI_ERR_TRUNCATE: message truncated"), "truncated")
        self.assertIsNone(scalapack_tests.why_again(0, "1 tests passed"))
        self.assertIsNone(scalapack_tests.why_again(1, "1 tests FAILED"))

    def test_every_attempt_is_counted_with_its_reason(self):
        outcomes = [(124, ""), (1, "MPI_ERR_TRUNCATE"), (0, "3 tests passed")]
        real = scalapack_tests.attempt, scalapack_tests.folder
        scalapack_tests.attempt, scalapack_tests.folder = lambda command, inputs: outcomes.pop(0), lambda: "/"
        try:
            line = scalapack_tests.run("xdlu", None)
        finally:
            scalapack_tests.attempt, scalapack_tests.folder = real
        self.assertEqual((line["attempts"], line["again"], line["failed"]), (3, ["hung", "truncated"], 0))


class Elpa(unittest.TestCase):
    def test_checks_that_are_not_made_have_failed(self):
        line = '{"check": "multiply", "ratio": 0.5, "good": true}\n'
        self.assertEqual(elpa_tests.failures(0, line * elpa_tests.NUM_CHECKS), 0)
        self.assertEqual(elpa_tests.failures(0, line * (elpa_tests.NUM_CHECKS - 2)), 2)
        self.assertEqual(elpa_tests.failures(1, line * (elpa_tests.NUM_CHECKS - 1) + line.replace("true", "false")), 1)
        self.assertEqual(elpa_tests.failures(139, line * elpa_tests.NUM_CHECKS), 1)
        self.assertEqual(elpa_tests.failures(124, ""), elpa_tests.NUM_CHECKS)

    def test_every_type_number_of_stages_and_of_ranks_is_run(self):
        self.assertEqual(len(set(elpa_tests.RUNS)), 12)
        self.assertEqual({int(name.split("_")[2]) for name in elpa_tests.RUNS}, {1, 2, 4})


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    import elpa_tests
    import programs
    import scalapack_tests
    unittest.main(argv=sys.argv[:1])
