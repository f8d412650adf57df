# SPDX-License-Identifier: MIT
"""Products in FP64 and FP32, a batch of them, a solution and a factorization on a CUDA device with PyTorch or CuPy. Prints seconds and elements.

usage: device_products.py torch|cupy [N [ROUNDS]]
"""
import sys
import time


def with_torch(n, rounds):
    import torch
    torch.backends.cuda.matmul.allow_tf32 = False
    generator = torch.Generator("cuda").manual_seed(1)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, device="cuda", dtype=torch.float64)

    a, b = normal(n, n), normal(n, n)
    b = a * torch.exp(3 * b)
    work = (a, b, a.float(), b.float(), normal(64, 256, 256), a @ a.T + n * torch.eye(n, device="cuda", dtype=torch.float64))

    def once():
        a, b, a32, b32, batch, gram = work
        c, c32, batches = torch.matmul(a, b), torch.matmul(a32, b32), torch.matmul(batch, batch)
        x, factor = torch.linalg.solve(a, b[:, :256]), torch.linalg.cholesky(gram)
        return c[0, 0], c32[0, 0], batches[0, 0, 0], x[0, 0], factor[-1, -1]

    return once, torch.cuda.synchronize, rounds


def with_cupy(n, rounds):
    import cupy
    cupy.random.seed(1)
    a, b = cupy.random.standard_normal((n, n)), cupy.random.standard_normal((n, n))
    b = a * cupy.exp(3 * b)
    batch = cupy.random.standard_normal((64, 256, 256))
    work = (a, b, a.astype(cupy.float32), b.astype(cupy.float32), batch, a @ a.T + n * cupy.eye(n))

    def once():
        a, b, a32, b32, batch, gram = work
        c, c32, batches = a @ b, a32 @ b32, batch @ batch
        x, factor = cupy.linalg.solve(a, b[:, :256]), cupy.linalg.cholesky(gram)
        return c[0, 0], c32[0, 0], batches[0, 0, 0], x[0, 0], factor[-1, -1]

    return once, cupy.cuda.Device().synchronize, rounds


def main():
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 4096
    once, synchronize, rounds = {"torch": with_torch, "cupy": with_cupy}[sys.argv[1]](n, int(sys.argv[3]) if len(sys.argv) > 3 else 20)
    once()
    synchronize()
    begin = time.perf_counter()
    for _ in range(rounds):
        elements = once()
    synchronize()
    print(time.perf_counter() - begin, *(float(x) for x in elements))


if __name__ == "__main__":
    main()
