// SPDX-License-Identifier: MIT
// What cuBLAS takes: coefficients fitted to docs/perf/h200_call.md and lab/results/h200, and other cards by their rates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "problem/problem.hpp"
#include "product/product.hpp"

namespace kizami::engines {

/// Scratch that it takes by itself.
inline constexpr std::size_t kCublasScratchBytes = std::size_t{32} << 20;

/// Seconds of one product, or of a batch of them in one call.
[[nodiscard]] inline double cublas_seconds(const problem::Shape& shape, std::int64_t num_products,
                                           const product::RelativeRates& rates = {}) {
  const bool is_double = real_of(shape.scalar) == Scalar::kF64;
  const double flops = (is_complex(shape.scalar) ? 8.0 : 2.0) * static_cast<double>(shape.m) *
                       static_cast<double>(shape.n) * static_cast<double>(shape.k) * static_cast<double>(num_products);
  // A batch counts as one product of all its operations: one start, the same rates.
  // Long products meet the power limit in FP64.
  const double long_flops = flops / rates.native_fp64;  // as many seconds
  const double rate = !is_double          ? 51.5e12 * rates.native_fp32
                      : long_flops < 3e11 ? 59e12 * rates.native_fp64
                      : long_flops < 3e12 ? 54e12 * rates.native_fp64
                                          : 51e12 * rates.native_fp64;
  const auto least = static_cast<double>(std::min({shape.m, shape.n, shape.k}));
  constexpr double kThinExtent = 18;  // an extent of this loses half of the rate
  constexpr double kStartSeconds = 6e-6;
  if (flops == 0) return kStartSeconds;
  constexpr double kBytesPerSecond = 3.9e12;  // of 1000 products of n = 64: lab/results/h200/batch.jsonl
  const double bytes = size_bytes(shape.scalar) * static_cast<double>(num_products) *
                       (static_cast<double>(shape.m) * static_cast<double>(shape.k) +
                        static_cast<double>(shape.k) * static_cast<double>(shape.n) +
                        static_cast<double>(shape.m) * static_cast<double>(shape.n));
  return std::max(flops / rate * (1.0 + kThinExtent / least), bytes / (kBytesPerSecond * rates.memory)) + kStartSeconds;
}

}  // namespace kizami::engines
