# SPDX-License-Identifier: MIT
"""einsum: Einstein's sums as matrix products, in the order that numpy.einsum_path finds."""

from __future__ import annotations

import operator
import string
from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np

from kizami import _arrays
from kizami._contractions import Contraction, Label, Labels, Path
from kizami._errors import DTypeError, InvalidArgumentError
from kizami._outcome import Outcome
from kizami._policy import Policy
from kizami._products import Array
from kizami._tolerance import Tolerance, wish_of

_LETTERS = string.ascii_letters

#: A label of an axis that an ellipsis stands for: its distance from the last of them.
_Hidden = tuple[Literal["..."], int]


def _labels_of_text(text: str, what: str) -> list[Any]:
    """The labels of one operand; Ellipsis where it has one.

    >>> _labels_of_text("i...j", "subscripts")
    ['i', Ellipsis, 'j']
    """
    head, dots, tail = text.partition("...")
    labels: list[Any] = [*head, *([Ellipsis] if dots else []), *tail]
    for label in labels:
        if label is not Ellipsis and label not in _LETTERS:
            raise InvalidArgumentError(f"{what} has {label!r} in {text!r}, must have letters, one '...' for each operand, ',' and '->'")
    return labels


def _parsed_text(subscripts: str, operands: Sequence[Any]) -> tuple[list[list[Any]], list[Any] | None]:
    text = subscripts.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = [_labels_of_text(term, "subscripts") for term in inputs.split(",")]
    if len(terms) != len(operands):
        raise InvalidArgumentError(f"subscripts = {subscripts!r} has {len(terms)} terms, must have {len(operands)}, one for each operand")
    return terms, _labels_of_text(output, "subscripts") if arrow else None


def _parsed_lists(arguments: Sequence[Any]) -> tuple[list[list[Any]], list[Any] | None, list[Any]]:
    """numpy.einsum's other form: operand, list, operand, list, ..., and perhaps the list of the output."""
    def labels(x: Any) -> list[Any]:
        try:
            return [Ellipsis if i is Ellipsis else operator.index(i) for i in x]
        except TypeError:
            raise DTypeError(f"subscripts = {x!r}, must be a list of int and Ellipsis") from None

    pairs = len(arguments) // 2
    output = labels(arguments[-1]) if len(arguments) % 2 else None
    return [labels(arguments[2 * i + 1]) for i in range(pairs)], output, [arguments[2 * i] for i in range(pairs)]


def _expanded(terms: Sequence[list[Any]], output: list[Any] | None, operands: Sequence[Any]) -> tuple[list[Labels], Labels]:
    """Labels for every axis, those of ellipses too."""
    expanded: list[Labels] = []
    longest = 0
    for number, (term, operand) in enumerate(zip(terms, operands)):
        ndim = len(_arrays.shape_of(_arrays.as_array(operand, f"operand {number}")[0], f"operand {number}"))
        hidden = ndim - len([x for x in term if x is not Ellipsis])
        if term.count(Ellipsis) > 1:
            raise InvalidArgumentError(f"subscripts of operand {number} have {term.count(Ellipsis)} ellipses, must have at most one")
        if hidden < 0 or (hidden > 0 and Ellipsis not in term):
            raise InvalidArgumentError(f"operand {number} has {ndim} axes, must have the {len(term)} of its subscripts")
        longest = max(longest, hidden)
        expanded.append(_with_hidden(term, hidden))
    if output is None:
        plain = [label for term in terms for label in term if label is not Ellipsis]
        once = sorted(label for label in set(plain) if plain.count(label) == 1)
        output = [*([Ellipsis] if longest else []), *once]
    if longest and Ellipsis not in output:
        raise InvalidArgumentError(f"subscripts of the output lack '...', must have it for {longest} broadcast axes")
    result = _with_hidden(output, longest)
    known = {label for term in expanded for label in term}
    for label in result:
        if label not in known:
            raise InvalidArgumentError(f"subscripts of the output have {label!r}, must be a label of an operand")
    if len(set(result)) < len(result):
        raise InvalidArgumentError("subscripts of the output have a label twice, must have each once")
    return expanded, result


def _with_hidden(term: Sequence[Any], count: int) -> Labels:
    out: list[Label] = []
    for label in term:
        out += [("...", i) for i in range(count, 0, -1)] if label is Ellipsis else [label]
    return tuple(out)


def path_of(labels: Sequence[Labels], output: Labels, extents: dict[Label, int], optimize: Any) -> Path:
    """The order of products: numpy.einsum_path's, whose arrays here have shapes and no memory."""
    if len(labels) <= 2 and (optimize is True or optimize is False):
        return [tuple(range(len(labels)))]
    if optimize is False:
        return [(0, 1)] + [(0, len(labels) - i) for i in range(2, len(labels))]
    if len(extents) > len(_LETTERS):
        raise InvalidArgumentError(f"subscripts have {len(extents)} labels, must have at most {len(_LETTERS)}")
    letter = dict(zip(extents, _LETTERS))
    text = ",".join("".join(letter[x] for x in term) for term in labels) + "->" + "".join(letter[x] for x in output)
    arrays = [np.broadcast_to(np.float64(0), tuple(extents[x] for x in term)) for term in labels]
    try:
        path = np.einsum_path(text, *arrays, optimize=optimize)[0][1:]
    except (TypeError, KeyError) as error:
        raise DTypeError(f"optimize = {optimize!r}, must be bool, 'greedy', 'optimal' or a path ({error})") from error
    except (ValueError, RuntimeError, IndexError) as error:
        raise InvalidArgumentError(f"optimize = {optimize!r}, must be bool, 'greedy', 'optimal' or a path ({error})") from error
    left = len(labels)
    for positions in path:
        if not all(isinstance(i, int) and 0 <= i < left for i in positions) or len(set(positions)) < len(positions):
            raise InvalidArgumentError(f"optimize has {positions!r} where {left} operands are left, must name some of them, each once")
        left -= len(positions) - 1
    return [tuple(positions) for positions in path]


def contraction_of(arguments: Sequence[Any], optimize: Any) -> tuple[Contraction, Labels, Path]:
    """What einsum's positional arguments ask for."""
    if not arguments:
        raise InvalidArgumentError("einsum has no arguments, must have subscripts and operands")
    if isinstance(arguments[0], str):
        operands = list(arguments[1:])
        if not operands:
            raise InvalidArgumentError(f"subscripts = {arguments[0]!r} has no operands, must have one for each term")
        terms, output = _parsed_text(arguments[0], operands)
    else:
        if len(arguments) < 2:
            raise InvalidArgumentError("einsum has one argument that is no text, must have operands with a list each")
        terms, output, operands = _parsed_lists(arguments)
    labels, result = _expanded(terms, output, operands)
    contraction = Contraction(operands, labels, [f"operand {i}" for i in range(len(operands))])
    return contraction, result, path_of(contraction.labels, result, contraction.extents, optimize)


@overload
def einsum(*arguments: Any, out: Array | None = ..., optimize: Any = ..., policy: Policy | str | None = ...,
           tolerance: Tolerance | float | None = ..., slices: int | None = ..., return_outcome: Literal[False] = ...) -> Array: ...
@overload
def einsum(*arguments: Any, out: Array | None = ..., optimize: Any = ..., policy: Policy | str | None = ...,
           tolerance: Tolerance | float | None = ..., slices: int | None = ..., return_outcome: Literal[True]) -> tuple[Array, Outcome]: ...
def einsum(*arguments: Any, out: Array | None = None, optimize: Any = True, policy: Policy | str | None = None,
           tolerance: Tolerance | float | None = None, slices: int | None = None,
           return_outcome: bool = False) -> Array | tuple[Array, Outcome]:
    """Einstein's sum over arrays, as `numpy.einsum`, by products of two operands at a stated accuracy.

    Parameters
    ----------
    *arguments : str, then arrays; or array, list, array, list, ...
        Subscripts and operands as `numpy.einsum` takes them: repeated labels, ellipses, axes of extent 1 that are broadcast,
        an output or none. Types and libraries as in `matmul`; all operands get the type that all convert to exactly.
    out : array, optional
        Receives the result: of the same library, type, shape and device.
    optimize : bool, str or list
        The order of products: True or ``"greedy"``, ``"optimal"``, a path as from `numpy.einsum_path`, or False for from left
        to right. Orders differ in rounding, and NumPy may find another in another version: give a path where bits must stay.
    policy, tolerance, slices : optional
        As in `matmul`, for each product. A tolerance is kept by the whole sum.
    return_outcome : bool
        Whether to return what the call did, too.

    Returns
    -------
    c : array
        As of `numpy.einsum`; ``out`` if given. What needs no product is a view.
    outcome : Outcome
        Only with ``return_outcome=True``. With gauge "entry" ``|C - exact| <= bound * G``, G the same sum over the absolute values of
        the operands; with "norm" of several products the Frobenius norm of the error is at most bound times the product of
        the operands' as they are broadcast, and of sqrt(extent) for each axis summed by itself. `products` has the outcome of each step.

    Raises
    ------
    DTypeError, InvalidArgumentError, KizamiError
        As `matmul`; for subscripts and paths, too.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.arange(6.0).reshape(2, 3)
    >>> einsum("ij,kj->ik", a, a)
    array([[ 5., 14.],
           [14., 50.]])
    >>> float(einsum("ii", np.eye(3)))
    3.0
    >>> c, outcome = einsum("ij,jk,kl", a, a.T, a, tolerance=1e-9, return_outcome=True)
    >>> c.shape, len(outcome.products), outcome.bound <= 1e-9
    ((2, 3), 2, True)
    """
    policy, least = wish_of(policy, tolerance, slices)
    contraction, output, path = contraction_of(arguments, optimize)
    result, outcome = contraction.run(output, path, None, policy, least, out, return_outcome)
    return result if outcome is None else (result, outcome)
