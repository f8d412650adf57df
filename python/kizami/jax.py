# SPDX-License-Identifier: MIT
"""The matrix product as a primitive of JAX: under jit, vmap, grad, jvp and shard_map, on processors and CUDA devices.

`matmul` is compiled into the program as a foreign call (XLA FFI). It is linear in each operand, and JAX is told so: derivatives,
forward and reverse and of any order, are products of the same policy. The policy is part of the program, as text.

In a shard_map each device multiplies what it holds. With ``gauge="norm"`` an element depends on its own row and column alone, so
the result has the bits of one device for every mesh that cuts rows of a and columns of b; in gauge entry each block takes the
rung that its own elements need, and keeps to the same bound.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from kizami._errors import InvalidArgumentError
from kizami._policy import Policy, policy_of

__all__ = ["matmul"]

_TYPES = ("float32", "float64", "complex64", "complex128")


def matmul(a: Any, b: Any, *, policy: Policy | str | None = None) -> jax.Array:
    """The product of two arrays, as `jax.numpy.matmul`, at a stated accuracy.

    Parameters
    ----------
    a, b : array_like
        ``(..., m, k)`` and ``(..., k, n)``, vectors allowed, of float32, float64, complex64 or complex128.
    policy : Policy or str, optional
        As in `kizami.matmul`; what is in force when the function is traced, and stays in the compiled program.

    Returns
    -------
    jax.Array

    Raises
    ------
    InvalidArgumentError
        Shapes that do not fit, or other types.

    Examples
    --------
    >>> import jax
    >>> a = jax.numpy.array([[1.0, 2.0]])
    >>> float(jax.jit(jax.grad(lambda a: matmul(a, a.T).sum()))(a)[0, 1])
    4.0
    """
    _register()
    left, right = jnp.asarray(a), jnp.asarray(b)
    dtype = jnp.promote_types(left.dtype, right.dtype)
    if dtype.name not in _TYPES:
        raise InvalidArgumentError(f"the operands are of type {left.dtype} and {right.dtype}, must be {', '.join(_TYPES)}")
    if left.ndim == 0 or right.ndim == 0:
        raise InvalidArgumentError("an operand has no axes, must be a vector, a matrix or a stack of matrices")
    x = (left[None] if left.ndim == 1 else left).astype(dtype)
    y = (right[:, None] if right.ndim == 1 else right).astype(dtype)
    if x.shape[-1] != y.shape[-2]:
        raise InvalidArgumentError(f"b has {y.shape[-2]} rows, must be the columns of a = {x.shape[-1]}")
    batch = jnp.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x, y = _alike(jnp.broadcast_to(x, (*batch, *x.shape[-2:])), jnp.broadcast_to(y, (*batch, *y.shape[-2:])))
    c = _product.bind(x, y, policy=_text_of(policy_of(policy)))
    if right.ndim == 1:
        c = c.squeeze(-1)
    return c.squeeze(-1 if right.ndim == 1 else -2) if left.ndim == 1 else c


def _alike(x: Any, y: Any) -> tuple[Any, Any]:
    """In a shard_map: over all axes of the mesh along which one of them differs, both do. Its transpose sums over those."""
    def axes_of(operand: Any) -> frozenset[Any]:
        kind: Any = jax.typeof(operand)  # JAX 0.10 has its axes in a field of its own, older ones have not
        return kind.mat.varying if hasattr(kind, "mat") else getattr(kind, "vma", frozenset())

    of_x, of_y = axes_of(x), axes_of(y)

    def varying(operand: Any, axes: frozenset[Any]) -> Any:
        return jax.lax.pcast(operand, tuple(axes), to="varying") if axes else operand

    return varying(x, of_y - of_x), varying(y, of_x - of_y)


def _text_of(policy: Policy) -> str:
    """The wishes that are not the default, as the foreign call reads them."""
    changed = [(f.name, getattr(policy, f.name)) for f in dataclasses.fields(policy) if getattr(policy, f.name) != f.default]
    return " ".join(f"{name}={int(value) if isinstance(value, bool) else value}" for name, value in changed)


@functools.cache
def _register() -> None:
    """Tells XLA where the foreign calls are."""
    path = Path(__file__).with_name("_jax_calls.so")
    if not path.exists():
        raise ImportError(f"{path.name} is not there: this package was built without the headers of jaxlib (docs/python.md)")
    library = ctypes.CDLL(str(path))
    for platform, symbol in (("cpu", "kizami_jax_matmul_cpu"), ("CUDA", "kizami_jax_matmul_cuda")):
        if hasattr(library, symbol):
            jax.ffi.register_ffi_target(_TARGET, jax.ffi.pycapsule(getattr(library, symbol)), platform=platform)


_TARGET = "kizami_matmul"
_product = Primitive("kizami_matmul")


@_product.def_abstract_eval
def _shape(a: Any, b: Any, *, policy: str) -> Any:
    return a.update(shape=(*a.shape[:-1], b.shape[-1]))


@functools.lru_cache(maxsize=256)
def _compiled(policy: str) -> Any:
    return jax.jit(functools.partial(_product.bind, policy=policy))


@_product.def_impl
def _run(a: Any, b: Any, *, policy: str) -> Any:
    return _compiled(policy)(a, b)


def _lower(ctx: Any, a: Any, b: Any, *, policy: str) -> Any:
    return jax.ffi.ffi_lowering(_TARGET)(ctx, a, b, policy=policy)


for _platform in ("cpu", "cuda"):
    mlir.register_lowering(_product, _lower, platform=_platform)


def _transposed(x: Any) -> Any:
    return jnp.swapaxes(x, -1, -2)


# Bilinear, without conjugation, as JAX has it of its own products.
ad.defbilinear(_product,
               lambda ct, a, b, *, policy: _product.bind(ct, _transposed(b), policy=policy),
               lambda ct, a, b, *, policy: _product.bind(_transposed(a), ct, policy=policy))


def _batched(operands: Any, axes: Any, *, policy: str) -> Any:
    size = next(x.shape[axis] for x, axis in zip(operands, axes, strict=True) if axis is not None)

    def in_front(x: Any, axis: Any) -> Any:
        return jnp.broadcast_to(x, (size, *x.shape)) if axis is None else jnp.moveaxis(x, axis, 0)

    a, b = (in_front(x, axis) for x, axis in zip(operands, axes, strict=True))
    return _product.bind(a, b, policy=policy), 0


batching.primitive_batchers[_product] = _batched
