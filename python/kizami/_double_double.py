# SPDX-License-Identifier: MIT
"""Products with twice the digits of float64: DoubleDouble, matmul_dd."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from kizami import _arrays, _core
from kizami._errors import DTypeError, InvalidArgumentError, UnsupportedError
from kizami._outcome import Outcome, outcome_of
from kizami._policy import Policy, core_policy, policy_of
from kizami._products import Array


class DoubleDouble:
    """An array of numbers of about 106 bits, each the sum of two of float64, the low part at most half an ulp of the high one.

    Parameters
    ----------
    hi : array of float64
    lo : array of float64, optional
        Of a shape that broadcasts with hi. The number is hi + lo exactly, whatever their sizes are: the parts are made anew
        (Knuth's TwoSum). Where the sum overflows or is not finite the low part is 0.

    Attributes
    ----------
    hi, lo : numpy.ndarray
        The parts. hi is the number rounded to float64.
    pairs : numpy.ndarray
        Both, (..., 2): what the command line reads and writes with ``--dd``.
    shape : tuple of int

    Raises
    ------
    DTypeError, InvalidArgumentError
        Parts of another type than float64, or of shapes that do not go together.

    Examples
    --------
    >>> x = DoubleDouble([1.0], [2.0**-60])
    >>> x.hi, x.lo == 2.0**-60
    (array([1.]), array([ True]))
    """

    __slots__ = ("pairs",)

    pairs: np.ndarray[Any, np.dtype[np.float64]]

    def __init__(self, hi: Any, lo: Any | None = None) -> None:
        parts = [_host_array(hi, "hi"), np.zeros(()) if lo is None else _host_array(lo, "lo")]
        try:
            shape = np.broadcast_shapes(parts[0].shape, parts[1].shape)
        except ValueError:
            raise InvalidArgumentError(f"lo has shape {parts[1].shape}, must go together with hi's {parts[0].shape}") from None
        self.pairs = np.empty((*shape, 2))
        with np.errstate(all="ignore"):
            total = parts[0] + parts[1]
            high = total - parts[1]
            rest = (parts[0] - high) + (parts[1] - (total - high))
            self.pairs[..., 0], self.pairs[..., 1] = total, np.where(np.isfinite(total) & np.isfinite(rest), rest, 0.0)

    @classmethod
    def from_pairs(cls, pairs: Any) -> DoubleDouble:
        """The numbers of an array (..., 2) of high and low parts.

        >>> DoubleDouble.from_pairs([[1.0, 2.0**-60], [2.0, 0.0]]).shape
        (2,)
        """
        pairs = _host_array(pairs, "pairs")
        if not pairs.shape or pairs.shape[-1] != 2:
            raise InvalidArgumentError(f"pairs has shape {pairs.shape}, must be (..., 2)")
        return cls(pairs[..., 0], pairs[..., 1])

    @classmethod
    def _of(cls, pairs: np.ndarray[Any, np.dtype[np.float64]]) -> DoubleDouble:
        """Parts that are right already."""
        x = cls.__new__(cls)
        x.pairs = pairs
        return x

    @property
    def hi(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        return self.pairs[..., 0]

    @property
    def lo(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        return self.pairs[..., 1]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.pairs.shape[:-1])

    @property
    def T(self) -> DoubleDouble:
        """The matrix transposed, a view.

        >>> DoubleDouble([[1.0, 2.0]]).T.shape
        (2, 1)
        """
        axes = range(self.pairs.ndim - 1)
        return DoubleDouble._of(np.transpose(self.pairs, (*reversed(axes), len(axes))))

    def __getitem__(self, index: Any) -> DoubleDouble:
        index = index if isinstance(index, tuple) else (index,)
        return DoubleDouble._of(self.pairs[(*index, slice(None))] if Ellipsis in index else self.pairs[(*index, ..., slice(None))])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """Rounded to float64."""
        return np.array(self.hi, dtype=dtype)

    def __repr__(self) -> str:
        return f"DoubleDouble(hi={self.hi!r}, lo={self.lo!r})"


def _host_array(x: Any, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    array, library = _arrays.as_array(x, name)
    if not isinstance(library, _arrays.NumPy):
        raise UnsupportedError(f"{name} is an array of {library.name}, must be of NumPy or become one: double-double products are in host memory")
    if array.dtype != np.float64:
        is_real_number = array.dtype.kind in "biuf"
        raise DTypeError(f"{name} is of type {array.dtype}, must be float64{_arrays.conversion(x, name, 'float64') if is_real_number else ''}")
    return library.admit(array, name)[0]  # type: ignore[no-any-return]


def _as_pairs(x: DoubleDouble) -> np.ndarray[Any, Any]:
    """As the extension takes them: of complex128, by the bits."""
    pairs = x.pairs
    if pairs.strides[-1] != 8 or any(s < 0 or s % 16 for s in pairs.strides[:-1]):
        pairs = np.ascontiguousarray(pairs)
    return pairs.view(np.complex128)[..., 0]


@overload
def matmul_dd(a: Array | DoubleDouble, b: Array | DoubleDouble, *, policy: Policy | str | None = ...,
              return_outcome: Literal[False] = ...) -> DoubleDouble: ...
@overload
def matmul_dd(a: Array | DoubleDouble, b: Array | DoubleDouble, *, policy: Policy | str | None = ...,
              return_outcome: Literal[True]) -> tuple[DoubleDouble, Outcome]: ...
def matmul_dd(a: Array | DoubleDouble, b: Array | DoubleDouble, *, policy: Policy | str | None = None,
              return_outcome: bool = False) -> DoubleDouble | tuple[DoubleDouble, Outcome]:
    """The product of two arrays in double-double, to 100 bits.

    Parameters
    ----------
    a, b : array of float64, or DoubleDouble
        Shapes as in `matmul`, in host memory.
    policy : Policy or str, optional
        ``"bits=N"``, N in 1..100, or the policy in force; ``"native"`` is what a product in double-double arithmetic guarantees.
        Scheme ozaki2 only.
    return_outcome : bool
        Whether to return what the call did, too.

    Returns
    -------
    c : DoubleDouble
        ``|C - AB| <= bound * |A| |B|`` for every element, C and the operands with both of their parts. Plus half the smallest
        subnormal number, where a low part is subnormal.
    outcome : Outcome
        Only with ``return_outcome=True``.

    Raises
    ------
    DTypeError, InvalidArgumentError, KizamiError
        As `matmul`. UnsupportedError for arrays of other libraries.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.array([[1.0, 2.0**-70]])
    >>> c, outcome = matmul_dd(a, a.T, policy="bits=100", return_outcome=True)
    >>> c.hi, c.lo == 2.0**-140, outcome.bound <= 2.0**-100
    (array([[1.]]), array([[ True]]), True)
    >>> matmul_dd(a, np.ones((2, 1)), policy="bits=100").lo == 2.0**-70
    array([[ True]])
    """
    operands = []
    are_pairs = isinstance(a, DoubleDouble) or isinstance(b, DoubleDouble)
    for x, name in ((a, "a"), (b, "b")):
        if are_pairs:
            operands.append(_as_pairs(x if isinstance(x, DoubleDouble) else DoubleDouble(_host_array(x, name))))
        else:
            operands.append(_host_array(x, name))
        if not operands[-1].shape:
            raise InvalidArgumentError(f"{name} has shape (), must have at least one axis")
    left, right = operands
    (m, k), (rows, n) = (1, *left.shape)[-2:], (*right.shape, 1)[:2] if right.ndim == 1 else right.shape[-2:]
    if rows != k:
        raise InvalidArgumentError(f"b has {rows} rows (shape {right.shape}), must be the columns of a = {k} (shape {left.shape})")
    try:
        batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    except ValueError:
        raise InvalidArgumentError(f"a has shape {left.shape} and b {right.shape}, whose axes before the last two cannot be broadcast") from None
    plan = _core.make_double_double_plan(m, n, k, core_policy(policy_of(policy)))
    shape = batch + ((m,) if left.ndim > 1 else ()) + ((n,) if right.ndim > 1 else ())
    pairs = np.empty((*shape, 2))
    outcomes = _core.run_double_double(plan, left, right, pairs.view(np.complex128)[..., 0])
    c = DoubleDouble._of(pairs)
    return (c, outcome_of(outcomes, bool(batch))) if return_outcome else c
