# SPDX-License-Identifier: MIT
"""tolerance= and slices=: the bound is kept, nothing cheaper would keep it, and what cannot be kept is refused."""

import dataclasses
from fractions import Fraction

import kizami
import numpy as np
import pytest
from conftest import holds, random, same_bits
from kizami import Tolerance


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("tolerance", [0.7, 0.5, 0.3, 2.0**-10, 1e-4, 1e-6, 2.0**-23, 1e-9, 2.0**-52, 2.0**-53])
def test_an_entry_tolerance_is_kept(rng, dtype, tolerance):
    a, b = random(rng, (6, 90), dtype, 6), random(rng, (90, 5), dtype, 6)
    if dtype == "float32" and tolerance < 2.0**-24:
        with pytest.raises(kizami.AccuracyUnreachableError, match="tolerance = .* of float32, must be one that a plan guarantees"):
            kizami.matmul(a, b, tolerance=tolerance)
        return
    c, outcome = kizami.matmul(a, b, tolerance=tolerance, return_outcome=True)
    assert holds(a, b, c, outcome.bound) and outcome.bound <= tolerance and outcome.gauge == "entry"


@pytest.mark.parametrize("gauge", ["entry", "norm"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_nothing_cheaper_would_do(gauge, dtype):
    """Of all policies by bits and gauge that guarantee the tolerance, none has fewer moduli."""
    max_bits = 52 if dtype in ("float64", "complex128") else 23
    plans = [kizami.plan(40, 30, 500, dtype, policy=kizami.Policy(f"bits={bits}", gauge=g)) for bits in range(1, max_bits + 1)
             for g in ("entry", "norm")]
    for tolerance in (0.4, 1e-2, 3e-5, 2e-7):
        got = kizami.plan(40, 30, 500, dtype, tolerance=Tolerance(tolerance, gauge))
        enough = [p for p in plans if p.bound <= tolerance and (p.gauge == "entry" or gauge == "norm")]
        assert got.bound <= tolerance and (got.gauge == "entry" or gauge == "norm")
        assert got.base_moduli == min(p.base_moduli for p in enough)
    cheap, dear = (kizami.plan(40, 30, 500, dtype, tolerance=t) for t in (1e-2, 2e-7))
    assert cheap.base_moduli < dear.base_moduli


def test_a_norm_tolerance_is_kept(rng):
    a, b = random(rng, (6, 60), "float64", 10), random(rng, (60, 5), "float64", 10)
    c, outcome = kizami.matmul(a, b, tolerance=Tolerance(1e-8, "norm"), return_outcome=True)
    assert outcome.gauge == "norm" and outcome.bound <= 1e-8
    for i, row in enumerate(a):
        for j, col in enumerate(b.T):
            x, y = [Fraction(float(v)) for v in row], [Fraction(float(v)) for v in col]
            error = Fraction(float(c[i, j])) - sum(p * q for p, q in zip(x, y))
            assert error**2 <= Fraction(outcome.bound) ** 2 * sum(p * p for p in x) * sum(q * q for q in y)


def test_a_tolerance_is_a_policy(rng):
    a, b = random(rng, (30, 40), "float64"), random(rng, (40, 20), "float64")
    assert same_bits(kizami.matmul(a, b, tolerance=1e-10), kizami.matmul(a, b, policy="bits=34"))
    assert same_bits(kizami.matmul(a, b, tolerance=2.0**-34), kizami.matmul(a, b, policy="bits=34"))
    assert same_bits(kizami.matmul(a, b, tolerance=2.0**-53), kizami.matmul(a, b, policy="correct"))
    plan = kizami.plan(30, 20, 40, tolerance=1e-10)
    assert plan.policy == kizami.Policy("bits=34") and same_bits(plan.run(a, b), kizami.matmul(a, b, tolerance=1e-10))
    # The other fields of a policy stay, and that in force counts.
    with kizami.precision(scheme="ozaki1"):
        _, outcome = kizami.matmul(a, b, tolerance=1e-6, return_outcome=True)
    assert outcome.scheme == "ozaki1" and outcome.bound <= 1e-6
    _, outcome = kizami.gemm(2.0, a, b, tolerance=1e-6, policy=kizami.Policy(scheme="ozaki1"), return_outcome=True)
    assert outcome.scheme == "ozaki1"


def test_where_bits_may_differ_the_quickest_is_taken():
    policy = kizami.Policy(reproducibility="none")
    for tolerance in (1e-3, 1e-12):
        plan = kizami.plan(300, 300, 300, tolerance=tolerance, policy=policy)
        others = [kizami.plan(300, 300, 300, policy=dataclasses.replace(policy, accuracy=f"bits={n}")) for n in range(1, 53)]
        assert plan.bound <= tolerance and plan.predicted_seconds <= min(p.predicted_seconds for p in others if p.bound <= tolerance)


def test_a_product_with_beta_is_not_correct(rng):
    a = random(rng, (3, 3), "float64")
    with pytest.raises(kizami.AccuracyUnreachableError, match="tolerance"):
        kizami.gemm(1.0, a, a, 1.0, a, tolerance=2.0**-53)


@pytest.mark.parametrize("slices", [1, 3, 7, 12, -1])
def test_slices(rng, slices):
    a, b = random(rng, (8, 60), "float64", 3), random(rng, (60, 7), "float64", 3)
    c, outcome = kizami.matmul(a, b, slices=slices, return_outcome=True)
    assert outcome.scheme == "ozaki1" and (outcome.slices == slices or slices == -1) and holds(a, b, c, outcome.bound)
    assert same_bits(c, kizami.matmul(a, b, policy=kizami.Policy(scheme="ozaki1", slices=slices)))
    if slices > 1:
        assert outcome.bound < kizami.matmul(a, b, slices=slices - 1, return_outcome=True)[1].bound
    assert kizami.plan(8, 7, 60, slices=slices).scheme == "ozaki1"
    assert same_bits(kizami.einsum("ij,jk->ik", a, b, slices=slices), c) and same_bits(kizami.gemm(1, a, b, slices=slices), c)


@pytest.mark.parametrize(("wish", "error", "text"), [
    ({"tolerance": 0.0}, kizami.InvalidArgumentError, "tolerance = 0.0, must be positive"),
    ({"tolerance": -1.0}, kizami.InvalidArgumentError, "must be positive"), ({"tolerance": float("nan")}, kizami.InvalidArgumentError, "must be positive"),
    ({"tolerance": float("inf")}, kizami.InvalidArgumentError, "finite"), ({"tolerance": "1e-3"}, kizami.DTypeError, "tolerance = '1e-3' is of type str"),
    ({"tolerance": True}, kizami.DTypeError, "is of type bool"), ({"tolerance": 1e-17}, kizami.AccuracyUnreachableError, "tolerance = .*e-1[78] .entry. of float64, must be one that a plan"),
    ({"tolerance": 1e-3, "slices": 3}, kizami.InvalidArgumentError, "must be one of the two"),
    ({"tolerance": 1e-3, "policy": "native"}, kizami.InvalidArgumentError, "policy = 'native' and tolerance"),
    ({"slices": 2, "policy": "native"}, kizami.InvalidArgumentError, "policy = 'native' and slices"),
    ({"slices": 0}, kizami.InvalidArgumentError, "slices = 0, must be"), ({"slices": 21}, kizami.InvalidArgumentError, "slices = .21.*, must be"),
    ({"slices": 2.0}, kizami.DTypeError, "slices = 2.0 is of type float"),
])
def test_refusals(wish, error, text):
    for call in (lambda **kw: kizami.matmul(np.ones((2, 2)), np.ones((2, 2)), **kw), lambda **kw: kizami.plan(2, 2, 2, **kw),
                 lambda **kw: kizami.multi_dot([np.ones((2, 2))] * 3, **kw)):
        with pytest.raises(error, match=text):
            call(**wish)


def test_a_gauge_that_is_none_is_refused():
    with pytest.raises(kizami.InvalidArgumentError, match="gauge = 'frobenius'"):
        Tolerance(1e-3, "frobenius")
