#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What spread the sampled certificate of FP64 products needs, of the worst of 1500 x 1500 pairs, as a share of what the lowest
rung allows at accuracy native (23.9): for docs/perf/h200_call.md, "Fewer samples first". Elements: (uniform - 0.5) exp(phi normal).

  python3 docs/accuracy/sampled_spread.py     two minutes
"""
import numpy as np

ALLOWED = 23.9  # allowance / (2 sqrt(k)) of 14 moduli
LINES = 1500
STRIDES = (4, 8)


def norms_and_digits(rng, k, phi):
    """Of lines relative to the power of two of their largest element: 6-bit digits, 2-norms and 1-norms."""
    x = np.abs((rng.random((LINES, k)) - 0.5) * np.exp(phi * rng.standard_normal((LINES, k))))
    x *= np.exp2(-np.floor(np.log2(x.max(1))))[:, None]
    return np.floor(x * 64).astype(np.float32), np.sqrt((x * x).sum(1)), x.sum(1)


def needed(rng, k, phi):
    a, a2, a1 = norms_and_digits(rng, k, phi)
    b, b2, b1 = norms_and_digits(rng, k, phi)
    weight = a2[:, None] * b1[None] + a1[:, None] * b2[None]
    for stride in STRIDES:
        products = (a[:, ::stride] @ b[:, ::stride].T) / 4096
        yield (weight / (products * 2 * np.sqrt(k))).max() / ALLOWED


def main():
    rng = np.random.default_rng(1)
    for k in (2048, 4096, 8192):
        shares = {phi: ", ".join(f"{share:.2f}" for share in needed(rng, k, phi)) for phi in (0, 0.5, 0.6, 0.7, 0.8, 0.9)}
        print(f"k = {k}, strides {STRIDES}:", "  ".join(f"{phi}: {text}" for phi, text in shares.items()), flush=True)


if __name__ == "__main__":
    main()
