# SPDX-License-Identifier: MIT
"""Products of DTensors on 2 and 4 processes over gloo: the bits of one process for every mesh and every cut of the operands, forward
and backward, and no partial sums."""

import doctest
import importlib
import itertools
import json
import os
import pickle
import subprocess
import sys
import time
import traceback
from pathlib import Path

import kizami
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")
if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
    pytest.skip("this PyTorch has no gloo", allow_module_level=True)
import torch.distributed as dist  # noqa: E402
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor  # noqa: E402

import kizami.torch as ops  # noqa: E402

NORM = kizami.Policy(gauge="norm", threads=1)
ENTRY = kizami.Policy(threads=1)


def on_ranks(size, body):
    """What body(rank) says on each of so many processes, children of this one, which have what is imported here; an error of one is that
    of the test."""
    name = f"/tmp/kizami_torch_ranks_{os.getpid()}_{time.monotonic_ns()}"
    pipes, children = [], []
    for rank in range(size):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            try:
                torch.set_num_threads(1)
                dist.init_process_group("gloo", init_method=f"file://{name}", rank=rank, world_size=size)
                said = True, body(rank)
                dist.barrier()
                dist.destroy_process_group()
            except BaseException:
                said = False, traceback.format_exc()
            with os.fdopen(writer, "wb") as pipe:
                pickle.dump(said, pipe)
            os._exit(0)
        os.close(writer)
        pipes.append(reader)
        children.append(child)
    results = []
    for reader in pipes:
        with os.fdopen(reader, "rb") as pipe:
            results.append(pickle.load(pipe))
    for child in children:
        os.waitpid(child, 0)
    if os.path.exists(name):
        os.remove(name)
    for is_good, said in results:
        assert is_good, said
    return [said for _, said in results]


def mesh_of(shape):
    return torch.distributed.device_mesh.init_device_mesh("cpu", shape, mesh_dim_names=("x", "y")[:len(shape)])


def random(seed, shape, dtype=torch.float64):
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def graded(seed, shape, axis, bits, dtype=torch.float64):
    """Rises along an axis: rows (or columns) of some ranks need a higher rung than those of others."""
    if dtype in (torch.float32, torch.complex64):
        bits /= 2
    rise = torch.exp2(torch.linspace(0, bits, shape[axis], dtype=torch.float64)).to(dtype)
    return random(seed, shape, dtype) * rise.reshape([-1 if i == axis % len(shape) else 1 for i in range(len(shape))])


def placements(axes, num_mesh_axes):
    return list(itertools.product([Replicate(), *(Shard(axis) for axis in axes)], repeat=num_mesh_axes))


def some(cuts, num_mesh_axes, turn):
    """All of them on a mesh of one axis; on one of two axes, where they are squared, a dozen, others in each turn."""
    cuts = list(cuts)
    step = 1 if num_mesh_axes == 1 else max(1, len(cuts) // 12)
    return cuts[turn % step::step]


def differing(size, mesh_shape, cases):
    """Which cuts of the operands, of cases (a, b, policy), give other bits than one process, or a partial sum, on any rank; and where the
    results of each case lay."""
    wants = [kizami.matmul(a.numpy(), b.numpy(), policy=policy) for a, b, policy in cases]

    def body(rank):
        mesh, wrong, seen = mesh_of(mesh_shape), [], [set() for _ in cases]
        for i, (a, b, policy) in enumerate(cases):
            cuts = itertools.product(placements(range(a.ndim), len(mesh_shape)), placements(range(b.ndim), len(mesh_shape)))
            for of_a, of_b in some(cuts, len(mesh_shape), i):
                c = ops.matmul(distribute_tensor(a, mesh, of_a), distribute_tensor(b, mesh, of_b), policy=policy)
                seen[i] |= set(c.placements)
                got = c.full_tensor().numpy()
                if any(p.is_partial() for p in c.placements) or got.shape != wants[i].shape or got.tobytes() != wants[i].tobytes():
                    wrong.append(f"{tuple(a.shape)} {a.dtype} {of_a}, {tuple(b.shape)} {of_b}, {policy}: {c.placements}")
        return wrong, seen

    said = on_ranks(size, body)
    return [w for wrong, _ in said for w in wrong], said[0][1]


MESHES = [(2, (2,)), (4, (4,)), (4, (2, 2))]
on_meshes = pytest.mark.parametrize(("size", "mesh"), MESHES, ids=["2", "4", "2x2"])
CUT_BY_LINES = [NORM, kizami.Policy("correct", threads=1), kizami.Policy("bits=30", gauge="norm", threads=1), kizami.Policy(moduli=15, threads=1),
                kizami.Policy(scheme="ozaki1", slices=7, threads=1), kizami.Policy(scheme="ozaki1", gauge="norm", threads=1)]
GATHERED = [ENTRY, kizami.Policy("bits=30", threads=1), kizami.Policy(scheme="ozaki1", threads=1)]


def uneven(dtype=torch.float64, grade=0):
    """Three rows and columns have elements that do not meet: their blocks need a higher rung than others. Or elements rise along k by
    so many bits, and are scaled by what all of them are. Extents that no mesh divides."""
    a, b = random(1, (13, 40), dtype), random(2, (40, 10), dtype)
    if grade:
        rise = torch.exp2(torch.linspace(0, grade, 40, dtype=torch.float64)).to(dtype)
        return a * rise, b / rise[:, None]
    a[:3, 1::2] *= 2.0**14
    b[0::2, :3] *= 2.0**14
    return a, b


@on_meshes
def test_every_cut_has_the_bits_of_one_process(size, mesh):
    cases = [(*uneven(grade=grade), policy) for policy in CUT_BY_LINES + GATHERED for grade in (0, 60)]
    cases += [(*uneven(dtype), NORM) for dtype in (torch.float32, torch.complex64, torch.complex128)]
    wrong, seen = differing(size, mesh, cases)
    assert not wrong
    for (_, _, policy), where in zip(cases, seen):  # and the work is shared, where it may be
        assert where == {Replicate()} if policy in GATHERED else where >= {Shard(0), Shard(1)}, (policy, where)


def test_blocks_alone_would_have_other_bits():
    """What the rule for gauge entry is for: with blocks of rows the test above would fail."""
    for policy, grade in itertools.product(CUT_BY_LINES + GATHERED[:2], (0, 60)):
        a, b = uneven(grade=grade)
        whole, half = ops.matmul(a, b, policy=policy), ops.matmul(a[7:], b, policy=policy)
        assert torch.equal(whole[7:], half) == (policy in CUT_BY_LINES), (policy, grade)


@on_meshes
def test_stacks(size, mesh):
    shapes = [((4, 6, 20), (4, 20, 5)), ((4, 6, 20), (20, 5)), ((6, 20), (4, 20, 5)), ((4, 1, 6, 20), (3, 20, 5)), ((1, 6, 20), (4, 20, 5))]
    cases = [(graded(1, x, -2, 40), graded(2, y, -1, 40), policy) for (x, y), policy in itertools.product(shapes, (NORM, ENTRY))]
    wrong, seen = differing(size, mesh, cases)
    assert not wrong
    assert all(Shard(0) in where for where in seen), seen  # matrices of a stack are shared in every gauge


def test_vectors():
    matrix, vector = graded(1, (8, 12), 0, 50), random(2, (12,))
    want = [kizami.matmul(*x, policy=NORM) for x in ((matrix.numpy(), vector.numpy()), (vector.numpy(), matrix.mT.numpy()), (vector.numpy(), vector.numpy()))]

    def body(rank):
        mesh = mesh_of((2,))
        wrong = []
        for of_matrix, of_vector in itertools.product(placements((0, 1), 1), placements((0,), 1)):
            m, v = distribute_tensor(matrix, mesh, of_matrix), distribute_tensor(vector, mesh, of_vector)
            got = [ops.matmul(m, v, policy=NORM), ops.matmul(v, m.mT, policy=NORM), ops.matmul(v, v, policy=NORM)]
            wrong += [(of_matrix, of_vector, i) for i, c in enumerate(got) if c.full_tensor().numpy().tobytes() != want[i].tobytes()]
        return wrong

    assert on_ranks(2, body) == [[], []]


def test_partial_sums_are_summed_first():
    """Each rank holds a term of a: products of terms, summed later, would be rounded otherwise."""
    a, b = random(1, (8, 12)), random(2, (12, 6))
    want = kizami.matmul((a + 1.5 * a).numpy(), b.numpy(), policy=NORM)

    def body(rank):
        mesh = mesh_of((2,))
        terms = DTensor.from_local(a if rank == 0 else 1.5 * a, mesh, [Partial()])
        c = ops.matmul(terms, distribute_tensor(b, mesh, [Replicate()]), policy=NORM)
        return bool(c.placements[0].is_partial()), c.full_tensor().numpy().tobytes() == want.tobytes()

    assert on_ranks(2, body) == [(False, True)] * 2


def test_calls_that_differ_in_policy_alone():
    """DTensor keeps its choice of cuts from call to call: gauge entry after gauge norm must not be cut."""
    a, b = uneven()
    want = [kizami.matmul(a.numpy(), b.numpy(), policy=policy) for policy in (NORM, ENTRY)]

    def body(rank):
        mesh = mesh_of((2,))
        x, y = distribute_tensor(a, mesh, [Shard(0)]), distribute_tensor(b, mesh, [Replicate()])
        got = [ops.matmul(x, y, policy=policy) for policy in (NORM, ENTRY) * 3]
        return [c.placements[0] for c in got], [c.full_tensor().numpy().tobytes() == want[i % 2].tobytes() for i, c in enumerate(got)]

    for where, same in on_ranks(2, body):
        assert where == [Shard(0), Replicate()] * 3
        assert all(same)


@on_meshes
def test_gradients(size, mesh):
    """Products of the backward pass have cuts along k where those of the forward pass have cuts of rows, and a stack is summed."""
    cases = [(*uneven(), random(3, (13, 10))), (graded(1, (4, 6, 20), -2, 30), graded(2, (20, 5), 1, -30), random(3, (4, 6, 5)))]
    cases = [(*case, policy) for case, policy in itertools.product(cases, (NORM, ENTRY))]
    wants = []
    for a, b, seed, policy in cases:
        x, y = a.clone().requires_grad_(), b.clone().requires_grad_()
        ops.matmul(x, y, policy=policy).backward(seed)
        wants.append([x.grad.numpy(), y.grad.numpy()])

    def body(rank):
        on, wrong = mesh_of(mesh), []
        for case, (a, b, seed, policy) in enumerate(cases):
            for of_a, of_b in some(itertools.product(placements(range(a.ndim), len(mesh)), placements((0, 1), len(mesh))), len(mesh), case):
                x, y = (distribute_tensor(t, on, of).requires_grad_() for t, of in ((a, of_a), (b, of_b)))
                c = ops.matmul(x, y, policy=policy)
                c.backward(distribute_tensor(seed, on, c.placements))
                got = [t.grad.full_tensor().numpy() for t in (x, y)]
                wrong += [(case, of_a, of_b, i) for i in range(2) if got[i].tobytes() != wants[case][i].tobytes()]
        return wrong

    assert on_ranks(size, body) == [[]] * size


def test_without_a_promise_of_bits_a_stack_may_be_summed_by_ranks():
    policy = kizami.Policy(reproducibility="none", threads=1)
    a, b = random(1, (4, 6, 20)), random(2, (20, 5))

    def body(rank):
        mesh = mesh_of((2,))
        x, y = distribute_tensor(a, mesh, [Shard(0)]), distribute_tensor(b, mesh, [Replicate()]).requires_grad_()
        c = ops.matmul(x, y, policy=policy)
        c.backward(torch.ones_like(c))
        return str(c.placements), np.allclose(y.grad.full_tensor().numpy(), (a.sum((0, 1))[:, None] + 0 * b).numpy(), rtol=1e-12)

    assert all(is_close for _, is_close in on_ranks(2, body))


def test_compiled_functions():
    a, b = graded(1, (24, 40), 0, 60), graded(2, (40, 20), 1, -50)
    want = kizami.matmul(a.numpy(), b.numpy(), policy=NORM)

    def body(rank):
        mesh = mesh_of((2,))
        function = torch.compile(lambda x, y: ops.matmul(x, y, policy=NORM), backend="aot_eager", fullgraph=True)
        c = function(distribute_tensor(a, mesh, [Shard(0)]), distribute_tensor(b, mesh, [Shard(0)]))
        return c.full_tensor().numpy().tobytes() == want.tobytes()

    assert on_ranks(2, body) == [True] * 2


def test_what_does_not_fit_is_refused_on_every_rank():
    def body(rank):
        mesh = mesh_of((2,))
        a, b = distribute_tensor(random(1, (8, 12)), mesh, [Shard(0)]), distribute_tensor(random(2, (10, 6)), mesh, [Shard(1)])
        try:
            ops.matmul(a, b, policy=NORM)
        except Exception as error:
            return str(error)
        return ""

    assert all("b has 10 rows" in said for said in on_ranks(2, body))


def test_the_example():
    example = Path(__file__).resolve().parents[2] / "examples" / "11_torch_ranks.py"
    environment = os.environ | {"PYTHONPATH": str(Path(kizami.__file__).parents[1]), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(example)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0 and "2 ranks over gloo: the bits of one rank" in result.stdout, result.stdout + result.stderr


def test_the_program_of_the_lab(tmp_path):
    program, records = Path(__file__).resolve().parents[2] / "lab" / "bench" / "ranks_torch.py", tmp_path / "records.jsonl"
    environment = os.environ | {"PYTHONPATH": str(Path(kizami.__file__).parents[1]), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, str(program), "--backend", "gloo", "--ranks", "2", "--most", "3", "--json", str(records)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    record = json.loads(records.read_text())
    assert record["failed"] == 0 and record["checks"] > 200 and record["not_carried"] == []
    assert list(record["controls_differ"].values()) == [True, True]


def test_docstrings():
    result = doctest.testmod(importlib.import_module("kizami._torch_ranks"))
    assert result.attempted > 0 and not result.failed
