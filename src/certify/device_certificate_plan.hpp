// SPDX-License-Identifier: MIT
// The sampled certificate of a call on a device as its plan knows it: workspace, products, seconds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/carver.hpp"
#include "certify/certificate_plan.hpp"
#include "num/rung.hpp"
#include "product/product.hpp"

namespace kizami::certify {

/// The sampled certificate: digits of a chunk of lines, and the INT32 products of some columns of it.
struct SampledBuffers {
  std::int64_t row_stride = 0;  ///< bytes of a row of digits: pieces of at most product::kBlockMaxI8
  int log_stride = 0;           ///< of the sampled elements: every 2^log_stride-th
  std::int64_t num_pieces = 1;
  bool is_compared = false;          ///< engine and weights of lines are there: see compares_in_product()
  float allowance = 0;               ///< of the lowest rung, for one unit of a sum
  std::int64_t cols_at_once = 0;     ///< lines of B whose products are held at a time
  std::int8_t* a_digits = nullptr;   ///< [round_up(mc, pad)][row_stride]
  std::int8_t* b_digits = nullptr;   ///< [round_up(nc, pad)][row_stride]
  std::int8_t* b_swapped = nullptr;  ///< complex types
  std::int32_t* acc = nullptr;       ///< [parts][pieces][cols_at_once][round_up(mc, pad)]; null if is_compared
  std::byte* engine = nullptr;
  std::size_t engine_bytes = 0;
};

/// The rows of digits of a call, without memory.
[[nodiscard]] SampledBuffers sampled_rows(const CertificatePlan& plan, const num::Ladder& ladder);
/// Whether the engine compares the products of such rows.
[[nodiscard]] bool may_compare_sampled(const CertificatePlan& plan, SampledBuffers buffers);
/// @param has_weights of lines at the lowest rung, before the products
[[nodiscard]] SampledBuffers carve_sampled(base::Carver& carver, const CertificatePlan& plan, const num::Ladder& ladder,
                                           bool has_weights);
/// Products of sampled digits of `n` lines of B with `m` lines of A, a piece of k in each plane; compared ones of complex numbers are two planes of B,
/// whose distance is that of carve_sampled().
[[nodiscard]] product::ProductDesc device_sampled_product(const CertificatePlan& plan, const SampledBuffers& buffers,
                                                          std::int64_t m, std::int64_t n);

/// Product of sampled digits and comparison, from rates measured on an H200 (docs/perf/h200_call.md).
/// @param is_compared      by the engine itself
/// @param has_clipped_sums of the lines, which are ordinary: nothing is multiplied
[[nodiscard]] double device_certificate_seconds(const problem::Shape& shape, const num::Ladder& ladder,
                                                const product::RelativeRates& rates, bool is_compared,
                                                bool has_clipped_sums = false);

}  // namespace kizami::certify
