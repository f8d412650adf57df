# SPDX-License-Identifier: MIT
"""What the caller wishes: Policy, the policy in force, and the context manager that changes it.

The policy in force is a context variable: each thread, and each asyncio task, has its own, and starts with the default.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import functools
import re
from collections.abc import Iterator
from typing import Any

from kizami import _core
from kizami._errors import DTypeError, InvalidArgumentError

_BITS = re.compile(r"bits=(\d{1,9})")


@dataclasses.dataclass(frozen=True)
class Policy:
    """What the caller wishes of a product. Immutable; every field has a safe default.

    Parameters
    ----------
    accuracy : str
        What is guaranteed for every element of C = AB, with G as `gauge` says and u = 2^-53 (2^-24 in single precision):

        ``"native"``
            ``|C - AB| <= c(k) u G``, ``c(k) = min(max(k, 8), 16 sqrt(k))``; complex types c(2k) and each part by itself.
        ``"bits=N"``
            ``|C - AB| <= 2^-N G``, N in 1..52 (1..23 in single precision).
        ``"correct"``
            C is AB rounded once, to nearest, ties to even; alpha = 1 or -1 and beta = 0 only.
    gauge : str
        ``"entry"``: ``G = |A| |B|`` for each element. ``"norm"``: ``G = ||row of A|| ||column of B||``, which is cheaper.
    scheme : str
        ``"auto"``, or a scheme by name: ``"native"`` (the platform's BLAS), ``"ozaki2"``, ``"ozaki1"``, ``"ec"``.
    engine : str
        ``"auto"``, or what computes the low-precision products: ``"cpu_simd"``, ``"cpu_ref"``, ``"native_blas"``,
        ``"tc_model"``, ``"tile"``; on a CUDA device ``"hopper"``, ``"cublaslt"``, ``"tile"``.
    variant : str
        Of scheme ``"ec"``: ``"auto"``, ``"scaled"``, ``"bf16x9"`` and others.
    reproducible : bool
        True: the same bits on every engine, thread count and machine. False lets the planner take the platform's BLAS, or
        scheme ``"ec"`` on a device, where that meets the accuracy and is faster.
    fp64_arithmetic : bool
        True: elements that no number of integer products certifies are computed in FP64 arithmetic of proven bound. False:
        such a product is refused.
    reject_nonfinite : bool
        True: NaN and Inf are an error. False: they are multiplied as BLAS does.
    may_sync : bool
        Lets a product on a device wait for what its elements say: its certificate, or how many slices leave nothing.
    threads : int
        At most so many threads of the processor; 0: all that this process may use. Never changes a bit.
    workspace_limit : int
        At most so many bytes of scratch memory; 0: the default of 1 GiB. Never changes a bit.

    Raises
    ------
    InvalidArgumentError
        A name that does not exist, or a number out of its range. What depends on the type of the elements is checked when
        a product is planned.

    Examples
    --------
    >>> Policy("bits=40", gauge="norm")
    Policy('bits=40', gauge='norm')
    >>> Policy("fast")
    Traceback (most recent call last):
        ...
    kizami.InvalidArgumentError: accuracy = 'fast', must be native, correct or bits=N
    """

    accuracy: str = "native"
    gauge: str = dataclasses.field(default="entry", kw_only=True)
    scheme: str = dataclasses.field(default="auto", kw_only=True)
    engine: str = dataclasses.field(default="auto", kw_only=True)
    variant: str = dataclasses.field(default="auto", kw_only=True)
    reproducible: bool = dataclasses.field(default=True, kw_only=True)
    fp64_arithmetic: bool = dataclasses.field(default=True, kw_only=True)
    reject_nonfinite: bool = dataclasses.field(default=False, kw_only=True)
    may_sync: bool = dataclasses.field(default=False, kw_only=True)
    threads: int = dataclasses.field(default=0, kw_only=True)
    workspace_limit: int = dataclasses.field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if type(value) is not type(field.default):
                kind = type(field.default).__name__
                raise DTypeError(f"{field.name} = {value!r} is of type {type(value).__name__}, must be {kind}")
        core_policy(self)

    def __repr__(self) -> str:
        changed = [f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self)[1:]
                   if getattr(self, f.name) != f.default]
        return f"Policy({', '.join([repr(self.accuracy), *changed])})"


@functools.lru_cache(maxsize=256)
def core_policy(policy: Policy) -> _core.Policy:
    """The policy as the C++ library takes it.

    >>> core_policy(Policy("bits=40")) is core_policy(Policy("bits=40"))
    True
    """
    fields = {field.name: getattr(policy, field.name) for field in dataclasses.fields(policy)}
    bits = _BITS.fullmatch(policy.accuracy)
    if bits:
        fields["accuracy"] = "bits"
        if not 1 <= int(bits[1]) <= 52:
            raise InvalidArgumentError(f"accuracy = {policy.accuracy!r}, must be bits=1 to bits=52")
    elif policy.accuracy == "bits":
        raise InvalidArgumentError("accuracy = 'bits', must be native, correct or bits=N")
    return _core.Policy(bits=int(bits[1]) if bits else 0, **fields)


_in_force: contextvars.ContextVar[Policy] = contextvars.ContextVar("kizami.policy", default=Policy())


def current_policy() -> Policy:
    """The policy of products that name none, in this thread or task.

    >>> current_policy()
    Policy('native')
    """
    return _in_force.get()


def policy_of(policy: Policy | str | None) -> Policy:
    """A policy as functions take it: None means the one in force, a text its accuracy changed.

    >>> policy_of("correct")
    Policy('correct')
    """
    if policy is None:
        return _in_force.get()
    if isinstance(policy, str):
        return dataclasses.replace(_in_force.get(), accuracy=policy)
    if isinstance(policy, Policy):
        return policy
    raise DTypeError(f"policy is of type {type(policy).__name__}, must be Policy, str or None")


def precision(accuracy: str | None = None, *, bits: int | None = None,
              **changes: Any) -> contextlib.AbstractContextManager[Policy]:
    """Changes the policy in force for the statements inside ``with``, or for the function it decorates.

    Fields that are not named stay as they were outside, so that these nest. The old policy comes back at the end, after
    exceptions too. Other threads and tasks are not concerned.

    Parameters
    ----------
    accuracy : str, optional
        ``"native"``, ``"correct"`` or ``"bits=N"``, see `Policy`.
    bits : int, optional
        N for short: ``precision(bits=40)`` is ``precision("bits=40")``.
    **changes
        Any other field of `Policy`: ``gauge="norm"``, ``scheme="ozaki1"``, ``threads=1``.

    Returns
    -------
    context manager
        ``as`` gives the `Policy` in force.

    Raises
    ------
    InvalidArgumentError, DTypeError
        At once, not on entering: a field that does not exist or a value out of range.

    Examples
    --------
    >>> with precision("correct"):
    ...     with precision(gauge="norm") as policy:
    ...         print(policy)
    Policy('correct', gauge='norm')
    >>> current_policy()
    Policy('native')
    """
    if bits is not None:
        if accuracy is not None:
            raise InvalidArgumentError(f"accuracy = {accuracy!r} and bits = {bits!r}, must be one of the two")
        if type(bits) is not int:
            raise DTypeError(f"bits = {bits!r} is of type {type(bits).__name__}, must be int")
        accuracy = f"bits={bits}"
    if accuracy is not None:
        changes["accuracy"] = accuracy
    names = [field.name for field in dataclasses.fields(Policy)]
    for name in changes:
        if name not in names:
            raise InvalidArgumentError(f"{name} is no field of Policy, must be one of {', '.join(names)}")
    Policy(**changes)  # refuses bad values now
    return _applied(changes)


@contextlib.contextmanager
def _applied(changes: dict[str, Any]) -> Iterator[Policy]:
    token = _in_force.set(dataclasses.replace(_in_force.get(), **changes))
    try:
        yield _in_force.get()
    finally:
        _in_force.reset(token)
