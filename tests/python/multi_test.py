# SPDX-License-Identifier: MIT
"""Products on several devices, and triangles. Without a device, which KIZAMI_REQUIRE_GPU asks for: what is refused, and how."""

import os

import kizami
import kizami.multi
import numpy as np
import pytest
from conftest import DTYPES, random, same_bits

NUM_DEVICES = kizami._core.num_devices()
assert NUM_DEVICES > 0 or not os.environ.get("KIZAMI_REQUIRE_GPU"), "no CUDA device, or a build without CUDA"


@pytest.mark.skipif(NUM_DEVICES > 0, reason="there is a device")
def test_no_device_is_said():
    a = np.ones((3, 4))
    with pytest.raises(kizami.UnsupportedError, match="CUDA"):
        kizami.multi.matmul(a, a.T)
    with pytest.raises(kizami.UnsupportedError, match="CUDA"):
        kizami.multi.matmul(a, a.T, devices=[0, 1])
    with pytest.raises(kizami.UnsupportedError, match="CUDA"):
        kizami.multi.syrk(a)
    out = np.full((3, 3), 7.0)
    with pytest.raises(kizami.UnsupportedError, match="CUDA"):
        kizami.multi.syrk(a, out, devices=[0, 1])
    assert (out == 7).all()


def test_bad_arguments_are_named():
    a = np.ones((3, 4))
    with pytest.raises(kizami.InvalidArgumentError, match="b has 3 rows"):
        kizami.multi.matmul(a, a, devices=[0])
    with pytest.raises(kizami.InvalidArgumentError, match="a is a stack"):
        kizami.multi.matmul(np.ones((2, 3, 4)), np.ones((4, 5)), devices=[0])
    with pytest.raises(kizami.InvalidArgumentError, match="out has shape"):
        kizami.multi.matmul(a, a.T, np.empty((2, 2)), devices=[0])
    with pytest.raises((kizami.InvalidArgumentError, kizami.UnsupportedError), match="0 devices|without CUDA"):
        kizami.multi.matmul(a, a.T, devices=[])


def test_bad_arguments_of_triangles_are_named():
    a = np.ones((3, 4))
    for words, arguments in {
            "a has shape \\(4,\\)": {"a": np.ones(4)},
            "a has shape \\(2, 3, 4\\)": {"a": np.ones((2, 3, 4))},
            "trans = 'x'": {"trans": "x"},
            "out has shape \\(3, 3\\), must be \\(4, 4\\)": {"out": np.empty((3, 3)), "trans": "t"},
            "c has shape \\(4, 4\\), must be \\(3, 3\\)": {"c": np.empty((4, 4)), "beta": 1},
            "c is None and beta": {"out": np.empty((3, 3)), "beta": 1},
            "out is read-only": {"out": np.broadcast_to(1.0, (3, 3))},
            "0 devices|without CUDA": {"devices": []}}.items():
        with pytest.raises((kizami.InvalidArgumentError, kizami.UnsupportedError), match=words):
            kizami.multi.syrk(arguments.pop("a", a), **{"devices": [0], **arguments})
    for words, arguments in {
            "a is of type int64": {"a": np.ones((3, 4), int)},
            "alpha = 1j is complex": {"alpha": 1j},
            "beta = '1' is of type str": {"beta": "1"},
            "c is of type float32": {"c": np.empty((3, 3), np.float32)},
            "out is builtins.list": {"out": [[0.0] * 3] * 3}}.items():
        with pytest.raises(kizami.DTypeError, match=words):
            kizami.multi.syrk(arguments.pop("a", a), **{"devices": [0], **arguments})


@pytest.mark.skipif(NUM_DEVICES == 0, reason="no CUDA device")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("devices", [[0], [0, 0], list(range(min(NUM_DEVICES, 8)))])
def test_bits_are_those_of_the_host(rng, dtype, devices):
    a, b = random(rng, (70, 90), dtype), random(rng, (90, 50), dtype)
    want, of_host = kizami.matmul(a, b, return_outcome=True)
    got, outcome = kizami.multi.matmul(a, b, devices=devices)
    assert same_bits(got, want)
    assert outcome.bound == of_host.bound and outcome.rung == of_host.rung
    out = np.empty_like(want)
    assert kizami.multi.matmul(a, b, out, devices=devices)[0] is out
    assert same_bits(out, want)


@pytest.fixture
def ones_for_triangles(monkeypatch):
    """In the place of devices: writes 1 to the triangle that is asked for. What the package does around a call needs none."""
    calls = []

    def write(*, is_lower, c, **call):
        calls.append(call)
        n = c.shape[0]
        c[np.tri(n, dtype=bool) if is_lower else np.tri(n, dtype=bool).T] = 1
        return kizami.matmul(np.ones((1, 1)), np.ones((1, 1)), return_outcome=True)[1]

    monkeypatch.setattr(kizami._core, "run_triangle_on_devices", write)
    monkeypatch.setattr("kizami.multi.outcome_of", lambda products, is_batch: products[0])
    return calls


@pytest.mark.parametrize("lower", [True, False])
def test_what_is_beside_the_triangle_stays(rng, ones_for_triangles, lower):
    triangle = np.tri(5, dtype=bool) if lower else np.tri(5, dtype=bool).T
    a, given = rng.standard_normal((5, 3)), rng.standard_normal((5, 5))
    written = np.where(triangle, 1, given)
    how = {"lower": lower, "devices": [0]}
    assert same_bits(kizami.multi.syrk(a, **how)[0], np.where(triangle, 1.0, 0.0))
    c = given.copy()
    assert same_bits(kizami.multi.syrk(a, c=c, beta=2, **how)[0], written) and same_bits(c, given)
    assert kizami.multi.syrk(a, c, **how)[0] is c and same_bits(c, written)
    c = given.copy()
    assert kizami.multi.syrk(a, c, c=c, beta=2, **how)[0] is c and same_bits(c, written)
    out = np.full((5, 5), 7.0)
    assert kizami.multi.syrk(a, out, c=given, **how)[0] is out and same_bits(out, written)
    out = given[::-1].copy()[::-1]  # negative strides: by a copy
    assert kizami.multi.syrk(a, out, **how)[0] is out and same_bits(out, written)
    square = given.copy()
    assert kizami.multi.syrk(square, square, **how)[0] is square and same_bits(square, written)
    assert same_bits(kizami.multi.syrk(np.asfortranarray(a).T, trans="t", **how)[0], np.where(triangle, 1.0, 0.0))


def test_what_a_triangle_is_made_with(ones_for_triangles):
    a = np.ones((4, 3), np.complex64)
    kizami.multi.syrk(a, hermitian=True, alpha=2, devices=(2, 0), policy="bits=20", trans="c", lower=False)
    kizami.multi.syrk(a, alpha=1j, beta=3, c=np.zeros((4, 4), np.complex64), devices=[1])
    first, second = ones_for_triangles
    assert first["devices"] == [2, 0] and first["is_hermitian"] and first["alpha"] == 2 and first["beta"] == 0 and first["op_a"] == "c"
    assert second["devices"] == [1] and not second["is_hermitian"] and second["alpha"] == 1j and second["beta"] == 3
    assert second["a"] is a and second["op_a"] == "n"


def whole_product(a, trans, hermitian, beta=0, c=None):
    """op(a) op(a)^T, or op(a)^H, by the host, with the diagonal that herk gives it."""
    across = {"n": "t", "t": "n", "c": "r", "r": "c"} if not hermitian else {"n": "c", "c": "n", "t": "r", "r": "t"}
    is_complex = a.dtype.kind == "c"

    def with_real_diagonal(x):
        if hermitian and is_complex:
            x = x.copy()
            np.fill_diagonal(x, np.diagonal(x).real)
        return x

    product, outcome = kizami.gemm(1, a, a, beta, None if c is None else with_real_diagonal(c), trans, across[trans],
                                   policy=kizami.Policy(scheme="ozaki2"), return_outcome=True)
    return with_real_diagonal(product), outcome


def syrk(*arguments, **keywords):
    """By the engine that leaves a triangle out, where the device has it."""
    try:
        return kizami.multi.syrk(*arguments, policy=kizami.Policy(engine="hopper"), **keywords)
    except kizami.UnsupportedError as error:
        pytest.skip(str(error))


@pytest.mark.skipif(NUM_DEVICES == 0, reason="no CUDA device")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("hermitian", [True, False])
@pytest.mark.parametrize("devices", [[0, 0], list(range(min(NUM_DEVICES, 8)))])
def test_bits_of_a_triangle_are_those_of_the_product(rng, dtype, lower, hermitian, devices):
    triangle = np.tri(140, dtype=bool) if lower else np.tri(140, dtype=bool).T
    how = {"lower": lower, "hermitian": hermitian, "devices": devices}
    for trans in "ntcr":
        a = random(rng, (140, 90) if trans in "nr" else (90, 140), dtype)
        want, of_host = whole_product(a, trans, hermitian)
        got, outcome = syrk(a, trans=trans, **how)
        assert same_bits(got, np.where(triangle, want, np.zeros_like(want)))
        assert outcome.bound == of_host.bound and outcome.rung == of_host.rung and outcome.scheme == "ozaki2"
    a, c = random(rng, (140, 90), dtype), random(rng, (140, 140), dtype)
    before = c.copy()
    want, _ = whole_product(a, "n", hermitian, 0.5, c)
    assert same_bits(syrk(a, beta=0.5, c=c, **how)[0], np.where(triangle, want, c))
    assert same_bits(c, before)
    # What is given stays where no triangle goes: in place, in an array of other strides, and where out is a.
    assert syrk(a, c, beta=0.5, c=c, **how)[0] is c
    assert same_bits(c, np.where(triangle, want, before))
    reversed_rows = before[::-1].copy()[::-1]
    assert syrk(a, reversed_rows, **how)[0] is reversed_rows
    assert same_bits(reversed_rows, np.where(triangle, whole_product(a, "n", hermitian)[0], before))
    square = random(rng, (140, 140), dtype)
    want = np.where(triangle, whole_product(square, "n", hermitian)[0], square)
    assert syrk(square, square, **how)[0] is square
    assert same_bits(square, want)


@pytest.mark.skipif(NUM_DEVICES == 0, reason="no CUDA device")
def test_triangles_of_pytorch_on_a_device(rng):
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no device")
    host = random(rng, (300, 200), "complex128")
    want, _ = whole_product(host, "n", True)
    with torch.cuda.stream(torch.cuda.Stream()):  # which the default stream does not wait for
        a = torch.from_numpy(host).cuda()
        got, _ = syrk(a, hermitian=True, devices=[0, 0])
        assert got.device == a.device
        assert same_bits(got.cpu().numpy(), np.tril(want))
        got, _ = syrk(a.conj(), hermitian=True, lower=False, trans="r", devices=[0, 0])
        assert same_bits(got.cpu().numpy(), np.triu(want))


@pytest.mark.skipif(NUM_DEVICES == 0, reason="no CUDA device")
def test_what_makes_no_triangle_is_said():
    a = np.ones((30, 40), np.complex128)
    with pytest.raises(kizami.UnsupportedError, match="scheme ozaki1 makes no shared triangle"):
        kizami.multi.syrk(a, devices=[0], policy=kizami.Policy(scheme="ozaki1"))
    for factors in ({"alpha": 1j}, {"beta": 1j, "c": np.zeros((30, 30), np.complex128)}):
        with pytest.raises(kizami.InvalidArgumentError, match="must be real"):
            syrk(a, hermitian=True, devices=[0], **factors)
