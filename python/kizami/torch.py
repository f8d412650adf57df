# SPDX-License-Identifier: MIT
"""The matrix product as an operator of PyTorch: under autograd, torch.compile, torch.func.vmap and the dispatcher.

The operator is ``torch.ops.kizami.matmul(a, b, policy, own_lines)``; `matmul` calls it. The policy travels as text in the operator's
arguments, so that a compiled graph, and the backward pass on whatever thread, use the one that was in force when the
product was asked for. Gradients are products of the same policy: d/da of c = a b is (dc) b^H, d/db is a^H (dc).

Operands that `torch.distributed.tensor` has cut are multiplied by the rules of `_torch_ranks`: the bits of one device for every mesh.
own_lines, 1 or 0, says whether the policy lets rows of a and columns of b be cut; it follows from the policy, and 0 is always right.

`einsum` and `tensordot` are made of it. `set_matmul_precision` has PyTorch's own products answered, in programs that call none of
these.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import torch

from kizami import _products
from kizami._contractions import Contraction
from kizami._einsum import contraction_of
from kizami._linalg import tensordot_labels
from kizami._policy import Policy, policy_of
from kizami._torch_ranks import has_own_lines, learn_to_share, summed
from kizami._torch_global import get_matmul_precision, matmul_precision, set_matmul_precision

__all__ = ["einsum", "get_matmul_precision", "matmul", "matmul_precision", "set_matmul_precision", "tensordot"]


def matmul(a: torch.Tensor, b: torch.Tensor, *, policy: Policy | str | None = None) -> torch.Tensor:
    """The product of two tensors, as `torch.matmul`, at a stated accuracy. Differentiable, any number of times.

    Parameters
    ----------
    a, b : torch.Tensor
        As in `kizami.matmul`: ``(..., m, k)`` and ``(..., k, n)``, vectors allowed, on the processor or a CUDA device. Both may be
        DTensors.
    policy : Policy or str, optional
        As in `kizami.matmul`. Inside ``torch.compile`` give a Policy, or the graph breaks to ask for the one in force.

    Returns
    -------
    torch.Tensor

    Raises
    ------
    kizami.KizamiError
        As `kizami.matmul`.

    Examples
    --------
    >>> import torch
    >>> a = torch.tensor([[1.0, 2.0]], dtype=torch.float64, requires_grad=True)
    >>> c = matmul(a, a.mT)
    >>> c.backward()
    >>> c.item(), a.grad
    (5.0, tensor([[2., 4.]], dtype=torch.float64))
    """
    key, own_lines = _words_of(policy) if isinstance(policy, Policy) else _words_in_force(policy)
    if type(a) is not torch.Tensor or type(b) is not torch.Tensor:
        learn_to_share()
    left = a.unsqueeze(0) if a.ndim == 1 else a
    right = b.unsqueeze(1) if b.ndim == 1 else b
    c: torch.Tensor = torch.ops.kizami.matmul(left, right, key, own_lines)
    if b.ndim == 1:
        c = c.squeeze(-1)
    return c.squeeze(-1 if b.ndim == 1 else -2) if a.ndim == 1 else c


@torch.compiler.disable
def einsum(*arguments: Any, optimize: Any = True, policy: Policy | str | None = None) -> torch.Tensor:
    """Einstein's sum over tensors, as `kizami.einsum`; differentiable. torch.compile breaks its graph here.

    Parameters
    ----------
    *arguments, optimize, policy
        As in `kizami.einsum`.

    Examples
    --------
    >>> import torch
    >>> a = torch.tensor([[1.0, 2.0]], requires_grad=True)
    >>> einsum("ij,kj->", a, a).backward()
    >>> a.grad
    tensor([[2., 4.]])
    """
    contraction, output, path = contraction_of(arguments, optimize)
    return _run(contraction, output, path, policy)


@torch.compiler.disable
def tensordot(a: torch.Tensor, b: torch.Tensor, axes: Any = 2, *, policy: Policy | str | None = None) -> torch.Tensor:
    """The product over chosen axes, as `kizami.tensordot`; differentiable. torch.compile breaks its graph here.

    Parameters
    ----------
    a, b, axes, policy
        As in `kizami.tensordot`.

    Examples
    --------
    >>> import torch
    >>> tensordot(torch.ones(2, 3, 4), torch.ones(4, 3, 5), ([1, 2], [1, 0]))[0, 0]
    tensor(12.)
    """
    left, right, output = tensordot_labels(tuple(a.shape), tuple(b.shape), axes)
    return _run(Contraction([a, b], [left, right], ["a", "b"]), output, [(0, 1)], policy)


def _run(contraction: Contraction, output: tuple[Any, ...], path: Any, policy: Policy | str | None) -> torch.Tensor:
    wanted = policy_of(policy)
    result: torch.Tensor = contraction.run(output, path, lambda a, b: (matmul(a, b, policy=wanted), None), wanted, None, None, False)[0]
    return result


_FIELDS: dict[str, Any] = {field.name: type(field.default) for field in dataclasses.fields(Policy)}


@torch.compiler.disable
def _words_in_force(policy: str | None) -> tuple[str, int]:
    return _words_of(policy_of(policy))


def _words_of(policy: Policy) -> tuple[str, int]:
    return _text_of(policy), int(has_own_lines(policy))


def _text_of(policy: Policy) -> str:
    """Its fields, in a way that torch.compile can follow."""
    return " ".join([f"{name}={getattr(policy, name)}" for name in _FIELDS])


@functools.lru_cache(maxsize=256)
def _policy_from(text: str) -> Policy:
    """The reverse.

    >>> policy = Policy("bits=40", reproducibility="none", karatsuba=True, threads=3)
    >>> _policy_from(_text_of(policy)) == policy
    True
    """
    words = (word.split("=", 1) for word in text.split())
    fields: dict[str, Any] = {name: value == "True" if _FIELDS[name] is bool else _FIELDS[name](value) for name, value in words}
    return Policy(**fields)


@torch.library.custom_op("kizami::matmul", mutates_args=())
def _matmul(a: torch.Tensor, b: torch.Tensor, policy: str, own_lines: int = 0) -> torch.Tensor:
    with torch.no_grad():
        result: torch.Tensor = _products.multiply(1, a, b, 0, None, "n", "n", None, _policy_from(policy), None, False)[0]
    return result


@_matmul.register_fake
def _matmul_shape(a: torch.Tensor, b: torch.Tensor, policy: str, own_lines: int = 0) -> torch.Tensor:
    torch._check(a.shape[-1] == b.shape[-2], lambda: f"b has {b.shape[-2]} rows, must be the columns of a = {a.shape[-1]}")
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return a.new_empty((*batch, a.shape[-2], b.shape[-1]), dtype=torch.promote_types(a.dtype, b.dtype))


def _setup_context(ctx: Any, inputs: tuple[torch.Tensor, torch.Tensor, str, int], output: torch.Tensor) -> None:
    a, b, ctx.policy, ctx.own_lines = inputs
    ctx.save_for_backward(a, b)


def _backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None, None, None]:
    a, b = ctx.saved_tensors
    grad_a = grad_b = None
    if ctx.needs_input_grad[0]:
        grad_a = _reduced(torch.ops.kizami.matmul(grad, b.mH, ctx.policy, ctx.own_lines), a, ctx.policy)
    if ctx.needs_input_grad[1]:
        grad_b = _reduced(torch.ops.kizami.matmul(a.mH, grad, ctx.policy, ctx.own_lines), b, ctx.policy)
    return grad_a, grad_b, None, None


def _reduced(grad: torch.Tensor, operand: torch.Tensor, policy: str) -> torch.Tensor:
    """The sum over what was broadcast, in the operand's type: of a complex gradient a real operand has the real part."""
    if grad.shape != operand.shape:
        grad = summed(grad, operand.shape, _policy_from(policy))
    if grad.is_complex() and not operand.is_complex():
        grad = grad.real
    return grad.to(operand.dtype)


_matmul.register_autograd(_backward, setup_context=_setup_context)


@_matmul.register_vmap
def _matmul_vmap(info: Any, in_dims: tuple[int | None, ...], a: torch.Tensor, b: torch.Tensor,
                 policy: str, own_lines: int = 0) -> tuple[torch.Tensor, int]:
    def in_front(x: torch.Tensor, dim: int | None, other: torch.Tensor, other_dim: int | None) -> torch.Tensor:
        """The mapped axis first, then as many axes as the operand with more of them has."""
        if dim is None:
            return x
        x = x.movedim(dim, 0)
        missing = (other.ndim - (other_dim is not None)) - (x.ndim - 1)
        return x.reshape(x.shape[0], *(1,) * max(missing, 0), *x.shape[1:])

    mapped_a, mapped_b = in_front(a, in_dims[0], b, in_dims[1]), in_front(b, in_dims[1], a, in_dims[0])
    return torch.ops.kizami.matmul(mapped_a, mapped_b, policy, own_lines), 0
