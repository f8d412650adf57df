# SPDX-License-Identifier: MIT
"""An operand split once for many products: Prepared."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from kizami import _core, _display
from kizami._errors import DTypeError
from kizami._policy import Policy

if TYPE_CHECKING:
    from rich.table import Table


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Prepared:
    """One operand split once for many products: what `prepare` returns. Takes the place of an array in `matmul`, `gemm` and
    `Plan.run`, on the side it was prepared for.

    Attributes
    ----------
    side : str
        ``"a"`` or ``"b"``.
    shape : tuple of int
        Of op(x).
    dtype : str
        Type of the elements.
    policy : Policy
        What its products guarantee.
    device : str
        ``"cpu"``, or ``"cuda:0"``: where it is, and its products are.
    original : array or None
        The array itself, used where the elements of the other operand need more than was prepared. Always kept on a device.
    size_bytes : int
        Memory that it holds, the original not counted.
    """

    side: str
    shape: tuple[int, ...]
    dtype: str
    policy: Policy
    original: Any | None
    trans: str
    core: _core.Prepared | _core.DevicePrepared
    device: str = "cpu"

    @property
    def size_bytes(self) -> int:
        return self.core.size_bytes

    def __reduce__(self) -> tuple[Any, ...]:
        raise DTypeError("a Prepared holds what belongs to this process and cannot be pickled or copied: pickle the plan and the "
                         "array, and prepare again")

    def facts(self) -> dict[str, Any]:
        return {"side": self.side, "shape": self.shape, "dtype": self.dtype, "device": self.device, "accuracy": self.policy.accuracy,
                "size_bytes": self.size_bytes, "keeps_original": self.original is not None}

    def __repr__(self) -> str:
        return _display.as_call("Prepared", self.facts())

    def _repr_html_(self) -> str:
        return _display.as_html("Prepared", self.facts())

    def __rich__(self) -> Table:
        return _display.as_rich("Prepared", self.facts())
