# SPDX-License-Identifier: MIT
"""The least that an array of DLPack can be: memory behind ``__dlpack__``, made with ctypes from the protocol's structures.
No library of arrays stands behind it; consumers see capsules only. On a CUDA device with the runtime's library alone."""

import ctypes

import numpy as np

CPU, CUDA = 1, 2
_CODES = {"f": 2, "c": 5, "i": 0}


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    pass


_DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _DELETER)]
_capsule_new = ctypes.pythonapi.PyCapsule_New
_capsule_new.restype, _capsule_new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class Producer:
    """Memory at an address, with shape and strides (in elements; None: C order, left out of the tensor)."""

    def __init__(self, address, shape, dtype, device=CPU, strides=None, keeps=None, byte_offset=0):
        self.dtype_ = np.dtype(dtype)
        self.shape, self.device, self.keeps = tuple(shape), device, keeps
        self.streams, self.exports, self.releases = [], 0, 0
        ndim = len(self.shape)
        self._shape = (ctypes.c_int64 * ndim)(*self.shape)
        self._strides = None if strides is None else (ctypes.c_int64 * ndim)(*strides)
        tensor = _Tensor(address, device, 0, ndim, _CODES[self.dtype_.kind], self.dtype_.itemsize * 8, 1,
                         ctypes.cast(self._shape, ctypes.POINTER(ctypes.c_int64)),
                         ctypes.cast(self._strides, ctypes.POINTER(ctypes.c_int64)), byte_offset)
        self._deleter = _DELETER(self._release)
        self._managed = _Managed(tensor, None, self._deleter)

    def _release(self, _):
        self.releases += 1

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        self.exports += 1
        return _capsule_new(ctypes.addressof(self._managed), b"dltensor", None)

    def __dlpack_device__(self):
        return self.device, 0


def of_numpy(x):
    """A NumPy array as nothing but its memory."""
    return Producer(x.ctypes.data, x.shape, x.dtype, strides=[s // x.itemsize for s in x.strides], keeps=x)


def address_of(array):
    """(address, shape) of what an array exports."""
    capsule = array.__dlpack__()
    managed = _Managed.from_address(_capsule_pointer(capsule, b"dltensor"))
    address, shape = managed.tensor.data + managed.tensor.byte_offset, tuple(managed.tensor.shape[: managed.tensor.ndim])
    return address, shape
