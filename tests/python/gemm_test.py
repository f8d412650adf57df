# SPDX-License-Identifier: MIT
"""kizami.gemm on NumPy arrays: BLAS's semantics, the bits of the C++ library."""

import itertools

import kizami
import numpy as np
import pytest
from conftest import DTYPES, random, same_bits, whole
from matmul_test import refused

OPS = {"n": lambda x: x, "t": lambda x: x.T, "c": lambda x: x.conj().T, "r": lambda x: x.conj()}


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_operation(rng, dtype):
    alpha, beta = (2 - 1j, -3 + 1j) if dtype.startswith("complex") else (2, -3)
    for op_a, op_b in itertools.product(OPS, repeat=2):
        a = whole(rng, (5, 7) if op_a in "nr" else (7, 5), dtype)
        b = whole(rng, (7, 6) if op_b in "nr" else (6, 7), dtype)
        c = whole(rng, (5, 6), dtype)
        want = (alpha * (OPS[op_a](a) @ OPS[op_b](b)) + beta * c).astype(dtype)
        assert same_bits(kizami.gemm(alpha, a, b, beta, c, op_a, op_b) + 0, want + 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_bits_are_those_of_the_command_line(rng, command_line, dtype):
    a, b, c = random(rng, (130, 21), dtype, 9), random(rng, (17, 130), dtype, 9), random(rng, (21, 17), dtype, 9)
    want = command_line(a, b, "--op", "tt", "--alpha", "0.7", "--beta=-1.3", c=c)
    assert same_bits(kizami.gemm(0.7, a, b, -1.3, c, "t", "t"), want)
    if dtype.startswith("complex"):
        want = command_line(a, b, "--op", "ct", "--alpha", "0.7-2i", "--beta=1.5i", c=c)
        assert same_bits(kizami.gemm(0.7 - 2j, a, b, 1.5j, c, "c", "t"), want)


def test_beta_zero_never_reads_c_and_alpha_zero_never_the_operands():
    a, c = np.ones((2, 2)), np.full((2, 2), np.nan)
    assert kizami.gemm(1.0, a, a, 0.0, c).tolist() == [[2, 2], [2, 2]]
    assert kizami.gemm(1.0, a, a, 0.0, c, out=c) is c and c.tolist() == [[2, 2], [2, 2]]
    assert kizami.gemm(0.0, np.full((2, 2), np.nan), a, 3.0, a).tolist() == [[3, 3], [3, 3]]
    assert kizami.gemm(1.0, np.ones((2, 0)), np.ones((0, 2)), 3.0, a).tolist() == [[3, 3], [3, 3]]


def test_update_in_place_and_elsewhere(rng):
    a, b, c = whole(rng, (4, 5), "float64"), whole(rng, (5, 6), "float64"), whole(rng, (4, 6), "float64")
    want, before = a @ b + 2 * c, c.copy()
    assert same_bits(kizami.gemm(1, a, b, 2, c), want) and same_bits(c, before)
    out = np.empty_like(c)
    assert kizami.gemm(1, a, b, 2, c, out=out) is out and same_bits(out, want) and same_bits(c, before)
    for place in (c.copy(), np.asfortranarray(c), np.ascontiguousarray(c[::-1])[::-1]):
        assert kizami.gemm(1, a, b, 2, place, out=place) is place and same_bits(place, want)
    wide = np.zeros((5, 6))
    wide[:4] = c
    kizami.gemm(1, a, b, 2, wide[:4], out=wide[1:])  # c and out overlap
    assert same_bits(wide[1:], want)
    square = whole(rng, (4, 4), "float64")
    expected = square @ square + 2 * square
    assert same_bits(kizami.gemm(1, square, square, 2, square, out=square), expected)


def test_batches_and_the_outcome(rng):
    a, b, c = random(rng, (3, 8, 9), "float64"), random(rng, (9, 5), "float64"), random(rng, (3, 8, 5), "float64")
    got, outcome = kizami.gemm(0.5, a, b, 2.0, c, return_outcome=True)
    for i in range(3):
        assert same_bits(got[i], kizami.gemm(0.5, a[i], b, 2.0, c[i]))
    assert len(outcome.products) == 3 and outcome.bound == max(x.bound for x in outcome.products)


def test_arguments_are_refused():
    x = np.ones((2, 2))
    refused(ValueError, "trans_a = 'x', must be one of 'n', 't', 'c', 'r'", kizami.gemm, 1, x, x, trans_a="x")
    refused(ValueError, "b has fewer than two axes", kizami.gemm, 1, x, np.ones(2))
    refused(ValueError, "c is None and beta = ", kizami.gemm, 1, x, x, 2.0)
    refused(ValueError, r"c has shape \(2, 3\), must be \(2, 2\)", kizami.gemm, 1, x, x, 1, np.ones((2, 3)))
    refused(TypeError, "c is of type float32, must be float64", kizami.gemm, 1, x, x, 1, x.astype(np.float32))
    refused(TypeError, "alpha = 1j is complex, must be real", kizami.gemm, 1j, x, x)
    refused(TypeError, "beta = 'x' is of type str, must be a number", kizami.gemm, 1, x, x, "x")
    refused(NotImplementedError, "accuracy correct: alpha = 2", kizami.gemm, 2, x, x, policy="correct")
    assert kizami.gemm(np.float32(2), x, x).tolist() == [[4, 4], [4, 4]]
    assert kizami.gemm(np.array(2.0), x, x).tolist() == [[4, 4], [4, 4]]
    assert np.isnan(kizami.gemm(np.nan, x, x)).all()
