# SPDX-License-Identifier: MIT
"""PyTorch's own products by Kizami: kizami.torch.set_matmul_precision. Bits are those of kizami.matmul and gemm, and a log tells who
multiplied; what is not ours stays PyTorch's; nothing is left behind. And einsum and tensordot under autograd."""

import threading
import warnings

import kizami
import numpy as np
import pytest
from conftest import same_bits

torch = pytest.importorskip("torch", reason="needs PyTorch")
import kizami.torch as ops  # noqa: E402

DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]
POLICY = kizami.Policy("bits=20")


def randn(*shape, dtype=torch.float64, seed=1):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed + sum(shape)))


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert all(ops.get_matmul_precision(dtype) is None for dtype in DTYPES) and kizami._torch_global._registration is None
    a = randn(30, 40)
    assert not same_bits((a @ a.T).numpy(), kizami.matmul(a.numpy(), a.numpy().T, policy=POLICY))


def ours(a, b, **kwargs):
    return kizami.matmul(a.detach().resolve_conj().numpy(), b.detach().resolve_conj().numpy(), policy=kwargs.get("policy", POLICY))


@pytest.mark.parametrize("dtype", DTYPES)
def test_operators(dtype, caplog):
    a, b, s, t = randn(30, 40, dtype=dtype), randn(40, 20, dtype=dtype), randn(3, 30, 40, dtype=dtype), randn(3, 40, 20, dtype=dtype)
    v, w, c = randn(40, dtype=dtype), randn(40, dtype=dtype, seed=2), randn(20, dtype=dtype)
    cases = {
        "mm": (lambda: a @ b, lambda: ours(a, b)), "mm with views": (lambda: b.T @ a.mH, lambda: ours(b.T, a.mH)),
        "bmm": (lambda: s @ t, lambda: ours(s, t)), "broadcast": (lambda: s @ b, lambda: ours(s, b)), "mv": (lambda: a @ v, lambda: ours(a, v)),
        "dot": (lambda: torch.dot(v, w), lambda: ours(v, w)), "vdot": (lambda: torch.vdot(v, w), lambda: ours(v.conj(), w)),
        "linear": (lambda: torch.nn.functional.linear(a, b.T), lambda: ours(a, b)),
        "einsum": (lambda: torch.einsum("bij,bjk->bik", s, t), lambda: ours(s, t)),
        "addmm": (lambda: torch.addmm(c, a, b, beta=2, alpha=3), lambda: kizami.gemm(3, a.numpy(), b.numpy(), 2, np.tile(c.numpy(), (30, 1)), policy=POLICY)),
        "baddbmm": (lambda: torch.baddbmm(c, s, t), lambda: kizami.gemm(1, s.numpy(), t.numpy(), 1, np.tile(c.numpy(), (3, 30, 1)), policy=POLICY)),
        "addmv": (lambda: torch.addmv(c, b.T, v), lambda: kizami.gemm(1, b.numpy().T, v.numpy()[:, None], 1, c.numpy()[:, None], policy=POLICY)[:, 0]),
    }
    for name, (call, want) in cases.items():
        before = call()
        caplog.clear()
        with caplog.at_level("DEBUG", logger="kizami"), ops.matmul_precision(POLICY):
            got = call()
        assert len(caplog.records) == 1, f"{name}: {len(caplog.records)} products"
        assert got.dtype == dtype and same_bits(got.resolve_conj().numpy(), want()), name
        assert torch.equal(call(), before), f"{name}: not undone"


def test_out_and_in_place():
    a, b, c = randn(30, 40), randn(40, 20), randn(30, 20)
    with ops.matmul_precision(POLICY):
        out, empty = torch.zeros(30, 20, dtype=torch.float64), torch.empty(0, dtype=torch.float64)
        assert torch.mm(a, b, out=out) is out and same_bits(out.numpy(), ours(a, b))
        torch.mm(a, b, out=empty)
        strided = torch.zeros(20, 30, dtype=torch.float64).T
        torch.mm(a, b, out=strided)
        assert torch.equal(empty, out) and torch.equal(strided, out)
        x = c.clone()
        assert x.addmm_(a, b) is x and same_bits(x.numpy(), kizami.gemm(1, a.numpy(), b.numpy(), 1, c.numpy(), policy=POLICY))
        square = randn(5, 5)
        want = ours(square, square)
        torch.mm(square, square, out=square)
        assert same_bits(square.numpy(), want)


def test_gradients_are_answered_too():
    a, b, bias = randn(30, 40).requires_grad_(), randn(40, 20).requires_grad_(), randn(20).requires_grad_()
    seed = randn(30, 20, seed=5)
    with ops.matmul_precision(POLICY):
        torch.addmm(bias, a, b).backward(seed)
    assert same_bits(a.grad.numpy(), ours(seed, b.T)) and same_bits(b.grad.numpy(), ours(a.T, seed)) and torch.equal(bias.grad, seed.sum(0))
    with ops.matmul_precision("bits=52", dtypes=[torch.float64]):
        small = [randn(3, 4).requires_grad_(), randn(4, 2).requires_grad_()]
        assert torch.autograd.gradcheck(torch.mm, small) and torch.autograd.gradgradcheck(torch.mm, small)
        assert torch.autograd.gradcheck(lambda x, y: x @ y, [randn(2, 3, 4).requires_grad_(), randn(4).requires_grad_()])


def test_a_model_learns():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)).double()
    x, y = randn(64, 8), randn(64, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    with ops.matmul_precision("bits=30", dtypes=[torch.float64]):
        for _ in range(20):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[-1] < 0.9 * losses[0]


def test_every_thread_is_answered():
    a, b = randn(30, 40), randn(40, 20)
    results = []
    with ops.matmul_precision(POLICY):
        threads = [threading.Thread(target=lambda: results.append(a @ b)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(results) == 4 and all(same_bits(x.numpy(), ours(a, b)) for x in results)


def test_transforms():
    s, b = randn(3, 30, 40), randn(40, 20)
    with ops.matmul_precision(POLICY):
        assert same_bits(torch.func.vmap(torch.mm, in_dims=(0, None))(s, b).numpy(), ours(s.reshape(90, 40), b).reshape(3, 30, 20))
        gradient = torch.func.grad(lambda x: (x @ b).sum())(s[0])
        assert same_bits(gradient.numpy(), ours(torch.ones(30, 20, dtype=torch.float64), b.T))


def test_compiled_functions_follow():
    a, b = randn(30, 40), randn(40, 20)
    function = torch.compile(lambda x, y: torch.tanh(x @ y), backend="aot_eager")
    before = function(a, b)
    with ops.matmul_precision(POLICY):
        assert same_bits(function(a, b).numpy(), torch.tanh(torch.from_numpy(ours(a, b))).numpy())
    assert torch.equal(function(a, b), before)


def test_what_is_not_ours_is_pytorchs():
    integers, halves, a = torch.arange(16).reshape(4, 4), randn(4, 4).half(), randn(4, 4)
    sparse, meta = torch.eye(4, dtype=torch.float64).to_sparse(), torch.empty(4, 4, device="meta", dtype=torch.float64)
    calls = [lambda: integers @ integers, lambda: halves @ halves, lambda: torch.mm(sparse, a), lambda: randn(9, 9).float() @ randn(9, 9).float()]
    before = [call() for call in calls]
    with ops.matmul_precision(POLICY, dtypes=[torch.float64]):
        assert all(torch.equal(call(), want) for call, want in zip(calls, before)) and (meta @ meta).shape == (4, 4)
        for wrong in (lambda: torch.mm(a, a[:3]), lambda: torch.mm(a, integers), lambda: torch.bmm(a, a), lambda: torch.addmm(randn(3), a, a)):
            with pytest.raises(RuntimeError):
                wrong()
        assert same_bits((a @ a).numpy(), ours(a, a))


def test_accuracy_correct():
    a, b, c = randn(6, 9), randn(9, 5), randn(5)
    with ops.matmul_precision("correct"):
        assert same_bits((a @ b).numpy(), ours(a, b, policy="correct"))
        assert same_bits(torch.addmm(c, a, b, alpha=2).numpy(), 2 * ours(a, b, policy="correct") + c.numpy())


def test_settings_nest_and_come_back():
    ops.set_matmul_precision("bits=20", dtypes=[torch.float32])
    with pytest.raises(ZeroDivisionError):
        with ops.matmul_precision("bits=40", dtypes=[torch.float64]):
            assert (ops.get_matmul_precision(), ops.get_matmul_precision(torch.float32)) == (kizami.Policy("bits=40"), POLICY)
            with ops.matmul_precision(None):
                assert ops.get_matmul_precision(torch.float32) is None
            raise ZeroDivisionError
    assert ops.get_matmul_precision() is None and ops.get_matmul_precision(torch.float32) == POLICY
    ops.set_matmul_precision(None)


def test_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            ops.set_matmul_precision("native")
            ops.set_matmul_precision(None)


@pytest.mark.parametrize(("arguments", "error", "text"), [
    (("bits=40", None), kizami.InvalidArgumentError, "policy = Policy.'bits=40'. of torch.float32: bits = 40"),
    (("fast", None), kizami.InvalidArgumentError, "accuracy = 'fast'"), (("native", [torch.float16]), kizami.DTypeError, "dtypes has torch.float16"),
])
def test_refusals(arguments, error, text):
    with pytest.raises(error, match=text):
        ops.set_matmul_precision(arguments[0], dtypes=arguments[1])


def test_what_fails_says_so():
    a = torch.full((3, 3), float("inf"), dtype=torch.float64)
    with ops.matmul_precision(kizami.Policy(nonfinite="reject")), pytest.raises(kizami.NonFiniteError):
        a @ a


@pytest.mark.parametrize(("subscripts", "shapes"), [("ij,jk->ik", [(3, 4), (4, 2)]), ("bij,bjk,k->bi", [(2, 3, 4), (2, 4, 3), (3,)]), ("ii,ij->", [(3, 3), (3, 2)]),
                                                    ("ij,ij->ij", [(3, 4), (3, 4)]), ("ij->j", [(3, 4)])])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_einsum_has_gradients(subscripts, shapes, dtype):
    operands = [randn(*shape, dtype=dtype, seed=i).requires_grad_() for i, shape in enumerate(shapes)]
    want = torch.einsum(subscripts, *operands)
    got = ops.einsum(subscripts, *operands)
    assert got.shape == want.shape and torch.allclose(got, want)
    assert torch.autograd.gradcheck(lambda *x: ops.einsum(subscripts, *x), operands)


def test_tensordot_has_gradients():
    a, b = randn(2, 3, 4).requires_grad_(), randn(4, 3, 2, seed=2).requires_grad_()
    assert torch.allclose(ops.tensordot(a, b, ([1, 2], [1, 0])), torch.tensordot(a, b, ([1, 2], [1, 0])))
    assert torch.autograd.gradcheck(lambda x, y: ops.tensordot(x, y, ([1, 2], [1, 0])), (a, b))


def test_docstrings():
    import doctest

    result = doctest.testmod(kizami._torch_global)
    assert result.failed == 0 and result.attempted > 8
