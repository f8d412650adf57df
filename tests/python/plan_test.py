# SPDX-License-Identifier: MIT
"""kizami.plan, prepare, Outcome: decisions, reuse, refusals, and how they show themselves."""

import importlib.util
import io

import kizami
import numpy as np
import pytest
from conftest import random, same_bits


def test_a_plan_serves_many_products(rng):
    plan = kizami.plan(20, 15, 70, policy="bits=45")
    for batch in ((), (3,)):
        a, b = random(rng, (*batch, 20, 70), "float64", 5), random(rng, (70, 15), "float64", 5)
        c, outcome = plan.run(a, b, return_outcome=True)
        assert same_bits(c, kizami.matmul(a, b, policy="bits=45"))
        assert outcome.bound <= plan.bound <= 2.0**-45
    out = np.zeros((20, 15))
    x, y = random(rng, (70, 20), "float64"), random(rng, (15, 70), "float64")
    assert plan.run(x, y, alpha=2, beta=3, c=out, trans_a="t", trans_b="c", out=out) is out
    assert same_bits(out, kizami.gemm(2, x, y, trans_a="t", trans_b="t", policy="bits=45"))


def test_what_a_plan_says():
    plan = kizami.plan(100, 80, 300, np.complex64, policy=kizami.Policy("native", gauge="norm"))
    assert (plan.m, plan.n, plan.k, plan.dtype, plan.device) == (100, 80, 300, "complex64", "cpu")
    assert plan.scheme == "ozaki2" and plan.gauge == "norm" and 0 < plan.base_moduli <= plan.max_moduli
    assert plan.workspace_bytes > 0 and plan.predicted_seconds > 0 and plan.num_products == 1 and plan.variant == "auto"
    assert plan.numerics_hash == kizami.plan(100, 5, 300, np.complex64, policy=plan.policy).numerics_hash
    assert plan.numerics_hash != kizami.plan(100, 80, 300, np.complex64).numerics_hash
    assert "ozaki2" in plan.explain()


def test_operands_that_do_not_fit_are_refused(rng):
    plan, x = kizami.plan(4, 4, 4), np.ones((4, 4))
    for a, b, text in ((np.ones((5, 4)), x, "m = 5 of the operands, must be 4 as in the plan"),
                       (x, np.ones((4, 3)), "n = 3"), (np.ones((4, 2)), np.ones((2, 4)), "k = 2"),
                       (x.astype(np.float32), x.astype(np.float32), "dtype = 'float32' of the operands, must be 'float64'")):
        with pytest.raises(kizami.InvalidArgumentError, match=text):
            plan.run(a, b)


@pytest.mark.parametrize(("args", "kwargs", "error", "text"), [
    ((-1, 2, 2), {}, kizami.InvalidArgumentError, "m = -1, must be >= 0"),
    ((2, 2**34, 2), {}, kizami.InvalidArgumentError, "n = 17179869184"),
    ((2, 2, 2.0), {}, kizami.DTypeError, "k = 2.0 is of type float, must be int"),
    ((2, 2, 2, "int8"), {}, kizami.InvalidArgumentError, "dtype = 'int8', must be one of float32"),
    ((2, 2, 2), {"device": "tpu"}, kizami.InvalidArgumentError, "device = 'tpu', must be 'cpu', 'cuda' or 'cuda:N'"),
    ((2, 2, 2), {"device": "cuda:7777"}, kizami.KizamiError, "(?i)cuda"),
    ((500, 500, 500), {"policy": kizami.Policy(workspace=100)}, kizami.WorkspaceTooSmallError, "workspace"),
    ((5, 5, 5), {"policy": kizami.Policy("bits=52", scheme="native")}, kizami.AccuracyUnreachableError, "native"),
    ((5, 5, 5), {"policy": kizami.Policy(scheme="native", engine="cpu_ref")}, kizami.UnsupportedError, "cpu_ref"),
])
def test_plans_are_refused(args, kwargs, error, text):
    with pytest.raises(error, match=text):
        kizami.plan(*args, **kwargs)


@pytest.mark.parametrize("scheme", ["ozaki2", "ozaki1"])
def test_prepared_operands_give_the_same_bits(rng, scheme):
    policy = kizami.Policy("bits=40", scheme=scheme)
    a, b = random(rng, (20, 50), "complex128", 2), random(rng, (50, 10), "complex128", 2)
    plan = kizami.plan(20, 10, 50, "complex128", policy=policy)
    want = plan.run(a, b)
    left, right = kizami.prepare(plan, "a", a), kizami.prepare(plan, "b", b)
    assert left.shape == (20, 50) and left.size_bytes > 0 and left.side == "a" and left.policy == policy
    for x, y in ((left, b), (a, right), (left, right)):
        assert same_bits(plan.run(x, y), want)
        assert same_bits(kizami.matmul(x, y), want)  # by the policy they were prepared with
    transposed = kizami.prepare(plan, "a", np.ascontiguousarray(a.conj().T), trans="c")
    assert same_bits(plan.run(transposed, right), want)
    other = random(rng, (3, 50, 7), "complex128", 2)  # another number of columns, a batch
    assert same_bits(kizami.matmul(left, other), kizami.matmul(a, other, policy=policy))


def test_prepared_operands_climb_only_with_the_original(rng):
    a, hard = random(rng, (20, 50), "float64"), random(rng, (50, 10), "float64", 200)
    plan = kizami.plan(20, 10, 50)
    want, outcome = plan.run(a, hard, return_outcome=True)
    assert outcome.rung != 0  # else this shows nothing
    assert same_bits(plan.run(kizami.prepare(plan, "a", a), hard), want)
    with pytest.raises(kizami.AccuracyUnreachableError, match="original"):
        plan.run(kizami.prepare(plan, "a", a, keep=False), hard)


def test_prepare_refuses():
    plan, x = kizami.plan(3, 3, 3), np.ones((3, 3))
    prepared = kizami.prepare(plan, "a", x)
    for error, text, call in (
            (ValueError, "side = 'c'", lambda: kizami.prepare(plan, "c", x)),
            (ValueError, "must be one matrix", lambda: kizami.prepare(plan, "a", np.ones((2, 3, 3)))),
            (ValueError, "A is 2 x 3, must be 3 x 3", lambda: kizami.prepare(plan, "a", np.ones((2, 3)))),
            (ValueError, "x is of type float32, must be float64", lambda: kizami.prepare(plan, "a", x.astype("f"))),
            (TypeError, "x is of type int64", lambda: kizami.prepare(plan, "a", x.astype(int))),
            (NotImplementedError, "native", lambda: kizami.prepare(kizami.plan(3, 3, 3, policy=kizami.Policy(scheme="native")), "a", x)),
            (ValueError, "prepared operand B was prepared for the other side", lambda: plan.run(x, prepared)),
            (ValueError, "other numerics", lambda: kizami.matmul(prepared, x, policy="bits=10")),
            (ValueError, "trans_a = 't', must be 'n' for a prepared operand", lambda: kizami.gemm(1, prepared, x, trans_a="t")),
            (TypeError, "a was prepared as float64, must be complex128", lambda: kizami.matmul(prepared, x + 1j))):
        with pytest.raises(error, match=text) as caught:
            call()
        assert isinstance(caught.value, kizami.KizamiError)


def test_outcomes_of_batches(rng):
    easy, hard = random(rng, (10, 40), "float64"), random(rng, (10, 40), "float64", 300)
    b = random(rng, (40, 6), "float64", 300)
    outcome = kizami.matmul(np.stack([easy, hard]), b, return_outcome=True)[1]
    assert len(outcome.products) == 2 and outcome.products[0].products == ()
    for name in ("bound", "moduli", "rung"):
        assert getattr(outcome, name) == max(getattr(x, name) for x in outcome.products)
    assert outcome.repaired == sum(x.repaired for x in outcome.products)
    empty = kizami.matmul(np.ones((0, 2, 2)), np.ones((2, 2)), return_outcome=True)[1]
    assert (empty.engine, empty.bound, empty.products) == ("none", 0.0, ())
    nothing = kizami.matmul(np.ones((2, 0)), np.ones((0, 2)), return_outcome=True)[1]
    assert (nothing.engine, nothing.bound) == ("none", 0.0)


def test_how_they_show_themselves(rng):
    plan = kizami.plan(3, 4, 5, policy="bits=30")
    outcome = plan.run(np.ones((3, 5)), np.ones((5, 4)), return_outcome=True)[1]
    prepared = kizami.prepare(plan, "a", np.ones((3, 5)))
    for x, texts in ((plan, ("m=3", "bits=30", "ozaki2")), (outcome, ("scheme='ozaki2'", "bound=")), (prepared, ("side='a'",))):
        assert repr(x).startswith(type(x).__name__ + "(") and all(text in repr(x) for text in texts)
        page = x._repr_html_()
        assert page.startswith("<table>") and page.count("<tr>") == page.count("</tr>") == len(x.facts())
    assert f"<pre>{plan.explain()}</pre>" in plan._repr_html_()


@pytest.mark.skipif(importlib.util.find_spec("rich") is None, reason="needs the library rich")
def test_tables_of_rich():
    from rich.console import Console

    text = io.StringIO()
    Console(file=text, width=100).print(kizami.plan(3, 4, 1000))
    assert "workspace_bytes" in text.getvalue() and "1,000" in text.getvalue()
