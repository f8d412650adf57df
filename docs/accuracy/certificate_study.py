#!/usr/bin/env python3
"""How many moduli the sampled and the block certificate need, against |A||B| itself (table of certificate.md).

Needs NumPy. Floating point stands in for the integers of the library: the counts do not depend on it.
"""
import math

import numpy as np

MODULI = [256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197, 193, 191, 181, 179, 173,
          167, 163, 157, 151, 149, 139, 137, 131, 127, 113, 109, 107]
SIZE = 256


def norm_limit(count: int) -> float:
    return math.sqrt((math.prod(MODULI[:count]) - 1) / 2)


def matrix(kind: str, k: int, rng: np.random.Generator) -> np.ndarray:
    if kind == "normal":
        return rng.standard_normal((SIZE, k))
    if kind == "uniform(0,1)":
        return rng.random((SIZE, k))
    phi = float(kind.split("=")[1])
    return (rng.random((SIZE, k)) - 0.5) * np.exp(phi * rng.standard_normal((SIZE, k)))


def scaled(x: np.ndarray) -> np.ndarray:
    return np.abs(x) * 2.0 ** -np.floor(np.log2(np.abs(x).max(axis=1)))[:, None]


def sampled_floor(a: np.ndarray, b: np.ndarray, k: int) -> np.ndarray:
    stride = 1 if k < 128 else 2 if k < 1024 else 4
    return np.floor(a[:, ::stride] * 64) @ np.floor(b[:, ::stride] * 64).T / 4096


def block_floor(a: np.ndarray, b: np.ndarray, k: int, block: int) -> np.ndarray:
    total = np.zeros((SIZE, SIZE))
    for h in range(0, k, block):
        x, y = a[:, h:h + block], b[:, h:h + block]
        e, f = np.floor(np.log2(x.max(axis=1))), np.floor(np.log2(y.max(axis=1)))
        digits = np.floor(x * 2.0 ** (6 - e)[:, None]) @ np.floor(y * 2.0 ** (6 - f)[:, None]).T
        total += digits * 2.0 ** (e[:, None] + f[None, :] - 12)
    return total


def main() -> None:
    rng = np.random.default_rng(1)
    np.seterr(divide="ignore", invalid="ignore")
    for k in (256, 4096, 16384):
        allowance = {n: (16 * math.sqrt(k) - 2) * 2.0**-53 * norm_limit(n) for n in range(12, len(MODULI) + 1)}
        for kind in ("normal", "uniform(0,1)", "phi=0.5", "phi=1", "phi=2", "phi=4"):
            a, b = scaled(matrix(kind, k, rng)), scaled(matrix(kind, k, rng))
            norm_a, norm_b = np.sqrt((a * a).sum(axis=1)), np.sqrt((b * b).sum(axis=1))
            error = norm_a[:, None] * b.sum(axis=1)[None, :] + norm_b[None, :] * a.sum(axis=1)[:, None]
            floors = {"true": a @ b.T, "sampled": sampled_floor(a, b, k)}
            floors |= {f"block {size}": block_floor(a, b, k, size) for size in (32, 64, 128)}
            row = []
            for name, floor in floors.items():
                need = np.sort((error / floor).ravel())
                count = [next((n for n in allowance if n > 12 and x <= allowance[n]), None)
                         for x in (need[-1], need[-1 - need.size // 4096])]
                row.append(f"{name}: {count[0]} (all but 1/4096: {count[1]})")
            print(f"k = {k}  {kind}: " + ", ".join(row), flush=True)


if __name__ == "__main__":
    main()
