# SPDX-License-Identifier: MIT
"""What the tests of the Python package share: exact products, the bound that judges, and the command line as the C++ side."""

import os
import subprocess
from fractions import Fraction

import numpy as np
import pytest

DTYPES = ("float32", "float64", "complex64", "complex128")


def random(rng, shape, dtype, spread=0):
    """Normal numbers of a type, times powers of two up to 2^spread."""
    def parts():
        return np.ldexp(rng.standard_normal(shape), rng.integers(-spread, spread + 1, shape))

    return (parts() + 1j * parts() if dtype.startswith("complex") else parts()).astype(dtype)


def whole(rng, shape, dtype):
    """Small whole numbers, whose products are exact in every type: any correct matmul gives the same bits."""
    x = rng.integers(-9, 10, shape)
    return (x + 1j * rng.integers(-9, 10, shape) if dtype.startswith("complex") else x).astype(dtype)


def same_bits(x, y):
    x, y = np.asarray(x), np.asarray(y)
    return x.shape == y.shape and x.dtype == y.dtype and x.tobytes() == y.tobytes()


def holds(a, b, c, bound):
    """Whether |c - ab| <= bound |a||b| for every element, in exact arithmetic. Real matrices."""
    if not all(np.isfinite(x).all() for x in (a, b, c)):
        return False
    rows, cols, limit = ([[Fraction(float(x)) for x in line] for line in m] for m in (a, b.T, [[bound]]))
    for i, row in enumerate(rows):
        for j, col in enumerate(cols):
            exact = sum(x * y for x, y in zip(row, col))
            gauge = sum(abs(x * y) for x, y in zip(row, col))
            if not abs(Fraction(float(c[i, j])) - exact) <= limit[0][0] * gauge:
                return False
    return True


@pytest.fixture
def rng():
    return np.random.default_rng(20)


@pytest.fixture
def command_line(tmp_path):
    """gemm(a, b, *options) by the program `kizami`, the C++ library's own user."""
    program = os.environ.get("KIZAMI_PROGRAM")
    if not program:
        pytest.skip("KIZAMI_PROGRAM does not name the command line")

    def gemm(a, b, *options, c=None):
        paths = [tmp_path / name for name in ("a.npy", "b.npy", "c.npy", "out.npy")]
        np.save(paths[0], a)
        np.save(paths[1], b)
        if c is not None:
            np.save(paths[2], c)
            options += ("--c", str(paths[2]))
        subprocess.run([program, "gemm", str(paths[0]), str(paths[1]), "-o", str(paths[3]), *options], check=True,
                       capture_output=True)
        return np.load(paths[3])

    return gemm
