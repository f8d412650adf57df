# SPDX-License-Identifier: MIT
"""kizami.precision and Policy: nesting, exceptions, threads and tasks."""

import asyncio
import concurrent.futures
import dataclasses
import pickle

import kizami
import numpy as np
import pytest


def accuracy():
    return kizami.current_policy().accuracy


def test_nests_and_comes_back():
    assert kizami.current_policy() == kizami.Policy()
    with kizami.precision("correct") as outer:
        assert outer is kizami.current_policy() and accuracy() == "correct"
        with kizami.precision(bits=30, gauge="norm"), kizami.precision(threads=1):
            assert kizami.current_policy() == kizami.Policy("bits=30", gauge="norm", threads=1)
        assert kizami.current_policy() is outer
    assert kizami.current_policy() == kizami.Policy()


def test_comes_back_after_exceptions():
    with pytest.raises(ZeroDivisionError), kizami.precision("correct"), kizami.precision("bits=3"):
        raise ZeroDivisionError
    assert accuracy() == "native"


def test_decorates_functions():
    @kizami.precision("correct")
    def inside():
        return accuracy()

    assert [inside(), inside(), accuracy()] == ["correct", "correct", "native"]


def test_decides_what_products_guarantee():
    x = np.random.default_rng(3).standard_normal((40, 40))

    def bound(**kwargs):
        return kizami.matmul(x, x, return_outcome=True, **kwargs)[1].bound

    with kizami.precision("bits=20"):
        assert bound() <= 2.0**-20 and kizami.plan(40, 40, 40).bound <= 2.0**-20
        assert bound(policy="bits=50") <= 2.0**-50
        assert bound(policy=kizami.Policy("correct")) == 2.0**-53
    assert bound() < 2.0**-20


def test_threads_and_tasks_have_their_own():
    with kizami.precision("correct"), concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert pool.submit(accuracy).result() == "native"

    async def task(name, order):
        with kizami.precision(name):
            order.append(accuracy())
            await asyncio.sleep(0)
            order.append(accuracy())

    async def both():
        order = []
        await asyncio.gather(task("correct", order), task("bits=7", order))
        return order

    assert asyncio.run(both()) == ["correct", "bits=7", "correct", "bits=7"]
    assert accuracy() == "native"


@pytest.mark.parametrize(("kwargs", "error", "text"), [
    ({"accuracy": "fast"}, ValueError, "accuracy = 'fast', must be one of native, correct, bits=N"),
    ({"accuracy": "bits=0"}, ValueError, "bits=N with N in 1..100"),
    ({"accuracy": "bits"}, ValueError, "accuracy = 'bits', must be"),
    ({"bits": 101}, ValueError, "bits=101"), ({"bits": 3.0}, TypeError, "bits = 3.0 is of type float"),
    ({"bits": 3, "accuracy": "correct"}, ValueError, "must be one of the two"),
    ({"gauge": "max"}, ValueError, "gauge = 'max', must be one of entry, norm"),
    ({"scheme": "ozaki3"}, ValueError, "scheme = 'ozaki3', must be one of auto, native, ozaki2"),
    ({"engine": "gpu"}, ValueError, "engine = 'gpu', must be one of auto, cpu_ref"),
    ({"threads": -1}, ValueError, "threads = '-1', must be in 0..32767"),
    ({"workspace": -5}, ValueError, "workspace = '-5', must be in 0.."),
    ({"karatsuba": 1}, TypeError, "karatsuba = 1 is of type int, must be bool"),
    ({"digits": 3}, ValueError, "digits is no field of Policy, must be one of accuracy, gauge"),
])
def test_wishes_that_do_not_exist_are_refused_at_once(kwargs, error, text):
    with pytest.raises(error, match=text) as caught:
        kizami.precision(**kwargs)
    assert isinstance(caught.value, kizami.KizamiError)
    assert accuracy() == "native"


def test_what_depends_on_the_type_is_refused_by_the_plan():
    x = np.ones((2, 2), np.float32)
    with pytest.raises(kizami.InvalidArgumentError, match="bits = 30"):
        kizami.matmul(x, x, policy="bits=30")
    with pytest.raises(TypeError, match="policy is of type int"):
        kizami.matmul(x, x, policy=30)
    with pytest.raises(kizami.UnsupportedError, match="ec"), kizami.precision(scheme="ec"):
        kizami.matmul(x.astype(float), x.astype(float))


def test_every_wish_of_the_library_is_a_field():
    table = kizami._core.wishes()
    assert [field.name for field in dataclasses.fields(kizami.Policy)] == [key for key, *_ in table]
    for key, kind, default, _, meaning in table:
        value = getattr(kizami.Policy(), key)
        assert type(value).__name__ == kind and str(int(value) if kind == "bool" else value) == default
        assert kizami.Policy(**{key: value}) == kizami.Policy()
        assert f"{key} : {kind}, default {value!r}" in kizami.Policy.__doc__ and meaning[:40] in kizami.Policy.__doc__


def test_policies_are_values():
    policy = kizami.Policy("bits=9", threads=2)
    assert pickle.loads(pickle.dumps(policy)) == policy and hash(policy) == hash(dataclasses.replace(policy))
    with pytest.raises(dataclasses.FrozenInstanceError):
        policy.threads = 3


def test_schemes_and_engines():
    x = np.random.default_rng(4).standard_normal((30, 30)).astype(np.float32)
    for changes, scheme, engine in (({"engine": "cpu_ref"}, "ozaki2", "cpu_ref"), ({"scheme": "native"}, "native", "native_blas"),
                                    ({"scheme": "ozaki1"}, "ozaki1", "cpu_simd"),
                                    ({"scheme": "ec", "variant": "bf16x9", "reproducibility": "none"}, "ec", "tc_model")):
        with kizami.precision(**changes):
            outcome = kizami.matmul(x, x, return_outcome=True)[1]
        assert (outcome.scheme, outcome.engine) == (scheme, engine)
    assert outcome.variant == "bf16x9"
