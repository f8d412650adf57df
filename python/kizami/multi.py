# SPDX-License-Identifier: MIT
"""One product on several CUDA devices: the bits and the bound of the product on one. And one triangle of a matrix times its
transpose.

>>> import kizami.multi
>>> c, outcome = kizami.multi.matmul(a, b, devices=[0, 1])               # doctest: +SKIP
>>> c, outcome = kizami.multi.syrk(a, devices=[0, 1])                    # doctest: +SKIP

Arrays lie in host memory, where they may be larger than a device's, or on any device. Page-locked host memory travels while
devices compute.
"""

from __future__ import annotations

from collections.abc import Sequence

from kizami import _arrays, _core
from kizami._errors import InvalidArgumentError, UnsupportedError
from kizami._outcome import Outcome, outcome_of
from kizami._policy import Policy, core_policy, policy_of
from kizami._products import _TOGGLED, Array, Trans, _check_third, _factor, _geometry, _leader, _operand, _Target

__all__ = ["matmul", "syrk"]

#: The most devices that share a product.
_MOST_DEVICES = 8


def _numbers(devices: Sequence[int] | None) -> list[int]:
    if devices is not None:
        return list(devices)
    all_of_them = list(range(min(_core.num_devices(), _MOST_DEVICES)))
    if not all_of_them:
        raise UnsupportedError("devices = None, and there is no CUDA device, or this libkizami was built without CUDA")
    return all_of_them


def matmul(a: Array, b: Array, /, out: Array | None = None, *, devices: Sequence[int] | None = None,
           policy: Policy | str | None = None) -> tuple[Array, Outcome]:
    """The product of two matrices, shared by devices, and its outcome.

    Parameters
    ----------
    a, b : array
        Two matrices of one library, in host memory or on one device. Work on them that is enqueued on another stream than
        the library's current one, and that the default stream does not wait for, must be done.
    out : array, optional
        Where the product goes.
    devices : sequence of int, optional
        CUDA's numbers, at most 8; one that is named several times is taken for as many. Without: all that there are.
    policy : Policy or str, optional
        As in `kizami.matmul`.

    Returns
    -------
    (array, Outcome)
        When the product is there.

    Raises
    ------
    UnsupportedError
        No such device, a build without CUDA, or slices that depend on all elements.
    """
    numbers = _numbers(devices)
    left, right = _operand(a, "a", "n"), _operand(b, "b", "n")
    leader = _leader(left, right)
    geometry = _geometry(left, right)
    if out is not None:
        out = _check_third(out, "out", leader, geometry.result)
    target = _Target(leader, (left, right), None, out, geometry.result)
    leader.library.wait(leader.device)
    outcome = _core.run_on_devices(devices=numbers, alpha=1, a=left.exported(), op_a=left.op, b=right.exported(), op_b=right.op,
                                   beta=0, c=target.exported(), policy=core_policy(policy_of(policy)))
    return target.finished(), outcome_of([outcome], False)


def syrk(a: Array, /, out: Array | None = None, *, lower: bool = True, hermitian: bool = False, trans: Trans = "n", alpha: complex = 1,
         beta: complex = 0, c: Array | None = None, devices: Sequence[int] | None = None,
         policy: Policy | str | None = None) -> tuple[Array, Outcome]:
    """One triangle of alpha op(a) op(a)^T + beta c, or of alpha op(a) op(a)^H + beta c, shared by devices, and its outcome.

    BLAS calls them syrk and herk.

    Parameters
    ----------
    a : array
        A matrix, ``(n, k)`` after op, in host memory or on a device; otherwise as in `matmul`.
    out : array, optional
        ``(n, n)``: where the triangle goes. Its other triangle stays as it is, unless there is a c that is another array.
    lower : bool
        Which triangle, with the diagonal: elements ``[i, j]`` with i >= j, or those with i <= j.
    hermitian : bool
        ``op(a)^H``. alpha and beta are real, and imaginary parts of the diagonal count as 0 and become 0. Of real types no
        other than the transpose.
    trans : {"n", "t", "c", "r"}
        op: as it is, transposed, conjugated and transposed, conjugated.
    alpha, beta : number
        Real for real types.
    c : array, optional
        ``(n, n)``, of the type of a. Not changed, unless it is `out`. Needed if beta is not 0.
    devices, policy
        As in `matmul`; of schemes there is ``"ozaki2"``.

    Returns
    -------
    (array, Outcome)
        When the triangle is there, with the bits that the product has by scheme ozaki2. The other triangle has the elements
        of c; without c those of `out`; without both it is 0.

    Raises
    ------
    UnsupportedError
        No such device, a build without CUDA, a device whose products leave no triangle out (those of compute capability 9.0
        do), or another scheme.

    Examples
    --------
    >>> c, outcome = syrk(a, trans="t", devices=[0, 1, 2, 3])            # doctest: +SKIP
    """
    numbers = _numbers(devices)
    if trans not in _TOGGLED:
        raise InvalidArgumentError(f"trans = {trans!r}, must be one of 'n', 't', 'c', 'r'")
    shape = _arrays.shape_of(_arrays.as_array(a, "a")[0], "a")
    if len(shape) != 2:
        raise InvalidArgumentError(f"a has shape {shape}, must be a matrix")
    operand = _operand(a, "a", trans)
    square = (operand.shape[0], operand.shape[0])
    alpha, beta = _factor(alpha, "alpha", operand.dtype), _factor(beta, "beta", operand.dtype)
    if c is not None:
        c = _check_third(c, "c", operand, square)
    elif beta != 0:
        raise InvalidArgumentError(f"c is None and beta = {beta!r}, must be an array, or beta = 0")
    if out is not None:
        out = _check_third(out, "out", operand, square)
    target = _Target(operand, (operand,), out if c is None else c, out, square, is_part=True)
    operand.library.wait(operand.device)
    outcome = _core.run_triangle_on_devices(devices=numbers, is_lower=bool(lower), is_hermitian=bool(hermitian), alpha=alpha,
                                            a=operand.exported(), op_a=operand.op, beta=beta, c=target.exported(),
                                            policy=core_policy(policy_of(policy)))
    return target.finished(), outcome_of([outcome], False)
