# SPDX-License-Identifier: MIT
"""The policy of the drop-in library that this process runs under (``kizami run``, or LD_PRELOAD), read and set while it runs.

It decides what becomes of products that NumPy, SciPy and others hand to BLAS or cuBLAS; `kizami.matmul` has a policy of its own.
Keys and values are those of rules: the wishes of ``kizami help policy`` but sync, and min_size, own_lines, learned, log.

>>> from kizami import dropin
>>> if dropin.is_loaded():
...     with dropin.policy(accuracy="bits=40", scheme="ozaki2"):
...         ...
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import threading
from collections.abc import Iterator
from typing import Any

from kizami._errors import InvalidArgumentError, UnsupportedError

__all__ = ["get", "is_loaded", "policy", "reset", "set_process"]

_PROCESS, _THREAD = 0, 1
_logger = logging.getLogger("kizami.dropin")


def _functions() -> Any:
    """The functions of include/kizami/dropin.h, of the first library that has them."""
    process = ctypes.CDLL(None)
    if not hasattr(process, "kizami_dropin_set"):
        raise UnsupportedError("no drop-in library is loaded: start Python by `kizami run -- python3 ...`")
    process.kizami_dropin_set.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p]
    process.kizami_dropin_get.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    process.kizami_dropin_reset.argtypes = [ctypes.c_int]
    process.kizami_dropin_error.restype = ctypes.c_char_p
    return process


def is_loaded() -> bool:
    """Whether this process runs under a drop-in library."""
    return hasattr(ctypes.CDLL(None), "kizami_dropin_set")


def get(key: str) -> str:
    """The value that holds for calls of this thread, where no rule says otherwise."""
    functions = _functions()
    value = ctypes.create_string_buffer(256)
    if functions.kizami_dropin_get(key.encode(), value, len(value)) < 0:
        raise InvalidArgumentError(functions.kizami_dropin_error().decode())
    return value.value.decode()


def _set(scope: int, wishes: dict[str, object]) -> None:
    functions = _functions()
    for key, value in wishes.items():
        text = str(int(value)) if isinstance(value, bool) else str(value)
        if functions.kizami_dropin_set(scope, key.encode(), text.encode()) != 0:
            raise InvalidArgumentError(functions.kizami_dropin_error().decode())
        _logger.info("%s = %s for the %s", key, text, "thread" if scope == _THREAD else "process")


def set_process(**wishes: object) -> None:
    """Sets wishes for all threads, before rules and the environment. If one is refused, those before it are set."""
    _set(_PROCESS, wishes)


def reset() -> None:
    """Forgets what `set_process` has set."""
    _functions().kizami_dropin_reset(_PROCESS)


class _Stack(threading.local):
    """The wishes of the policies that a thread is in, the innermost last."""

    def __init__(self) -> None:
        self.wishes: list[dict[str, object]] = []


_stack = _Stack()


@contextlib.contextmanager
def policy(**wishes: object) -> Iterator[None]:
    """Within it these wishes hold for calls of this thread, before those of the process. May be nested."""
    _stack.wishes.append(wishes)
    try:
        _set(_THREAD, wishes)
        yield
    finally:
        _stack.wishes.pop()
        for key in wishes:
            outer = [frame[key] for frame in _stack.wishes if key in frame]
            if outer:
                _set(_THREAD, {key: outer[-1]})
            else:  # refused below, too, where the library does not know the key
                _functions().kizami_dropin_set(_THREAD, key.encode(), None)
