# SPDX-License-Identifier: MIT
"""Decide once, run many times: plan, Plan, prepare."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Literal, overload

from kizami import _arrays, _core, _display
from kizami._arrays import Device
from kizami._errors import DTypeError, InvalidArgumentError, UnsupportedError
from kizami._outcome import Outcome
from kizami._policy import Policy, policy_of
from kizami._prepared import Prepared
from kizami._products import Array, Trans, _check_trans, multiply
from kizami._progress import ProgressCallback
from kizami._tolerance import Tolerance, planner_of, resolved, wish_of

if TYPE_CHECKING:
    from rich.table import Table


class Plan:
    """An immutable decision how to multiply op(a) (m x k) by op(b) (k x n). It depends on shapes and wishes only, never on
    elements. Made by `plan`; safe to share among threads. It can be pickled: what is stored is the question, which is decided
    again where it is read, and refused where the version or the numerics would be others.

    Attributes
    ----------
    m, n, k : int
        The shape.
    dtype : str
        Type of the elements.
    device : str
        ``"cpu"``, or ``"cuda:0"``.
    num_products : int
        Of a batch on a device; on the processor a plan serves batches of any size, and this is 1.
    policy : Policy
        What was asked for.
    scheme, engine, variant : str
        What was chosen, see `Policy`.
    bound : float
        ``|C - AB| <= bound * G`` is guaranteed for every element of every product of this plan.
    gauge : str
        G, see `Policy`.
    base_moduli, max_moduli : int
        Of the lowest and highest rung of the ladder; 0 for scheme native.
    workspace_bytes : int
        Scratch memory of a call.
    predicted_seconds : float
        Of all products, by the performance model.
    numerics_hash : int
        Equal for two plans exactly if they give equal bits on equal operands (schemes ozaki2 and ozaki1).
    """

    __slots__ = ("_core", "_device", "policy")

    def __init__(self, core: _core.Plan, policy: Policy, device: Device) -> None:
        self._core, self.policy, self._device = core, policy, device

    @property
    def m(self) -> int:
        return self._core.m

    @property
    def n(self) -> int:
        return self._core.n

    @property
    def k(self) -> int:
        return self._core.k

    @property
    def dtype(self) -> str:
        return self._core.dtype

    @property
    def device(self) -> str:
        return "cpu" if self._device == "cpu" else f"cuda:{self._device}"

    @property
    def num_products(self) -> int:
        return self._core.num_products

    @property
    def scheme(self) -> str:
        return self._core.scheme

    @property
    def engine(self) -> str:
        return self._core.engine

    @property
    def variant(self) -> str:
        return self._core.variant

    @property
    def bound(self) -> float:
        return self._core.bound

    @property
    def gauge(self) -> str:
        return self._core.gauge

    @property
    def base_moduli(self) -> int:
        return self._core.base_moduli

    @property
    def max_moduli(self) -> int:
        return self._core.max_moduli

    @property
    def workspace_bytes(self) -> int:
        return self._core.workspace_bytes

    @property
    def predicted_seconds(self) -> float:
        return self._core.predicted_seconds

    @property
    def numerics_hash(self) -> int:
        return self._core.numerics_hash

    def explain(self) -> str:
        """The plan in words, one fact a line: scheme, ladder, bound, blocks of k, engine, refusals with reasons, workspace."""
        return self._core.explain()

    @overload
    def run(self, a: Array, b: Array, *, alpha: complex = ..., beta: complex = ..., c: Array | None = ..., trans_a: Trans = ...,
            trans_b: Trans = ..., out: Array | None = ..., return_outcome: Literal[False] = ...,
            progress: bool | ProgressCallback | None = ...) -> Array: ...
    @overload
    def run(self, a: Array, b: Array, *, alpha: complex = ..., beta: complex = ..., c: Array | None = ..., trans_a: Trans = ...,
            trans_b: Trans = ..., out: Array | None = ..., return_outcome: Literal[True],
            progress: bool | ProgressCallback | None = ...) -> tuple[Array, Outcome]: ...
    def run(self, a: Array, b: Array, *, alpha: complex = 1.0, beta: complex = 0.0, c: Array | None = None, trans_a: Trans = "n",
            trans_b: Trans = "n", out: Array | None = None, return_outcome: bool = False,
            progress: bool | ProgressCallback | None = None) -> Array | tuple[Array, Outcome]:
        """alpha op(a) op(b) + beta c as planned. Arguments, results and errors as `gemm`; a and b may be vectors or
        batches as in `matmul`, too.

        Raises
        ------
        InvalidArgumentError
            Also if operands do not fit the plan.

        Examples
        --------
        >>> import numpy as np
        >>> p = plan(2, 2, 2)
        >>> p.run(np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]))
        array([[1., 2.],
               [3., 4.]])
        """
        for trans, name, x in ((trans_a, "trans_a", a), (trans_b, "trans_b", b)):
            if trans != "n":
                _check_trans(trans, name, x)
        result, outcome = multiply(alpha, a, b, beta, c, trans_a, trans_b, out, self.policy, progress, return_outcome,
                                   self._core, self._device)
        return result if outcome is None else (result, outcome)

    def __reduce__(self) -> tuple[Any, ...]:
        state = {"version": _core.version(), "m": self.m, "n": self.n, "k": self.k, "dtype": self.dtype, "device": self.device,
                 "num_products": self.num_products, "policy": self.policy, "scheme": self.scheme, "numerics_hash": self.numerics_hash}
        return _plan_of_state, (state,)

    def __copy__(self) -> Plan:
        return self

    def __deepcopy__(self, memo: Any) -> Plan:
        return self

    def facts(self) -> dict[str, Any]:
        """What there is to say, as names and values; what does not apply is left out."""
        facts = {"m": self.m, "n": self.n, "k": self.k, "dtype": self.dtype, "device": self.device,
                 "accuracy": self.policy.accuracy, "scheme": self.scheme, "engine": self.engine, "bound": self.bound,
                 "gauge": self.gauge}
        if self.num_products != 1:
            facts["num_products"] = self.num_products
        if self.variant != "auto":
            facts["variant"] = self.variant
        if self.max_moduli:
            facts["moduli"] = f"{self.base_moduli}..{self.max_moduli}"
        return facts | {"workspace_bytes": self.workspace_bytes}

    def __repr__(self) -> str:
        return _display.as_call("Plan", self.facts())

    def _repr_html_(self) -> str:
        return _display.as_html("Plan", self.facts(), self.explain())

    def __rich__(self) -> Table:
        return _display.as_rich("Plan", self.facts())


def plan(m: int, n: int, k: int, dtype: Any = "float64", *, policy: Policy | str | None = None,
         tolerance: Tolerance | float | None = None, slices: int | None = None, device: str = "cpu", num_products: int = 1) -> Plan:
    """Decides how to multiply op(a) (m x k) by op(b) (k x n). Plans are cached by the library.

    Parameters
    ----------
    m, n, k : int
        In 0..2^34 - 1, k of complex types in 0..2^33 - 1.
    dtype : str or type
        float32, float64, complex64 or complex128, by name or as NumPy's type.
    policy, tolerance, slices : optional
        As in `matmul`.
    device : str
        ``"cpu"``, or ``"cuda:0"`` and so on: where the arrays will be.
    num_products : int
        Products of a batch on a device. On the processor a plan serves batches of any size.

    Raises
    ------
    InvalidArgumentError
        A size, type, device or wish out of range.
    AccuracyUnreachableError
        The scheme of the policy cannot guarantee its accuracy; the text has the best bound.
    UnsupportedError
        Scheme and engine do not go together, or there is no such device.
    WorkspaceTooSmallError
        The limit is below the smallest possible workspace.

    Examples
    --------
    >>> p = plan(1000, 1000, 1000, policy="bits=40")
    >>> p.scheme, p.bound <= 2.0**-40
    ('ozaki2', True)
    """
    policy, least = wish_of(policy, tolerance, slices)
    sizes = {"m": m, "n": n, "k": k, "num_products": num_products}
    for name, value in sizes.items():
        try:
            sizes[name] = operator.index(value)
        except TypeError:
            raise DTypeError(f"{name} = {value!r} is of type {type(value).__name__}, must be int") from None
        if not 0 <= sizes[name] < 2**63:
            raise InvalidArgumentError(f"{name} = {value}, must be >= 0 and < 2^34")
    type_name = dtype if isinstance(dtype, str) else _arrays.dtype_text(dtype)
    if least is not None and type_name not in _arrays.DTYPES:
        raise InvalidArgumentError(f"dtype = {type_name!r}, must be one of {', '.join(_arrays.DTYPES)}")
    place = _place_of(device)
    core, chosen = resolved(policy_of(policy), least, type_name, planner_of(type_name, **sizes, device=place))
    return Plan(core, chosen, place)


def _plan_of_state(state: dict[str, Any]) -> Plan:
    """A plan that was pickled, decided again."""
    if state["version"] != _core.version():
        raise UnsupportedError(f"version = {state['version']} of the pickled plan, must be {_core.version()} like this library: make the plan anew")
    again = plan(state["m"], state["n"], state["k"], state["dtype"], policy=state["policy"], device=state["device"],
                 num_products=state["num_products"])
    # The hash tells the bits of these schemes. What rounds as the platform does promises none.
    if state["scheme"] in ("ozaki2", "ozaki1") or again.scheme in ("ozaki2", "ozaki1"):
        for name in ("scheme", "numerics_hash"):
            if getattr(again, name) != state[name]:
                raise UnsupportedError(f"{name} = {state[name]} of the pickled plan, must be {getattr(again, name)} as planned on this machine: "
                                       "make the plan anew")
    return again


def _place_of(device: str) -> Device:
    """The device as the rest of the package has it.

    >>> _place_of("cpu"), _place_of("cuda:1")
    ('cpu', 1)
    """
    if device == "cpu":
        return device
    kind, _, number = device.partition(":")
    if kind != "cuda" or not (number or "0").isdecimal():
        raise InvalidArgumentError(f"device = {device!r}, must be 'cpu', 'cuda' or 'cuda:N'")
    return int(number or "0")


def prepare(plan: Plan, side: Literal["a", "b"], x: Array, *, trans: Trans = "n", keep: bool = True) -> Prepared:
    """Splits one operand for many products: for this plan, and for others of equal numerics (other numbers of columns of b,
    say, if x is a).

    Parameters
    ----------
    plan : Plan
        Of scheme ozaki2 or ozaki1; on a device of scheme ozaki2 or ec, for one product.
    side : {"a", "b"}
        Which operand x will be.
    x : array
        One matrix where the plan is for: op(x) is m x k or k x n as in the plan.
    trans : {"n", "t", "c", "r"}
        op, as in `gemm`.
    keep : bool
        Whether to keep x, for products that need more moduli than were prepared. Without it such a product is refused. x
        must not be changed meanwhile. On a device it is always kept.

    Returns
    -------
    Prepared
        To be given to `matmul`, `gemm` and `Plan.run` in place of x. The bits are those that x gives. On a device it is ready
        in the order of the stream that the library of x uses; calls on other streams are for the caller to order behind it.

    Raises
    ------
    InvalidArgumentError
        The shape, the type or the side is another than planned.
    UnsupportedError
        The scheme has nothing to prepare (native; ec in host memory, ozaki1 on a device).

    Examples
    --------
    >>> import numpy as np
    >>> a = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> p = plan(2, 1, 2)
    >>> prepared = prepare(p, "a", a)
    >>> p.run(prepared, np.array([[1.0], [1.0]]))
    array([[3.],
           [7.]])
    """
    if side not in ("a", "b"):
        raise InvalidArgumentError(f"side = {side!r}, must be 'a' or 'b'")
    _check_trans(trans, "trans_x", x)
    array, library = _arrays.as_array(x, "x")
    dtype, shape = library.dtype_name(array, "x"), _arrays.shape_of(array, "x")
    if dtype not in _arrays.DTYPES:
        raise DTypeError(f"x is of type {dtype}, must be one of {', '.join(_arrays.DTYPES)}")
    if len(shape) != 2:
        raise InvalidArgumentError(f"x has shape {shape}, must be one matrix")
    device = library.device(array, "x")
    if device != plan._device:
        raise InvalidArgumentError(f"x is on device {device}, must be on {plan._device} as in the plan")
    if device != "cpu" and not keep:
        raise InvalidArgumentError("keep = False, must be True on a device: calls there find out without the host whether they need x")
    if dtype != plan.dtype:
        raise InvalidArgumentError(f"x is of type {dtype}, must be {plan.dtype} as in the plan")
    array, is_conjugated = library.admit(array, "x")
    op = {"n": "r", "r": "n", "t": "c", "c": "t"}[trans] if is_conjugated else trans
    core: _core.Prepared | _core.DevicePrepared
    exported = library.export(array, "x", device)
    if device == "cpu":
        core = _core.prepare(plan._core, side, exported, op)
    else:
        number = int(device)
        core = _core.prepare_on_device(plan=plan._core, device=number, stream=library.stream(number), side=side, x=exported, op=op)
    return Prepared(side, shape[::-1] if trans in ("t", "c") else shape, dtype, plan.policy, x if keep else None, trans, core,
                    plan.device)
