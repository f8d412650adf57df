# SPDX-License-Identifier: MIT
"""The products of PyTorch itself by Kizami, in the whole process: set_matmul_precision and its like, offered by kizami.torch.

The operators mm, bmm, addmm, baddbmm, mv, addmv, dot and vdot get a kernel at dispatch key BackendSelect, below autograd and
functorch and above the kernels of devices. So the backward pass, whose formulas are PyTorch's own, is answered alike on whatever
thread, and what is not ours (other types, other devices, sparse tensors) goes on to the kernel of the device by redispatch. No
kernel of PyTorch is replaced: taking ours out leaves the dispatcher as it was.
"""

from __future__ import annotations

import contextlib
import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from kizami import _core, _products
from kizami._errors import DTypeError, InvalidArgumentError, UnsupportedError
from kizami._policy import Policy, core_policy, policy_of

_DTYPES = {torch.float32: "float32", torch.float64: "float64", torch.complex64: "complex64", torch.complex128: "complex128"}

_lock = threading.RLock()
_in_force: dict[torch.dtype, Policy] = {}  # replaced as a whole, never changed
_registration: Any = None


def set_matmul_precision(policy: Policy | str | None, *, dtypes: Sequence[torch.dtype] | None = None) -> None:
    """Has PyTorch's own products answered by Kizami from now on, in every thread, as `torch.set_float32_matmul_precision` has
    them answered otherwise.

    That is what ``@``, `torch.matmul`, `torch.einsum`, `torch.nn.Linear` and others call: operators mm, bmm, addmm, baddbmm, mv, addmv,
    dot and vdot of strided tensors on the processor or a CUDA device, forward and backward, eager and compiled. Convolutions,
    fused attention and LAPACK call none of these.

    Parameters
    ----------
    policy : Policy, str or None
        What products guarantee; a text is an accuracy. None: PyTorch's own products again. It is taken as it is now and
        does not follow `kizami.precision`.
    dtypes : sequence of torch.dtype, optional
        For products of these types only; the others stay as they are. Default: float32, float64, complex64 and complex128.

    Raises
    ------
    DTypeError
        A type that Kizami does not multiply.
    InvalidArgumentError, AccuracyUnreachableError, UnsupportedError
        No product of one of these types can keep to the policy: ``"bits=40"`` in float32. Then nothing is changed.

    Notes
    -----
    ``alpha A B + beta C`` is one product with the bound of `kizami.gemm`; with accuracy ``"correct"`` AB is rounded once, and
    PyTorch adds. A product that fails raises the `KizamiError` where it is called.

    Examples
    --------
    >>> import torch, kizami
    >>> a = torch.tensor([[0.1, 0.2], [0.3, 0.4]], dtype=torch.float64)
    >>> set_matmul_precision("correct")
    >>> torch.equal(a @ a, kizami.matmul(a, a, policy="correct"))
    True
    >>> set_matmul_precision(None)
    >>> get_matmul_precision() is None
    True
    """
    _change(_wanted(policy, dtypes))


def get_matmul_precision(dtype: torch.dtype = torch.float64) -> Policy | None:
    """The policy of PyTorch's own products of a type; None where they are PyTorch's.

    >>> get_matmul_precision(torch.float32) is None
    True
    """
    return _in_force.get(dtype)


@contextlib.contextmanager
def matmul_precision(policy: Policy | str | None, *, dtypes: Sequence[torch.dtype] | None = None) -> Iterator[None]:
    """`set_matmul_precision` for the statements inside ``with``, in every thread; what was before comes back after exceptions, too.

    >>> with matmul_precision("bits=40", dtypes=[torch.float64]):
    ...     get_matmul_precision(), get_matmul_precision(torch.float32)
    (Policy('bits=40'), None)
    >>> get_matmul_precision() is None
    True
    """
    wanted = _wanted(policy, dtypes)
    before = {dtype: _in_force.get(dtype) for dtype in wanted}
    _change(wanted)
    try:
        yield
    finally:
        _change(before)


def _wanted(policy: Policy | str | None, dtypes: Sequence[torch.dtype] | None) -> dict[torch.dtype, Policy | None]:
    chosen = list(_DTYPES) if dtypes is None else list(dtypes)
    for dtype in chosen:
        if dtype not in _DTYPES:
            raise DTypeError(f"dtypes has {dtype}, must be of {', '.join(map(str, _DTYPES))}")
    value = None if policy is None else policy_of(policy)
    if value is not None:
        for dtype in chosen:
            try:
                _core.make_plan(_DTYPES[dtype], 1, 1, 1, core_policy(value))
            except InvalidArgumentError as error:
                raise InvalidArgumentError(f"policy = {value!r} of {dtype}: {error}; name other types by dtypes") from None
    return dict.fromkeys(chosen, value)


def _change(changes: dict[torch.dtype, Policy | None]) -> None:
    global _in_force, _registration
    with _lock:
        policies = {dtype: policy for dtype, policy in (_in_force | changes).items() if policy is not None}
        if policies and _registration is None:
            _registration = _registered()
        _in_force = policies
        if not policies and _registration is not None:
            _registration._destroy()
            _registration = None


# ---- the kernels ----


def _policy_for(*tensors: torch.Tensor) -> Policy | None:
    """The policy of a product of these tensors, None if it is not ours."""
    first = tensors[0]
    policy = _in_force.get(first.dtype)
    if policy is None or first.device.type not in ("cpu", "cuda"):
        return None
    for x in tensors:
        if x.dtype != first.dtype or x.device != first.device or x.layout != torch.strided or x.is_nested:
            return None
    return policy


def _product(a: torch.Tensor, b: torch.Tensor, policy: Policy, alpha: Any = 1, beta: Any = 0, c: torch.Tensor | None = None) -> torch.Tensor:
    alpha, beta = (int(x) if isinstance(x, bool) else x for x in (alpha, beta))
    with torch.no_grad():
        if policy.accuracy == "correct" and (beta != 0 or alpha not in (1, -1)):
            result = alpha * _products.multiply(1, a, b, 0, None, "n", "n", None, policy, None, False)[0]
            return result if c is None or beta == 0 else result + beta * c
        product: torch.Tensor = _products.multiply(alpha, a, b, beta, None if beta == 0 else c, "n", "n", None, policy, None, False)[0]
        return product


def _fit(a: torch.Tensor, b: torch.Tensor, num_axes: tuple[int, int]) -> bool:
    """Whether these are the shapes of a product; PyTorch refuses others in its own words."""
    return (a.ndim, b.ndim) == num_axes and a.shape[-1] == b.shape[-2 if b.ndim > 1 else 0] and a.shape[:-2] == b.shape[:-2]


def _plain(num_axes: tuple[int, int], conjugates: bool = False) -> Callable[..., torch.Tensor | None]:
    """op(a, b): the product, or None if it is not ours."""
    def answer(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor | None:
        policy = _policy_for(a, b)
        if policy is None or not _fit(a, b, num_axes):
            return None
        return _product(a.conj() if conjugates else a, b, policy)

    return answer


def _added(num_axes: tuple[int, int]) -> Callable[..., torch.Tensor | None]:
    """op(c, a, b, beta, alpha): beta c + alpha a b, c broadcast."""
    def answer(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: Any = 1, alpha: Any = 1) -> torch.Tensor | None:
        policy = _policy_for(a, b, c)
        shape = (*a.shape[:-1], *b.shape[-1:]) if b.ndim > 1 else a.shape[:-1]
        is_broadcast = len(c.shape) <= len(shape) and all(n in (1, m) for n, m in zip(c.shape[::-1], shape[::-1]))
        if policy is None or not is_broadcast or not _fit(a, b, num_axes):
            return None
        return _product(a, b, policy, alpha, beta, c.expand(shape))

    return answer


def _kernel(operator: Any, answer: Callable[..., torch.Tensor | None], writes: str) -> Callable[..., torch.Tensor]:
    """The kernel of an overload: writes is "" for a new tensor, "out", or "self" for the first argument."""
    below = torch._C._dispatch_keyset_full_after(torch._C.DispatchKey.BackendSelect)

    def kernel(keyset: Any, *arguments: Any, **keywords: Any) -> torch.Tensor:
        out = keywords.get("out") if writes == "out" else arguments[0] if writes == "self" else None
        is_ours = out is None or _policy_for(out, arguments[-1]) is not None
        options = {name: value for name, value in keywords.items() if name != "out"}
        result = answer(*arguments, **options) if is_ours else None
        if result is None:
            redispatched: torch.Tensor = operator.redispatch(keyset & below, *arguments, **keywords)
            return redispatched
        if out is None:
            return result
        with torch.no_grad():
            if out.shape != result.shape:
                out.resize_(result.shape)
            out.copy_(result)
        return out

    return kernel


def _registered() -> Any:
    if "with_keyset" not in inspect.signature(torch.library.Library.impl).parameters:
        raise UnsupportedError(f"torch = {torch.__version__}, must be one whose torch.library.Library.impl has with_keyset")
    library = torch.library.Library("aten", "IMPL")
    plain = {"mm": _plain((2, 2)), "bmm": _plain((3, 3)), "mv": _plain((2, 1)), "dot": _plain((1, 1)), "vdot": _plain((1, 1), conjugates=True)}
    added = {"addmm": _added((2, 2)), "baddbmm": _added((3, 3)), "addmv": _added((2, 1))}
    for name, answer in (plain | added).items():
        overloads = [(name, "default", ""), (f"{name}.out", "out", "out")]
        if name in added:
            overloads.append((f"{name}_", "default", "self"))
        for full_name, overload, writes in overloads:
            operator = getattr(getattr(torch.ops.aten, full_name.partition(".")[0]), overload)
            library.impl(full_name, _kernel(operator, answer, writes), "BackendSelect", with_keyset=True)
    return library
