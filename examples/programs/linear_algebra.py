# SPDX-License-Identifier: MIT
"""Linear algebra on a CUDA device with PyTorch, CuPy or JAX: products, solutions, factorizations. Prints for each one its residual in
units of the dimension times the machine epsilon (products: relative to |A||B|), the scale of HPL, whose threshold is 16.

usage: linear_algebra.py torch|cupy|jax [N]
"""
import json
import sys

import numpy as np

TYPES = ("float32", "float64", "complex64", "complex128")


class Torch:
    def __init__(self):
        import torch
        self.library, self.linalg = torch, torch.linalg
        torch.backends.cuda.matmul.allow_tf32 = False

    def to_device(self, x):
        return self.library.from_numpy(np.ascontiguousarray(x)).cuda()

    def to_host(self, x):
        return x.cpu().numpy()


class Cupy:
    def __init__(self):
        import cupy
        self.library, self.linalg = cupy, cupy.linalg

    def to_device(self, x):
        return self.library.asarray(x)

    def to_host(self, x):
        return self.library.asnumpy(x)


class Jax:
    def __init__(self):
        import jax
        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_default_matmul_precision", "highest")
        self.library, self.linalg = jax.numpy, jax.numpy.linalg

    def to_device(self, x):
        return self.library.asarray(x)

    def to_host(self, x):
        return np.asarray(x)


def random(generator, shape, dtype):
    x = generator.standard_normal(shape)
    return (x + 1j * generator.standard_normal(shape) if dtype.startswith("complex") else x).astype(dtype)


def norm(x):
    return float(np.abs(x).max(initial=0))


def scaled(residual, size, n, dtype):
    """max|residual| / (n eps size). @param size what a residual of one rounding is relative to"""
    return norm(residual) / (n * float(np.finfo(dtype).eps) * size)


def residuals(lib, dtype, n):
    """[(name, scaled residual)], all of them computed on the host in twice the precision of FP32 or in FP64."""
    generator = np.random.default_rng(20)
    wide = "complex128" if dtype.startswith("complex") else "float64"
    a, b = random(generator, (n, n), dtype), random(generator, (n, n), dtype)
    da, db = lib.to_device(a), lib.to_device(b)

    def host(x):
        return lib.to_host(x).astype(wide)

    aw, bw = a.astype(wide), b.astype(wide)
    sizes = np.abs(aw) @ np.abs(bw)
    yield "matmul", float((np.abs(host(da @ db) - aw @ bw) / sizes).max()) / (n * float(np.finfo(dtype).eps))
    left, right = random(generator, (5, 48, n), dtype), random(generator, (5, n, 40), dtype)
    product = host(lib.to_device(left) @ lib.to_device(right))
    sizes = np.abs(left.astype(wide)) @ np.abs(right.astype(wide))
    yield "batched matmul", float((np.abs(product - left.astype(wide) @ right.astype(wide)) / sizes).max()) / (n * float(np.finfo(dtype).eps))
    x = host(lib.linalg.solve(da, db))
    yield "solve", scaled(aw @ x - bw, norm(aw) * norm(x) * n + norm(bw), n, dtype)
    gram = (aw @ aw.conj().T / n + np.eye(n)).astype(dtype)
    factor = host(lib.linalg.cholesky(lib.to_device(gram)))
    yield "cholesky", scaled(factor @ factor.conj().T - gram.astype(wide), norm(gram), n, dtype)
    q, r = (host(part) for part in lib.linalg.qr(da))
    yield "qr", scaled(q @ r - aw, norm(aw), n, dtype)
    yield "qr, orthogonality", scaled(q.conj().T @ q - np.eye(n), 1, n, dtype)
    u, s, vh = (host(part) for part in lib.linalg.svd(da, full_matrices=False))
    yield "svd", scaled((u * s) @ vh - aw, norm(s), n, dtype)
    values, vectors = (host(part) for part in lib.linalg.eigh(lib.to_device(gram)))
    yield "eigh", scaled(gram.astype(wide) @ vectors - vectors * values, norm(values), n, dtype)


def main():
    name, n = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 384
    lib = {"torch": Torch, "cupy": Cupy, "jax": Jax}[name]()
    for dtype in TYPES:
        for what, value in residuals(lib, dtype, n):
            print(json.dumps({"library": name, "dtype": dtype, "what": what, "residual": value}))


if __name__ == "__main__":
    main()
