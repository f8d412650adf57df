// SPDX-License-Identifier: MIT
// The split of scheme ozaki1 on a CUDA device: the slices of slices.hpp, digit by digit. All pointers are device
// memory; every function enqueues one kernel and waits for nothing.
#pragma once

#include <cstdint>
#include <span>

#include "device/state.hpp"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"
#include "num/line_stats.hpp"
#include "num/slices.hpp"
#include "problem/lines.hpp"
#include "product/product.hpp"

namespace kizami::ozaki1 {

/// Where slices go, and what their digits are: digit s of number t of part p of line i is number
///   p * part_stride + i * row_stride + place * slice_stride + t,   place = s, or num_slices - 1 - s if is_reversed,
/// of those that begin at `data`. @units strides in numbers
/// @range slice_stride a multiple of 128, and the zeros after the numbers of a slice reach up to it. Formats other than
///        kInt8: digits to nearest of at most as many bits as the format's significand
struct DeviceSlicePlanes {
  std::int8_t* data = nullptr;  ///< the first byte
  SliceFormat format = SliceFormat::kInt8;
  std::int64_t row_stride = 0;
  std::int64_t slice_stride = 0;
  std::int64_t part_stride = 0;
  num::SliceTerms parts[3] = {};  ///< all of as many numbers an element
  int num_parts = 1;
  bool is_reversed = false;
};

/// One operand, or a subset of its lines: stats and exponents are those of the first line.
template <class T>
struct DeviceSliceOperand {
  problem::Lines<T> lines;
  num::LineStats* stats = nullptr;
  /// of lines, as make_slices() takes them: 0 of a zero line, kSkipLine with NaN or Inf
  std::int32_t* exponents = nullptr;
  DeviceSlicePlanes planes;
  std::uint64_t* nonfinite = nullptr;  ///< lines with NaN or Inf are added
  /// device_slices() only, in device memory: that of all lines, at least as large as theirs. Null: each has its own
  const std::int32_t* one_exponent = nullptr;
};

/// How lines become digits, and how many.
struct SliceDigits {
  num::DigitRule rule;
  int count = 1;
};

/// Statistics (without sums), exponents and slices of both operands. Reads every element from memory once.
/// @range  lines of at most device::kMaxSinglePassLength elements, slices too; equal slice strides
/// @queue  ends at once if state->is_scaling_only
template <class T>
Status device_slices_in_one_pass(const DeviceSliceOperand<T>& a, const DeviceSliceOperand<T>& b,
                                 const SliceDigits& digits, const device::DeviceState* state, product::Queue queue);

/// state->slices, of lines whose statistics are known.
/// @param has_sums whether digits of kSum are made, of one more bit
/// @queue  one kernel, which ends at once if state->is_scaling_only
Status device_slice_survey(const num::LineStats* a, std::int64_t m, const num::LineStats* b, std::int64_t n,
                           const num::DigitRule& rule, bool has_sums, bool has_one_scale, device::DeviceState* state,
                           product::Queue queue);

/// Exponents, and slices of elements [first, first + length) of every line, whose statistics are known.
/// @range  one or two operands, of equal slice strides
/// @queue  likewise
template <class T>
Status device_slices(std::span<const DeviceSliceOperand<T>> operands, std::int64_t first, std::int64_t length,
                     const SliceDigits& digits, const device::DeviceState* state, int num_sms, product::Queue queue);

}  // namespace kizami::ozaki1
