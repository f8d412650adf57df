# SPDX-License-Identifier: MIT
"""What the caller wishes: Policy, the policy in force, and the context manager that changes it.

The policy in force is a context variable: each thread, and each asyncio task, has its own, and starts with the default.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import functools
import textwrap
from collections.abc import Iterator
from typing import Any

from kizami import _core
from kizami._errors import DTypeError, InvalidArgumentError


def _value(kind: str, text: str) -> str | bool | int:
    return text if kind == "str" else text == "1" if kind == "bool" else int(text)


def _refuse_bad_values(policy: Policy) -> None:
    for field in dataclasses.fields(policy):
        value = getattr(policy, field.name)
        if type(value) is not type(field.default):
            kind = type(field.default).__name__
            raise DTypeError(f"{field.name} = {value!r} is of type {type(value).__name__}, must be {kind}")
    core_policy(policy)


# The fields are the library's table of wishes: accuracy, which may stand first, and the others by their names.
_Wishes: Any = dataclasses.make_dataclass(
    "_Wishes", [(key, {"str": str, "bool": bool, "int": int}[kind],
                 dataclasses.field(default=_value(kind, default), kw_only=key != "accuracy"))
                for key, kind, default, _, _ in _core.wishes()],
    namespace={"__post_init__": _refuse_bad_values}, frozen=True, repr=False)


class Policy(_Wishes):  # type: ignore[misc]
    """What the caller wishes of a product. Immutable; every field has a safe default.

    Every element of C = AB keeps to ``|C - AB| <= x G``, with G as `gauge` says: ``|A| |B|`` for each element, or
    ``||row of A|| ||column of B||``. `accuracy` says x:

    ``"native"``
        ``c(k) u``, ``c(k) = min(max(k, 8), 16 sqrt(k))``, u = 2^-53 (2^-24 in single precision); complex types c(2k) and
        each part by itself.
    ``"bits=N"``
        ``2^-N``, N in 1..52 (1..23 in single precision).
    ``"correct"``
        C is AB rounded once, to nearest, ties to even; alpha = 1 or -1 and beta = 0 only.

    Raises
    ------
    InvalidArgumentError
        A name that does not exist, or a value that is not allowed. What depends on the type of the elements is checked when
        a product is planned.

    Examples
    --------
    >>> Policy("bits=40", gauge="norm")
    Policy('bits=40', gauge='norm')
    >>> Policy("fast")
    Traceback (most recent call last):
        ...
    kizami.InvalidArgumentError: accuracy = 'fast', must be one of native, correct, bits=N with N in 1..100
    """

    def __repr__(self) -> str:
        changed = [f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self)[1:]
                   if getattr(self, f.name) != f.default]
        return f"Policy({', '.join([repr(self.accuracy), *changed])})"

    def __reduce__(self) -> tuple[Any, ...]:
        changed = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if getattr(self, f.name) != f.default}
        return _policy_of_fields, (changed,)


def _policy_of_fields(changed: dict[str, Any]) -> Policy:
    """A policy that was pickled, by the fields that are not as by default.

    >>> _policy_of_fields({"accuracy": "bits=40", "gauge": "norm"})
    Policy('bits=40', gauge='norm')
    """
    names = [field.name for field in dataclasses.fields(Policy)]
    for name in changed:
        if name not in names:
            raise InvalidArgumentError(f"{name} of a pickled policy is no field of Policy, must be one of {', '.join(names)}")
    return Policy(**changed)


def _fields_in_words() -> str:
    lines = ["Parameters", "----------"]
    for key, kind, default, values, meaning in _core.wishes():
        lines += [f"{key} : {kind}, default {_value(kind, default)!r}",
                  *textwrap.wrap(f"{meaning}. {values}", 110, initial_indent="    ", subsequent_indent="    ")]
    return textwrap.indent("\n".join(lines), "    ").lstrip()


if Policy.__doc__:  # none with python -OO
    Policy.__doc__ = Policy.__doc__.replace("Raises\n", _fields_in_words() + "\n\n    Raises\n", 1)


@functools.lru_cache(maxsize=256)
def core_policy(policy: Policy) -> _core.Policy:
    """The policy as the C++ library takes it.

    >>> core_policy(Policy("bits=40")) is core_policy(Policy("bits=40"))
    True
    """
    values = {field.name: getattr(policy, field.name) for field in dataclasses.fields(policy)}
    return _core.Policy({key: str(int(value) if isinstance(value, bool) else value) for key, value in values.items()})


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
