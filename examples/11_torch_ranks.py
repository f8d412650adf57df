#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ranks of torch.distributed: a product of DTensors, forward and backward, with the bits of one rank for every cut of the operands.

    torchrun --nproc-per-node 4 11_torch_ranks.py        # NCCL where there are GPUs, a rank each; gloo on processors

Operands that are cut along k travel before they are multiplied: PyTorch's own product leaves sums over ranks there, which round in an order
that follows the mesh. Gauge "norm" lets rows of A and columns of B be cut; in the default gauge all elements have a part in the bits of each, and
every rank multiplies all.

Exits with 1 unless all bits are those of one rank.
"""

import datetime
import itertools
import os
import sys

import kizami
import kizami.torch
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

M, N, K = 300, 260, 280
POLICY = kizami.Policy(gauge="norm", threads=0 if torch.cuda.is_available() else 1)


def differing(x, y):
    """Elements with other bits."""
    return int((x.contiguous().view(torch.int64) != y.contiguous().view(torch.int64)).sum())


def results(multiply, a, b, seed):
    """C = A B, and the gradients of its sum weighted by seed."""
    a, b = a.detach().requires_grad_(), b.detach().requires_grad_()
    c = multiply(a, b)
    c.backward(seed if not hasattr(c, "placements") else distribute_tensor(seed, c.device_mesh, c.placements))
    whole = [x.full_tensor() if hasattr(x, "full_tensor") else x for x in (c.detach(), a.grad, b.grad)]
    return whole, getattr(c, "placements", None)


def main():
    has_gpu = torch.cuda.is_available()
    device = "cuda" if has_gpu else "cpu"
    if has_gpu:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if has_gpu else "gloo", timeout=datetime.timedelta(seconds=60))  # of a rank that does not come
    rank, size = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh(device, (2, size // 2) if size % 2 == 0 else (1, size), mesh_dim_names=("rows", "cols"))

    generator = torch.Generator().manual_seed(7)  # the same on every rank
    a, b, seed = (torch.randn(shape, dtype=torch.float64, generator=generator).to(device) for shape in ((M, K), (K, N), (M, N)))

    def ours(x, y):
        return kizami.torch.matmul(x, y, policy=POLICY)

    wants = {multiply: results(multiply, a, b, seed)[0] for multiply in (ours, torch.matmul)}
    num_wrong = 0
    cuts = {"rows of A, columns of B": ([Shard(0), Replicate()], [Replicate(), Shard(1)]), "k": ([Shard(1), Shard(1)], [Shard(0), Shard(0)]),
            "blocks": ([Shard(0), Shard(1)], [Shard(0), Shard(1)]), "nothing": ([Replicate()] * 2, [Replicate()] * 2)}
    for (name, (of_a, of_b)), multiply in itertools.product(cuts.items(), wants):
        got, placements = results(multiply, distribute_tensor(a, mesh, of_a), distribute_tensor(b, mesh, of_b), seed)
        counts = [differing(x, y) for x, y in zip(got, wants[multiply])]
        if multiply is ours:
            num_wrong += sum(counts)
        if rank == 0:
            print(f"{'kizami' if multiply is ours else 'torch':6} cut along {name}: C on {placements}; other bits than one rank: {counts[0]} of C, "
                  f"{counts[1]} and {counts[2]} of gradients", flush=True)
    all_wrong = torch.tensor(num_wrong, device=device)
    dist.all_reduce(all_wrong)
    if rank == 0:
        print(f"{size} ranks over {dist.get_backend()}: {'the bits of one rank' if all_wrong == 0 else 'OTHER BITS'}")
    dist.destroy_process_group()
    return 0 if all_wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
