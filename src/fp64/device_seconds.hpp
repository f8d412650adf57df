// SPDX-License-Identifier: MIT
// Seconds of FP64 arithmetic on a device, from rates measured on an H200 (docs/perf/h200_call.md, "Wide exponents"), and
// of other cards beside it.
#pragma once

#include <cstdint>

#include "problem/problem.hpp"
#include "product/product.hpp"

namespace kizami::fp64 {

/// All of C, outside of tensor cores.
[[nodiscard]] inline double device_seconds_of_all(const problem::Shape& shape, const product::RelativeRates& rates) {
  constexpr double kFlopsPerSecond = 15e12;
  const double products = is_complex(shape.scalar) ? 4.0 : 1.0;
  return 2.0 * products * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k) /
         (kFlopsPerSecond * rates.fp64);
}

/// Elements one by one: of one of the two lines a sector is read for each element, for either part in each part.
/// @param are_shared whether they share sectors with those of neighbouring lines (answer_repairs(), pairwise sums)
[[nodiscard]] inline double device_seconds_of_elements(const problem::Shape& shape, const product::RelativeRates& rates,
                                                       std::int64_t num_elements, bool are_shared) {
  const double bytes_per_second = (are_shared ? 3e12 : 1.8e12) * rates.memory;
  constexpr double kSectorBytes = 32;
  const double parts = is_complex(shape.scalar) ? 2.0 : 1.0;
  const double bytes = kSectorBytes * parts * parts * static_cast<double>(shape.k);
  return static_cast<double>(num_elements) * bytes / bytes_per_second;
}

}  // namespace kizami::fp64
