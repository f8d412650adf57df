#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Python: a linear system solved to the last bit by residuals that are rounded once.

Iterative refinement corrects x by the solution of A d = b - A x. The residual is a difference of nearly equal numbers: computed
natively it is noise, and refinement does not get anywhere. As one product, [A, b] [x; -1], at accuracy "correct", it is the
exact residual rounded once, and x converges to the exact solution. The matrix is Hilbert's, times a number that makes it whole,
with condition 1e13; its solution is known: x = 1, 2, 3, ...

Exits with 1 unless the refined solution is exact.
"""

import math
import sys

import kizami
import numpy as np

N = 10


def system():
    """A, b and x of A x = b, all exact."""
    whole = math.lcm(*range(1, 2 * N))
    a = np.array([[whole // (i + j + 1) for j in range(N)] for i in range(N)], dtype=np.float64)
    x = np.arange(1.0, N + 1)
    return a, a @ x, x  # whole numbers below 2^53: no rounding


def refined(a, b, residual, steps=6):
    """The solution after `steps` corrections."""
    x = np.linalg.solve(a, b)
    for _ in range(steps):
        x -= np.linalg.solve(a, residual(x))
    return x


def main():
    a, b, exact = system()
    a_b = np.column_stack([a, b])

    def native(x):
        return a @ x - b

    def correct(x):
        return kizami.matmul(a_b, np.append(x, -1.0), policy="correct")

    errors = {}
    for name, x in (("no refinement", np.linalg.solve(a, b)), ("residuals in float64", refined(a, b, native)),
                    ("residuals by kizami", refined(a, b, correct))):
        errors[name] = np.max(np.abs(x - exact) / exact)
        print(f"{name:20}  largest relative error {errors[name]:.1e}")
    return 0 if errors["residuals by kizami"] == 0 < errors["residuals in float64"] else 1


if __name__ == "__main__":
    sys.exit(main())
