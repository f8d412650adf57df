# SPDX-License-Identifier: MIT
"""matmul and gemm: from arrays to calls of the C++ library.

Both look at their arguments (`_operand`, `_geometry`), find a plan, take or make the memory of the result (`_Target`), and
multiply (`multiply`). Host and device differ in one call.
"""

from __future__ import annotations

import dataclasses
import logging
import math
import numbers
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, overload

import numpy as np

from kizami import _arrays, _core
from kizami._arrays import ArrayLibrary, Device
from kizami._errors import DTypeError, InvalidArgumentError
from kizami._outcome import Outcome, outcome_of
from kizami._policy import Policy, policy_of
from kizami._prepared import Prepared
from kizami._progress import ProgressCallback, callback_of, groups
from kizami._tolerance import Tolerance, planner_of, resolved, wish_of

#: Debug: a line for each call, of what was planned.
_logger = logging.getLogger("kizami")

#: Any array: of NumPy, PyTorch, CuPy, JAX, another library of the array API, or what numpy.asarray takes.
Array: TypeAlias = Any
#: n: as it is; t: transposed; c: conjugated and transposed; r: conjugated.
Trans: TypeAlias = Literal["n", "t", "c", "r"]

#: Products between two reports of progress: enough for the threads of a large machine.
_GROUP = 64
_TOGGLED = {"n": "r", "r": "n", "t": "c", "c": "t"}


@dataclasses.dataclass
class _Operand:
    """A or B: an array, a prepared operand, or both."""

    name: str
    array: Any | None
    library: ArrayLibrary
    device: Device
    dtype: str
    shape: tuple[int, ...]  # of op(array)
    op: str
    prepared: Prepared | None = None

    def exported(self) -> Any:
        return None if self.array is None else self.library.export(self.array, self.name, self.device)

    def as_dtype(self, dtype: str) -> None:
        if dtype == self.dtype:
            return
        if self.prepared is not None:
            raise DTypeError(f"{self.name} was prepared as {self.dtype}, must be {dtype} like the other operand")
        self.array, self.dtype = self.library.cast(self.array, dtype), dtype


@dataclasses.dataclass(frozen=True)
class _Geometry:
    """Shapes of a product."""

    m: int
    n: int
    k: int
    batch: tuple[int, ...]
    result: tuple[int, ...]

    @property
    def num_products(self) -> int:
        return math.prod(self.batch)


def _operand(x: Any, name: str, op: str) -> _Operand:
    if isinstance(x, Prepared):
        library: ArrayLibrary = _arrays.NumPy()
        if op != "n":
            raise InvalidArgumentError(f"trans_{name} = {op!r}, must be 'n' for a prepared operand")
        if x.original is None:
            return _Operand(name, None, library, "cpu", x.dtype, x.shape, "n", x)
        original = _operand(x.original, name, x.trans)
        return dataclasses.replace(original, shape=x.shape, prepared=x)
    array, library = _arrays.as_array(x, name)
    dtype = _arrays.require_known_dtype(array, library, x, name)
    shape = _arrays.shape_of(array, name)
    if not shape:
        raise InvalidArgumentError(f"{name} has shape (), must have at least one axis")
    device = library.device(array, name)
    array, is_conjugated = library.admit(array, name)
    if op in ("t", "c"):
        shape = (*shape[:-2], shape[-1], shape[-2])
    return _Operand(name, array, library, device, dtype, shape, _TOGGLED[op] if is_conjugated else op)


def _geometry(a: _Operand, b: _Operand) -> _Geometry:
    m, k = (1, a.shape[0]) if len(a.shape) == 1 else a.shape[-2:]
    rows, n = (b.shape[0], 1) if len(b.shape) == 1 else b.shape[-2:]
    if rows != k:
        raise InvalidArgumentError(f"b has {rows} rows (shape {b.shape}), must be the columns of a = {k} (shape {a.shape})")
    try:
        batch = () if len(a.shape) <= 2 >= len(b.shape) else np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise InvalidArgumentError(f"a has shape {a.shape} and b {b.shape}, whose axes before the last two cannot be broadcast") from None
    result = batch + ((m,) if len(a.shape) > 1 else ()) + ((n,) if len(b.shape) > 1 else ())
    return _Geometry(m, n, k, batch, result)


def _leader(a: _Operand, b: _Operand) -> _Operand:
    """The operand whose library and device the result is of; both are now of one type. A prepared operand goes with any
    library."""
    leader = a if a.prepared is None or b.prepared is not None else b
    if a.prepared is None and b.prepared is None and not a.library.is_same(b.library):
        raise DTypeError(f"b is an array of {b.library.name}, must be of {a.library.name} like a")
    if a.device != b.device:
        raise InvalidArgumentError(f"b is on device {b.device}, must be on {a.device} like a")
    dtype = _arrays.promoted(a.dtype, b.dtype)
    a.as_dtype(dtype)
    b.as_dtype(dtype)
    return leader


def _check_third(x: Any, name: str, a: _Operand, shape: tuple[int, ...]) -> Any:
    """C or `out`: of the library, device, type and shape of the product."""
    x, library = _arrays.as_array(x, name) if name == "c" else (x, _arrays.library_of(x))
    if library is None or not library.is_same(a.library):
        raise DTypeError(f"{name} is {type(x).__module__}.{type(x).__name__}, must be an array of {a.library.name} like a")
    if library.dtype_name(x, name) != a.dtype:
        raise DTypeError(f"{name} is of type {library.dtype_name(x, name)}, must be {a.dtype} like the product")
    if _arrays.shape_of(x, name) != shape:
        raise InvalidArgumentError(f"{name} has shape {_arrays.shape_of(x, name)}, must be {shape}")
    if library.device(x, name) != a.device:
        raise InvalidArgumentError(f"{name} is on device {library.device(x, name)}, must be on {a.device} like a")
    return x


def _factor(x: Any, name: str, dtype: str) -> complex:
    if not isinstance(x, numbers.Number) and getattr(x, "shape", None) == ():
        x = x.item()
    if not isinstance(x, numbers.Complex) or isinstance(x, bool):
        raise DTypeError(f"{name} = {x!r} is of type {type(x).__name__}, must be a number")
    number = complex(x)
    if number.imag != 0 and not dtype.startswith("complex"):
        raise DTypeError(f"{name} = {x!r} is complex, must be real like the product ({dtype})")
    return number


class _Target:
    """The memory that the product is written to: `out` itself where that is possible, else memory of its own, which begins
    with the elements of `c`. Of a part of the product (`is_part`) it always has elements: without `c` zeros."""

    def __init__(self, leader: _Operand, operands: Sequence[_Operand], c: Any | None, out: Any | None, shape: tuple[int, ...],
                 is_part: bool = False) -> None:
        self.library, self.device, self.out = leader.library, leader.device, out
        self.is_direct = out is not None and self.library.is_writable_in_place(out) and (c is None or c is out) and not any(
            _core.may_overlap(self._exported(out), x.exported()) for x in operands if x.array is not None)
        if self.is_direct:
            self.buffer = out
        elif c is None and is_part:
            self.buffer = self.library.zeros(shape, leader.dtype, leader.array)
        else:
            self.buffer = self.library.allocate(shape, leader.dtype, leader.array, c)

    def exported(self) -> Any:
        return self._exported(self.buffer)

    def _exported(self, x: Any) -> Any:
        return x if isinstance(x, np.ndarray) else self.library.export(x, "out", self.device)

    def finished(self) -> Any:
        if self.is_direct:
            return self.out
        if self.out is not None:
            self.library.copy(self.out, self.buffer)
            return self.out
        result = self.library.publish(self.buffer, self.device)
        return result[()] if isinstance(result, np.ndarray) and result.ndim == 0 else result


def multiply(alpha: Any, a: Any, b: Any, beta: Any, c: Any, trans_a: str, trans_b: str, out: Any, policy: Policy | str | None,
             progress: bool | ProgressCallback | None, want_outcome: bool, plan: _core.Plan | None = None,
             plan_device: Device = "cpu", tolerance: Tolerance | None = None) -> tuple[Any, Outcome | None]:
    """out <- alpha op(a) op(b) + beta c, and the outcome if wanted. With `plan`, which must fit, or by a tolerance."""
    callback = callback_of(progress)
    left, right = _operand(a, "a", trans_a), _operand(b, "b", trans_b)
    leader = _leader(left, right)
    geometry = _geometry(left, right)
    if plan is not None:
        _check_plan(plan, plan_device, leader, geometry)
    alpha, beta = _factor(alpha, "alpha", leader.dtype), _factor(beta, "beta", leader.dtype)
    if c is not None:
        c = _check_third(c, "c", leader, geometry.result)
    elif beta != 0:
        raise InvalidArgumentError(f"c is None and beta = {beta!r}, must be an array, or beta = 0")
    if out is not None:
        out = _check_third(out, "out", leader, geometry.result)
    if plan is None:
        of_prepared = next((x.prepared.policy for x in (left, right) if x.prepared), None)
        wanted = of_prepared if policy is None and of_prepared is not None else policy_of(policy)
        planner = planner_of(leader.dtype, geometry.m, geometry.n, geometry.k, geometry.num_products, leader.device)
        plan, _ = resolved(wanted, tolerance, leader.dtype, planner, beta == 0 and alpha in (1, -1))
    target = _Target(leader, (left, right), None if beta == 0 else c, out, geometry.result)
    call = {"plan": plan, "alpha": alpha, "a": left.exported(), "op_a": left.op, "b": right.exported(), "op_b": right.op,
            "beta": beta, "c": target.exported()}
    call |= {"a_prepared": left.prepared and left.prepared.core, "b_prepared": right.prepared and right.prepared.core}
    products: list[_core.Outcome] = []
    if leader.device == "cpu":
        for first, count in groups(geometry.num_products, _GROUP, callback):
            products += _core.run(**call, first=first, count=count)
    else:
        library, number = leader.library, int(leader.device)
        for _ in groups(geometry.num_products, geometry.num_products, callback):
            products = _core.run_on_device(**call, device=number, stream=library.stream(number), wants_outcomes=want_outcome,
                                           waits=library.waits)
    if _logger.isEnabledFor(logging.DEBUG):
        _logger.debug("%s x (%d x %d) by (%d x %d) of %s on %s: scheme %s by %s, bound %.3g (%s)", geometry.num_products, geometry.m,
                      geometry.k, geometry.k, geometry.n, leader.dtype, leader.device, plan.scheme, plan.engine or "its library",
                      plan.bound, plan.gauge)
    result = target.finished()
    return result, outcome_of(products, bool(geometry.batch)) if want_outcome else None


def _check_plan(plan: _core.Plan, device: Device, a: _Operand, geometry: _Geometry) -> None:
    for name, value, planned in (("m", geometry.m, plan.m), ("n", geometry.n, plan.n), ("k", geometry.k, plan.k),
                                 ("dtype", a.dtype, plan.dtype), ("device", a.device, device)):
        if value != planned:
            raise InvalidArgumentError(f"{name} = {value!r} of the operands, must be {planned!r} as in the plan")
    if device != "cpu" and geometry.num_products != plan.num_products:
        raise InvalidArgumentError(f"{geometry.num_products} products of the operands, must be {plan.num_products} as in the plan")


def _check_trans(trans: str, name: str, x: Any) -> None:
    if trans not in _TOGGLED:
        raise InvalidArgumentError(f"{name} = {trans!r}, must be one of 'n', 't', 'c', 'r'")
    if not isinstance(x, Prepared) and len(_arrays.shape_of(_arrays.as_array(x, name[-1])[0], name[-1])) < 2:
        raise InvalidArgumentError(f"{name[-1]} has fewer than two axes, must be a matrix or a stack of them")


@overload
def matmul(a: Array, b: Array, /, out: Array | None = ..., *, policy: Policy | str | None = ...,
           tolerance: Tolerance | float | None = ..., slices: int | None = ..., return_outcome: Literal[False] = ...,
           progress: bool | ProgressCallback | None = ...) -> Array: ...
@overload
def matmul(a: Array, b: Array, /, out: Array | None = ..., *, policy: Policy | str | None = ...,
           tolerance: Tolerance | float | None = ..., slices: int | None = ..., return_outcome: Literal[True],
           progress: bool | ProgressCallback | None = ...) -> tuple[Array, Outcome]: ...
def matmul(a: Array, b: Array, /, out: Array | None = None, *, policy: Policy | str | None = None,
           tolerance: Tolerance | float | None = None, slices: int | None = None, return_outcome: bool = False,
           progress: bool | ProgressCallback | None = None) -> Array | tuple[Array, Outcome]:
    """The matrix product of two arrays, as `numpy.matmul`, at a stated accuracy.

    Parameters
    ----------
    a, b : array, or the result of `prepare`
        float32, float64, complex64 or complex128; of two types the product has the one that both convert to exactly. Shapes
        ``(..., m, k)`` and ``(..., k, n)``, the leading axes broadcast; a vector ``(k,)`` is one row on the left and one
        column on the right. Both of one library (NumPy, PyTorch, CuPy, JAX, array API) and on one device. Any strides;
        only negative and misaligned ones cost a copy.
    out : array, optional
        Receives the product: of the same library, type, shape and device. It may overlap the operands.
    policy : Policy or str, optional
        What is guaranteed; a text is an accuracy: ``"native"``, ``"correct"``, ``"bits=N"``. Default: the policy in force,
        see `precision`.
    tolerance : float or Tolerance, optional
        In place of an accuracy: ``|C - AB| <= tolerance * G``, by the cheapest plan that guarantees it; see `Tolerance`. A
        float is for ``G = |A| |B|``.
    slices : int, optional
        In place of an accuracy: scheme ozaki1 with so many slices of each operand, 1..20, or -1 until nothing is left. The
        outcome has the bound.
    return_outcome : bool
        Whether to return what the call did, too. On a device this waits for the product.
    progress : callable or bool, optional
        Called as ``progress(done, total)`` with counts of products; True prints a line to stderr.

    Returns
    -------
    c : array
        Of shape ``(..., m, n)`` without the axes of vectors; ``out`` if given. ``|C - AB| <= bound * G`` for every element,
        see `Outcome`. On a device it is ready in the order of the stream that its library uses.
    outcome : Outcome
        Only with ``return_outcome=True``.

    Raises
    ------
    DTypeError
        Another type of elements, or arrays of two libraries. (A TypeError.)
    InvalidArgumentError
        Shapes that do not go together, an array without axes. (A ValueError.)
    KizamiError
        What the policy does not allow: see its subclasses.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> matmul(a, a.T)
    array([[ 5., 11.],
           [11., 25.]])
    >>> c, outcome = matmul(a, [0.1, 0.2], policy="correct", return_outcome=True)
    >>> c, outcome.scheme, outcome.bound == 2.0**-53
    (array([0.5, 1.1]), 'ozaki2', True)
    """
    policy, least = wish_of(policy, tolerance, slices)
    result, outcome = multiply(1, a, b, 0, None, "n", "n", out, policy, progress, return_outcome, tolerance=least)
    return result if outcome is None else (result, outcome)


@overload
def gemm(alpha: complex, a: Array, b: Array, beta: complex = ..., c: Array | None = ..., trans_a: Trans = ...,
         trans_b: Trans = ..., *, out: Array | None = ..., policy: Policy | str | None = ...,
         tolerance: Tolerance | float | None = ..., slices: int | None = ..., return_outcome: Literal[False] = ...,
         progress: bool | ProgressCallback | None = ...) -> Array: ...
@overload
def gemm(alpha: complex, a: Array, b: Array, beta: complex = ..., c: Array | None = ..., trans_a: Trans = ...,
         trans_b: Trans = ..., *, out: Array | None = ..., policy: Policy | str | None = ...,
         tolerance: Tolerance | float | None = ..., slices: int | None = ..., return_outcome: Literal[True],
         progress: bool | ProgressCallback | None = ...) -> tuple[Array, Outcome]: ...
def gemm(alpha: complex, a: Array, b: Array, beta: complex = 0.0, c: Array | None = None, trans_a: Trans = "n",
         trans_b: Trans = "n", *, out: Array | None = None, policy: Policy | str | None = None,
         tolerance: Tolerance | float | None = None, slices: int | None = None, return_outcome: bool = False,
         progress: bool | ProgressCallback | None = None) -> Array | tuple[Array, Outcome]:
    """alpha op(a) op(b) + beta c, as xGEMM of BLAS.

    The sum with beta c is part of the product: it is rounded with it, and the bits are those of the C++ and C interfaces.
    ``beta = 0`` never reads c, ``alpha = 0`` neither a nor b; NaN and Inf appear where exact arithmetic puts them.

    Parameters
    ----------
    alpha, beta : number
        Real for real types.
    a, b : array, or the result of `prepare`
        Matrices ``(..., m, k)`` and ``(..., k, n)`` after op; see `matmul` for types and libraries.
    c : array, optional
        ``(..., m, n)``, of the type of the product. Not changed, unless it is `out`. Needed if beta is not 0.
    trans_a, trans_b : {"n", "t", "c", "r"}
        op: as it is, transposed, conjugated and transposed, conjugated.
    out : array, optional
        Receives the result. ``out=c`` is BLAS's update in place.
    policy, tolerance, slices, return_outcome, progress
        As in `matmul`.

    Returns
    -------
    c : array
        A new array, or ``out``. For alpha = 1 and beta = 0 the bound of `Outcome` holds; otherwise
        ``2 u (|alpha AB| + |beta c|)`` comes on top, u = 2^-53 (2^-24 in single precision).
    outcome : Outcome
        Only with ``return_outcome=True``.

    Raises
    ------
    DTypeError, InvalidArgumentError, KizamiError
        As `matmul`.

    Examples
    --------
    >>> import numpy as np
    >>> a, c = np.array([[1.0, 2.0]]), np.array([[10.0]])
    >>> gemm(2.0, a, a, -1.0, c, trans_b="t")
    array([[0.]])
    >>> gemm(1j, a + 0j, a + 1j, trans_a="c")
    array([[-1.+1.j, -1.+2.j],
           [-2.+2.j, -2.+4.j]])
    """
    _check_trans(trans_a, "trans_a", a)
    _check_trans(trans_b, "trans_b", b)
    policy, least = wish_of(policy, tolerance, slices)
    result, outcome = multiply(alpha, a, b, beta, c, trans_a, trans_b, out, policy, progress, return_outcome, tolerance=least)
    return result if outcome is None else (result, outcome)
