// SPDX-License-Identifier: MIT
// Statistics and sampled digits of lines on a CUDA device, bit-identical with statistics.hpp and digits.hpp. All
// pointers are device memory; every function enqueues kernels and waits for nothing.
#pragma once

#include <cstdint>

#include "device/state.hpp"
#include "kizami/status.hpp"
#include "num/line_stats.hpp"
#include "problem/lines.hpp"
#include "product/product.hpp"

namespace kizami::certify {

/// Sampled digits of every line, see make_sampled_digits(): rows of row_stride bytes, zero beyond the sampled terms.
struct DeviceDigits {
  std::int8_t* digits = nullptr;   ///< null: none are made
  std::int8_t* swapped = nullptr;  ///< complex types: the same with real and imaginary parts exchanged; or null
  std::int64_t stride = 1;         ///< of the sampled elements: 1, 2 or 4
  std::int64_t row_stride = 0;     ///< a multiple of 64
};

/// gather_statistics() without inner shift, with the sampled digits of the same lines, and their number of lines with
/// NaN or Inf added to `nonfinite`. Reads every element twice.
/// @queue ends at once if state->is_scaling_only
template <class T>
Status device_statistics(const problem::Lines<T>& lines, num::LineStats* stats, const DeviceDigits& digits,
                         std::uint64_t* nonfinite, const device::DeviceState* state, int num_sms, product::Queue queue);

/// make_sampled_digits() alone, for lines whose statistics are known.
template <class T>
Status device_sampled_digits(const problem::Lines<T>& lines, const num::LineStats* stats, const DeviceDigits& digits,
                             const device::DeviceState* state, int num_sms, product::Queue queue);

}  // namespace kizami::certify
