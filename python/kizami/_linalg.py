# SPDX-License-Identifier: MIT
"""dot, vecdot, matvec, vecmat, tensordot and multi_dot: NumPy's other products."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Sequence
from typing import Any, Literal, overload

from kizami import _arrays
from kizami._contractions import Contraction, Labels, Path
from kizami._errors import DTypeError, InvalidArgumentError
from kizami._outcome import Outcome
from kizami._policy import Policy
from kizami._products import Array, multiply
from kizami._tolerance import Tolerance, wish_of

_Wishes = tuple[Policy | str | None, Tolerance | float | None, int | None]


def _contracted(arrays: Sequence[Any], names: Sequence[str], labels: Sequence[Labels], output: Labels, path: Path, out: Any | None,
                wishes: _Wishes, want_outcome: bool) -> Any:
    policy, least = wish_of(*wishes)
    result, outcome = Contraction(arrays, labels, names).run(output, path, None, policy, least, out, want_outcome)
    return result if outcome is None else (result, outcome)


def _shape(x: Any, name: str) -> tuple[int, ...]:
    return _arrays.shape_of(_arrays.as_array(x, name)[0], name)


def _as_operand(x: Any, name: str, other: Any) -> Any:
    """x; a number becomes an array of the other operand's library, in its type or that type's complex one."""
    if not isinstance(x, numbers.Number) or isinstance(x, bool):
        return x
    array, library = _arrays.as_array(other, "b" if name == "a" else "a")
    dtype = library.dtype_name(array, name)
    if dtype not in _arrays.DTYPES:
        return x
    if isinstance(x, numbers.Complex) and not isinstance(x, numbers.Real):
        dtype = _arrays.promoted(dtype, "complex64")
    return library.reshaped(library.ones(1, dtype, array) * x, ())


@overload
def dot(a: Array, b: Array, out: Array | None = ..., *, policy: Policy | str | None = ..., tolerance: Tolerance | float | None = ...,
        slices: int | None = ..., return_outcome: Literal[False] = ...) -> Array: ...
@overload
def dot(a: Array, b: Array, out: Array | None = ..., *, policy: Policy | str | None = ..., tolerance: Tolerance | float | None = ...,
        slices: int | None = ..., return_outcome: Literal[True]) -> tuple[Array, Outcome]: ...
def dot(a: Array, b: Array, out: Array | None = None, *, policy: Policy | str | None = None, tolerance: Tolerance | float | None = None,
        slices: int | None = None, return_outcome: bool = False) -> Array | tuple[Array, Outcome]:
    """The product of two arrays as `numpy.dot`: over the last axis of a and the last but one of b.

    Parameters
    ----------
    a, b : array
        Of any number of axes, a number or array without axes multiplies elements. Types and libraries as in `matmul`.
    out : array, optional
        Receives the result.
    policy, tolerance, slices, return_outcome
        As in `matmul`.

    Returns
    -------
    c : array
        ``c[i, ..., j, ..., k] = sum over p of a[i, ..., p] b[j, ..., p, k]``; ``out`` if given.
    outcome : Outcome
        Only with ``return_outcome=True``.

    Raises
    ------
    DTypeError, InvalidArgumentError, KizamiError
        As `matmul`.

    Examples
    --------
    >>> import numpy as np
    >>> float(dot(np.array([1.0, 2.0]), np.array([3.0, 4.0])))
    11.0
    >>> dot(np.ones((2, 3)), np.ones((4, 3, 5))).shape
    (2, 4, 5)
    """
    a, b = _as_operand(a, "a", b), _as_operand(b, "b", a)
    rows, cols = _shape(a, "a"), _shape(b, "b")
    left: Labels = tuple(("a", i) for i in range(len(rows)))
    right: Labels = tuple(("b", i) for i in range(len(cols)))
    inner: Labels = ()
    if left and right:
        at = max(len(right) - 2, 0)
        if rows[-1] != cols[at]:
            raise InvalidArgumentError(f"axis {at} of b is {cols[at]} (shape {cols}), must be the last of a = {rows[-1]} (shape {rows})")
        inner = left[-1:]
        right = right[:at] + inner + right[at + 1:]
    output = tuple(x for x in left + right if x not in inner)
    return _contracted([a, b], "ab", [left, right], output, [(0, 1)], out, (policy, tolerance, slices), return_outcome)


def _axis(i: Any, ndim: int, name: str) -> int:
    try:
        index = operator.index(i)
    except TypeError:
        raise DTypeError(f"axes = {i!r} of {name} is of type {type(i).__name__}, must be int") from None
    if not -ndim <= index < ndim:
        raise InvalidArgumentError(f"axes has {index} for {name}, must be in {-ndim}..{ndim - 1}")
    return index % ndim


def tensordot_labels(a: tuple[int, ...], b: tuple[int, ...], axes: Any) -> tuple[Labels, Labels, Labels]:
    """Labels of two operands of these shapes and of the result.

    >>> tensordot_labels((2, 3), (3, 4), 1)
    ((('a', 0), ('a', 1)), (('a', 1), ('b', 1)), (('a', 0), ('b', 1)))
    """
    if isinstance(axes, Sequence) or hasattr(axes, "__len__"):
        if len(axes) != 2:
            raise InvalidArgumentError(f"axes = {axes!r} has {len(axes)} parts, must be an int or have one part for a and one for b")
        chosen = [[*x] if hasattr(x, "__iter__") else [x] for x in axes]
        of_a, of_b = ([_axis(i, len(shape), name) for i in part] for part, shape, name in zip(chosen, (a, b), "ab"))
    else:
        try:
            count = operator.index(axes)
        except TypeError:
            raise DTypeError(f"axes = {axes!r} is of type {type(axes).__name__}, must be int or a pair of lists") from None
        if not 0 <= count <= min(len(a), len(b)):
            raise InvalidArgumentError(f"axes = {count}, must be in 0..{min(len(a), len(b))}")
        of_a, of_b = [*range(len(a) - count, len(a))], [*range(count)]
    if len(of_a) != len(of_b) or len(set(of_a)) < len(of_a) or len(set(of_b)) < len(of_b):
        raise InvalidArgumentError(f"axes = {axes!r}, must name as many axes of b as of a, each once")
    for i, j in zip(of_a, of_b):
        if a[i] != b[j]:
            raise InvalidArgumentError(f"axis {j} of b is {b[j]} (shape {b}), must be axis {i} of a = {a[i]} (shape {a})")
    left: Labels = tuple(("a", i) for i in range(len(a)))
    right: Labels = tuple(("a", of_a[of_b.index(j)]) if j in of_b else ("b", j) for j in range(len(b)))
    output = tuple(x for i, x in enumerate(left) if i not in of_a) + tuple(x for j, x in enumerate(right) if j not in of_b)
    return left, right, output


@overload
def tensordot(a: Array, b: Array, axes: Any = ..., *, policy: Policy | str | None = ..., tolerance: Tolerance | float | None = ...,
              slices: int | None = ..., out: Array | None = ..., return_outcome: Literal[False] = ...) -> Array: ...
@overload
def tensordot(a: Array, b: Array, axes: Any = ..., *, policy: Policy | str | None = ..., tolerance: Tolerance | float | None = ...,
              slices: int | None = ..., out: Array | None = ..., return_outcome: Literal[True]) -> tuple[Array, Outcome]: ...
def tensordot(a: Array, b: Array, axes: Any = 2, *, policy: Policy | str | None = None, tolerance: Tolerance | float | None = None,
              slices: int | None = None, out: Array | None = None, return_outcome: bool = False) -> Array | tuple[Array, Outcome]:
    """The product of two arrays over chosen axes, as `numpy.tensordot`: one matrix product.

    Parameters
    ----------
    a, b : array
        Types and libraries as in `matmul`.
    axes : int or (axes of a, axes of b)
        What is summed over: the last N axes of a with the first N of b, or those named, in this order.
    policy, tolerance, slices, return_outcome
        As in `matmul`.
    out : array, optional
        Receives the result.

    Returns
    -------
    c : array
        The other axes of a, then those of b; ``out`` if given.
    outcome : Outcome
        Only with ``return_outcome=True``.

    Raises
    ------
    DTypeError, InvalidArgumentError, KizamiError
        As `matmul`.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.arange(60.0).reshape(3, 4, 5)
    >>> tensordot(a, np.ones((4, 3, 2)), axes=([1, 0], [0, 1]))[0]
    array([330., 330.])
    """
    left, right, output = tensordot_labels(_shape(a, "a"), _shape(b, "b"), axes)
    return _contracted([a, b], "ab", [left, right], output, [(0, 1)], out, (policy, tolerance, slices), return_outcome)


def chain_order(sizes: Sequence[int]) -> tuple[int, list[tuple[int, ...]]]:
    """The cheapest order for a chain of matrices sizes[i] x sizes[i + 1]: multiplications, and the path (Cormen, Leiserson,
    Rivest, Stein, Introduction to Algorithms, section 15.2). Of equal ones the one that splits further left.

    >>> chain_order([10, 100, 5, 50])
    (7500, [(0, 1), (1, 0)])
    """
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    split: dict[tuple[int, int], int] = {}
    for length in range(2, count + 1):
        for first in range(count - length + 1):
            last = first + length - 1
            costs = [cost[first, s] + cost[s + 1, last] + sizes[first] * sizes[s + 1] * sizes[last + 1] for s in range(first, last)]
            cost[first, last] = min(costs)
            split[first, last] = first + costs.index(cost[first, last])
    places = [(i, i) for i in range(count)]
    path: list[tuple[int, ...]] = []

    def visit(first: int, last: int) -> None:
        if first == last:
            return
        s = split[first, last]
        visit(first, s)
        visit(s + 1, last)
        left, right = places.index((first, s)), places.index((s + 1, last))
        path.append((left, right))
        for i in sorted((left, right), reverse=True):
            del places[i]
        places.append((first, last))

    visit(0, count - 1)
    return cost[0, count - 1], path


@overload
def multi_dot(arrays: Sequence[Array], *, out: Array | None = ..., policy: Policy | str | None = ...,
              tolerance: Tolerance | float | None = ..., slices: int | None = ..., return_outcome: Literal[False] = ...) -> Array: ...
@overload
def multi_dot(arrays: Sequence[Array], *, out: Array | None = ..., policy: Policy | str | None = ...,
              tolerance: Tolerance | float | None = ..., slices: int | None = ..., return_outcome: Literal[True]) -> tuple[Array, Outcome]: ...
def multi_dot(arrays: Sequence[Array], *, out: Array | None = None, policy: Policy | str | None = None,
              tolerance: Tolerance | float | None = None, slices: int | None = None,
              return_outcome: bool = False) -> Array | tuple[Array, Outcome]:
    """The product of two or more matrices in the order of the fewest multiplications, as `numpy.linalg.multi_dot`.

    Parameters
    ----------
    arrays : sequence of arrays
        Matrices; the first and the last may be vectors, a row and a column. Types and libraries as in `matmul`.
    out : array, optional
        Receives the result.
    policy, slices : optional
        As in `matmul`, for each product.
    tolerance : float or Tolerance, optional
        ``|C - A B ... Z| <= tolerance |A| |B| ... |Z|`` for the whole chain; see `Tolerance`.
    return_outcome : bool
        Whether to return what the call did, too.

    Returns
    -------
    c : array
        ``out`` if given.
    outcome : Outcome
        Only with ``return_outcome=True``: the bound of the whole chain, see `einsum`; `products` has one for each product.

    Raises
    ------
    DTypeError, InvalidArgumentError, KizamiError
        As `matmul`; fewer than two arrays.

    Examples
    --------
    >>> import numpy as np
    >>> a, b, c = np.ones((2, 30)), np.ones((30, 4)), np.ones((4, 5))
    >>> d, outcome = multi_dot([a, b, c], return_outcome=True)
    >>> d[0, 0], len(outcome.products), outcome.bound <= 1e-14
    (np.float64(120.0), 2, True)
    """
    arrays = list(arrays)
    if len(arrays) < 2:
        raise InvalidArgumentError(f"arrays has {len(arrays)} of them, must have at least two")
    names = [f"arrays[{i}]" for i in range(len(arrays))]
    shapes = [_shape(x, name) for x, name in zip(arrays, names)]
    labels: list[Labels] = []
    for i, (shape, name) in enumerate(zip(shapes, names)):
        is_end = i in (0, len(arrays) - 1)
        if len(shape) != 2 and not (is_end and len(shape) == 1):
            raise InvalidArgumentError(f"{name} has {len(shape)} axes, must have two{' or one' if is_end else ''}")
        labels.append((i, i + 1) if len(shape) == 2 else (1,) if i == 0 else (i,))
        if i and shapes[i - 1][-1] != shape[0]:
            raise InvalidArgumentError(f"{name} has {shape[0]} rows (shape {shape}), must be the columns of {names[i - 1]} = {shapes[i - 1][-1]}")
    sizes = [1 if len(shapes[0]) == 1 else shapes[0][0], *(shape[0] for shape in shapes[1:]), 1 if len(shapes[-1]) == 1 else shapes[-1][1]]
    output: Labels = labels[0][:-1] + labels[-1][1:]
    return _contracted(arrays, names, labels, output, chain_order(sizes)[1], out, (policy, tolerance, slices), return_outcome)


def _stacked(x: Any, y: Any, names: str, num_axes: tuple[int, int], first: str, second: str, output: str, out: Any | None,
             wishes: _Wishes, want_outcome: bool) -> Any:
    """Stacks of vectors and matrices by einsum's letters, their other axes broadcast; where the first is a vector it is conjugated."""
    labels = []
    for operand, name, count, letters in ((x, names[0], num_axes[0], first), (y, names[1], num_axes[1], second)):
        shape = _shape(operand, name)
        if len(shape) < count:
            raise InvalidArgumentError(f"{name} has shape {shape}, must have at least {count} ax{'i' if count == 1 else 'e'}s")
        labels.append((*range(len(shape) - count, 0, -1), *letters))
        extent = shape[len(shape) - count + letters.index("k")]
        if operand is x:
            inner = extent
        elif extent != inner:
            raise InvalidArgumentError(f"{name} has {extent} elements to be summed (shape {shape}), must have {inner} as {names[0]}")
    if first == "k":
        array, library = _arrays.as_array(x, names[0])
        if library.dtype_name(array, names[0]).startswith("complex"):
            x = library.namespace.conj(array)
    batch = max((label[:-count] for label, count in zip(labels, num_axes)), key=len)
    return _contracted([x, y], names, labels, (*batch, *output), [(0, 1)], out, wishes, want_outcome)


def vecdot(a: Array, b: Array, out: Array | None = None, *, policy: Policy | str | None = None,
           tolerance: Tolerance | float | None = None, slices: int | None = None, return_outcome: bool = False) -> Any:
    """The inner products of stacks of vectors, the first conjugated, as `numpy.vecdot`.

    Parameters
    ----------
    a, b : array
        ``(..., k)`` and ``(..., k)``; the leading axes are broadcast. Types and libraries as in `matmul`.
    out : array, optional
        Receives the result.
    policy, tolerance, slices, return_outcome
        As in `matmul`.

    Returns
    -------
    c : array
        ``out`` if given; with ``return_outcome=True`` a pair of it and the `Outcome`.

    Raises
    ------
    DTypeError, InvalidArgumentError, KizamiError
        As `matmul`.

    Examples
    --------
    >>> import numpy as np
    >>> vecdot(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
    array([21., 43.])
    """
    return _stacked(a, b, "ab", (1, 1), "k", "k", "", out, (policy, tolerance, slices), return_outcome)


def matvec(a: Array, b: Array, out: Array | None = None, *, policy: Policy | str | None = None,
           tolerance: Tolerance | float | None = None, slices: int | None = None, return_outcome: bool = False) -> Any:
    """The products of stacks of matrices and vectors, as `numpy.matvec`.

    Parameters
    ----------
    a, b : array
        ``(..., m, k)`` and ``(..., k)``; the leading axes are broadcast. Types and libraries as in `matmul`.
    out : array, optional
        Receives the result.
    policy, tolerance, slices, return_outcome
        As in `matmul`.

    Returns
    -------
    c : array
        ``out`` if given; with ``return_outcome=True`` a pair of it and the `Outcome`.

    Raises
    ------
    DTypeError, InvalidArgumentError, KizamiError
        As `matmul`.

    Examples
    --------
    >>> import numpy as np
    >>> matvec(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    array([[1., 3.],
           [2., 4.]])
    """
    return _stacked(a, b, "ab", (2, 1), "mk", "k", "m", out, (policy, tolerance, slices), return_outcome)


def vecmat(a: Array, b: Array, out: Array | None = None, *, policy: Policy | str | None = None,
           tolerance: Tolerance | float | None = None, slices: int | None = None, return_outcome: bool = False) -> Any:
    """The products of stacks of vectors, conjugated, and matrices, as `numpy.vecmat`.

    Parameters
    ----------
    a, b : array
        ``(..., k)`` and ``(..., k, n)``; the leading axes are broadcast. Types and libraries as in `matmul`.
    out : array, optional
        Receives the result.
    policy, tolerance, slices, return_outcome
        As in `matmul`.

    Returns
    -------
    c : array
        ``out`` if given; with ``return_outcome=True`` a pair of it and the `Outcome`.

    Raises
    ------
    DTypeError, InvalidArgumentError, KizamiError
        As `matmul`.

    Examples
    --------
    >>> import numpy as np
    >>> vecmat(np.array([1.0, 1j]), np.array([[1.0, 2.0], [3.0, 4.0]]) + 0j)
    array([1.-3.j, 2.-4.j])
    """
    return _stacked(a, b, "ab", (1, 2), "k", "kn", "n", out, (policy, tolerance, slices), return_outcome)
