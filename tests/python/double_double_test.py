# SPDX-License-Identifier: MIT
"""kizami.matmul_dd: products in double-double against fractions, the bits of the command line, pairs of parts."""

import os
import subprocess
from fractions import Fraction

import kizami
import numpy as np
import pytest
from conftest import random, same_bits
from kizami import DoubleDouble


def value(x, *index):
    return Fraction(float(x.hi[index])) + Fraction(float(x.lo[index]))


def pair(rng, shape, spread=0):
    hi = random(rng, shape, "float64", spread)
    return DoubleDouble(hi, hi * 2.0**-54 * rng.standard_normal(shape))


def worst_ratio(a, b, c):
    """The largest |C - AB| / |A||B| in exact arithmetic."""
    worst = Fraction(0)
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            terms = [value(a, i, k) * value(b, k, j) for k in range(a.shape[1])]
            worst = max(worst, abs(value(c, i, j) - sum(terms)) / sum(abs(x) for x in terms))
    return worst


@pytest.mark.parametrize("bits", [60, 80, 100])
@pytest.mark.parametrize("spread", [0, 20])
def test_the_bound_holds(rng, bits, spread):
    a, b = pair(rng, (7, 50), spread), pair(rng, (50, 6), spread)
    c, outcome = kizami.matmul_dd(a, b, policy=f"bits={bits}", return_outcome=True)
    assert worst_ratio(a, b, c) <= Fraction(outcome.bound) <= Fraction(2) ** -bits
    # More than FP64 holds: the low parts count.
    assert outcome.scheme == "ozaki2" and np.count_nonzero(c.lo) == 42 and worst_ratio(a, b, DoubleDouble(c.hi)) > Fraction(outcome.bound)
    floats, outcome = kizami.matmul_dd(a.hi, b.hi, policy=f"bits={bits}", return_outcome=True)
    assert worst_ratio(DoubleDouble(a.hi), DoubleDouble(b.hi), floats) <= Fraction(outcome.bound)


def test_native_is_what_double_double_arithmetic_guarantees(rng):
    a, b = pair(rng, (5, 200)), pair(rng, (200, 4))
    c, outcome = kizami.matmul_dd(a, b, return_outcome=True)
    assert worst_ratio(a, b, c) <= Fraction(outcome.bound) < Fraction(1, 2**90)


def test_shapes_and_views(rng):
    a, b = pair(rng, (3, 4)), pair(rng, (5, 4))
    want = kizami.matmul_dd(a, DoubleDouble(np.ascontiguousarray(b.hi.T), np.ascontiguousarray(b.lo.T)), policy="bits=100")
    for right in (b.T, b[::-1][::-1].T):
        assert same_bits(kizami.matmul_dd(a, right, policy="bits=100").pairs, want.pairs)
    assert same_bits(kizami.matmul_dd(a[1], b.T, policy="bits=100").pairs, want.pairs[1])
    assert same_bits(kizami.matmul_dd(a[::2], b.T, policy="bits=100").pairs, want.pairs[::2])
    assert same_bits(kizami.matmul_dd(a[0], b[2], policy="bits=100").pairs, want.pairs[0, 2])
    stack, outcome = kizami.matmul_dd(DoubleDouble(np.stack([a.hi] * 2), np.stack([a.lo] * 2)), b.T, policy="bits=100", return_outcome=True)
    assert len(outcome.products) == 2 and same_bits(stack.pairs[1], want.pairs)
    assert kizami.matmul_dd(np.ones((2, 0)), np.ones((0, 3))).hi.tolist() == [[0.0] * 3] * 2


def test_float64_beside_pairs(rng):
    a, b = random(rng, (3, 9), "float64"), pair(rng, (9, 2))
    assert same_bits(kizami.matmul_dd(a, b, policy="bits=100").pairs, kizami.matmul_dd(DoubleDouble(a), b, policy="bits=100").pairs)


def test_the_command_line_gives_the_same(rng, tmp_path):
    program = os.environ.get("KIZAMI_PROGRAM")
    if not program:
        pytest.skip("KIZAMI_PROGRAM does not name the command line")
    a, b = pair(rng, (20, 30), 8), pair(rng, (30, 10), 8)
    np.save(tmp_path / "a.npy", a.pairs)
    np.save(tmp_path / "b.npy", b.pairs)
    subprocess.run([program, "gemm", "a.npy", "b.npy", "-o", "c.npy", "--dd", "--accuracy", "bits=90"], cwd=tmp_path, check=True, capture_output=True)
    assert same_bits(np.load(tmp_path / "c.npy"), kizami.matmul_dd(a, b, policy="bits=90").pairs)


def test_parts_are_made_anew(rng):
    x, y = random(rng, (200,), "float64", 60), random(rng, (200,), "float64", 60)
    z = DoubleDouble(x, y)
    for i in range(200):
        assert value(z, i) == Fraction(float(x[i])) + Fraction(float(y[i]))
    assert (z.hi + z.lo == z.hi).all() and same_bits(np.asarray(z), z.hi)
    assert DoubleDouble([np.inf, np.nan, 1e308], [1.0, 1.0, 1e308]).lo.tolist() == [0.0] * 3
    assert same_bits(DoubleDouble.from_pairs(z.pairs).pairs, z.pairs)


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda: kizami.matmul_dd(np.ones((2, 3)), np.ones((2, 3))), kizami.InvalidArgumentError, "b has 2 rows"),
    (lambda: kizami.matmul_dd(np.ones((2, 2, 2)), np.ones((3, 2, 2))), kizami.InvalidArgumentError, "broadcast"),
    (lambda: kizami.matmul_dd(1.0, np.ones(2)), kizami.InvalidArgumentError, "at least one axis"),
    (lambda: kizami.matmul_dd(np.ones(2, "float32"), np.ones(2)), kizami.DTypeError,
     r"a is of type float32, must be float64; use a\.astype\('float64'\)"),
    (lambda: kizami.matmul_dd(np.ones(2), [1, 2]), kizami.DTypeError, r"b is of type int64, must be float64; use numpy\.asarray\(b, 'float64'\)"),
    (lambda: kizami.matmul_dd(DoubleDouble(np.ones(2)), np.ones(2, int)), kizami.DTypeError, r"b is of type int64, .*; use b\.astype"),
    (lambda: kizami.matmul_dd(np.ones(2, complex), np.ones(2)), kizami.DTypeError, "a is of type complex128, must be float64$"),
    (lambda: kizami.matmul_dd(np.ones(2), np.ones(2), policy="bits=101"), kizami.InvalidArgumentError, "bits"),
    (lambda: kizami.matmul_dd(np.ones(2), np.ones(2), policy=kizami.Policy(scheme="native")), kizami.KizamiError, "(?i)dd|double"),
    (lambda: DoubleDouble(np.ones(2), np.ones(3)), kizami.InvalidArgumentError, "lo has shape"),
    (lambda: DoubleDouble.from_pairs(np.ones((3, 3))), kizami.InvalidArgumentError, "pairs has shape"),
])
def test_refusals(call, error, text):
    with pytest.raises(error, match=text):
        call()
