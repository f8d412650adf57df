# SPDX-License-Identifier: MIT
"""Contractions of labelled arrays, two at a time: what einsum, tensordot, dot and their like have in common.

An operand is an array whose axes have labels. `steps_of` decides from labels and a path alone what is done; `contract` does it:

    product  C[batch, rows, cols] = sum over inner of A[batch, rows, inner] B[batch, inner, cols]
    sum      C[rows] = sum over inner of A[rows, inner], a product with a vector of ones

Each is one stack of matrix products with a proven bound. Real products without an inner axis are those of the array's library,
which rounds each once.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeAlias

import numpy as np

from kizami import _arrays
from kizami._arrays import ArrayLibrary, Device
from kizami._errors import DTypeError, InvalidArgumentError
from kizami._outcome import Outcome
from kizami._policy import Policy, policy_of
from kizami._products import _check_third, _Operand, multiply
from kizami._tolerance import Tolerance, compounded

Label: TypeAlias = Hashable
Labels: TypeAlias = tuple[Label, ...]
#: Positions of operands, as numpy.einsum_path has them: they leave the list, their product is its new last.
Path: TypeAlias = Sequence[tuple[int, ...]]
#: The product of two stacks of matrices.
Multiplier: TypeAlias = Callable[[Any, Any], tuple[Any, Outcome | None]]

_UNIT = {"float32": 2.0**-24, "float64": 2.0**-53}


@dataclasses.dataclass(frozen=True)
class Step:
    """One product, or without `right` one sum; left and right are places in the list of operands and earlier results."""

    left: int
    right: int | None
    batch: Labels
    rows: Labels
    inner: Labels
    cols: Labels

    @property
    def result(self) -> Labels:
        return self.batch + self.rows + self.cols


def steps_of(labels: Sequence[Labels], output: Labels, path: Path) -> tuple[list[Step], int]:
    """The steps of a contraction, and the place of its result. Of the labels of an operand none comes twice.

    >>> steps, place = steps_of([("i", "j"), ("j", "k")], ("i", "k"), [(0, 1)])
    >>> steps
    [Step(left=0, right=1, batch=(), rows=('i',), inner=('j',), cols=('k',))]
    """
    known = list(labels)
    places = list(range(len(labels)))
    steps: list[Step] = []

    def added(step: Step) -> int:
        steps.append(step)
        known.append(step.result)
        return len(known) - 1

    def summed(place: int, needed: set[Label]) -> int:
        """The operand without the axes that nobody else needs."""
        rows = tuple(x for x in known[place] if x in needed)
        inner = tuple(x for x in known[place] if x not in needed)
        return added(Step(place, None, (), rows, inner, ())) if inner else place

    def product(left: int, right: int, needed: set[Label]) -> int:
        left = summed(left, needed | set(known[right]))
        right = summed(right, needed | set(known[left]))
        a, b = known[left], known[right]
        common = [x for x in a if x in b]
        return added(Step(left, right, tuple(x for x in common if x in needed), tuple(x for x in a if x not in b),
                          tuple(x for x in common if x not in needed), tuple(x for x in b if x not in a)))

    def needed_beside(rest: Sequence[int]) -> set[Label]:
        return set(output).union(*(known[i] for i in rest))

    for positions in path:
        chosen = [places[i] for i in positions]
        places = [place for i, place in enumerate(places) if i not in positions]
        while len(chosen) > 1:
            rest = chosen[2:]
            chosen = [product(chosen[0], chosen[1], needed_beside(places + rest)), *rest]
        places += chosen
    while len(places) > 1:  # what a path leaves over
        places = [product(places[0], places[1], needed_beside(places[2:])), *places[2:]]
    return steps, summed(places[0], set(output))


class Contraction:
    """Operands of one library, device and type, with their axes labelled, and the extent of each label."""

    def __init__(self, arrays: Sequence[Any], labels: Sequence[Labels], names: Sequence[str]) -> None:
        operands = [_arrays.as_array(x, name) for x, name in zip(arrays, names)]
        self.library: ArrayLibrary = operands[0][1]
        self.device: Device = self.library.device(operands[0][0], names[0])
        dtypes = []
        for (x, library), given, name in zip(operands, arrays, names):
            if not library.is_same(self.library):
                raise DTypeError(f"{name} is an array of {library.name}, must be of {self.library.name} like {names[0]}")
            dtypes.append(_arrays.require_known_dtype(x, library, given, name))
            device = library.device(x, name)
            if device != self.device:
                raise InvalidArgumentError(f"{name} is on device {device}, must be on {self.device} like {names[0]}")
        self.dtype = dtypes[0]
        for dtype in dtypes[1:]:
            self.dtype = _arrays.promoted(self.dtype, dtype)
        self.extents: dict[Label, int] = {}
        for (x, _), axes, name in zip(operands, labels, names):
            shape = _arrays.shape_of(x, name)
            for label, extent in zip(axes, shape):
                known = self.extents.setdefault(label, extent)
                if extent != known and 1 not in (extent, known):
                    raise InvalidArgumentError(f"{name} has shape {shape}, where label {label!r} is {extent}, must be {known} as elsewhere")
                if known == 1:
                    self.extents[label] = extent
        self.labels: list[Labels] = []
        self.arrays: list[Any] = []
        for (x, _), axes, dtype in zip(operands, labels, dtypes):
            x, axes = self._without_repeats(x, axes)
            shape = tuple(self.extents[label] for label in axes)
            if shape != tuple(x.shape):
                x = self.library.broadcasted(x, shape)
            self.arrays.append(x if dtype == self.dtype else self.library.cast(x, self.dtype))
            self.labels.append(axes)

    def _without_repeats(self, x: Any, axes: Labels) -> tuple[Any, Labels]:
        while len(set(axes)) < len(axes):
            label = next(label for label in axes if axes.count(label) > 1)
            first = axes.index(label)
            second = axes.index(label, first + 1)
            if x.shape[first] != x.shape[second]:
                wide = [self.extents[label] if i in (first, second) else n for i, n in enumerate(x.shape)]
                x = self.library.broadcasted(x, wide)
            x = self.library.diagonal(x, first, second)
            axes = (*(a for i, a in enumerate(axes) if i not in (first, second)), label)
        return x, axes

    def run(self, output: Labels, path: Path, multiplier: Multiplier | None, policy: Policy | str | None, tolerance: Tolerance | None,
            out: Any | None, want_outcome: bool) -> tuple[Any, Outcome | None]:
        """The array with axes `output`, and the outcome of all steps. Without a multiplier by kizami.matmul."""
        shape = tuple(self.extents[label] for label in output)
        if out is not None:
            out = _check_third(out, "out", _Operand("a", None, self.library, self.device, self.dtype, shape, "n"), shape)
            self.library.is_writable_in_place(out)
        wanted = policy_of(policy)
        # A library's product rounds once, and looks at nothing.
        by_library = self.dtype in _UNIT and wanted.nonfinite == "multiply"
        steps, place = steps_of(self.labels, output, path)
        if multiplier is None:
            shared = tolerance and tolerance.shared_by(len(steps))

            def multiplier(a: Any, b: Any) -> tuple[Any, Outcome | None]:
                return multiply(1, a, b, 0, None, "n", "n", None, wanted, None, want_outcome, tolerance=shared)
        arrays, labels, outcomes = list(self.arrays), list(self.labels), []
        for step in steps:
            result, outcome = self._step(step, arrays, labels, multiplier, by_library)
            arrays.append(result)
            labels.append(step.result)
            outcomes.append(outcome)
        result = arrays[place]
        if labels[place] != output:
            result = self.library.permuted(result, [labels[place].index(label) for label in output])
        if out is not None:
            self.library.copy(out, result)
            result = out
        elif isinstance(result, np.ndarray) and result.ndim == 0:
            result = result[()]
        return result, _outcome_of_steps(outcomes) if want_outcome else None

    def _step(self, step: Step, arrays: Sequence[Any], labels: Sequence[Labels], multiplier: Multiplier,
              by_library: bool) -> tuple[Any, Outcome | None]:
        def laid_out(place: int, *groups: Labels | None) -> Any:
            """With the axes of the groups in this order, each group but the first made one axis; None is an axis of extent 1."""
            x, order = arrays[place], [label for group in groups if group is not None for label in group]
            if order != list(labels[place]):
                x = self.library.permuted(x, [labels[place].index(label) for label in order])
            batch = groups[0] or ()
            return self.library.reshaped(x, [*(self.extents[label] for label in batch), *(self._count(group or ()) for group in groups[1:])])

        shape = [self.extents[label] for label in step.result]
        if step.right is None:
            a = laid_out(step.left, (), step.rows, step.inner)
            c, outcome = multiplier(a, self.library.ones(self._count(step.inner), self.dtype, a))
            return self.library.reshaped(c, shape), outcome
        if by_library and not step.inner:
            with np.errstate(all="ignore"):
                c = laid_out(step.left, step.batch, step.rows, None) * laid_out(step.right, step.batch, None, step.cols)
            return self.library.reshaped(c, shape), Outcome("native", "library", _UNIT[self.dtype], "entry")
        a = laid_out(step.left, step.batch, step.rows, step.inner)
        c, outcome = multiplier(a, laid_out(step.right, step.batch, step.inner, step.cols))
        return self.library.reshaped(c, shape), outcome

    def _count(self, group: Labels) -> int:
        return math.prod(self.extents[label] for label in group)


def _outcome_of_steps(outcomes: Sequence[Outcome | None]) -> Outcome:
    """The outcome of a contraction: bounds compound, a bound for norms makes the whole one for norms."""
    steps = [x for x in outcomes if x is not None]
    if not steps:
        return Outcome("native", "none", 0.0, "entry")
    if len(steps) == 1:
        return steps[0]

    def common(name: str) -> str:
        values = {getattr(x, name) for x in steps if x.engine not in ("none", "library")} or {getattr(steps[0], name)}
        return str(values.pop()) if len(values) == 1 else "mixed"

    fields: dict[str, Any] = {name: common(name) for name in ("scheme", "engine", "variant")}
    fields |= {name: max(getattr(x, name) for x in steps) for name in ("moduli", "slices", "rung")}
    fields |= {name: sum(getattr(x, name) for x in steps) for name in ("repaired", "nonfinite_rows", "nonfinite_cols")}
    fields |= {name: any(getattr(x, name) for x in steps) for name in ("equilibrated", "is_conditional")}
    gauge = "norm" if any(x.gauge != "entry" for x in steps) else "entry"
    return Outcome(**fields, bound=compounded([x.bound for x in steps]), gauge=gauge, products=tuple(steps))
