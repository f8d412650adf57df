# SPDX-License-Identifier: MIT
"""Matrix products with a proven error bound, and the same bits on every machine.

`matmul` and `gemm` multiply arrays of NumPy, PyTorch, CuPy, JAX and other libraries of the array API, without copying them;
`einsum`, `tensordot`, `dot`, `vecdot`, `matvec`, `vecmat` and `multi_dot` are made of such products, `matmul_dd` is one with twice the
digits. `precision` says how accurate products must be, `Outcome` what they guarantee. `plan` and `prepare` decide and split once for
many products. `kizami.torch` is the operator for autograd and torch.compile.

>>> import numpy as np, kizami
>>> a = np.array([[0.1, 0.2], [0.3, 0.4]])
>>> with kizami.precision("correct"):
...     c = kizami.matmul(a, a)
>>> c
array([[0.07, 0.1 ],
       [0.15, 0.22]])
"""

from kizami._core import machine_report
from kizami._core import version as _version
from kizami._double_double import DoubleDouble, matmul_dd
from kizami._einsum import einsum
from kizami._errors import (
    AccuracyUnreachableError,
    DTypeError,
    InternalError,
    InvalidArgumentError,
    KizamiError,
    NonFiniteError,
    OutOfMemoryError,
    UnsupportedError,
    WorkspaceTooSmallError,
)
from kizami._linalg import dot, matvec, multi_dot, tensordot, vecdot, vecmat
from kizami._outcome import Outcome
from kizami._plans import Plan, plan, prepare
from kizami._policy import Policy, current_policy, precision
from kizami._prepared import Prepared
from kizami._products import gemm, matmul
from kizami._tolerance import Tolerance

__version__: str = _version()

__all__ = [
    "AccuracyUnreachableError", "DTypeError", "DoubleDouble", "InternalError", "InvalidArgumentError", "KizamiError", "NonFiniteError",
    "OutOfMemoryError", "Outcome", "Plan", "Policy", "Prepared", "Tolerance", "UnsupportedError", "WorkspaceTooSmallError",
    "__version__", "current_policy", "dot", "einsum", "gemm", "machine_report", "matmul", "matmul_dd", "matvec", "multi_dot", "plan",
    "precision", "prepare", "tensordot", "vecdot", "vecmat",
]

# Users see one module: names in messages and pickles are those they import.
for _name in __all__:
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = __name__
del _name
