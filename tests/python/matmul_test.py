# SPDX-License-Identifier: MIT
"""kizami.matmul on NumPy arrays: the shapes, types and errors of numpy.matmul, the bits of the C++ library."""

import itertools

import kizami
import numpy as np
import pytest
from conftest import DTYPES, holds, random, same_bits, whole

SHAPES = [
    ((1, 1), (1, 1)), ((3, 4), (4, 5)), ((17, 70), (70, 9)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)),
    ((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((6, 1, 3, 4), (6, 5, 4, 2)),
    ((4,), (2, 4, 5)), ((2, 3, 4), (4,)), ((70, 2, 3), (70, 3, 2)),
    ((0, 4), (4, 5)), ((3, 0), (0, 5)), ((3, 4), (4, 0)), ((0,), (0,)), ((0, 3, 4), (4, 5)), ((2, 0, 4), (4, 5)), ((0,), (0, 3)),
]


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_shapes_are_those_of_numpy(rng, left, right):
    a, b = whole(rng, left, "float64"), whole(rng, right, "float64")
    want, got = np.matmul(a, b), kizami.matmul(a, b)
    assert same_bits(got + 0.0, want + 0.0)  # + 0.0: the sign of an exact zero
    assert type(got) is type(want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_types_and_views(rng, dtype):
    a, b = whole(rng, (14, 12), dtype), whole(rng, (12, 10), dtype)
    want = np.matmul(a, b) + 0

    def fortran(x):
        return np.asfortranarray(x)

    def transposed(x):
        return np.ascontiguousarray(x.T).T

    def strided(x):
        wide = np.zeros((3 * x.shape[0], 2 * x.shape[1]), x.dtype)
        wide[::3, ::2] = x
        return wide[::3, ::2]

    def reversed_twice(x):
        return np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1]

    def read_only(x):
        x = x.copy()
        x.flags.writeable = False
        return x

    def misaligned(x):
        memory = np.zeros(x.nbytes + 1, np.uint8)
        view = memory[1:].view(x.dtype).reshape(x.shape)
        view[...] = x
        assert not view.flags.aligned
        return view

    def between_other_fields(x):
        records = np.zeros(x.shape, [("tag", np.uint8), ("value", x.dtype)])
        records["value"] = x
        return records["value"]

    views = (np.copy, fortran, transposed, strided, reversed_twice, read_only, misaligned, between_other_fields)
    for of_a, of_b in itertools.product(views, repeat=2):
        x, y = of_a(a), of_b(b)
        assert same_bits(kizami.matmul(x, y) + 0, want), (of_a.__name__, of_b.__name__)
        assert same_bits(x, a) and same_bits(y, b)
    for of_out in (np.copy, fortran, transposed, strided, reversed_twice, misaligned, between_other_fields):
        out = of_out(np.full_like(want, np.nan))
        assert kizami.matmul(a, b, out=out) is out
        assert same_bits(out + 0, want), of_out.__name__


def test_views_are_not_copied():
    """A stack of broadcast rows that would fill 32 GiB."""
    row = np.ones(8)
    a = np.broadcast_to(row, (2**29, 8))[:: 2**28]
    assert kizami.matmul(a, row).tolist() == [8.0, 8.0]


def test_native_says_where_its_bound_is_conditional():
    a = np.full((3, 4), 1e200)
    native = kizami.Policy(scheme="native")
    assert kizami.matmul(a, a.T, policy=native, return_outcome=True)[1].is_conditional
    assert not kizami.matmul(a, a.T / 1e200, policy=native, return_outcome=True)[1].is_conditional
    assert kizami.matmul(np.stack([a, a / 1e200]), a.T / 1e200, policy=native, return_outcome=True)[1].is_conditional is False
    chosen = kizami.matmul(a, a.T, policy=kizami.Policy(reproducibility="none"), return_outcome=True)[1]
    assert (chosen.scheme, chosen.is_conditional) == ("ozaki2", False)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("accuracy", ["native", "bits=20", "correct"])
def test_bits_are_those_of_the_command_line(rng, command_line, dtype, accuracy):
    for spread in (0, 30):
        a, b = random(rng, (23, 130), dtype, spread), random(rng, (130, 19), dtype, spread)
        assert same_bits(kizami.matmul(a, b, policy=accuracy), command_line(a, b, "--accuracy", accuracy))


def test_batches_have_the_bits_of_single_products(rng):
    a, b = random(rng, (3, 1, 20, 40), "float64", 20), random(rng, (5, 40, 10), "float64", 20)
    c = kizami.matmul(a, b)
    assert c.shape == (3, 5, 20, 10)
    for i, j in itertools.product(range(3), range(5)):
        assert same_bits(c[i, j], kizami.matmul(a[i, 0], b[j]))


def test_the_bound_of_the_outcome_holds(rng):
    for accuracy, spread in itertools.product(("native", "bits=33", "bits=52", "correct"), (0, 100)):
        a, b = random(rng, (5, 90), "float64", spread), random(rng, (90, 4), "float64", spread)
        c, outcome = kizami.matmul(a, b, policy=accuracy, return_outcome=True)
        assert outcome.bound > 0 and holds(a, b, c, outcome.bound)
        if accuracy.startswith("bits"):
            assert outcome.bound <= 2.0 ** -int(accuracy[5:])
        worse = c.copy()
        worse[0, 0] += 4 * outcome.bound * (np.abs(a) @ np.abs(b))[0, 0]
        assert not holds(a, b, worse, outcome.bound)  # the judge can say no


def test_mixed_types_are_converted_exactly(rng):
    x = {dtype: whole(rng, (4, 4), dtype) for dtype in DTYPES}
    for s, t in itertools.product(DTYPES, repeat=2):
        assert same_bits(kizami.matmul(x[s], x[t]) + 0, np.matmul(x[s], x[t]) + 0)


def test_array_likes():
    assert kizami.matmul([[1.0, 2.0]], [3.0, 4.0]).tolist() == [11.0]


def test_out_may_overlap(rng):
    a, b = whole(rng, (6, 6), "float64"), whole(rng, (6, 6), "float64")
    want = np.matmul(a, b)
    for overlapping in (a.copy(), b.copy()):
        x, y = (overlapping, b) if same_bits(overlapping, a) else (a, overlapping)
        assert same_bits(kizami.matmul(x, y, out=overlapping) + 0, want + 0)
    both = np.zeros((7, 6))
    both[:6] = a
    assert same_bits(kizami.matmul(both[:6], b, out=both[1:]) + 0, want + 0)


def test_nan_and_inf():
    a, b = np.array([[1.0, np.inf], [2.0, 3.0]]), np.array([[1.0, 0.0], [np.nan, 1.0]])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(kizami.matmul(a, b), np.matmul(a, b))
    outcome = kizami.matmul(a, b, return_outcome=True)[1]
    assert (outcome.nonfinite_rows, outcome.nonfinite_cols) == (1, 1)
    with kizami.precision(nonfinite="reject"), pytest.raises(kizami.NonFiniteError):
        kizami.matmul(a, b)


def refused(error, match, function, *args, **kwargs):
    out = kwargs.get("out")
    before = out.tobytes() if isinstance(out, np.ndarray) else None
    with pytest.raises(error, match=match) as caught:
        function(*args, **kwargs)
    assert isinstance(caught.value, kizami.KizamiError)
    assert before is None or out.tobytes() == before


def test_other_types_are_refused():
    x = np.ones((2, 2))
    for dtype in ("int64", "uint8", "bool", "float16", "longdouble", "object", ">f8", "U3", "timedelta64"):
        bad = np.ones((2, 2)).astype(dtype)
        name = str(bad.dtype)
        refused(TypeError, f"a is of type {name}, must be one of float32", kizami.matmul, bad, x)
        refused(TypeError, f"b is of type {name}", kizami.matmul, x, bad)
    refused(TypeError, "a is of type int64", kizami.matmul, [[1, 2]], x)
    refused(TypeError, "a is None, must be an array", kizami.matmul, None, x)
    refused(TypeError, "b is a masked array", kizami.matmul, x, np.ma.masked_array(x, x > 0))


def test_shapes_that_do_not_fit_are_refused():
    x = np.ones((2, 3))
    refused(ValueError, r"b has 2 rows \(shape \(2, 3\)\), must be the columns of a = 3", kizami.matmul, x, x)
    refused(ValueError, r"a has shape \(\), must have at least one axis", kizami.matmul, np.float64(1), x)
    refused(ValueError, r"b has shape \(\)", kizami.matmul, x, 1.0)
    refused(ValueError, r"a has shape \(2, 2, 3\) and b \(3, 3, 1\)", kizami.matmul, np.ones((2, 2, 3)), np.ones((3, 3, 1)))


def test_outputs_that_do_not_fit_are_refused():
    x = np.ones((2, 2))
    refused(ValueError, r"out has shape \(3, 2\), must be \(2, 2\)", kizami.matmul, x, x, out=np.ones((3, 2)))
    refused(TypeError, "out is of type float32, must be float64", kizami.matmul, x, x, out=np.ones((2, 2), np.float32))
    refused(TypeError, "out is builtins.list, must be an array of numpy", kizami.matmul, x, x, out=[[0.0, 0.0], [0.0, 0.0]])
    read_only = np.broadcast_to(np.zeros(2), (2, 2))
    refused(ValueError, "out is read-only", kizami.matmul, x, x, out=read_only)
    shared = np.lib.stride_tricks.as_strided(np.zeros(2), (2, 2), (0, 8), writeable=True)
    refused(ValueError, "must not overlap", kizami.matmul, x, x, out=shared)


def test_progress_counts_products(rng, capfd):
    a = whole(rng, (130, 3, 3), "float64")
    seen = []
    want = kizami.matmul(a, a)
    assert same_bits(kizami.matmul(a, a, progress=lambda done, total: seen.append((done, total))), want)
    assert seen[0] == (0, 130) and seen[-1] == (130, 130) and len(seen) > 2
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    kizami.matmul(a, a, progress=True)
    assert capfd.readouterr().err.endswith("kizami: 130 of 130 products\n")
    out = np.zeros_like(want)

    def stop(done, total):
        if done > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kizami.matmul(a, a, out=out, progress=stop)
    assert not out[-1].any() and out[0].any()
    refused(TypeError, "progress = 3 is of type int", kizami.matmul, a, a, progress=3)
