# SPDX-License-Identifier: MIT
"""Matrix products with a proven error bound, and the same bits on every machine.

`matmul` and `gemm` multiply arrays of NumPy, PyTorch, CuPy, JAX and other libraries of the array API, without copying them.
`precision` says how accurate products must be, `Outcome` what they guarantee. `plan` and `prepare` decide and split once for
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
from kizami._outcome import Outcome
from kizami._plans import Plan, plan, prepare
from kizami._policy import Policy, current_policy, precision
from kizami._prepared import Prepared
from kizami._products import gemm, matmul

__version__: str = _version()

__all__ = [
    "AccuracyUnreachableError", "DTypeError", "InternalError", "InvalidArgumentError", "KizamiError", "NonFiniteError",
    "OutOfMemoryError", "Outcome", "Plan", "Policy", "Prepared", "UnsupportedError", "WorkspaceTooSmallError", "__version__",
    "current_policy", "gemm", "machine_report", "matmul", "plan", "precision", "prepare",
]

# Users see one module: names in messages and pickles are those they import.
for _name in __all__:
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = __name__
del _name
