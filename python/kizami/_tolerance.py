# SPDX-License-Identifier: MIT
"""tolerance= and slices=: wishes that are made a policy for each shape.

A tolerance t asks for ``|C - AB| <= t G``. Of the policies that guarantee it the one with the cheapest plan is taken. By policy
reproducibility "engine" the cheapest is the one with the fewest moduli, which no machine changes; by "none" the quickest
as predicted.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, TypeAlias

from kizami import _core
from kizami._errors import AccuracyUnreachableError, DTypeError, InvalidArgumentError, UnsupportedError
from kizami._policy import Policy, core_policy, policy_of

#: (bits that accuracy "bits=N" goes to, u of accuracy "correct") by type.
_LIMITS = {"float32": (23, 2.0**-24), "complex64": (23, 2.0**-24), "float64": (52, 2.0**-53), "complex128": (52, 2.0**-53)}

#: A plan for a policy.
Planner: TypeAlias = Callable[[Policy], _core.Plan]


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """How far a result may be from the exact one: ``|C - AB| <= value * G`` for every element.

    Attributes
    ----------
    value : float
        Positive and finite. The least that can be had is 2^-53 (2^-24 in single precision).
    gauge : {"entry", "norm"}
        G: ``|A| |B|`` element by element, or ``||row of A|| ||column of B||``, which is never smaller. Of contractions of
        several steps (`einsum`, `multi_dot`) the product of all operands in absolute value, contracted alike; or the product
        of their Frobenius norms as they are broadcast, and of sqrt(extent) for each axis that is summed by itself: then for the Frobenius norm
        of the error.

    Raises
    ------
    InvalidArgumentError, DTypeError
        Another gauge or value.

    Examples
    --------
    >>> Tolerance(1e-8, "norm")
    Tolerance(value=1e-08, gauge='norm')
    """

    value: float
    gauge: str = "entry"

    def __post_init__(self) -> None:
        if isinstance(self.value, bool) or not isinstance(self.value, numbers.Real):
            raise DTypeError(f"tolerance = {self.value!r} is of type {type(self.value).__name__}, must be float")
        if not (0 < self.value < math.inf):
            raise InvalidArgumentError(f"tolerance = {self.value!r}, must be positive and finite")
        if self.gauge not in ("entry", "norm"):
            raise InvalidArgumentError(f"gauge = {self.gauge!r} of the tolerance, must be 'entry' or 'norm'")
        object.__setattr__(self, "value", float(self.value))

    def shared_by(self, num_steps: int) -> Tolerance:
        """What each of so many steps must keep to, so that all of them keep to this: the largest s with
        ``(1 + s)^num_steps - 1 <= value``.

        >>> Tolerance(2.0**-10).shared_by(1) == Tolerance(2.0**-10)
        True
        >>> s = Tolerance(2.0**-10).shared_by(3).value
        >>> compounded([s, s, s]) <= 2.0**-10 < compounded([math.nextafter(s, 1)] * 3)
        True
        """
        if num_steps <= 1:
            return self
        step = math.expm1(math.log1p(self.value) / num_steps)
        step = math.nextafter(math.nextafter(step, math.inf), math.inf)
        while _compounded([step] * num_steps) > Fraction(self.value):
            step = math.nextafter(step, 0.0)
        return dataclasses.replace(self, value=step)


def _compounded(bounds: list[float]) -> Fraction:
    return math.prod((1 + Fraction(x) for x in bounds), start=Fraction(1)) - 1


def compounded(bounds: list[float]) -> float:
    """The bound of several steps from the bound of each, ``(1 + b_1) (1 + b_2) ... - 1``, rounded up. A step multiplies
    operands as they were computed: from |X' - X| <= x |X| and |Y' - Y| <= y |Y| follows
    ``|fl(X'Y') - XY| <= ((1 + b) (1 + x) (1 + y) - 1) |X| |Y|``, X and Y standing for what their gauges are.

    >>> compounded([0.25]), compounded([0.5, 0.5])
    (0.25, 1.25)
    """
    exact = _compounded(bounds)
    rounded = float(exact)
    return rounded if Fraction(rounded) >= exact else math.nextafter(rounded, math.inf)


def wish_of(policy: Policy | str | None, tolerance: Tolerance | float | None,
            slices: int | None) -> tuple[Policy | str | None, Tolerance | None]:
    """The arguments policy, tolerance and slices of a function: a policy, and what is left to be chosen for each shape."""
    if tolerance is None and slices is None:
        return policy, None
    if tolerance is not None and slices is not None:
        raise InvalidArgumentError(f"tolerance = {tolerance!r} and slices = {slices!r}, must be one of the two")
    if isinstance(policy, str):
        name, value = ("slices", slices) if tolerance is None else ("tolerance", tolerance)
        raise InvalidArgumentError(f"policy = {policy!r} and {name} = {value!r}, must be one of the two, or policy a Policy")
    base = policy_of(policy)
    if slices is not None:
        if slices == 0:
            raise InvalidArgumentError("slices = 0, must be -1 or in 1..20")
        return dataclasses.replace(base, scheme="ozaki1", slices=slices), None
    return base, tolerance if isinstance(tolerance, Tolerance) else Tolerance(tolerance)  # type: ignore[arg-type]


def _candidates(base: Policy, tolerance: Tolerance, dtype: str, is_product: bool) -> Iterator[Policy]:
    """Policies that may guarantee the tolerance, from that which asks for the least. A bound that holds for |A||B| holds for
    the norms, too, by Cauchy and Schwarz."""
    max_bits, unit = _LIMITS[dtype]
    bits = max(1, 1 - math.frexp(tolerance.value)[1])  # the least with 2^-bits <= tolerance, if that is below 1
    for gauge in ("norm", "entry") if tolerance.gauge == "norm" else ("entry",):
        if bits <= max_bits:
            yield dataclasses.replace(base, accuracy=f"bits={bits}", gauge=gauge)
    yield dataclasses.replace(base, accuracy="native", gauge=tolerance.gauge)
    if tolerance.value >= unit and is_product:
        yield dataclasses.replace(base, accuracy="correct", gauge="entry")


def cheapest(base: Policy, tolerance: Tolerance, dtype: str, planner: Planner, is_product: bool = True) -> tuple[_core.Plan, Policy]:
    """The cheapest plan that guarantees the tolerance, and its policy. is_product: alpha is 1 or -1 and beta 0, without which
    there is no accuracy "correct"."""
    best: tuple[Any, _core.Plan, Policy] | None = None
    refusals = []
    for policy in _candidates(base, tolerance, dtype, is_product):
        try:
            plan = planner(policy)
        except (AccuracyUnreachableError, UnsupportedError) as error:
            refusals.append(f"{policy.accuracy}: {error}")
            continue
        if not plan.bound <= tolerance.value:
            refusals.append(f"{policy.accuracy}: bound {plan.bound:.3g}")
            continue
        cost = plan.predicted_seconds if base.reproducibility == "none" else plan.base_moduli
        if best is None or cost < best[0]:
            best = cost, plan, policy
    if best is None:
        raise AccuracyUnreachableError(
            f"tolerance = {tolerance.value:.3g} ({tolerance.gauge}) of {dtype}, must be one that a plan guarantees ({'; '.join(refusals)})")
    return best[1], best[2]


def resolved(base: Policy, tolerance: Tolerance | None, dtype: str, planner: Planner, is_product: bool = True) -> tuple[_core.Plan, Policy]:
    """A plan, and the policy that it is of."""
    return (planner(base), base) if tolerance is None else cheapest(base, tolerance, dtype, planner, is_product)


def planner_of(dtype: str, m: int, n: int, k: int, num_products: int, device: str | int) -> Planner:
    """Plans of one shape."""
    if device == "cpu":
        return lambda policy: _core.make_plan(dtype, m, n, k, core_policy(policy))
    return lambda policy: _core.make_device_plan(int(device), dtype, m, n, k, num_products, core_policy(policy))
