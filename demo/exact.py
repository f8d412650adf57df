"""Exact matrix products of float64 matrices, and the error of a computed product against them.

A float64 matrix is an array of Python integers times one power of two. Its product with another is an integer matrix
again: both are cut into limbs so short that NumPy multiplies them in float64 without rounding, and Python's integers
add up the rest. No code is shared with Kizami.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass
class Exact:
    """The matrix ints * 2**exponent; ints is an array of Python integers of any length."""

    ints: np.ndarray
    exponent: int

    def __matmul__(self, other):
        return Exact(integer_product(self.ints, other.ints), self.exponent + other.exponent)

    @property
    def T(self):
        return Exact(self.ints.T, self.exponent)

    def rounded(self):
        """Every element correctly rounded to float64: int / int is, in Python."""
        down, up = 1 << max(-self.exponent, 0), 1 << max(self.exponent, 0)
        return (self.ints * up / down).astype(np.float64)


def significands(x):
    """Integers and exponents with x = ints * 2**exponents, elementwise and exactly."""
    fraction, exponents = np.frexp(np.asarray(x, dtype=np.float64))
    return (fraction * 2.0**53).astype(np.int64).astype(object), exponents.astype(np.int64) - 53


def exact(x):
    ints, exponents = significands(x)
    used = exponents[ints != 0]
    low = int(used.min()) if used.size else 0
    return Exact(ints << np.maximum(exponents - low, 0).astype(object), low)


def integer_product(a, b):
    """a @ b for arrays of Python integers. Any sum of k products of limbs stays below 2**53, so float64 holds it."""
    k = a.shape[1]
    bits = (53 - (k - 1).bit_length()) // 2
    limbs_a, limbs_b = limbs(a, bits), limbs(b, bits)
    total = np.zeros((a.shape[0], b.shape[1]), dtype=object)
    for weight in reversed(range(len(limbs_a) + len(limbs_b) - 1)):
        pairs = range(max(0, weight - len(limbs_b) + 1), min(weight + 1, len(limbs_a)))
        layer = sum((limbs_a[i] @ limbs_b[weight - i]).astype(np.int64) for i in pairs)
        total = (total << bits) + layer.astype(object)
    check_by_definition(a, b, total)
    return total


def limbs(x, bits):
    """float64 arrays with x = sum of limbs[i] * 2**(bits * i)."""
    sign, rest, out = np.where(x < 0, -1.0, 1.0), np.abs(x), []
    while not out or rest.any():
        out.append(sign * (rest & ((1 << bits) - 1)).astype(np.float64))
        rest = rest >> bits
    return out


def check_by_definition(a, b, product, samples=8):
    """The exact product is itself checked: a few elements as plain sums of Python integers."""
    rng = np.random.default_rng(1)
    for i, j in zip(rng.integers(a.shape[0], size=samples), rng.integers(b.shape[1], size=samples)):
        if sum(x * y for x, y in zip(a[i].tolist(), b[:, j].tolist())) != product[i, j]:
            raise ArithmeticError(f"the exact product is wrong at ({i}, {j})")


class Reference:
    """The exact product of two float64 matrices, and the gauge |A||B| in float64, far more than ratios need."""

    def __init__(self, a, b):
        product, gauge = exact(a) @ exact(b), exact(np.abs(a) @ np.abs(b))
        self.exponent = min(product.exponent, gauge.exponent)  # the unit of both
        self.product = product.ints << (product.exponent - self.exponent)
        self.gauge = gauge.ints << (gauge.exponent - self.exponent)

    def exact(self):
        return Exact(self.product, self.exponent)

    @cached_property
    def rounded(self):
        return self.exact().rounded()

    def errors(self, c):
        """|C - AB| / (|A||B|) of every element, in integers up to the final division; inf where C is not finite."""
        c = np.asarray(c, dtype=np.float64)
        is_finite = np.isfinite(c)
        ints, exponents = significands(np.where(is_finite, c, 0.0))
        shift = exponents - self.exponent
        up, down = (np.maximum(s, 0).astype(object) for s in (shift, -shift))
        difference = np.abs((ints << up) - (self.product << down))
        scale = self.gauge << down
        is_empty = scale == 0  # then AB is 0, and so must C be
        ratio = (difference / np.where(is_empty, 1, scale)).astype(np.float64)
        return np.where(~is_finite | (is_empty & (difference != 0)), np.inf, ratio)

    def share_correctly_rounded(self, c):
        return float(np.mean(np.asarray(c, dtype=np.float64) == self.rounded))
