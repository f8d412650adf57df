// SPDX-License-Identifier: MIT
// An operand as the kernels of the split see it: lines of FP32 numbers, and where their planes are.
#pragma once

#include <cstdint>

#include "base/int_math.hpp"
#include "kizami/types.hpp"
#include "num/line_stats.hpp"
#include "problem/lines.hpp"
#include "schemes/ec/device_split.hpp"
#include "schemes/ec/judged_parts.hpp"

namespace kizami::ec {
namespace {

using base::ceil_div;
using product::EcFormat;

constexpr int kWarps = 8;
constexpr int kThreads = 32 * kWarps;
constexpr int kQuadsOfUnit = 8;  ///< of four elements: as many as a lane holds along the lines for a unit across them
constexpr int kUnit = 32;        ///< most lines of a unit, and terms that a lane has of one
constexpr int kMostCluster = 8;
constexpr unsigned kWholeWarp = 0xFFFFFFFFU;
constexpr std::uint32_t kSignBit = 0x80000000U;

/// Strides in FP32 numbers.
struct Operand {
  static constexpr bool kIsBatch = false;
  const float* data;
  std::int64_t num_lines;  ///< that are made
  std::int64_t length;     ///< terms of a line
  std::int64_t line_stride;
  std::int64_t inner_stride;  ///< from one element to the next: complex types have two terms an element
  std::int8_t* planes;
  std::int64_t row_stride;
  std::int32_t* scales;
  num::LineStats* stats;
  std::int32_t forms;  ///< lines that are made of each complex line: 2 of A, 1 of B
  std::int32_t is_conjugated;
  std::int32_t is_across;
  std::int32_t is_aligned;      ///< along: all of a line's terms can be read four at a time
  std::int32_t warps_per_line;  ///< along: 1, 2, 4 or 8
  std::int32_t unit_shift;      ///< across: a unit has 2^unit_shift lines

  // Where what this block's product has begins.
  [[nodiscard]] __device__ const float* elements() const { return data; }
  [[nodiscard]] __device__ bool reads_quads() const { return is_aligned != 0; }
  [[nodiscard]] __device__ std::int8_t* own_planes() const { return planes; }
  [[nodiscard]] __device__ std::int32_t* own_scales() const { return scales; }
  [[nodiscard]] __device__ num::LineStats* own_stats() const { return stats; }
};

/// Of a batch: block y of a grid has product y, so nothing of it is kept in registers.
struct OperandOfBatch : Operand {
  static constexpr bool kIsBatch = true;
  const float* const* array;  ///< in place of data: of each product
  std::int64_t data_step;     ///< from one product to the next; likewise below
  std::int64_t planes_step;
  std::int64_t scales_step;
  std::int64_t stats_step;
  std::int32_t is_shared;  ///< all products have this operand

  [[nodiscard]] __device__ const float* elements() const {
    return array == nullptr ? data + blockIdx.y * data_step : array[blockIdx.y];
  }
  [[nodiscard]] __device__ bool reads_quads() const {
    return is_aligned != 0 && (array == nullptr || reinterpret_cast<std::uintptr_t>(array[blockIdx.y]) % 16 == 0);
  }
  [[nodiscard]] __device__ std::int8_t* own_planes() const { return planes + blockIdx.y * planes_step; }
  [[nodiscard]] __device__ std::int32_t* own_scales() const { return scales + blockIdx.y * scales_step; }
  [[nodiscard]] __device__ num::LineStats* own_stats() const { return stats + blockIdx.y * stats_step; }
};

/// Lines of a unit across memory: 16 where at most two CTAs then hold a line, for a larger cluster waits longer for the
/// last of its CTAs (docs/perf/h200_ec.md).
inline int unit_shift_of(const Operand& o) {
  constexpr std::int64_t kOfWarps = std::int64_t{kWarps} * kUnit;
  return o.length > kOfWarps && o.length <= 4 * kOfWarps ? 4 : 5;
}

/// Warps that hold a line along memory; more where lines are few and would leave multiprocessors idle.
/// @param terms that a warp holds at most
inline std::int32_t warps_of_line(const Operand& o, std::int64_t num_products, std::int64_t terms) {
  constexpr std::int64_t kManyBlocks = 256;
  std::int32_t warps = 1;
  const auto is_too_few = [&] {
    return o.length > warps * terms ||
           (o.length > warps * kJudgedRun && num_products * o.num_lines * warps < kManyBlocks * kWarps);
  };
  while (warps < kWarps && is_too_few()) warps *= 2;
  return warps;
}

/// @param num_products that have such an operand each, in one launch
template <class T>
Operand operand_of(const DeviceEcSplit<T>& task, bool is_a, std::int64_t num_products = 1) {
  constexpr int kTerms = static_cast<int>(problem::kTerms<T>);
  const problem::Lines<T>& lines = task.lines;
  Operand o{};
  o.data = reinterpret_cast<const float*>(lines.data);
  o.forms = kIsComplex<T> && is_a ? 2 : 1;
  o.num_lines = lines.num_lines * o.forms;
  o.length = lines.num_terms();
  o.line_stride = lines.line_stride * kTerms;
  o.inner_stride = lines.inner_stride * kTerms;
  o.planes = task.planes;
  o.row_stride = task.row_stride;
  o.scales = task.scales;
  o.stats = task.stats;
  o.is_conjugated = lines.is_conjugated;
  o.is_across = lines.inner_stride > lines.line_stride && lines.num_lines > 1;
  o.is_aligned = lines.inner_stride == 1 && o.line_stride % 4 == 0 && o.length % 4 == 0 &&
                 reinterpret_cast<std::uintptr_t>(lines.data) % 16 == 0;
  o.unit_shift = unit_shift_of(o);
  o.warps_per_line = warps_of_line(o, num_products, std::int64_t{128} * kQuadsOfUnit);
  return o;
}

template <class T>
OperandOfBatch operand_of_batch(const DeviceEcSplits<T>& task, bool is_a, const EcTogether& together) {
  OperandOfBatch o{};
  static_cast<Operand&>(o) = operand_of<T>(task, is_a, task.is_shared() ? 1 : together.num_products);
  o.array = reinterpret_cast<const float* const*>(task.array);
  o.data_step = task.data_step * problem::kTerms<T>;
  o.planes_step = task.planes_step;
  o.scales_step = task.scales_step;
  o.stats_step = task.stats_step;
  o.is_shared = task.is_shared() ? 1 : 0;
  if (o.data_step % 4 != 0) o.is_aligned = 0;
  return o;
}

}  // namespace
}  // namespace kizami::ec
