// SPDX-License-Identifier: MIT
// device_planes_oracle.hpp on a CUDA device, both operands in one launch, with what a choice among formats asks
// (device_decide.hpp). Those of a batch are split in the same number of launches.
#pragma once

#include <cstdint>

#include "kizami/status.hpp"
#include "kizami/types.hpp"
#include "num/ec_profile.hpp"
#include "num/ec_range.hpp"
#include "num/line_stats.hpp"
#include "problem/lines.hpp"
#include "product/ec_planes.hpp"
#include "product/product.hpp"

namespace kizami::ec {

/// One operand. Pointers are device memory.
/// @shape  planes and scales as in product::EcPlanes, all of them written: for each line of FP32 one of `length` terms.
///         For each complex line of A two, 2 length terms each, so that products with lines of B are the parts of a
///         complex one: re, -im, re, -im, ... and im, re, im, re, ... (signs of im the other way round if it is
///         conjugated). For each complex line of B one: re, im, re, im, ...
/// @range  1 <= num_lines, length < 2^29; complex elements begin on 8 bytes
template <class T>
struct DeviceEcSplit {
  problem::Lines<T> lines;
  std::int8_t* planes = nullptr;
  std::int64_t row_stride = 0;
  std::int32_t* scales = nullptr;
  /// [num_lines], or null. Written: exponent and is_finite of every line, and a lower bound of lsb; nothing else is
  /// known.
  num::LineStats* stats = nullptr;
};

/// The same operand of the products of a batch: what leads from the first product's to the next ones'. An operand that
/// all have (data_step = 0, and so the others) is split once.
template <class T>
struct DeviceEcSplits : DeviceEcSplit<T> {
  const T* const* array = nullptr;  ///< device memory, in place of lines.data: where the lines of each product begin
  std::int64_t data_step = 0;       ///< elements
  std::int64_t planes_step = 0;     ///< bytes
  std::int64_t scales_step = 0;
  std::int64_t stats_step = 0;

  [[nodiscard]] bool is_shared() const { return array == nullptr && data_step == 0; }
};

/// Products whose phases are one launch each.
struct EcTogether {
  std::int32_t num_products = 1;  ///< at most product::kMostEcProducts
  /// from the reports of a product to the next one's: a multiple of product::kEcReportsInQuad
  std::int64_t reports_step = 0;
};

/// What the first split of a call reports, and to whom. Its flags are those of num::ec_line_flags(), but that a line
/// counts as dense only if each part of it is (judged_parts.hpp): parts have equal shares of the elements that may not
/// be.
struct EcObservation {
  num::EcRangeLimits limits;
  product::EcReport* reports = nullptr;  ///< [product::ec_most_reports() of the lines that are made]; null: none
  num::EcProfiles* profiles = nullptr;   ///< cleared for device_ec_profile(); null: there will be none
};

/// Splits the lines of both operands, to the bit as ec_split_line().
/// Elements are read from memory once where they fit on chip: in FP16 8192 terms of lines, of real and imaginary parts together, that are
/// contiguous or neighbours; else 4096. What is beyond is read twice, mostly from L2.
/// An operand without lines is left out: it is kept.
/// @param  num_reports how many of observation.reports will be written
/// @range  one of the strides of each operand's lines should be 1, for speed
/// @status kInternal with CUDA's words
/// @queue  asynchronous, one or two kernels whose starts overlap the end of the one before, capturable; they end at
///         once, and report nothing, if alpha is zero
template <class T>
Status device_ec_split(const DeviceEcSplit<T>& a, const DeviceEcSplit<T>& b, product::EcFormat format,
                       const EcObservation& observation, Factor<T> alpha, int num_sms, int& num_reports,
                       product::Queue queue);

/// device_ec_split() of the products of a batch. @param num_reports of each product  @range observation has no profiles
template <class T>
Status device_ec_split_batch(const EcTogether& together, const DeviceEcSplits<T>& a, const DeviceEcSplits<T>& b,
                             product::EcFormat format, const EcObservation& observation, Factor<T> alpha, int num_sms,
                             int& num_reports, product::Queue queue);

}  // namespace kizami::ec
