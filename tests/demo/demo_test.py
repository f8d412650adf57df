#!/usr/bin/env python3
"""demo_test.py PROGRAM: the demo's exact products against fractions, and its judge against answers that are wrong.

Exits with 77 (skipped) if neither this Python nor that of build/venv has NumPy and matplotlib.
"""

import contextlib
import importlib.util
import io
import os
import sys
import tempfile
import unittest
from fractions import Fraction
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / "build" / "venv" / "bin" / "python"

if not all(importlib.util.find_spec(name) for name in ("numpy", "matplotlib")):
    if not VENV.exists() or Path(sys.executable) == VENV:
        print("skipped: needs NumPy and matplotlib (./kz test installs them into build/venv)")
        sys.exit(77)
    os.execv(VENV, [str(VENV), *sys.argv])

sys.path.insert(0, str(ROOT / "demo"))
import numpy as np  # noqa: E402
import run_demo  # noqa: E402
from exact import Reference, check_by_definition, exact  # noqa: E402
from methods import Answer, Kizami  # noqa: E402


def fractions(a, b):
    """AB and |A||B| by definition."""
    rows, cols = ([[Fraction(x) for x in line] for line in lines.tolist()] for lines in (a, b.T))
    product = [[sum(x * y for x, y in zip(row, col)) for col in cols] for row in rows]
    return product, [[sum(abs(x * y) for x, y in zip(row, col)) for col in cols] for row in rows]


def operands():
    """Random matrices of several spreads, with zeros, a zero row and subnormal numbers."""
    rng = np.random.default_rng(5)
    for m, k, n, spread in ((1, 1, 1, 0), (3, 7, 5, 0), (5, 40, 4, 30), (4, 33, 6, 300)):
        a, b = (np.ldexp(rng.standard_normal(s), rng.integers(-spread, spread + 1, s)) for s in ((m, k), (k, n)))
        a[rng.random(a.shape) < 0.2] = 0
        a[0] = 0 if m > 4 else a[0]
        yield a, b
    yield np.array([[5e-324, -1e-310]]), np.array([[1.0], [3.0]])


class ExactProducts(unittest.TestCase):
    def test_equals_fractions(self):
        for a, b in operands():
            product, _ = fractions(a, b)
            got = exact(a) @ exact(b)
            for i, j in np.ndindex(got.ints.shape):
                self.assertEqual(got.ints[i, j] * Fraction(2) ** got.exponent, product[i][j])

    def test_rounds_correctly(self):
        for a, b in operands():
            product, _ = fractions(a, b)
            self.assertTrue(np.array_equal(Reference(a, b).rounded, [[float(x) for x in row] for row in product]))

    def test_errors_are_those_of_fractions(self):
        for a, b in operands():
            product, gauge = fractions(a, b)
            c = a @ b * (1 + 1e-9)
            errors = Reference(a, b).errors(c)
            for i, j in np.ndindex(c.shape):
                difference = abs(Fraction(float(c[i, j])) - product[i][j])
                wanted = float(difference / gauge[i][j]) if gauge[i][j] else float(difference)
                self.assertLessEqual(abs(errors[i, j] - wanted), 1e-12 * wanted)

    def test_what_is_not_finite_or_not_zero_where_it_must_be_errs_infinitely(self):
        reference = Reference(np.array([[0.0], [1.0], [1.0]]), np.array([[1.0]]))
        self.assertEqual(reference.errors(np.array([[0.0], [np.nan], [np.inf]])).ravel().tolist(), [0, np.inf, np.inf])
        self.assertEqual(reference.errors(np.array([[1e-300], [1.0], [2.0]])).ravel().tolist(), [np.inf, 0, 1])

    def test_a_wrong_product_is_seen(self):
        a, b = exact(np.eye(2)), exact(np.ones((2, 2)))
        with self.assertRaises(ArithmeticError):
            check_by_definition(a.ints, b.ints, (a @ b).ints + 1)


class TheJudge(unittest.TestCase):
    A, B = np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])  # AB = 11

    def failures(self, c, error, bound=2.0**-52, runs=6, equal_runs=6):
        report = {"bound": bound, "gauge": "entry", "error": error, "checked_elements": 1}
        judge, method = run_demo.Judge(), Kizami(None, "", "method")
        answer = Answer(np.array([[c]]), "", 0, report, runs, equal_runs)
        with contextlib.redirect_stdout(io.StringIO()):
            judge.row("product", method, Reference(self.A, self.B), answer)
        return len(judge.failures)

    def test_passes_what_is_right(self):
        self.assertEqual(self.failures(11.0, 0.0), 0)

    def test_sees_a_broken_bound(self):
        c = np.nextafter(11.0, 12.0)
        error = float(Fraction(c) - 11) / 11
        self.assertEqual(self.failures(c, error), 0)
        self.assertEqual(self.failures(c, error, bound=error / 2), 1)

    def test_sees_nan(self):
        self.assertGreaterEqual(self.failures(np.nan, 0.0), 1)

    def test_sees_other_bits(self):
        self.assertEqual(self.failures(11.0, 0.0, equal_runs=5), 1)

    def test_sees_a_check_that_says_otherwise(self):
        self.assertEqual(self.failures(11.0, 1e-17), 1)


class ThePart(unittest.TestCase):
    def test_inverses(self):
        judge = run_demo.Judge()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            run_demo.inverses(judge, partial(Kizami, PROGRAM, folder))
        self.assertEqual(judge.failures, [])
        self.assertGreater(judge.runs, 0)


if __name__ == "__main__":
    PROGRAM = Path(sys.argv.pop(1)).resolve()
    unittest.main()
