// SPDX-License-Identifier: MIT
// Statistics and sampled digits of lines on a CUDA device, bit-identical with statistics.hpp and digits.hpp. All
// pointers are device memory; every function enqueues kernels and waits for nothing.
#pragma once

#include <cstdint>

#include "device/state.hpp"
#include "kizami/host_device.hpp"
#include "kizami/status.hpp"
#include "num/line_stats.hpp"
#include "problem/lines.hpp"
#include "product/product.hpp"

namespace kizami::certify {

/// Sampled digits of every line, see make_sampled_digits(): rows of row_stride bytes, zero beyond the sampled terms.
struct DeviceDigits {
  std::int8_t* digits = nullptr;   ///< null: none are made
  std::int8_t* swapped = nullptr;  ///< complex types: the same with real and imaginary parts exchanged; or null
  int log_stride = 0;              ///< of the sampled elements: every 2^log_stride-th
  std::int64_t row_stride = 0;     ///< a multiple of 64

  /// Elements of a line that a row stands for, those included that the line does not have.
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::int64_t span(int terms_per_element) const {
    return digits == nullptr ? 0 : row_stride / terms_per_element << log_stride;
  }
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
