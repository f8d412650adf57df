# SPDX-License-Identifier: MIT
"""Arrays of other libraries in host memory: the bits that NumPy arrays get, results of the caller's library, no copies."""

import gc

import kizami
import numpy as np
import pytest
from conftest import DTYPES, random, same_bits
from dlpack_producer import Producer, address_of, of_numpy


def array_api_strict():
    return pytest.importorskip("array_api_strict", reason="needs array_api_strict")


def torch():
    return pytest.importorskip("torch", reason="needs PyTorch")


def jax():
    module = pytest.importorskip("jax", reason="needs JAX")
    module.config.update("jax_enable_x64", True)
    return module


LIBRARIES = {
    "array_api_strict": lambda x: array_api_strict().asarray(x),
    "torch": lambda x: torch().from_numpy(x.copy()),
    "jax": lambda x: jax().device_put(x, jax().devices("cpu")[0]),  # on a machine with a GPU, too
}


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_bits_and_types(rng, name, dtype):
    make = LIBRARIES[name]
    shapes = (((9, 30), (30, 8)), ((30,), (30, 8)), ((9, 30), (30,)), ((30,), (30,)), ((2, 1, 9, 30), (3, 30, 8)), ((0, 3), (3, 2)))
    for left, right in shapes:
        x, y = random(rng, left, dtype, 9), random(rng, right, dtype, 9)
        a, b = make(x), make(y)
        got, outcome = kizami.matmul(a, b, policy="bits=20", return_outcome=True)
        assert type(got) is type(a) and got.dtype == a.dtype
        assert same_bits(np.asarray(got), kizami.matmul(x, y, policy="bits=20"))
        assert outcome.bound <= 2.0**-20


@pytest.mark.parametrize("name", LIBRARIES)
def test_gemm(rng, name):
    make = LIBRARIES[name]
    x, y, z = random(rng, (9, 30), "complex128"), random(rng, (30, 8), "complex128"), random(rng, (9, 8), "complex128")
    a, b, c = make(x), make(y), make(z)
    want = kizami.gemm(1j, x, y, 0.5, z)
    got = kizami.gemm(1j, a, b, 0.5, c)
    assert type(got) is type(a) and same_bits(np.asarray(got), want) and same_bits(np.asarray(c), z)
    assert same_bits(np.asarray(kizami.gemm(1j, make(x.T.copy()), make(y.conj().T.copy()), 0.5, c, "t", "c")), want)
    if name == "jax":
        with pytest.raises(ValueError, match="out is an array of JAX"):
            kizami.gemm(1j, a, b, 0.5, c, out=c)
    else:
        out = make(np.zeros((9, 8), "complex128"))
        assert kizami.gemm(1j, a, b, 0.5, c, out=out) is out and same_bits(np.asarray(out), want)
        assert kizami.gemm(1j, a, b, 0.5, c, out=c) is c and same_bits(np.asarray(c), want)


@pytest.mark.parametrize("name", LIBRARIES)
def test_other_types_and_mixtures_are_refused(name):
    a = LIBRARIES[name](np.ones((2, 2)))
    whole = LIBRARIES[name](np.ones((2, 2), np.int32))
    for x, y, text in ((whole, a, "a is of type int32"), (a, whole, "b is of type int32"),
                       (a, np.ones((2, 2)), "b is an array of numpy, must be of"), (np.ones((2, 2)), a, "must be of numpy like a")):
        with pytest.raises(kizami.DTypeError, match=text):
            kizami.matmul(x, y)
    single = LIBRARIES[name](np.full((2, 2), 0.1, np.float32))
    want = kizami.matmul(np.ones((2, 2)), np.full((2, 2), 0.1, np.float32))
    assert same_bits(np.asarray(kizami.matmul(a, single)), want)


@pytest.mark.parametrize("name", LIBRARIES)
def test_prepared_operands(rng, name):
    x, y = random(rng, (9, 30), "float64"), random(rng, (30, 8), "float64")
    plan = kizami.plan(9, 8, 30)
    prepared = kizami.prepare(plan, "a", LIBRARIES[name](x))
    got = plan.run(prepared, LIBRARIES[name](y))
    assert same_bits(np.asarray(got), kizami.matmul(x, y)) and type(got) is type(LIBRARIES[name](y))
    bare = kizami.prepare(plan, "a", LIBRARIES[name](x), keep=False)
    assert type(plan.run(bare, LIBRARIES[name](y))) is type(got)
    assert type(plan.run(kizami.prepare(plan, "a", x), LIBRARIES[name](y))) is type(got)


def test_bare_producers(rng):
    x, y = random(rng, (9, 30), "complex64", 9), random(rng, (30, 8), "complex64", 9)
    a, b, c = of_numpy(x), of_numpy(np.asfortranarray(y)), of_numpy(np.zeros((9, 8), "complex64"))
    got = kizami.matmul(a, b)
    assert type(got) is np.ndarray and same_bits(got, kizami.matmul(x, y))
    assert kizami.matmul(a, b, out=c) is c and same_bits(c.keeps, got)
    z = random(rng, (9, 8), "complex64")
    d = of_numpy(z)
    want = kizami.gemm(2, x, y, 1j, z)
    assert same_bits(kizami.gemm(2, a, b, 1j, d), want)
    assert kizami.gemm(2, a, b, 1j, d, out=d) is d and same_bits(z, want)
    with pytest.raises(kizami.InvalidArgumentError, match="out has __dlpack__ alone"):
        kizami.gemm(2, a, b, 1j, c, out=d)
    del got
    gc.collect()
    for producer in (a, b, c):  # nothing is kept, nothing is released twice
        assert producer.releases == producer.exports > 0
        assert set(producer.streams) == {None}
    compact = Producer(x.ctypes.data - 4, x.shape, x.dtype, keeps=x, byte_offset=4)  # no strides, and an offset
    assert same_bits(kizami.matmul(compact, b), kizami.matmul(x, y))


def test_what_producers_may_not_be():
    memory = np.zeros(100)
    good = of_numpy(np.ones((2, 2)))
    misaligned = Producer(memory.ctypes.data + 4, (2, 2), "f8", keeps=memory)
    backwards = Producer(memory.ctypes.data + 80, (2, 2), "f8", strides=(-2, 1), keeps=memory)
    elsewhere = Producer(memory.ctypes.data, (2, 2), "f8", device=7, keeps=memory)
    for bad, error, text in ((misaligned, ValueError, "no multiple of 8"), (backwards, ValueError, "a has a stride of -2, must be >= 0"),
                             (elsewhere, TypeError, "a is on a device of DLPack type 7")):
        with pytest.raises(error, match=text) as caught:
            kizami.matmul(bad, good)
        assert isinstance(caught.value, kizami.KizamiError)


def test_arrays_without_shape_are_refused():
    class Closed:
        def __dlpack__(self, stream=None):
            raise BufferError("closed")

        def __dlpack_device__(self):
            return 1, 0

    with pytest.raises(kizami.DTypeError, match="cannot be handed over: closed"):
        kizami.matmul(Closed(), Closed())


def test_strided_tensors_of_torch_are_not_copied(rng):
    t = torch()
    x = t.from_numpy(random(rng, (2, 60, 40), "float64"))
    want = kizami.matmul(x.numpy()[1].T, x.numpy()[0])
    out = t.full((40, 80), t.nan, dtype=t.float64)[:, ::2]
    assert kizami.matmul(x[1].mT, x[0], out=out) is out and same_bits(out.numpy(), want)
    before = address_of(out)
    assert before == (out.data_ptr(), (40, 40))
    huge = t.ones(8, dtype=t.float64).expand(2**31, 8)[:: 2**30]
    assert kizami.matmul(huge, huge[0]).tolist() == [8.0, 8.0]


def test_outputs_of_torch_may_overlap_operands(rng):
    t = torch()
    stack = t.from_numpy(random(rng, (4, 20, 20), "float64"))
    want = kizami.matmul(stack[:3].clone(), stack[3].clone()).numpy()
    assert same_bits(kizami.matmul(stack[:3], stack[3], out=stack[1:]).numpy(), want)  # C_0 is A_1
    x = t.from_numpy(random(rng, (20, 20), "float64"))
    want = kizami.gemm(1, x.clone(), x.clone(), 2, x.clone()).numpy()
    assert kizami.gemm(1, x, x, 2, x, out=x) is x and same_bits(x.numpy(), want)


def test_marked_conjugates_of_torch(rng):
    t = torch()
    x = random(rng, (20, 30), "complex128")
    a = t.from_numpy(x)
    assert a.mH.is_conj()
    assert same_bits(kizami.matmul(a.mH, a).numpy(), kizami.gemm(1, x, x, trans_a="c"))
    assert same_bits(kizami.gemm(1, a.mH, a.mH, trans_a="c", trans_b="r").numpy(), kizami.gemm(1, x, x, trans_b="t"))
    assert same_bits(kizami.matmul(a.imag, a.imag.mT).numpy(), kizami.matmul(x.imag, x.imag.T))
    negated = a.conj().imag
    assert negated.is_neg()
    assert same_bits(kizami.matmul(negated, negated.mT).numpy(), kizami.matmul(x.imag, x.imag.T))


def test_gradients_are_not_lost_silently():
    t = torch()
    x = t.ones(2, 2, requires_grad=True)
    with pytest.raises(kizami.DTypeError, match="a requires grad.*kizami.torch.matmul"):
        kizami.matmul(x, x)
    with t.no_grad():
        assert not kizami.matmul(x, x).requires_grad


def test_traced_arrays_of_jax_are_refused():
    j = jax()
    with pytest.raises(kizami.DTypeError, match="a .*Tracer.* cannot be handed over"):
        j.jit(lambda x: kizami.matmul(x, x))(j.numpy.ones((2, 2)))
