#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Products of DTensors by ranks of PyTorch, over NCCL a GPU each, or over gloo on processors: for every mesh, policy and cut of the operands the bits
of one rank, and of the processor. Products of matrices and stacks of all types, and gradients.

  python3 lab/bench/ranks_torch.py --ranks 2 --ranks 4 --commit $(git rev-parse --short HEAD) --json distributed.jsonl

Starts the ranks itself. Appends a line of JSON for each number of ranks. Two controls must differ: PyTorch's own product of operands that are cut along k,
and half of the rows by a policy that lets no rows be cut. Exits with 1 unless all bits agree and the controls do not; with 77 where there are fewer GPUs
than ranks, or no NCCL, unless KIZAMI_REQUIRE_GPU is set.
"""
import argparse
import datetime
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
import time

PATIENCE = 120  # seconds, for a rank that does not come
M, N, K = 261, 202, 300  # which no mesh divides
STACKS = (((4, 66, 40), (4, 40, 50)), ((4, 66, 40), (40, 50)), ((66, 40), (4, 40, 50)), ((4, 1, 66, 40), (3, 40, 50)))


def policies(kizami, threads):
    """(those that let rows of a and columns of b be cut, those that do not)."""
    def named(*words, **wishes):
        return kizami.Policy(*words, threads=threads, **wishes)

    return ([named(gauge="norm"), named("bits=30", gauge="norm"), named(moduli=15), named(scheme="ozaki1", slices=7), named(scheme="ozaki1", gauge="norm")],
            [named(), named("bits=30")])


def uneven(torch, dtype, grade):
    """Elements of the first quarter of rows and columns meet few of their like, so that their pairs need a higher rung than others; or elements rise along
    k by so many bits, and are scaled by what all of them are."""
    generator = torch.Generator().manual_seed(7)
    a, b = (torch.randn(shape, dtype=dtype, generator=generator) for shape in ((M, K), (K, N)))
    if grade:
        rise = torch.exp2(torch.linspace(0, grade, K, dtype=torch.float64)).to(dtype)
        return a * rise, b / rise[:, None]
    a[:M // 4, 1::2] *= 2.0**14
    b[0::2, :N // 4] *= 2.0**14
    return a, b


def graded(torch, seed, shape, axis, bits, dtype):
    """Random numbers that rise along an axis."""
    rise = torch.exp2(torch.linspace(0, bits, shape[axis], dtype=torch.float64)).to(dtype)
    numbers = torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))
    return numbers * rise.reshape([-1 if i == axis % len(shape) else 1 for i in range(len(shape))])


def bits(x):
    return x.detach().resolve_conj().cpu().contiguous().numpy().tobytes()


class Counts:
    def __init__(self):
        self.checks = 0
        self.failures = []
        self.controls = {}
        self.not_carried = {}

    def expect(self, is_so, what):
        self.checks += 1
        if not is_so:
            self.failures.append(what)


class Rank:
    """What one rank computes and compares."""

    def __init__(self, torch, kizami, rank, size, device):
        from torch.distributed.tensor import Replicate, Shard, distribute_tensor
        self.torch, self.kizami, self.rank, self.size, self.device = torch, kizami, rank, size, device
        self.replicate, self.shard, self.distribute = Replicate, Shard, distribute_tensor
        self.counts = Counts()
        self.own_lines, self.gathered = policies(kizami, 0 if device == "cuda" else 1)
        self.mesh_shapes = [(size,)] + [(x, size // x) for x in range(2, size) if size % x == 0]

    def meshes(self):
        from torch.distributed.device_mesh import init_device_mesh
        return [init_device_mesh(self.device, shape, mesh_dim_names=("x", "y")[:len(shape)]) for shape in self.mesh_shapes]

    def placements(self, axes, mesh):
        return list(itertools.product([self.replicate(), *(self.shard(axis) for axis in axes)], repeat=mesh.ndim))

    def cuts(self, a, b, mesh, most):
        """Pairs of placements: those by which work is shared as it comes, and of all others as many as `most`, evenly, others with each call."""
        whole = [self.replicate()] * mesh.ndim

        def along_first(axis):
            return [self.shard(axis), *whole[1:]]

        as_it_comes = [(along_first(a.ndim - 2), whole), (whole, along_first(b.ndim - 1))]
        if max(a.ndim, b.ndim) > 2:
            as_it_comes.append((along_first(0) if a.ndim >= b.ndim else whole, along_first(0) if b.ndim >= a.ndim else whole))
        pairs = list(itertools.product(self.placements(range(a.ndim), mesh), self.placements(range(b.ndim), mesh)))
        step = math.ceil(len(pairs) / most)
        return as_it_comes + pairs[self.counts.checks % step::step]

    def on_device(self, *tensors):
        return [x.to(self.device) for x in tensors]

    def products(self, mesh, a, b, policy, most):
        """@return where results lay, along any axis of the mesh"""
        multiply = self.kizami.torch.matmul
        one = bits(multiply(*self.on_device(a, b), policy=policy))
        self.counts.expect(one == self.kizami.matmul(a.numpy(), b.numpy(), policy=policy).tobytes(), f"the processor: {a.dtype}, {policy}")
        seen = set()
        for of_a, of_b in self.cuts(a, b, mesh, most):
            c = multiply(self.distribute(a.to(self.device), mesh, of_a), self.distribute(b.to(self.device), mesh, of_b), policy=policy)
            seen |= set(c.placements)
            what = f"{tuple(a.shape)} {a.dtype} {of_a}, {tuple(b.shape)} {of_b} on {tuple(mesh.shape)}, {policy}: {c.placements}"
            self.counts.expect(not any(p.is_partial() for p in c.placements), f"a partial sum: {what}")
            self.counts.expect(bits(c.full_tensor()) == one, what)
        return seen

    def gradients(self, mesh, policy, most):
        a, b, seed = self.on_device(*uneven(self.torch, self.torch.float64, 0), self.torch.randn((M, N), dtype=self.torch.float64,
                                                                                                generator=self.torch.Generator().manual_seed(3)))

        def results(x, y):
            x, y = x.detach().requires_grad_(), y.detach().requires_grad_()
            c = self.kizami.torch.matmul(x, y, policy=policy)
            c.backward(self.distribute(seed, mesh, c.placements) if hasattr(c, "placements") else seed)
            return [bits(g.full_tensor() if hasattr(g, "full_tensor") else g) for g in (x.grad, y.grad)]

        want = results(a, b)
        for of_a, of_b in self.cuts(a, b, mesh, most):
            self.counts.expect(results(self.distribute(a, mesh, of_a), self.distribute(b, mesh, of_b)) == want,
                               f"gradients of {of_a}, {of_b} on {tuple(mesh.shape)}, {policy}")

    def controls(self, mesh):
        """What must have other bits, or the comparison sees nothing."""
        a, b = self.on_device(*uneven(self.torch, self.torch.float64, 60))
        along_k = self.distribute(a, mesh, [self.shard(1)] * mesh.ndim) @ self.distribute(b, mesh, [self.shard(0)] * mesh.ndim)
        self.counts.controls["PyTorch's product, cut along k"] = bits(along_k.full_tensor()) != bits(a @ b)
        policy = self.gathered[0]
        half = self.kizami.torch.matmul(a[M // 2:], b, policy=policy)
        self.counts.controls["half of the rows in gauge entry"] = bits(half) != bits(self.kizami.torch.matmul(a, b, policy=policy)[M // 2:])

    def run(self, most):
        torch = self.torch
        real = torch.float64
        for mesh in self.meshes():
            for policy, grade in itertools.product(self.own_lines + self.gathered, (0, 60)):
                seen = self.products(mesh, *uneven(torch, real, grade), policy, most)
                is_shared = seen >= {self.shard(0), self.shard(1)}
                is_whole = seen == {self.replicate()}
                self.counts.expect(is_shared if policy in self.own_lines else is_whole, f"how work is shared: {seen}, {policy}")
            for dtype in (torch.float32, torch.complex64, torch.complex128):
                try:
                    self.products(mesh, *uneven(torch, dtype, 0), self.own_lines[0], most)
                except (RuntimeError, TypeError, ValueError) as error:  # of what carries tensors, on every rank alike
                    if not dtype.is_complex or isinstance(error, self.kizami.KizamiError):
                        raise
                    self.counts.not_carried[str(dtype)] = str(error).splitlines()[0]
            for (x, y), policy in itertools.product(STACKS, (self.own_lines[0], self.gathered[0])):
                seen = self.products(mesh, graded(torch, 1, x, -2, 40, real), graded(torch, 2, y, -1, 40, real), policy, most)
                self.counts.expect(self.shard(0) in seen, f"a stack that nobody shares: {x}, {y}, {policy}")
            for policy in (self.own_lines[0], self.gathered[0]):
                self.gradients(mesh, policy, most)
            self.controls(mesh)


def rank_main(options):
    import torch
    import torch.distributed as dist

    import kizami
    import kizami.torch
    device = "cuda" if options.backend == "nccl" else "cpu"
    if device == "cuda":
        torch.cuda.set_device(options.rank)
    else:
        torch.set_num_threads(1)
    dist.init_process_group(options.backend, init_method=f"file://{options.meet}", rank=options.rank, world_size=options.size,
                            timeout=datetime.timedelta(seconds=PATIENCE))
    work = Rank(torch, kizami, options.rank, options.size, device)
    begin = time.monotonic()
    work.run(options.most)
    seconds = time.monotonic() - begin
    said = [None] * options.size
    dist.all_gather_object(said, (work.counts.checks, work.counts.failures, work.counts.controls))
    dist.destroy_process_group()
    if options.rank != 0:
        return 0
    for rank, (_, failures, _) in enumerate(said):
        for failure in failures[:10]:
            print(f"rank {rank}: {failure}", file=sys.stderr)
    num_failed = sum(len(failures) for _, failures, _ in said)
    controls = {name: all(of_rank[name] for _, _, of_rank in said) for name in said[0][2]}
    nccl = ".".join(map(str, torch.cuda.nccl.version())) if options.backend == "nccl" else None
    name, driver = device_and_driver(torch) if device == "cuda" else (None, None)
    if work.counts.not_carried:
        print(f"not carried: {work.counts.not_carried}", file=sys.stderr)
    record = {"date": datetime.date.today().isoformat(), "device": name, "driver": driver, "devices": options.size, "commit": options.commit,
              "library": "PyTorch", "version": torch.__version__, "backend": options.backend, "nccl": nccl,
              "operation": "kizami.torch.matmul of DTensors: matrices by 7 policies, all types, stacks, gradients; meshes " +
              ", ".join("x".join(map(str, shape)) for shape in work.mesh_shapes),
              "compared": "bits of one rank for every cut; of the processor", "checks": sum(checks for checks, _, _ in said), "failed": num_failed,
              "not_carried": sorted(work.counts.not_carried),
              "controls_differ": controls, "seconds": round(seconds, 1)}
    print(json.dumps(record))
    if options.json:
        with open(options.json, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
    return 0 if num_failed == 0 and all(controls.values()) else 1


def device_and_driver(torch):
    asked = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True, check=True)
    return torch.cuda.get_device_name(), asked.stdout.split()[0]


def start(options, size):
    """Ranks as processes of their own. @return the worst of their exit codes; a rank that ends with an error ends all"""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, os.path.abspath(__file__), "--backend", options.backend, "--most", str(options.most), "--commit", options.commit,
                   "--size", str(size), "--meet", os.path.join(folder, "meet")] + (["--json", options.json] if options.json else [])
        ranks = [subprocess.Popen([*command, "--rank", str(rank)]) for rank in range(size)]
        try:
            while any(rank.poll() is None for rank in ranks) and not any(rank.poll() for rank in ranks):
                time.sleep(0.1)
        finally:
            for rank in ranks:
                if rank.poll() is None:
                    rank.kill()
        return max(abs(rank.wait()) for rank in ranks)


def main():
    parser = argparse.ArgumentParser(description="Products of DTensors by ranks of PyTorch: the bits of one rank")
    parser.add_argument("--ranks", type=int, action="append", help="how many, or several numbers of them [2 and 4]")
    parser.add_argument("--backend", choices=("nccl", "gloo"), default="nccl")
    parser.add_argument("--most", type=int, default=81, help="cuts of the operands of each product, beside those of lines alone [81: all of two matrices on a mesh of two axes]")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--json", help="append a line for each number of ranks to this file")
    for name, kind in (("--rank", int), ("--size", int), ("--meet", str)):  # of a rank
        parser.add_argument(name, type=kind, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank is not None:
        return rank_main(options)
    sizes = options.ranks or [2, 4]
    why = ""
    try:
        import torch
        if options.backend == "nccl" and torch.cuda.device_count() < max(sizes):
            why = f"{torch.cuda.device_count()} GPUs, must be {max(sizes)}"
        elif not getattr(torch.distributed, f"is_{options.backend}_available")():
            why = f"this PyTorch has no {options.backend}"
    except ImportError as error:
        why = str(error)
    if why:
        print(f"skipped: {why}", file=sys.stderr)
        return 1 if os.environ.get("KIZAMI_REQUIRE_GPU") else 77
    return max(start(options, size) for size in sizes)


if __name__ == "__main__":
    sys.exit(main())
