# SPDX-License-Identifier: MIT
"""One product on several CUDA devices: the bits and the bound of the product on one.

>>> import kizami.multi
>>> c = kizami.multi.matmul(a, b, devices=[0, 1])                        # doctest: +SKIP

Arrays lie in host memory, where they may be larger than a device's, or on any device. Page-locked host memory travels while
devices compute.
"""

from __future__ import annotations

from collections.abc import Sequence

from kizami import _core
from kizami._errors import UnsupportedError
from kizami._outcome import Outcome, outcome_of
from kizami._policy import Policy, core_policy, policy_of
from kizami._products import Array, _check_third, _geometry, _leader, _operand, _Target

__all__ = ["matmul"]

#: The most devices that share a product.
_MOST_DEVICES = 8


def matmul(a: Array, b: Array, /, out: Array | None = None, *, devices: Sequence[int] | None = None,
           policy: Policy | str | None = None) -> tuple[Array, Outcome]:
    """The product of two matrices, shared by devices, and its outcome.

    Parameters
    ----------
    a, b : array
        Two matrices of one library, in host memory or on one device. Work on them that is enqueued on a stream which the
        default stream does not wait for must be done.
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
    if devices is None:
        devices = range(min(_core.num_devices(), _MOST_DEVICES))
        if not devices:
            raise UnsupportedError("devices = None, and there is no CUDA device, or this libkizami was built without CUDA")
    left, right = _operand(a, "a", "n"), _operand(b, "b", "n")
    leader = _leader(left, right)
    geometry = _geometry(left, right)
    if out is not None:
        out = _check_third(out, "out", leader, geometry.result)
    target = _Target(leader, (left, right), None, out, geometry.result)
    outcome = _core.run_on_devices(devices=list(devices), alpha=1, a=left.exported(), op_a=left.op, b=right.exported(), op_b=right.op,
                                   beta=0, c=target.exported(), policy=core_policy(policy_of(policy)))
    return target.finished(), outcome_of([outcome], False)
