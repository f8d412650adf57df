# SPDX-License-Identifier: MIT
"""Plans, policies and outcomes in pickles and copies: equal afterwards, refused where they would not be."""

import copy
import multiprocessing
import pickle

import kizami
import numpy as np
import pytest
from conftest import random, same_bits

PLANS = [((20, 15, 70), {}), ((20, 15, 70), {"policy": kizami.Policy("bits=40", gauge="norm", threads=2)}), ((5, 6, 7, "complex64"), {"policy": "bits=20"}),
         ((20, 15, 70), {"policy": kizami.Policy(scheme="native")}), ((8, 8, 8, "float32"), {"policy": "correct"}), ((20, 15, 70), {"tolerance": 1e-6}),
         ((20, 15, 70), {"slices": 5}), ((0, 3, 2), {})]


def run_elsewhere(stored, a, b, results):
    results.put(pickle.loads(stored).run(a, b))


@pytest.mark.parametrize(("args", "wishes"), PLANS)
def test_a_pickled_plan_is_the_plan(args, wishes):
    plan = kizami.plan(*args, **wishes)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(plan, protocol))
        assert again is not plan and again.explain() == plan.explain() and again.policy == plan.policy
        assert (again.numerics_hash, again.m, again.n, again.k, again.dtype) == (plan.numerics_hash, plan.m, plan.n, plan.k, plan.dtype)
    assert copy.copy(plan) is plan and copy.deepcopy([plan])[0] is plan


def test_another_process_gives_the_bits(rng):
    plan = kizami.plan(20, 15, 70, policy="bits=45")
    a, b = random(rng, (20, 70), "float64", 5), random(rng, (70, 15), "float64", 5)
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    process = context.Process(target=run_elsewhere, args=(pickle.dumps(plan), a, b, results))
    process.start()
    got = results.get(timeout=120)
    process.join()
    assert process.exitcode == 0 and same_bits(got, plan.run(a, b))


def state_of(plan, **changes):
    function, (state,) = plan.__reduce__()
    return function, {**state, **changes}


@pytest.mark.parametrize(("changes", "text"), [
    ({"version": "0.0.9"}, f"version = 0.0.9 of the pickled plan, must be {kizami.__version__} like this library"),
    ({"numerics_hash": 1}, "numerics_hash = 1 of the pickled plan, must be"), ({"scheme": "native"}, "scheme = native of the pickled plan, must be ozaki2"),
])
def test_what_would_be_another_plan_is_refused(changes, text):
    function, state = state_of(kizami.plan(20, 15, 70), **changes)
    with pytest.raises(kizami.UnsupportedError, match=text):
        function(state)


def test_policies_and_outcomes(rng):
    for policy in (kizami.Policy(), kizami.Policy("bits=30", gauge="norm", karatsuba=True, slices=4, threads=3)):
        assert pickle.loads(pickle.dumps(policy)) == policy and copy.deepcopy(policy) == policy
    function, (fields,) = kizami.Policy("bits=30").__reduce__()
    with pytest.raises(kizami.InvalidArgumentError, match="colour of a pickled policy is no field"):
        function({**fields, "colour": "red"})
    with pytest.raises(kizami.InvalidArgumentError, match="accuracy = 'fast'"):
        function({"accuracy": "fast"})
    _, outcome = kizami.matmul(np.ones((2, 3, 4)), np.ones((4, 5)), return_outcome=True)
    assert pickle.loads(pickle.dumps(outcome)) == outcome and len(outcome.products) == 2


def test_prepared_operands_are_refused():
    plan = kizami.plan(3, 3, 3)
    prepared = kizami.prepare(plan, "a", np.ones((3, 3)))
    for call in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(kizami.DTypeError, match="cannot be pickled or copied"):
            call(prepared)
