// SPDX-License-Identifier: MIT
// What every engine of floating-point products demands of a FloatProductDesc: the @range of product/float_product.hpp,
// each limit with its reason. An engine may demand more, never less.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/int_math.hpp"
#include "product/float_product.hpp"

namespace kizami::engines {

/// For instance "k_interval = 24, must be a positive multiple of 16".
[[nodiscard]] inline std::string limit_broken(const char* name, std::int64_t value, const char* limit) {
  return std::string(name) + " = " + std::to_string(value) + ", must be " + limit;
}

/// Why a description is out of range, whatever the tensor core; nothing if it is not.
[[nodiscard]] inline std::optional<std::string> why_out_of_range(const product::FloatProductDesc& d) {
  if (d.m < 0) return limit_broken("m", d.m, ">= 0");
  if (d.n < 0) return limit_broken("n", d.n, ">= 0");
  if (d.k < 0) return limit_broken("k", d.k, ">= 0");
  if (d.k_interval < product::kIntervalUnit || d.k_interval % product::kIntervalUnit != 0)
    return limit_broken("k_interval", d.k_interval, "a positive multiple of 16");
  if (d.intervals_promoted < 1) return limit_broken("intervals_promoted", d.intervals_promoted, ">= 1");
  if (d.remainder_shift < 0 || d.remainder_shift > 64)
    return limit_broken("remainder_shift", d.remainder_shift, "in 0..64");
  if (d.num_sums < 1 || d.num_sums > product::kMaxSums) return limit_broken("num_sums", d.num_sums, "in 1..3");
  for (int q = 0; q < d.num_sums; ++q) {
    const product::FloatSum& sum = d.sums[static_cast<std::size_t>(q)];
    if (sum.num_pairs < 1 || sum.num_pairs > product::kMaxPairs)
      return limit_broken("num_pairs", sum.num_pairs, "in 1..9");
    if (sum.num_interleaved < 0 || sum.num_interleaved > sum.num_pairs)
      return limit_broken("num_interleaved", sum.num_interleaved, "in 0..num_pairs");
    for (int p = 0; p < sum.num_pairs; ++p) {
      const product::PlanePair pair = sum.pairs[static_cast<std::size_t>(p)];
      for (const int plane : {int{pair.a}, int{pair.b}}) {
        if (plane < 0 || plane >= num::kMaxParts) return limit_broken("plane", plane, "in 0..2");
      }
    }
  }
  const std::int64_t row_pad = product::kPadBytes / num::element_bytes(d.type);
  const std::int64_t row = base::round_up(d.k, row_pad);
  if (d.a_row_stride < row || d.a_row_stride % row_pad != 0)
    return limit_broken("a_row_stride", d.a_row_stride, "a multiple of 64 bytes, at least a row");
  if (d.b_row_stride < row || d.b_row_stride % row_pad != 0)
    return limit_broken("b_row_stride", d.b_row_stride, "a multiple of 64 bytes, at least a row");
  if (d.c_col_stride < d.m) return limit_broken("c_col_stride", d.c_col_stride, ">= m");
  return std::nullopt;
}

}  // namespace kizami::engines
