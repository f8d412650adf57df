// SPDX-License-Identifier: MIT
// What it takes to write a symmetric matrix out in full.
#pragma once

#include <cstddef>
#include <cstdint>

#include "product/product.hpp"

namespace kizami::device {

/// A launch, and three elements that move for two. Whole calls of FP32 less those of gemm on the same H200 say 2.6 and 2.9 TB/s
/// at n = 4096 and 8192 (docs/perf/h200_call.md, "Symmetric matrices").
[[nodiscard]] constexpr double seconds_to_write_out(std::int64_t order, std::size_t element_bytes,
                                                    const product::RelativeRates& rates) {
  constexpr double kBytesPerSecond = 2.7e12;
  constexpr double kLaunch = 3e-6;
  const auto n = static_cast<double>(order);
  return kLaunch + 1.5 * n * n * static_cast<double>(element_bytes) / (kBytesPerSecond * rates.memory);
}

}  // namespace kizami::device
