# SPDX-License-Identifier: MIT
"""Arrays in the memory of a CUDA device: the bits of the host, in the order of the caller's stream. Skipped where no device is,
unless KIZAMI_REQUIRE_GPU is set."""

import ctypes
import gc
import os

import kizami
import numpy as np
import pytest
from conftest import DTYPES, random, same_bits
from dlpack_producer import CUDA, Producer, address_of

if kizami._core.num_devices() == 0:
    assert not os.environ.get("KIZAMI_REQUIRE_GPU"), "no CUDA device, or a build without CUDA"
    pytest.skip("no CUDA device", allow_module_level=True)


class Runtime:
    """The CUDA runtime by ctypes: what an array without a library needs."""

    def __init__(self):
        names = ("libcudart.so.13", "libcudart.so.12", "libcudart.so")
        for name in names:
            try:
                self.library = ctypes.CDLL(name)
                return
            except OSError:
                continue
        pytest.skip(f"none of {', '.join(names)} is found")

    def call(self, name, *arguments):
        assert getattr(self.library, name)(*arguments) == 0, name

    def upload(self, x):
        """A copy of a NumPy array in device memory, as a bare producer."""
        address = ctypes.c_void_p()
        self.call("cudaMalloc", ctypes.byref(address), ctypes.c_size_t(max(x.nbytes, 1)))
        self.call("cudaMemcpy", address, ctypes.c_void_p(x.ctypes.data), ctypes.c_size_t(x.nbytes), 1)
        return Producer(address.value, x.shape, x.dtype, device=CUDA)

    def download(self, array, dtype):
        address, shape = address_of(array)
        out = np.empty(shape, dtype)
        self.call("cudaMemcpy", ctypes.c_void_p(out.ctypes.data), ctypes.c_void_p(address), ctypes.c_size_t(out.nbytes), 2)
        return out


def cupy():
    return pytest.importorskip("cupy", reason="needs CuPy")


def torch():
    module = pytest.importorskip("torch", reason="needs PyTorch")
    if not module.cuda.is_available():
        pytest.skip("this PyTorch sees no device")
    return module


def jax():
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    module = pytest.importorskip("jax", reason="needs JAX")
    module.config.update("jax_enable_x64", True)
    if module.default_backend() != "gpu":
        pytest.skip("this JAX sees no device")
    return module


LIBRARIES = {
    "torch": (lambda x: torch().from_numpy(x.copy()).cuda(), lambda x: x.cpu().numpy()),
    "cupy": (lambda x: cupy().asarray(x), lambda x: x.get()),
    "jax": (lambda x: jax().numpy.asarray(x), np.asarray),
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_bare_producers_get_the_bits_of_the_host(rng, dtype):
    runtime = Runtime()
    for accuracy, spread in (("native", 0), ("bits=20", 0), ("native", 40)):
        x, y = random(rng, (130, 700), dtype, spread), random(rng, (700, 90), dtype, spread)
        a, b, out = runtime.upload(x), runtime.upload(y), runtime.upload(np.zeros((130, 90), dtype))
        policy = kizami.Policy(accuracy, sync="allowed")
        got, outcome = kizami.matmul(a, b, policy=policy, return_outcome=True)
        want, expected = kizami.matmul(x, y, policy=accuracy, return_outcome=True)
        assert outcome.engine in ("hopper", "cublaslt") and outcome.scheme == "ozaki2"
        assert same_bits(runtime.download(got, dtype), want)
        assert (outcome.moduli, outcome.rung, outcome.bound) == (expected.moduli, expected.rung, expected.bound)
        assert kizami.matmul(a, b, out=out, policy=policy) is out
        assert same_bits(runtime.download(out, dtype), want)
        del got
        gc.collect()
        assert all(p.releases > 0 for p in (a, b)) and set(a.streams) == {1}


def test_bare_producers_in_gemm(rng):
    runtime = Runtime()
    x, y, z = random(rng, (80, 70), "float64"), random(rng, (90, 80), "float64"), random(rng, (70, 90), "float64")
    a, b, c = map(runtime.upload, (x, y, z))
    want = kizami.gemm(0.7, x, y, -1.3, z, "t", "t")
    assert same_bits(runtime.download(kizami.gemm(0.7, a, b, -1.3, c, "t", "t"), "float64"), want)
    assert same_bits(runtime.download(c, "float64"), z)
    kizami.gemm(0.7, a, b, -1.3, c, "t", "t", out=c)
    assert same_bits(runtime.download(c, "float64"), want)


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_libraries_get_the_bits_of_the_host(rng, name, dtype):
    upload, download = LIBRARIES[name]
    for left, right in (((130, 300), (300, 90)), ((300,), (300, 90)), ((3, 40, 50), (50, 60)), ((2, 1, 40, 50), (3, 50, 20))):
        x, y = random(rng, left, dtype), random(rng, right, dtype)
        a, b = upload(x), upload(y)
        got = kizami.matmul(a, b)
        assert type(got) is type(a) and same_bits(download(got), kizami.matmul(x, y))
    z = random(rng, (130, 90), dtype)
    x, y = random(rng, (130, 300), dtype), random(rng, (300, 90), dtype)
    got = kizami.gemm(0.5, upload(x), upload(y), 2.0, upload(z))
    assert same_bits(download(got), kizami.gemm(0.5, x, y, 2.0, z))


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_prepared_operands_give_the_bits_of_the_host(rng, name, dtype):
    upload, download = LIBRARIES[name]
    for spread in (0, 3):
        x, y = random(rng, (130, 300), dtype, spread), random(rng, (300, 90), dtype, spread)
        a, b = upload(x), upload(y)
        want = kizami.matmul(x, y)
        plan = kizami.plan(130, 90, 300, dtype, device="cuda:0")
        left, right = kizami.prepare(plan, "a", a), kizami.prepare(plan, "b", upload(y.T.copy()), trans="t")
        assert left.size_bytes > 0 and left.device == "cuda:0" and left.original is a and "moduli" in left.core.explain()
        for operands in ((left, b), (a, right), (left, right)):
            got = plan.run(*operands)
            assert type(got) is type(a) and same_bits(download(got), want)
        narrow = kizami.matmul(left, upload(y[:, :7].copy()))  # by a plan of equal numerics
        assert same_bits(download(narrow), kizami.matmul(x, y[:, :7].copy()))
        del a, left  # what is prepared keeps its array alive
        gc.collect()
        assert same_bits(download(plan.run(upload(x), right)), want)


def test_prepared_operands_are_refused_elsewhere(rng):
    upload, _ = LIBRARIES["torch"]
    x = random(rng, (30, 30), "float64")
    a = upload(x)
    plan = kizami.plan(30, 30, 30, device="cuda:0")
    left = kizami.prepare(plan, "a", a)
    batch = kizami.plan(30, 30, 30, device="cuda:0", num_products=2)
    stack = upload(np.stack([x, x]))
    for error, text, call in (
            (ValueError, "keep = False, must be True on a device", lambda: kizami.prepare(plan, "a", a, keep=False)),
            (ValueError, "x is on device cpu, must be on 0", lambda: kizami.prepare(plan, "a", x)),
            (ValueError, "b is on device cpu, must be on 0 like a", lambda: kizami.matmul(left, x)),
            (ValueError, "was prepared as operand A, must be as B", lambda: plan.run(a, left)),
            (ValueError, "other numerics", lambda: kizami.matmul(left, a, policy="bits=10")),
            (ValueError, "must be for one to prepare", lambda: kizami.prepare(batch, "a", a)),
            (ValueError, "2 products by an operand that is prepared on a device, must be 1", lambda: kizami.matmul(left, stack))):
        with pytest.raises(error, match=text):
            call()


CONTRACTIONS = {
    "chain": (lambda f, a, b, c: f.einsum("ij,jk,k->i", a, b, c), [(60, 70), (70, 50), (50,)]),
    "batch": (lambda f, a, b, c: f.einsum("bij,bjk,b->ikb", a, b, c), [(3, 40, 50), (3, 50, 20), (3,)]),
    "diagonals and sums": (lambda f, a, b, c: f.einsum("iij,jk,lk->i", a, b, c), [(30, 30, 40), (40, 50), (60, 50)]),
    "broadcast": (lambda f, a, b, c: f.einsum("...ij,...jk,k", a, b, c), [(2, 1, 30, 40), (5, 40, 20), (20,)]),
    "tensordot": (lambda f, a, b, c: f.tensordot(a, b, ([2, 1], [0, 1])), [(30, 8, 9), (9, 8, 40), (1,)]),
    "dot": (lambda f, a, b, c: f.dot(a, b), [(7, 30), (4, 30, 5), (1,)]),
    "multi_dot": (lambda f, a, b, c: f.multi_dot([a, b, c]), [(60, 30), (30, 80), (80, 10)]),
    "vecdot": (lambda f, a, b, c: f.vecdot(a, b), [(6, 1, 70), (5, 70), (1,)]),
    "matvec": (lambda f, a, b, c: f.matvec(a, b), [(6, 30, 70), (5, 1, 70), (1,)]),
}


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("call", CONTRACTIONS)
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_contractions_have_the_bits_of_the_host(rng, name, call, dtype):
    upload, download = LIBRARIES[name]
    function, shapes = CONTRACTIONS[call]
    arrays = [random(rng, shape, dtype, 3) for shape in shapes]
    operands = [upload(x) for x in arrays]
    got = function(kizami, *operands)
    assert type(got) is type(operands[0]) and same_bits(download(got), function(kizami, *arrays))


@pytest.mark.parametrize("name", LIBRARIES)
def test_tolerances_and_slices(rng, name):
    upload, _ = LIBRARIES[name]
    x, y = random(rng, (60, 90), "float64", 4), random(rng, (90, 50), "float64", 4)
    for wish in ({"tolerance": 1e-9}, {"tolerance": kizami.Tolerance(1e-5, "norm")}, {"slices": 6}):
        got, outcome = kizami.matmul(upload(x), upload(y), return_outcome=True, **wish)
        want, of_host = kizami.matmul(x, y, return_outcome=True, **wish)
        assert same_bits(LIBRARIES[name][1](got), want) and outcome.bound == of_host.bound


def test_torchs_own_products(rng, caplog):
    t = torch()
    from kizami.torch import matmul_precision

    x, y, z = (random(rng, shape, "float64") for shape in ((60, 90), (90, 50), (60, 50)))
    a, b, c = (t.from_numpy(v).cuda() for v in (x, y, z))
    a.requires_grad_()
    before = t.addmm(c, a.detach(), b)
    with caplog.at_level("DEBUG", logger="kizami"), matmul_precision("bits=20", dtypes=[t.float64]):
        product = a @ b
        product.backward(c)
        added = t.addmm(c, a.detach(), b)
    assert len(caplog.records) == 3 and all("on 0:" in record.getMessage() for record in caplog.records)
    assert same_bits(product.detach().cpu().numpy(), kizami.matmul(x, y, policy="bits=20"))
    assert same_bits(a.grad.cpu().numpy(), kizami.matmul(z, y.T, policy="bits=20"))
    assert same_bits(added.cpu().numpy(), kizami.gemm(1, x, y, 1, z, policy="bits=20"))
    assert t.equal(t.addmm(c, a.detach(), b), before)


@pytest.mark.parametrize("name", ["torch", "cupy"])
def test_views_and_outputs(rng, name):
    upload, download = LIBRARIES[name]
    x, y = random(rng, (64, 200), "float64"), random(rng, (64, 100), "float64")
    a, b, out = upload(x), upload(y), upload(np.zeros((100, 150)))
    want = kizami.matmul(x[:, ::2].T, y)
    target = out[:, :100]
    assert kizami.matmul(a[:, ::2].T, b, out=target) is target
    assert same_bits(download(out)[:, :100], want) and not download(out)[:, 100:].any()
    if name == "cupy":
        assert same_bits(download(kizami.matmul(a[::-1].T, b[:, ::-1])), kizami.matmul(x[::-1].T, y[:, ::-1]))


def test_the_current_stream_of_torch(rng):
    """A product on a side stream comes after what that stream still has to do, and nobody waits on the host."""
    t = torch()
    x, y = random(rng, (512, 512), "float64"), random(rng, (512, 512), "float64")
    a, b, late = t.zeros(512, 512, dtype=t.float64, device="cuda"), t.from_numpy(y).cuda(), t.from_numpy(x).cuda()
    kizami.matmul(a, b)  # loads kernels, fills the pools
    stream = t.cuda.Stream()
    stream.wait_stream(t.cuda.current_stream())
    with t.cuda.stream(stream):
        t.cuda._sleep(400_000_000)  # about 0.2 s
        a.copy_(late)
        c = kizami.matmul(a, b)
        assert not stream.query()  # enqueued, not waited for
    stream.synchronize()
    assert same_bits(c.cpu().numpy(), kizami.matmul(x, y))


def test_the_current_stream_of_cupy(rng):
    cp = cupy()
    x, y = random(rng, (512, 512), "float64"), random(rng, (512, 512), "float64")
    a, b, late = cp.zeros((512, 512)), cp.asarray(y), cp.asarray(x)
    kizami.matmul(a, b)
    cp.cuda.Device().synchronize()
    spin = cp.RawKernel('extern "C" __global__ void spin(long long n) { long long t = clock64(); while (clock64() - t < n) {} }', "spin")
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        spin((1,), (1,), (np.int64(400_000_000),))
        a[...] = late
        c = kizami.matmul(a, b)
        assert not stream.done
    stream.synchronize()
    assert same_bits(c.get(), kizami.matmul(x, y))


def test_graphs_of_torch(rng):
    t = torch()
    x = [random(rng, (256, 256), "float64") for _ in range(3)]
    a, b, c = (t.zeros(256, 256, dtype=t.float64, device="cuda") for _ in range(3))
    kizami.matmul(a, b, out=c)
    graph = t.cuda.CUDAGraph()
    with t.cuda.graph(graph):
        kizami.matmul(a, b, out=c)
    for i in range(2):
        a.copy_(t.from_numpy(x[i]))
        b.copy_(t.from_numpy(x[i + 1]))
        graph.replay()
        assert same_bits(c.cpu().numpy(), kizami.matmul(x[i], x[i + 1]))


def test_the_operator_of_torch(rng):
    t = torch()
    ops = pytest.importorskip("kizami.torch")
    x, y = random(rng, (60, 70), "float64"), random(rng, (70, 50), "float64")
    a, b = (t.from_numpy(v).cuda().requires_grad_() for v in (x, y))
    with kizami.precision("bits=50"):
        c = ops.matmul(a, b)
    c.backward(t.ones_like(c))
    ones = np.ones((60, 50))
    assert same_bits(c.detach().cpu().numpy(), kizami.matmul(x, y, policy="bits=50"))
    assert same_bits(a.grad.cpu().numpy(), kizami.matmul(ones, y.T, policy="bits=50"))
    assert same_bits(b.grad.cpu().numpy(), kizami.matmul(x.T, ones, policy="bits=50"))
    small = [t.randn(s, dtype=t.float64, device="cuda", requires_grad=True) for s in ((3, 4), (4, 2))]
    assert t.autograd.gradcheck(ops.matmul, small)
    compiled = t.compile(lambda u, v: ops.matmul(u, v, policy="bits=50") + 0.0)
    assert same_bits(compiled(a.detach(), b.detach()).cpu().numpy(), c.detach().cpu().numpy())


def test_results_feed_the_library_that_asked(rng):
    """JAX takes over memory of ours: what it computes next sees the product, and the memory goes back once."""
    j = jax()
    x, y = random(rng, (300, 300), "float64"), random(rng, (300, 300), "float64")
    a, b = j.numpy.asarray(x), j.numpy.asarray(y)
    for _ in range(20):
        c = kizami.matmul(a, b)
        assert same_bits(np.asarray(c), kizami.matmul(x, y))
        assert np.asarray((c + 1.0 - c).sum()).item() == pytest.approx(90000, rel=1e-9)
        del c


def test_plans_for_devices(rng):
    t = torch()
    plan = kizami.plan(40, 30, 50, device="cuda:0", num_products=3)
    assert plan.device == "cuda:0" and plan.num_products == 3 and "num_products=3" in repr(plan)
    x, y = random(rng, (3, 40, 50), "float64"), random(rng, (50, 30), "float64")
    a, b = t.from_numpy(x).cuda(), t.from_numpy(y).cuda()
    c, outcome = plan.run(a, b, return_outcome=True)
    assert same_bits(c.cpu().numpy(), kizami.matmul(x, y)) and len(outcome.products) == 3
    for left, right, text in ((a[:2], b, "2 products of the operands, must be 3"), (x, y, "device = 'cpu' of the operands, must be 0")):
        with pytest.raises(kizami.InvalidArgumentError, match=text):
            plan.run(left, right)
    host = kizami.plan(40, 30, 50)
    with pytest.raises(kizami.InvalidArgumentError, match="x is on device 0, must be on cpu as in the plan"):
        kizami.prepare(host, "a", a[0])
    with pytest.raises(kizami.InvalidArgumentError, match="b is on device 0, must be on cpu like a"):
        kizami.matmul(kizami.prepare(host, "a", x[0]), b)
    with pytest.raises(kizami.InvalidArgumentError, match="b is on device cpu, must be on 0 like a"):
        kizami.matmul(a, t.from_numpy(y))
    with pytest.raises(kizami.InvalidArgumentError, match="device = cuda:99"):
        kizami.plan(2, 2, 2, device="cuda:99")
    with pytest.raises(kizami.UnsupportedError):
        kizami.matmul(a, b, policy="correct")
