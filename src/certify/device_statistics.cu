// SPDX-License-Identifier: MIT
// Statistics and sampled digits of lines on the device, for operands that one pass does not take
// (device_single_pass.cuh). Exponents are maxima and the sums need them, so every line is looked at twice. Two kernels,
// by what is contiguous in memory:
//   along the lines (elements of a line are neighbours): some warps a line;
//   across them (neighbouring lines are neighbours): a block takes a few whole lines, so few that what all blocks work
//   on fits in L2, where the second look finds it.
#include <algorithm>

#include "base/cuda_status.hpp"
#include "base/instantiate.hpp"
#include "base/int_math.hpp"
#include "certify/device_line_stats.cuh"
#include "certify/device_statistics.hpp"

namespace kizami::certify {
namespace {

using device::Element;
using device::LineUnits;
using kernels::MaxBits;
using kernels::Range;
using kernels::Sums;

/// Merges `value` over the threads of a block that work on one line: the lanes of each warp that differ in the bits of
/// `lane_bits`, then the warps. Every such thread returns the result. `slots`: [warps][lines of a warp].
template <class V>
[[nodiscard]] __device__ V merge_over_line(V value, int lane_bits, int slot, int slots_per_warp, int first_warp,
                                           int num_warps, V* slots) {
  for (int bit = 1; bit < 32; bit *= 2) {
    if ((lane_bits & bit) != 0) value.merge(value.shuffled(bit));
  }
  if (num_warps == 1) return value;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if ((static_cast<int>(threadIdx.x) % 32 & lane_bits) == 0) slots[warp * slots_per_warp + slot] = value;
  __syncthreads();
  value = slots[first_warp * slots_per_warp + slot];
  for (int w = first_warp + 1; w < first_warp + num_warps; ++w) value.merge(slots[w * slots_per_warp + slot]);
  __syncthreads();
  return value;
}

/// One kernel for both jobs: with is_known the statistics are read, not made.
struct Job {
  num::LineStats* stats;
  DeviceDigits digits;
  std::uint64_t* nonfinite;
  bool is_known;
};

__device__ void publish(const Job& job, std::int64_t line, const Range& range, int exponent, const Sums& sums) {
  if (job.is_known) return;
  job.stats[line] = line_stats(range, exponent, sums);
  if (range.is_nonfinite()) atomicAdd(reinterpret_cast<unsigned long long*>(job.nonfinite), 1ull);
}

constexpr int kAlongThreads = 256;

/// Elements of a line are neighbours. kWarps warps take a line.
template <class T, int kWarps>
__global__ void __launch_bounds__(kAlongThreads)
    statistics_along(const problem::Lines<T> lines, const Job job, const device::DeviceState* state) {
  constexpr int kTerms = Element<T>::kTerms;
  constexpr int kLines = kAlongThreads / 32 / kWarps;
  constexpr int kStep = 32 * kWarps;
  __shared__ Range ranges[kAlongThreads / 32];
  __shared__ MaxBits max_bits[kAlongThreads / 32];
  __shared__ Sums all_sums[kAlongThreads / 32];
  if (state->is_scaling_only != 0) return;
  const int first_warp = static_cast<int>(threadIdx.x) / kStep * kWarps;
  const int rank = static_cast<int>(threadIdx.x) % kStep;
  const std::int64_t line = blockIdx.x * static_cast<std::int64_t>(kLines) + first_warp / kWarps;
  const bool is_used = line < lines.num_lines;
  const T* const data = lines.data + (is_used ? line : 0) * lines.line_stride;
  const std::int64_t length = is_used ? lines.length : 0;
  const std::int64_t step = kStep * lines.inner_stride;

  Range range;
  MaxBits largest;
  if (!job.is_known) {
    const T* element = data + rank * lines.inner_stride;
#pragma unroll 8
    for (std::int64_t h = rank; h < length; h += kStep, element += step) {
      const Element<T> e = device::load_element(element);
      for (int t = 0; t < kTerms; ++t) range.observe(e.term[t]);
    }
    range = merge_over_line(range, 31, 0, 1, first_warp, kWarps, ranges);
    if (range.is_subnormal()) {  // all threads of the line agree
      for (std::int64_t h = rank; h < length; h += kStep) {
        const Element<T> e = device::load_element(data + h * lines.inner_stride);
        for (int t = 0; t < kTerms; ++t) largest.merge({device::magnitude_bits(e.term[t])});
      }
      largest = merge_over_line(largest, 31, 0, 1, first_warp, kWarps, max_bits);
    }
  }
  const int exponent =
      job.is_known ? (is_used ? job.stats[line].exponent : num::kNoExponent) : line_exponent(range, largest);
  Sums sums;
  const bool is_live = exponent != num::kNoExponent;
  const LineUnits units(is_live ? exponent : 0);
  const std::int64_t sampled = is_used ? job.digits.span(kTerms) : 0;
  const std::int64_t end = sampled > length ? sampled : length;
  const T* element = data + rank * lines.inner_stride;
#pragma unroll 4
  for (std::int64_t h = rank; h < end; h += kStep, element += step) {
    Element<T> e{};
    if (h < length && is_live) e = device::load_element(element);
    for (int t = 0; t < kTerms; ++t) device::add_term(e.term[t], units, sums.abs, sums.squares);
    if (h < sampled && (h & ((1 << job.digits.log_stride) - 1)) == 0) {
      std::uint32_t digit[kTerms];
      for (int t = 0; t < kTerms; ++t) digit[t] = device::digit_of(e.term[t], units);
      const std::int64_t at = line * job.digits.row_stride + (h >> job.digits.log_stride) * kTerms;
      for (int t = 0; t < kTerms; ++t) {
        job.digits.digits[at + t] = static_cast<std::int8_t>(digit[t]);
        if (kTerms == 2 && job.digits.swapped != nullptr)
          job.digits.swapped[at + t] = static_cast<std::int8_t>(digit[kTerms - 1 - t]);
      }
    }
  }
  sums = merge_over_line(sums, 31, 0, 1, first_warp, kWarps, all_sums);
  if (is_used && rank == 0) publish(job, line, range, exponent, sums);
}

constexpr int kAcrossLines = 4;
constexpr int kAcrossThreads = 1024;

/// Neighbouring lines are neighbours in memory. A block takes kAcrossLines of them, four elements a thread.
template <class T>
__global__ void __launch_bounds__(kAcrossThreads)
    statistics_across(const problem::Lines<T> lines, const Job job, const device::DeviceState* state) {
  constexpr int kTerms = Element<T>::kTerms;
  constexpr std::int64_t kStep = 4 * kAcrossThreads / kAcrossLines;
  __shared__ Range ranges[kAcrossThreads / 32 * kAcrossLines];
  __shared__ MaxBits max_bits[kAcrossThreads / 32 * kAcrossLines];
  __shared__ Sums all_sums[kAcrossThreads / 32 * kAcrossLines];
  if (state->is_scaling_only != 0) return;
  const int slot = static_cast<int>(threadIdx.x) % kAcrossLines;
  const std::int64_t first = static_cast<int>(threadIdx.x) / kAcrossLines * 4;
  const auto merge = [&](auto value, auto* slots) {
    return merge_over_line(value, 31 & ~(kAcrossLines - 1), slot, kAcrossLines, 0, kAcrossThreads / 32, slots);
  };
  for (std::int64_t group = blockIdx.x; group * kAcrossLines < lines.num_lines; group += gridDim.x) {
    const std::int64_t line = group * kAcrossLines + slot;
    const bool is_used = line < lines.num_lines;
    const T* const data = lines.data + (is_used ? line : 0) * lines.line_stride;
    const std::int64_t length = is_used ? lines.length : 0;
    const auto load_quad = [&](std::int64_t h, bool is_read, Element<T>(&elements)[4]) {
      const int count = !is_read || h >= length ? 0 : static_cast<int>(min(length - h, std::int64_t{4}));
      const T* element = data + h * lines.inner_stride;
#pragma unroll
      for (int i = 0; i < 4; ++i, element += lines.inner_stride) {
        elements[i] = Element<T>{};
        if (i < count) elements[i] = device::load_element(element);
      }
    };
    Range range;
    MaxBits largest;
    if (!job.is_known) {
#pragma unroll 2
      for (std::int64_t h = first; h < length; h += kStep) {
        Element<T> elements[4];
        load_quad(h, true, elements);
        for (int i = 0; i < 4 * kTerms; ++i) range.observe(elements[i / kTerms].term[i % kTerms]);
      }
      range = merge(range, ranges);
      if (__syncthreads_or(range.is_subnormal() ? 1 : 0) != 0) {
        for (std::int64_t h = first; h < length; h += kStep) {
          Element<T> elements[4];
          load_quad(h, true, elements);
          for (int i = 0; i < 4 * kTerms; ++i)
            largest.merge({device::magnitude_bits(elements[i / kTerms].term[i % kTerms])});
        }
        largest = merge(largest, max_bits);
      }
    }
    const int exponent =
        job.is_known ? (is_used ? job.stats[line].exponent : num::kNoExponent) : line_exponent(range, largest);
    const bool is_live = exponent != num::kNoExponent;
    const LineUnits units(is_live ? exponent : 0);
    Sums sums;
    const std::int64_t sampled = is_used ? job.digits.span(kTerms) : 0;
    const std::int64_t end = sampled > length ? sampled : length;
#pragma unroll 2
    for (std::int64_t h = first; h < end; h += kStep) {
      Element<T> elements[4];
      load_quad(h, is_live, elements);
      for (int i = 0; i < 4 * kTerms; ++i)
        device::add_term(elements[i / kTerms].term[i % kTerms], units, sums.abs, sums.squares);
      if (h < sampled) kernels::write_digits<T, 4>(elements, units, job.digits, line, h);
    }
    sums = merge(sums, all_sums);
    if (is_used && threadIdx.x < kAcrossLines) publish(job, line, range, exponent, sums);
  }
}

template <class T>
Status launch(const problem::Lines<T>& lines, const Job& job, const device::DeviceState* state, int num_sms,
              product::Queue queue) {
  if (lines.num_lines == 0) return {};
  const auto blocks_of = [](std::int64_t n, std::int64_t part) {
    return static_cast<unsigned>(std::min<std::int64_t>(base::ceil_div(n, part), INT32_MAX));
  };
  if (lines.inner_stride <= lines.line_stride || lines.num_lines == 1) {
    if (lines.num_terms() <= 1024) {
      statistics_along<T, 1><<<blocks_of(lines.num_lines, 8), kAlongThreads, 0, queue>>>(lines, job, state);
    } else {
      statistics_along<T, 8><<<blocks_of(lines.num_lines, 1), kAlongThreads, 0, queue>>>(lines, job, state);
    }
  } else {
    const unsigned blocks = std::min(blocks_of(lines.num_lines, kAcrossLines), static_cast<unsigned>(num_sms));
    statistics_across<T><<<blocks, kAcrossThreads, 0, queue>>>(lines, job, state);
  }
  return base::launch_status("statistics");
}

}  // namespace

template <class T>
Status device_statistics(const problem::Lines<T>& lines, num::LineStats* stats, const DeviceDigits& digits,
                         std::uint64_t* nonfinite, const device::DeviceState* state, int num_sms,
                         product::Queue queue) {
  return launch(lines, Job{stats, digits, nonfinite, false}, state, num_sms, queue);
}

template <class T>
Status device_sampled_digits(const problem::Lines<T>& lines, const num::LineStats* stats, const DeviceDigits& digits,
                             const device::DeviceState* state, int num_sms, product::Queue queue) {
  return launch(lines, Job{const_cast<num::LineStats*>(stats), digits, nullptr, true}, state, num_sms, queue);
}

#define KIZAMI_INSTANTIATE(T)                                                                                          \
  template Status device_statistics<T>(const problem::Lines<T>&, num::LineStats*, const DeviceDigits&, std::uint64_t*, \
                                       const device::DeviceState*, int, product::Queue);                               \
  template Status device_sampled_digits<T>(const problem::Lines<T>&, const num::LineStats*, const DeviceDigits&,       \
                                           const device::DeviceState*, int, product::Queue)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::certify
