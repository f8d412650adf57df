# SPDX-License-Identifier: MIT
"""What a call did with the elements it saw: Outcome."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kizami import _core, _display

if TYPE_CHECKING:
    from rich.table import Table


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a call did and what it guarantees.

    Of a batch: the largest bound, moduli, slices and rung of its products, and the sums of their counts; `products` has the
    outcome of each.

    Attributes
    ----------
    scheme : str
        ``"ozaki2"``, ``"ozaki1"``, ``"ec"`` or ``"native"``; of a batch whose products differ, ``"mixed"``.
    engine : str
        What computed the products, ``"none"`` if there was nothing to compute.
    bound : float
        ``|C - AB| <= bound * G`` for every element, for alpha = 1 and beta = 0; 0 if there was nothing to compute.
    gauge : str
        G: ``"entry"`` for ``|A| |B|``, ``"norm"`` for the norms of row and column.
    moduli : int
        Of scheme ozaki2: moduli used; 0 if all was answered in FP64 arithmetic.
    slices : int
        Of scheme ozaki1: slices used.
    rung : int
        Index into the plan's ladder; -1 for FP64 arithmetic and for scheme native.
    equilibrated : bool
        Whether the inner index was rescaled by exact powers of two.
    repaired : int
        Elements computed in FP64 arithmetic, because no bound was certified for them; with accuracy ``"correct"`` those too
        close to a tie otherwise.
    nonfinite_rows, nonfinite_cols : int
        Rows of A and columns of B that hold NaN or Inf; not looked for by scheme native.
    variant : str
        Of scheme ec: the variant that answered.
    is_conditional : bool
        Of scheme native: whether terms or sums may overflow or underflow with these operands, where the bound does not hold.
        On a device nobody looks, and it is always true. Never true on a processor where the planner chose the scheme.
    products : tuple of Outcome
        Of a batch: one for each product. Empty for a single product.
    """

    scheme: str
    engine: str
    bound: float
    gauge: str
    moduli: int = 0
    slices: int = 0
    rung: int = -1
    equilibrated: bool = False
    repaired: int = 0
    nonfinite_rows: int = 0
    nonfinite_cols: int = 0
    variant: str = "auto"
    is_conditional: bool = False
    products: tuple[Outcome, ...] = dataclasses.field(default=(), repr=False)

    def facts(self) -> dict[str, Any]:
        """What there is to say, as names and values; what does not apply is left out.

        >>> Outcome("native", "native_blas", 2.0**-50, "entry").facts()
        {'scheme': 'native', 'engine': 'native_blas', 'bound': 8.881784197001252e-16, 'gauge': 'entry'}
        """
        facts = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)
                 if field.name in ("scheme", "engine", "bound", "gauge") or getattr(self, field.name) != field.default}
        if self.products:
            facts["products"] = len(self.products)
        return facts

    def __repr__(self) -> str:
        return _display.as_call("Outcome", self.facts())

    def _repr_html_(self) -> str:
        return _display.as_html("Outcome", self.facts())

    def __rich__(self) -> Table:
        return _display.as_rich("Outcome", self.facts())


def outcome_of(products: Sequence[_core.Outcome], is_batch: bool) -> Outcome:
    """The outcome of a call from those of its products."""
    names = [field.name for field in dataclasses.fields(Outcome) if field.name != "products"]
    outcomes = tuple(Outcome(**{name: getattr(x, name) for name in names}) for x in products)
    if not is_batch:
        return outcomes[0]
    if not outcomes:
        return Outcome("native", "none", 0.0, "entry")

    def common(name: str) -> str:
        values = {getattr(x, name) for x in outcomes if x.engine != "none"} or {getattr(outcomes[0], name)}
        return str(values.pop()) if len(values) == 1 else "mixed"

    fields: dict[str, Any] = {name: common(name) for name in ("scheme", "engine", "gauge", "variant")}
    fields |= {name: max(getattr(x, name) for x in outcomes) for name in ("bound", "moduli", "slices", "rung")}
    fields |= {name: sum(getattr(x, name) for x in outcomes) for name in ("repaired", "nonfinite_rows", "nonfinite_cols")}
    fields |= {name: any(getattr(x, name) for x in outcomes) for name in ("equilibrated", "is_conditional")}
    return Outcome(**fields, products=outcomes)
