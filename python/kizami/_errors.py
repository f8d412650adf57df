# SPDX-License-Identifier: MIT
"""The exceptions of the package. Each is a KizamiError and the exception of Python that comes closest.

Messages name the argument, its value and the limit it broke. After any of them `out` is as it was.
"""

from __future__ import annotations


class KizamiError(Exception):
    """The base of all exceptions that the package raises."""


class InvalidArgumentError(KizamiError, ValueError):
    """An argument breaks its documented limit: a shape, a number, a name, an overlap."""


class DTypeError(KizamiError, TypeError):
    """An argument is of a type that cannot be multiplied: an integer array, float16, arrays of two libraries."""


class UnsupportedError(KizamiError, NotImplementedError):
    """The request is well-formed, but no scheme or engine here can carry it."""


class AccuracyUnreachableError(KizamiError, ArithmeticError):
    """The accuracy cannot be guaranteed under this policy."""


class WorkspaceTooSmallError(KizamiError, ValueError):
    """The workspace limit is below the smallest possible workspace."""


class OutOfMemoryError(KizamiError, MemoryError):
    """The system or the device refused an allocation."""


class NonFiniteError(KizamiError, ArithmeticError):
    """The policy rejects NaN and Inf, and an operand holds one."""


class InternalError(KizamiError, RuntimeError):
    """A broken invariant of the library itself. Please report it."""


#: The exception of each status code of the C++ library.
BY_CODE: dict[str, type[KizamiError]] = {
    "invalid_argument": InvalidArgumentError,
    "unsupported": UnsupportedError,
    "accuracy_unreachable": AccuracyUnreachableError,
    "workspace_too_small": WorkspaceTooSmallError,
    "out_of_memory": OutOfMemoryError,
    "non_finite": NonFiniteError,
    "internal": InternalError,
}
