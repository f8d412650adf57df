# SPDX-License-Identifier: MIT
"""The operator kizami::matmul of PyTorch: its registration, gradients of first and second order, torch.compile, vmap."""

import itertools
import threading

import kizami
import numpy as np
import pytest
from conftest import random, same_bits

torch = pytest.importorskip("torch", reason="needs PyTorch")
import kizami.torch as ops  # noqa: E402

SHAPES = [((3, 4), (4, 2)), ((4,), (4, 2)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (4, 2)), ((2, 1, 3, 4), (3, 4, 2)), ((3, 0), (0, 2))]


def tensors(shapes, dtype=torch.float64, requires_grad=True):
    generator = torch.Generator().manual_seed(7)
    return [torch.randn(s, dtype=dtype, generator=generator).requires_grad_(requires_grad) for s in shapes]


@pytest.mark.parametrize("shapes", SHAPES)
def test_values_are_those_of_kizami(shapes):
    a, b = tensors(shapes, requires_grad=False)
    got = ops.matmul(a, b, policy="bits=50")
    assert got.shape == torch.matmul(a, b).shape
    assert same_bits(got.numpy(), kizami.matmul(a.numpy(), b.numpy(), policy="bits=50"))


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_gradients(shapes, dtype):
    a, b = tensors(shapes, dtype)
    assert torch.autograd.gradcheck(ops.matmul, (a, b))
    assert torch.autograd.gradgradcheck(ops.matmul, (a, b))


def test_gradients_of_mixed_types():
    a, b = tensors([(3, 4), (4, 2)])
    assert torch.autograd.gradcheck(ops.matmul, (a, b.detach().to(torch.complex128).requires_grad_()))


def test_the_registration():
    for dtype, shapes in itertools.product((torch.float32, torch.complex128), (((3, 4), (4, 2)), ((2, 1, 3, 4), (3, 4, 2)))):
        torch.library.opcheck(torch.ops.kizami.matmul.default, (*tensors(shapes, dtype), ops._text_of(kizami.Policy())))


def test_the_backward_pass_has_the_policy_of_the_forward_pass():
    a, b = tensors([(30, 40), (40, 20)])
    with kizami.precision("correct"):
        c = ops.matmul(a, b)
    seed = torch.randn(c.shape, dtype=c.dtype)
    c.backward(seed)
    assert same_bits(a.grad.numpy(), kizami.matmul(seed.numpy(), b.detach().numpy().T, policy="correct"))
    assert same_bits(b.grad.numpy(), kizami.matmul(a.detach().numpy().T, seed.numpy(), policy="correct"))
    assert not same_bits(a.grad.numpy(), kizami.matmul(seed.numpy(), b.detach().numpy().T, policy="bits=20"))


def test_compiled_functions():
    a, b = tensors([(30, 40), (40, 20)])
    policy = kizami.Policy("bits=40")

    @torch.compile(fullgraph=True, dynamic=False)
    def loss(x, y):
        return torch.tanh(ops.matmul(x, y, policy=policy)).sum()

    loss(a, b).backward()
    compiled = a.grad.clone(), b.grad.clone()
    a.grad = b.grad = None
    torch.tanh(ops.matmul(a, b, policy=policy)).sum().backward()
    for got, want in zip(compiled, (a.grad, b.grad)):
        assert torch.allclose(got, want, rtol=1e-9)


def test_compiled_functions_follow_the_policy_in_force():
    a, b = tensors([(30, 40), (40, 20)], requires_grad=False)
    function = torch.compile(lambda x, y: ops.matmul(x, y) * 1.0)
    want = {accuracy: kizami.matmul(a.numpy(), b.numpy(), policy=accuracy) for accuracy in ("native", "bits=20", "correct")}
    assert len({x.tobytes() for x in want.values()}) == 3
    for accuracy in ("native", "bits=20", "correct", "native"):
        with kizami.precision(accuracy):
            assert same_bits(function(a, b).numpy(), want[accuracy]), accuracy


def test_mapped_functions():
    a, b = tensors([(5, 3, 4), (4, 2)], requires_grad=False)
    c = torch.randn(5, 2, 4, 6, dtype=torch.float64)
    for function, arguments, in_dims in ((ops.matmul, (a, b), (0, None)), (ops.matmul, (a, c), (0, 0)), (ops.matmul, (b.mT, c), (None, 0)),
                                         (ops.matmul, (a.movedim(0, 2), c), (2, 0))):
        got = torch.func.vmap(function, in_dims=in_dims)(*arguments)
        want = torch.func.vmap(torch.matmul, in_dims=in_dims)(*arguments)
        assert got.shape == want.shape and torch.allclose(got, want)


def test_threads_of_the_backward_pass():
    results = []

    def work():
        a, b = tensors([(30, 40), (40, 20)])
        ops.matmul(a, b, policy="bits=30").sum().backward()
        results.append(a.grad.numpy().tobytes())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 and len(set(results)) == 1


def test_refusals():
    with pytest.raises(kizami.DTypeError, match="a is of type int64"):
        ops.matmul(torch.ones(2, 2, dtype=torch.int64), torch.ones(2, 2, dtype=torch.int64))
    with pytest.raises(kizami.InvalidArgumentError, match="b has 3 rows"):
        ops.matmul(torch.ones(2, 2), torch.ones(3, 2))
    with pytest.raises(kizami.InvalidArgumentError, match="accuracy = 'fast'"):
        ops.matmul(torch.ones(2, 2), torch.ones(2, 2), policy="fast")


def test_docstrings():
    import doctest

    result = doctest.testmod(ops)
    assert result.failed == 0 and result.attempted > 3


def test_random_products_against_numpy(rng):
    x, y = random(rng, (40, 30), "complex64"), random(rng, (30, 20), "complex64")
    assert same_bits(ops.matmul(torch.from_numpy(x), torch.from_numpy(y)).numpy(), kizami.matmul(x, y))
    assert np.isfinite(x).all()
