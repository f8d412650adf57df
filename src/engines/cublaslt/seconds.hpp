// SPDX-License-Identifier: MIT
// How engine cublaslt cuts its products into calls of the library, and predicted seconds of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/int_math.hpp"
#include "product/product.hpp"

namespace kizami::engines::cublaslt {

/// Where both operands have more lines than this, one call of the library reaches a half to two thirds of its rate
/// (docs/perf/h200_slices.md). Planes are multiplied in parts of so many; of windows the caller says what is one call.
inline constexpr std::int64_t kMostLines = 8192;
/// Planes go in one strided batch while the result of one is smaller than this many elements.
inline constexpr std::int64_t kBatchedElems = std::int64_t{3072} * 3072;
inline constexpr std::size_t kBatchBytes = std::size_t{512} << 20;
/// Rows of the results of one call are a multiple of this.
inline constexpr std::int64_t kRowPad = 16;

/// Planes whose INT32 accumulators are held at a time.
[[nodiscard]] inline int planes_together(const product::ProductDesc& d) {
  const std::int64_t elems = base::round_up(d.m, kRowPad) * d.n;
  if (elems >= kBatchedElems) return 1;
  const auto fit = static_cast<std::int64_t>(kBatchBytes / 4) / std::max<std::int64_t>(elems, 1);
  return static_cast<int>(std::clamp<std::int64_t>(fit, 1, std::max(d.num_products, 1)));
}

/// Measured rates: products a second by size and the pass over the accumulators, docs/perf/h200_call.md; windows and their
/// launches, lab/results/h200/slice_sums.jsonl, to which tests/device_engines/slice_choice_test.cpp holds the choice.
[[nodiscard]] inline double seconds(const product::ProductDesc& d, const product::RelativeRates& rates = {}) {
  double macs = static_cast<double>(d.m) * static_cast<double>(d.n) * static_cast<double>(d.k) * d.num_products;
  if (d.num_windows > 0) {
    double terms = 0;
    for (int l = 0; l < d.num_windows; ++l) terms += static_cast<double>(d.windows[static_cast<std::size_t>(l)].k);
    macs = static_cast<double>(d.m) * static_cast<double>(d.n) * terms;
  }
  const double plane = static_cast<double>(d.m) * static_cast<double>(d.n);
  const double elems = plane * d.num_products;
  const double bytes_per_second = 3.3e12 * rates.memory;
  constexpr double kLaunchSeconds = 4e-6;
  constexpr double kFillSeconds = 8e-6;  // until all of the card multiplies
  const bool is_float = d.format != SliceFormat::kInt8;
  const bool is_slow = d.num_windows > 0 && std::min(d.m, d.n) > kMostLines;
  const double ops_per_second = (is_float ? 6.0e14 : is_slow ? 0.95e15 : 1.40e15) * rates.int8;
  const double pass_bytes = is_float ? 8.0 : d.epilogue == product::Epilogue::kStoreAcc ? 0.0 : 9.0;
  // Sums that are read before they are added to, unless the L2 cache still has them.
  constexpr double kCachedElems = 8e6;
  const double added_bytes_per_second = 1.3e12 * rates.memory;
  const double added = plane > kCachedElems ? 4.0 * plane * (d.num_windows - d.num_products) : 0.0;
  const int num_launches = d.num_windows > 0 ? d.num_windows : planes_together(d) == 1 ? d.num_products : 1;
  return 2.0 * macs / ops_per_second + pass_bytes * elems / bytes_per_second +
         std::max(0.0, added) / added_bytes_per_second +
         (kLaunchSeconds + kFillSeconds * std::min(1.0, plane / 1e6)) * num_launches;
}

}  // namespace kizami::engines::cublaslt
