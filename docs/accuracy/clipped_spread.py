#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What lines certify alone (docs/accuracy/certificate.md, theorem 4): the spread that they need of the lowest rung of FP64
products, which allows 23.9 at accuracy native. Elements: (uniform - 0.5) exp(phi normal).

Values y of a line, clipped at M = c ||a||_1 / k, sum to F. (M - y)(M' - y') >= 0 makes sum y y' >= M' F + M F' - k M M', so with
u = F / (k M) a pair of lines has |a|.|b| >= c^2 ||a||_1 ||b||_1 (u + u' - 1) / k, and is certified where h + h' <= 0,
h = ||a||_2 / ||a||_1 - allowance c^2 (u - 1/2) / k: one number a line, of which the largest decides for all pairs.

  python3 docs/accuracy/clipped_spread.py     two minutes
"""
import numpy as np

LINES = 768
CLIPS = (0.6, 0.8, 1.0)  # c


def lines(rng, k, phi):
    """Relative to the power of two of their largest element."""
    x = np.abs((rng.random((LINES, k)) - 0.5) * np.exp(phi * rng.standard_normal((LINES, k))))
    return x * np.exp2(-np.floor(np.log2(x.max(1))))[:, None]


def digits(x, block):
    """What is left of values in 7 bits below the largest of their block."""
    parts = x.reshape(LINES, -1, block)
    scale = np.exp2(6 - np.floor(np.log2(parts.max(2))))[:, :, None]
    return (np.floor(parts * scale) / scale).reshape(x.shape)


def needed(x, values, c):
    k = x.shape[1]
    norm1 = x.sum(1)
    clip = c * norm1 / k
    share = np.minimum(values, clip[:, None]).mean(1) / clip - 0.5
    if share.min() <= 0:
        return np.inf
    return (np.sqrt((x * x).sum(1)) / norm1 / share).max() * np.sqrt(k) / (2 * c**2)


def main():
    rng = np.random.default_rng(1)
    print("spread needed by values of 7 bits below the line's largest, below that of blocks, by values themselves")
    for k in (1024, 4096, 16384):
        for phi in (0, 0.5, 0.6, 0.7, 0.8, 1.0):
            x = lines(rng, k, phi)
            of_lines, of_blocks = digits(x, k), digits(x, 128 if k >= 4096 else 64)
            for c in CLIPS:
                found = (needed(x, values, c) for values in (of_lines, of_blocks, x))
                print(f"k = {k}, phi = {phi}, c = {c}: " + ", ".join(f"{spread:.1f}" for spread in found), flush=True)


if __name__ == "__main__":
    main()
