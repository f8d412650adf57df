# SPDX-License-Identifier: MIT
"""Products, a solution, singular values and a triangular solution with NumPy and SciPy, of what is installed. Prints seconds and an element.

usage: numpy_products.py [N [WORK]]    WORK: all, or products of N x N alone: so many, or "products" for as many as take some seconds
"""
import sys
import time

import numpy as np

try:
    import scipy.linalg
except ImportError:
    scipy = None

n = int(sys.argv[1]) if len(sys.argv) > 1 else 600
rng = np.random.default_rng(1)
a = rng.standard_normal((n, n))
b = a * np.exp(3 * rng.standard_normal((n, n)))
work = sys.argv[2] if len(sys.argv) > 2 else "all"
count = {"all": 5, "products": max(1, int(1e11 / max(n, 30)**3 / 2))}.get(work) or int(work)
begin = time.perf_counter()
for _ in range(count):
    c = np.dot(a, b)
if work == "all":
    x = np.linalg.solve(a, b[:, :50])
    s = np.linalg.svd(a[:300, :300])[1]
    if scipy is not None:
        scipy.linalg.cho_solve(scipy.linalg.cho_factor(a @ a.T + n * np.eye(n)), b[:, :50])
print(time.perf_counter() - begin, float(c[0, 0]))
