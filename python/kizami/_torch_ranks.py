# SPDX-License-Identifier: MIT
"""How kizami.torch.matmul shares a product of DTensors: which cuts of the operands give the bits of one device.

Matrices of a stack are products by themselves and may lie anywhere. k is never cut: sums over ranks would round once more, in an order
that follows the mesh, so operands that are cut along it travel before they are multiplied. Rows of a and columns of b may be cut where
an element depends on its own lines alone (docs/reproducibility.md); where all elements have a part in the bits of each, as in gauge
entry, every rank gathers its matrices whole. Operands that are partial sums are summed first.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import torch

from kizami._errors import UnsupportedError
from kizami._policy import Policy

_is_taught = False


def has_own_lines(policy: Policy) -> bool:
    """Whether a block of rows of a and columns of b may be multiplied by itself: elements have the bits that they have in the whole
    product, or the policy promises no bits.

    >>> has_own_lines(Policy()), has_own_lines(Policy(gauge="norm")), has_own_lines(Policy("correct"))
    (False, True, True)
    """
    if policy.reproducibility == "none":
        return True
    if policy.scheme == "ozaki1":
        return policy.slice_scale == "line" and (policy.slices > 0 or policy.slices == 0 and policy.gauge == "norm")
    return policy.scheme in ("auto", "ozaki2") and (policy.gauge == "norm" or policy.accuracy == "correct" or policy.moduli > 0)


@torch.compiler.assume_constant_result
def learn_to_share() -> bool:
    """Tells DTensor the rules, once it is there. It takes seconds to import: that is left to those who have DTensors."""
    global _is_taught
    if not _is_taught and "torch.distributed.tensor" in sys.modules:
        try:
            from torch.distributed.tensor.experimental import register_sharding
        except ImportError:
            raise UnsupportedError(f"torch = {torch.__version__}, must be one whose DTensor learns of operators by register_sharding") from None
        register_sharding(torch.ops.kizami.matmul.default)(_cuts)
        _is_taught = True
    return _is_taught


def _cuts(a: Any, b: Any, policy: str, own_lines: int = 0) -> Sequence[tuple[list[Any], list[Any]]]:
    """The placements of (c, and a, b) along one axis of the mesh. DTensor keeps what it chose by the placements and the last argument:
    the policy, which is text, does not distinguish calls for it."""
    from torch.distributed.tensor import Replicate, Shard

    num_axes = max(len(a.shape), len(b.shape))

    def cut(operand: Any, axis_from_end: int) -> Any:
        axis = len(operand.shape) - axis_from_end
        return Shard(axis) if axis >= 0 and operand.shape[axis] != 1 else Replicate()

    cuts: list[tuple[list[Any], list[Any]]] = [([Replicate()], [Replicate(), Replicate(), None, None])]
    for axis_from_end in range(3, num_axes + 1):
        placements = [cut(a, axis_from_end), cut(b, axis_from_end)]
        if any(isinstance(x, Shard) for x in placements):
            cuts.append(([Shard(num_axes - axis_from_end)], [*placements, None, None]))
    if own_lines:
        cuts.append(([Shard(num_axes - 2)], [Shard(len(a.shape) - 2), Replicate(), None, None]))
        cuts.append(([Shard(num_axes - 1)], [Replicate(), Shard(len(b.shape) - 1), None, None]))
    return cuts


def summed(x: torch.Tensor, shape: torch.Size, policy: Policy) -> torch.Tensor:
    """x.sum_to_size(shape), of a DTensor in the order of one device, if the policy promises bits."""
    if policy.reproducibility != "none" and "torch.distributed.tensor" in sys.modules:
        from torch.distributed.tensor import DTensor, Replicate

        if isinstance(x, DTensor):
            x = x.redistribute(placements=[Replicate()] * x.device_mesh.ndim)
    result: torch.Tensor = x.sum_to_size(shape)
    return result
