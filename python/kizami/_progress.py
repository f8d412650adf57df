# SPDX-License-Identifier: MIT
"""Progress of a batch: products done out of all. A single product is one step: what a product does depends on all of its
elements, so that it is never cut to be watched."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from kizami._errors import DTypeError

#: Called as progress(done, total) before the first product and after each group of products.
ProgressCallback = Callable[[int, int], object]


def callback_of(progress: bool | ProgressCallback | None) -> ProgressCallback | None:
    """The function to call. True: a line on stderr.

    >>> callback_of(False) is None
    True
    >>> callback_of(3)
    Traceback (most recent call last):
        ...
    kizami.DTypeError: progress = 3 is of type int, must be a function of (done, total), True, False or None
    """
    if progress is None or progress is False:
        return None
    if progress is True:
        return _print_line
    if not callable(progress):
        kind = type(progress).__name__
        raise DTypeError(f"progress = {progress!r} is of type {kind}, must be a function of (done, total), True, False or None")
    return progress


def groups(total: int, size: int, callback: ProgressCallback | None) -> Iterator[tuple[int, int]]:
    """(first, count) of groups of at most `size` products; all in one group if nobody watches.

    >>> list(groups(5, 2, None)), list(groups(5, 2, lambda done, total: None)), list(groups(0, 2, None))
    ([(0, 5)], [(0, 2), (2, 2), (4, 1)], [])
    """
    if callback is None:
        if total > 0:
            yield 0, total
        return
    callback(0, total)
    for first in range(0, total, size):
        count = min(size, total - first)
        yield first, count
        callback(first + count, total)


def _print_line(done: int, total: int) -> None:
    is_last = done == total
    print(f"\rkizami: {done} of {total} products", end="\n" if is_last else "", file=sys.stderr, flush=True)
