# SPDX-License-Identifier: MIT
"""The libraries whose arrays are multiplied: how an array is handed over, and how a result of the same library is made.

Arrays are handed over by the buffer protocol (NumPy) or DLPack, without a copy. What differs from library to library is
here and nowhere else: names of types, the stream in use, allocation, conjugation that is only marked.

A library's own imports happen when one of its arrays is first seen.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from kizami import _core
from kizami._errors import DTypeError, InvalidArgumentError

#: The element types, by the names that all libraries have for them.
DTYPES = ("float32", "float64", "complex64", "complex128")

_NUMPY_NAMES = {np.dtype(name): name for name in DTYPES}
_CPU_DEVICES = (1, 3)  # DLPack: kDLCPU, kDLCUDAHost
_CUDA_DEVICES = (2, 13)  # kDLCUDA, kDLCUDAManaged
_LEGACY_STREAM = 1  # the default stream of CUDA, as DLPack and the driver number it

#: "cpu", or the number of a CUDA device.
Device = str | int


def promoted(x: str, y: str) -> str:
    """The type that both convert to exactly.

    >>> promoted("float64", "complex64"), promoted("float32", "float32")
    ('complex128', 'float32')
    """
    if x == y:
        return x
    is_double = any(t in ("float64", "complex128") for t in (x, y))
    if any(t.startswith("complex") for t in (x, y)):
        return "complex128" if is_double else "complex64"
    return "float64" if is_double else "float32"


class ArrayLibrary:
    """A library of the Python array API standard. Others are subclasses.

    A `buffer` is memory that a result is written to: an array of the library, or what `publish` makes one of.
    """

    name: ClassVar[str] = "array API"
    #: The stream of the library is not ours to name: products run on the default stream, and the host waits for them.
    waits: ClassVar[bool] = True

    def __init__(self, example: Any = None) -> None:
        self.namespace = example.__array_namespace__()

    def is_same(self, other: ArrayLibrary) -> bool:
        return type(self) is type(other) and self.namespace is other.namespace

    def dtype_name(self, x: Any, name: str) -> str:
        return str(x.dtype).rpartition(".")[2]

    def device(self, x: Any, name: str) -> Device:
        try:
            kind, number = (int(i) for i in x.__dlpack_device__())
        except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
            raise self.cannot_be_handed_over(x, name, error) from error
        if kind in _CPU_DEVICES:
            return "cpu"
        if kind in _CUDA_DEVICES:
            return number
        raise DTypeError(f"{name} is on a device of DLPack type {kind}, must be in host memory or on a CUDA device")

    def admit(self, x: Any, name: str) -> tuple[Any, bool]:
        """The array as it can be handed over, and whether its elements are still to be conjugated."""
        return x, False

    def export(self, x: Any, name: str, device: Device) -> Any:
        """What the extension takes: memory that its own stream may use."""
        kwargs: dict[str, Any] = {} if device == "cpu" else {"stream": self.dlpack_stream()}
        try:
            try:
                return x.__dlpack__(max_version=(1, 0), **kwargs)
            except TypeError:  # a library of before 2024 does not know max_version
                return x.__dlpack__(**kwargs)
        except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
            raise self.cannot_be_handed_over(x, name, error) from error

    @staticmethod
    def cannot_be_handed_over(x: Any, name: str, error: Exception) -> DTypeError:
        reason = str(error).partition("\n")[0]
        return DTypeError(f"{name} ({type(x).__module__}.{type(x).__name__}) cannot be handed over: {reason}")

    def stream(self, device: int) -> int:
        """The stream that products run on, as the driver numbers it."""
        return _LEGACY_STREAM

    def dlpack_stream(self) -> int:
        """The stream that the library makes its array ready for."""
        return _LEGACY_STREAM

    def cast(self, x: Any, dtype: str) -> Any:
        return self.namespace.astype(x, getattr(self.namespace, dtype))

    def allocate(self, shape: Sequence[int], dtype: str, like: Any, initial: Any | None) -> Any:
        """A buffer; with the elements of `initial`, if given."""
        buffer = self.namespace.empty(tuple(shape), dtype=getattr(self.namespace, dtype), device=like.device)
        if initial is not None:
            self.copy(buffer, initial)
        return buffer

    def zeros(self, shape: Sequence[int], dtype: str, like: Any) -> Any:
        """A buffer of zeros."""
        return self.namespace.zeros(tuple(shape), dtype=getattr(self.namespace, dtype), device=like.device)

    def copy(self, target: Any, source: Any) -> None:
        target[...] = source

    def wait(self, device: Device) -> None:
        """Until the device has done what the library enqueued on a stream that the default stream does not wait for."""

    # ---- axes, for contractions of several axes ----

    def permuted(self, x: Any, axes: Sequence[int]) -> Any:
        return self.namespace.permute_dims(x, tuple(axes))

    def reshaped(self, x: Any, shape: Sequence[int]) -> Any:
        return self.namespace.reshape(x, tuple(shape))

    def broadcasted(self, x: Any, shape: Sequence[int]) -> Any:
        return self.namespace.broadcast_to(x, tuple(shape))

    def diagonal(self, x: Any, axis: int, other: int) -> Any:
        """The elements with equal indices along two axes; their axis is the last."""
        rest = [i for i in range(len(x.shape)) if i not in (axis, other)]
        return self.namespace.linalg.diagonal(self.permuted(x, [*rest, axis, other]))

    def ones(self, count: int, dtype: str, like: Any) -> Any:
        return self.namespace.ones((count,), dtype=getattr(self.namespace, dtype), device=like.device)

    def publish(self, buffer: Any, device: Device) -> Any:
        """The array that the caller gets."""
        return buffer

    def is_writable_in_place(self, out: Any) -> bool:
        """Whether the extension can write to `out` as it lies in memory."""
        return True


class NumPy(ArrayLibrary):
    """Also everything that numpy.asarray makes an array of."""

    name = "numpy"

    def __init__(self, example: Any = None) -> None:
        self.namespace = np

    def dtype_name(self, x: Any, name: str) -> str:
        return _NUMPY_NAMES.get(x.dtype) or str(x.dtype)

    def device(self, x: Any, name: str) -> Device:
        return "cpu"

    def admit(self, x: Any, name: str) -> tuple[Any, bool]:
        return (x if _has_plain_strides(x) else x.copy(order="C")), False

    def export(self, x: Any, name: str, device: Device) -> Any:
        return x

    def cast(self, x: Any, dtype: str) -> Any:
        return x.astype(dtype)

    def allocate(self, shape: Sequence[int], dtype: str, like: Any, initial: Any | None) -> Any:
        buffer = np.empty(shape, dtype)
        if initial is not None:
            np.copyto(buffer, initial)
        return buffer

    def zeros(self, shape: Sequence[int], dtype: str, like: Any) -> Any:
        return np.zeros(shape, dtype)

    def permuted(self, x: Any, axes: Sequence[int]) -> Any:
        return np.transpose(x, axes)

    def diagonal(self, x: Any, axis: int, other: int) -> Any:
        return np.diagonal(x, 0, axis, other)

    def ones(self, count: int, dtype: str, like: Any) -> Any:
        return np.ones(count, dtype)

    def is_writable_in_place(self, out: Any) -> bool:
        if not out.flags.writeable:
            raise InvalidArgumentError("out is read-only, must be writable")
        return _has_plain_strides(out)


class Torch(ArrayLibrary):
    """Products run on PyTorch's current stream of the device."""

    name = "torch"
    waits = False

    def __init__(self, example: Any = None) -> None:
        self.namespace = sys.modules["torch"]

    def admit(self, x: Any, name: str) -> tuple[Any, bool]:
        if x.requires_grad and self.namespace.is_grad_enabled():
            raise DTypeError(f"{name} requires grad, which this function would lose: use kizami.torch.matmul, or {name}.detach()")
        x = x.detach().resolve_neg()
        return (x.conj(), True) if x.is_conj() else (x, False)

    def stream(self, device: int) -> int:
        return int(self.namespace.cuda.current_stream(device).cuda_stream) or _LEGACY_STREAM

    def dlpack_stream(self) -> int:
        return -1  # the stream in use: nothing to wait for

    def wait(self, device: Device) -> None:
        if device != "cpu":
            self.namespace.cuda.current_stream(device).synchronize()

    def cast(self, x: Any, dtype: str) -> Any:
        return x.to(getattr(self.namespace, dtype))

    def permuted(self, x: Any, axes: Sequence[int]) -> Any:
        return x.permute(tuple(axes))

    def diagonal(self, x: Any, axis: int, other: int) -> Any:
        return x.diagonal(0, axis, other)

    def copy(self, target: Any, source: Any) -> None:
        target.copy_(source)


class CuPy(ArrayLibrary):
    """Products run on CuPy's current stream."""

    name = "cupy"
    waits = False

    def __init__(self, example: Any = None) -> None:
        self.namespace = sys.modules["cupy"]

    def admit(self, x: Any, name: str) -> tuple[Any, bool]:
        return (x if all(s >= 0 for s in x.strides) else x.copy()), False

    def stream(self, device: int) -> int:
        return int(self.namespace.cuda.get_current_stream(device).ptr) or _LEGACY_STREAM

    def dlpack_stream(self) -> int:
        return -1

    def wait(self, device: Device) -> None:
        if device != "cpu":
            self.namespace.cuda.get_current_stream(device).synchronize()

    def cast(self, x: Any, dtype: str) -> Any:
        return x.astype(dtype)

    def allocate(self, shape: Sequence[int], dtype: str, like: Any, initial: Any | None) -> Any:
        with like.device:
            return self.namespace.empty(shape, dtype) if initial is None else self.namespace.array(initial, dtype=dtype, order="C")

    def zeros(self, shape: Sequence[int], dtype: str, like: Any) -> Any:
        with like.device:
            return self.namespace.zeros(shape, dtype)

    def permuted(self, x: Any, axes: Sequence[int]) -> Any:
        return x.transpose(axes)

    def diagonal(self, x: Any, axis: int, other: int) -> Any:
        return x.diagonal(0, axis, other)

    def ones(self, count: int, dtype: str, like: Any) -> Any:
        with like.device:
            return self.namespace.ones(count, dtype)

    def is_writable_in_place(self, out: Any) -> bool:
        return all(s >= 0 for s in out.strides)


class Jax(ArrayLibrary):
    """Arrays of JAX cannot be written: the result is memory of ours, which JAX takes over by DLPack."""

    name = "jax"

    def __init__(self, example: Any = None) -> None:
        self.namespace = sys.modules["jax"].numpy

    def cast(self, x: Any, dtype: str) -> Any:
        return x.astype(dtype)

    def allocate(self, shape: Sequence[int], dtype: str, like: Any, initial: Any | None) -> Any:
        device = self.device(like, "a")
        if device == "cpu":
            return NumPy().allocate(shape, dtype, None, None if initial is None else np.asarray(initial))
        return _device_buffer(shape, dtype, device, None if initial is None else self.export(initial, "c", device))

    def zeros(self, shape: Sequence[int], dtype: str, like: Any) -> Any:
        if self.device(like, "a") == "cpu":
            return np.zeros(shape, dtype)
        return self.allocate(shape, dtype, like, super().zeros(shape, dtype, like))

    def publish(self, buffer: Any, device: Device) -> Any:
        return self.namespace.asarray(buffer) if device == "cpu" else self.namespace.from_dlpack(buffer)

    def is_writable_in_place(self, out: Any) -> bool:
        raise InvalidArgumentError("out is an array of JAX, which cannot be written; must be None")


class DLPackOnly(ArrayLibrary):
    """An object with ``__dlpack__`` and ``__dlpack_device__`` and no library that could make another one. Results in host
    memory are NumPy's; results on a device are objects of the same kind."""

    name = "DLPack"

    def __init__(self, example: Any = None) -> None:
        self.namespace = np

    def dtype_name(self, x: Any, name: str) -> str:
        return _core.dtype_of(self.export(x, name, self.device(x, name)))

    def cast(self, x: Any, dtype: str) -> Any:
        raise DTypeError(f"an object with __dlpack__ alone cannot be converted to {dtype}, a and b must be of one type")

    def allocate(self, shape: Sequence[int], dtype: str, like: Any, initial: Any | None) -> Any:
        device = self.device(like, "a")
        if device == "cpu":
            return NumPy().allocate(shape, dtype, None, None if initial is None else np.from_dlpack(initial))
        return _device_buffer(shape, dtype, device, None if initial is None else self.export(initial, "c", device))

    def zeros(self, shape: Sequence[int], dtype: str, like: Any) -> Any:
        if self.device(like, "a") == "cpu":
            return np.zeros(shape, dtype)
        raise InvalidArgumentError("out is None, must be given: a is on a device and has __dlpack__ alone, of which no zeros can be made")

    def permuted(self, x: Any, axes: Sequence[int]) -> Any:
        raise DTypeError("an object with __dlpack__ alone has axes that cannot be rearranged, must be an array of a library")

    def reshaped(self, x: Any, shape: Sequence[int]) -> Any:
        return self.permuted(x, shape)

    def broadcasted(self, x: Any, shape: Sequence[int]) -> Any:
        return self.permuted(x, shape)

    def copy(self, target: Any, source: Any) -> None:
        raise InvalidArgumentError("out has __dlpack__ alone, must overlap no operand, and be c itself if that is given")


_BY_MODULE: dict[str, type[ArrayLibrary]] = {"torch": Torch, "cupy": CuPy, "jax": Jax, "jaxlib": Jax}


def library_of(x: Any) -> ArrayLibrary | None:
    """The library whose array x is, or None if x is something that numpy.asarray may make an array of."""
    if isinstance(x, np.ndarray | np.generic):
        return NumPy()
    for base in type(x).__mro__:
        kind = _BY_MODULE.get(base.__module__.partition(".")[0])
        if kind is not None:
            return kind()
    if hasattr(x, "__array_namespace__"):
        return ArrayLibrary(x)
    return DLPackOnly() if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__") else None


def as_array(x: Any, name: str) -> tuple[Any, ArrayLibrary]:
    """x as an array of a library.

    >>> array, library = as_array([[1.0, 2.0]], "a")
    >>> array.shape, library.name
    ((1, 2), 'numpy')
    """
    library = library_of(x)
    if library is not None and not isinstance(library, NumPy):
        return x, library
    if x is None:
        raise DTypeError(f"{name} is None, must be an array")
    if type(x).__module__.startswith(("scipy.sparse", "cupyx.scipy.sparse", "sparse.")):
        raise DTypeError(f"{name} is a sparse matrix ({type(x).__module__}.{type(x).__name__}), must be dense: use {method_of(name, 'toarray()')}")
    if isinstance(x, np.ma.MaskedArray):
        raise DTypeError(f"{name} is a masked array, whose mask a product would lose: use {method_of(name, 'filled(value)')}")
    try:
        return np.asarray(x), NumPy()
    except ValueError as error:
        raise InvalidArgumentError(f"{name} is no array of numbers: {error}") from error


def method_of(name: str, call: str) -> str:
    """A call of a method of an operand, as the caller may write it.

    >>> method_of("a", "toarray()"), method_of("operand 0", "toarray()")
    ('a.toarray()', 'toarray()')
    """
    return f"{name}.{call}" if name.isidentifier() else call


def require_known_dtype(array: Any, library: ArrayLibrary, x: Any, name: str) -> str:
    """The name of the type of `array`, made of `x`, one of DTYPES."""
    dtype = library.dtype_name(array, name)
    if dtype in DTYPES:
        return dtype
    is_number = isinstance(library, NumPy) and (np.issubdtype(array.dtype, np.number) or array.dtype == bool)
    if not is_number:
        is_number = dtype.startswith(("int", "uint", "bool", "float16", "bfloat16"))
    near = "complex128" if "c" in dtype else "float64"
    advice = conversion(x, name, near) if is_number and hasattr(array, "astype") else ""
    raise DTypeError(f"{name} is of type {dtype}, must be one of {', '.join(DTYPES)}{advice}")


def conversion(x: Any, name: str, dtype: str) -> str:
    """How the caller makes numbers of a type of x, to be added to a refusal.

    >>> conversion(np.ones(3, int), "a", "float64"), conversion([1, 2], "a", "float64")
    ("; use a.astype('float64')", "; use numpy.asarray(a, 'float64')")
    """
    return "; use " + (method_of(name, f"astype('{dtype}')") if hasattr(x, "astype") else f"numpy.asarray({name}, '{dtype}')")


def dtype_text(dtype: Any) -> str:
    """The name of a type of any library.

    >>> dtype_text(np.float32), dtype_text(np.dtype("complex128"))
    ('float32', 'complex128')
    """
    return np.dtype(dtype).name if isinstance(dtype, type | np.dtype) else str(dtype).rpartition(".")[2]


def shape_of(x: Any, name: str) -> tuple[int, ...]:
    """The extents of an array, without reading it."""
    shape = getattr(x, "shape", None)
    if shape is None:
        raise DTypeError(f"{name} ({type(x).__name__}) has no shape, must be an array")
    return tuple(int(n) for n in shape)


def _has_plain_strides(x: np.ndarray[Any, Any]) -> bool:
    """Aligned, strides that are multiples of an element, none negative where it matters."""
    return x.flags.aligned and all(n <= 1 or (s >= 0 and s % x.itemsize == 0) for n, s in zip(x.shape, x.strides))


def _device_buffer(shape: Sequence[int], dtype: str, device: Device, initial: Any | None) -> Any:
    buffer = _core.device_array(int(device), _LEGACY_STREAM, list(shape), dtype)
    if initial is not None:
        _core.copy_on_device(int(device), _LEGACY_STREAM, buffer, initial)
    return buffer
