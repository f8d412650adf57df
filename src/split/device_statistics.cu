// SPDX-License-Identifier: MIT
// Statistics and sampled digits of lines on the device. Exponents are maxima and the sums need them, so every line is looked
// at twice; a line of up to 8192 real terms (16384 along) is held in shared memory in between, a word a term. Two kernels, by
// what is contiguous in memory:
//   along the lines (elements of a line are neighbours): some warps a line;
//   across them (neighbouring lines are neighbours): a block takes a few whole lines, so few that what all blocks work on
//   fits in L2, where the second look at longer lines finds it.
#include <algorithm>

#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "split/device.hpp"
#include "split/device_line_stats.cuh"

namespace kizami::split {
namespace {

using device::Element;
using device::MaxBits;
using device::Range;
using device::Sums;

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

/// One kernel for both jobs: with is_known the statistics are read, not made. Strides are 1, 2 and 4: h / stride is
/// h >> stride / 2.
struct Job {
  num::LineStats* stats;
  DeviceDigits digits;
  std::uint64_t* nonfinite;
  bool is_known;
  bool may_overlap;  ///< with the kernel before it in the queue
};

__device__ void publish(const Job& job, std::int64_t line, const Range& range, int exponent, const Sums& sums) {
  if (job.is_known) return;
  job.stats[line] = line_stats(range, exponent, sums);
  if (range.is_nonfinite()) atomicAdd(reinterpret_cast<unsigned long long*>(job.nonfinite), 1ull);
}

/// Lets the next kernel of the queue begin on what this one leaves idle, if it is launched so.
__device__ void release_next_kernel() { asm volatile("griddepcontrol.launch_dependents;"); }
/// The end of the kernel before, if this one began early: it then ends after it, as the queue's order asks.
__device__ void wait_for_previous_kernel() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

constexpr int kAlongThreads = 256;

/// Elements of a line are neighbours. kWarps warps take a line.
template <class T, int kWarps>
__global__ void __launch_bounds__(kAlongThreads)
    statistics_along(const problem::Lines<T> lines, const Job job, const plan::DeviceState* state) {
  constexpr int kTerms = Element<T>::kTerms;
  constexpr int kLines = kAlongThreads / 32 / kWarps;
  constexpr int kStep = 32 * kWarps;
  __shared__ Range ranges[kAlongThreads / 32];
  __shared__ MaxBits max_bits[kAlongThreads / 32];
  __shared__ Sums all_sums[kAlongThreads / 32];
  release_next_kernel();
  if (state->is_scaling_only != 0) return wait_for_previous_kernel();
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
  const std::int64_t sampled =
      is_used && job.digits.digits != nullptr ? job.digits.row_stride / kTerms * job.digits.stride : 0;
  const std::int64_t end = sampled > length ? sampled : length;
  const T* element = data + rank * lines.inner_stride;
#pragma unroll 4
  for (std::int64_t h = rank; h < end; h += kStep, element += step) {
    Element<T> e{};
    if (h < length && is_live) e = device::load_element(element);
    std::uint32_t digit[kTerms];
    for (int t = 0; t < kTerms; ++t) digit[t] = device::add_term(e.term[t], exponent, sums.abs, sums.squares);
    if (h < sampled && (h & (job.digits.stride - 1)) == 0) {
      const std::int64_t at = line * job.digits.row_stride + (h >> job.digits.stride / 2) * kTerms;
      for (int t = 0; t < kTerms; ++t) {
        job.digits.digits[at + t] = static_cast<std::int8_t>(digit[t]);
        if (kTerms == 2 && job.digits.swapped != nullptr)
          job.digits.swapped[at + t] = static_cast<std::int8_t>(digit[kTerms - 1 - t]);
      }
    }
  }
  sums = merge_over_line(sums, 31, 0, 1, first_warp, kWarps, all_sums);
  if (is_used && rank == 0) publish(job, line, range, exponent, sums);
  wait_for_previous_kernel();
}

/// Real terms that a thread holds, in words of its own column of shared memory.
constexpr int kHeld = 32;
extern __shared__ std::uint32_t held_terms[];

/// The same for lines of at most kHeld kThreads terms, one a block, read once.
template <class T, int kThreads>
__global__ void __launch_bounds__(kThreads)
    statistics_along_held(const problem::Lines<T> lines, const Job job, const plan::DeviceState* state) {
  constexpr int kTerms = Element<T>::kTerms;
  constexpr int kElems = kHeld / kTerms;
  __shared__ Range ranges[kThreads / 32];
  __shared__ MaxBits max_bits[kThreads / 32];
  __shared__ Sums all_sums[kThreads / 32];
  release_next_kernel();
  if (state->is_scaling_only != 0) return wait_for_previous_kernel();
  const std::int64_t line = blockIdx.x;
  const T* const data = lines.data + line * lines.line_stride;
  std::uint32_t* const held = held_terms + threadIdx.x;
  Range range;
  const int thread = static_cast<int>(threadIdx.x);
  const int length = static_cast<int>(lines.length);
  const T* element = data + thread * lines.inner_stride;
  const std::int64_t step = kThreads * lines.inner_stride;
#pragma unroll 8
  for (int j = 0; j < kElems; ++j, element += step) {
    Element<T> e{};
    if (thread + j * kThreads < length) e = device::load_element(element);
    for (int t = 0; t < kTerms; ++t) held[(j * kTerms + t) * kThreads] = range.observe(e.term[t]);
  }
  range = merge_over_line(range, 31, 0, 1, 0, kThreads / 32, ranges);
  MaxBits largest;
  if (range.is_subnormal()) {  // all threads agree
    for (int h = thread; h < length; h += kThreads) {
      const Element<T> e = device::load_element(data + h * lines.inner_stride);
      for (int t = 0; t < kTerms; ++t) largest.merge({device::magnitude_bits(e.term[t])});
    }
    largest = merge_over_line(largest, 31, 0, 1, 0, kThreads / 32, max_bits);
  }
  const int exponent = line_exponent(range, largest);
  const bool is_live = exponent != num::kNoExponent;
  const bool is_packed = exponent > device::kLeastPackedExponent;
  const int stride = static_cast<int>(job.digits.stride);
  const int sampled = job.digits.digits != nullptr ? static_cast<int>(job.digits.row_stride) / kTerms * stride : 0;
  std::int8_t* const row = job.digits.digits + line * job.digits.row_stride;
  std::int8_t* const swapped_row = job.digits.swapped + line * job.digits.row_stride;
  Sums sums;
#pragma unroll 8
  for (int j = 0; j < kElems; ++j) {
    const int h = thread + j * kThreads;
    std::uint32_t digit[kTerms] = {};
    if (is_packed) {
      for (int t = 0; t < kTerms; ++t)
        digit[t] = device::add_packed(held[(j * kTerms + t) * kThreads], exponent, sums.abs, sums.squares);
    } else if (is_live && h < length) {
      const Element<T> e = device::load_element(data + h * lines.inner_stride);
      for (int t = 0; t < kTerms; ++t) digit[t] = device::add_term(e.term[t], exponent, sums.abs, sums.squares);
    }
    if (h < sampled && (h & (stride - 1)) == 0) {
      const int at = (h >> stride / 2) * kTerms;
      for (int t = 0; t < kTerms; ++t) {
        row[at + t] = static_cast<std::int8_t>(digit[t]);
        if (kTerms == 2 && job.digits.swapped != nullptr)
          swapped_row[at + t] = static_cast<std::int8_t>(digit[kTerms - 1 - t]);
      }
    }
  }
  sums = merge_over_line(sums, 31, 0, 1, 0, kThreads / 32, all_sums);
  if (threadIdx.x == 0) publish(job, line, range, exponent, sums);
  wait_for_previous_kernel();
}

/// Neighbouring lines are neighbours in memory. A block takes kLines of them, in runs of 16 terms a thread. kIsHeld: the
/// lines have at most kHeld kThreads / kLines terms and are read once.
template <class T, int kLines, int kThreads, bool kIsHeld>
__global__ void __launch_bounds__(kThreads, 1024 / kThreads)
    statistics_across(const problem::Lines<T> lines, const Job job, const plan::DeviceState* state) {
  constexpr int kTerms = Element<T>::kTerms;
  constexpr int kRun = 16 / kTerms;  // elements
  constexpr int kHalf = kRun / 2;    // elements in flight
  constexpr int kRunsAtOnce = kThreads / kLines;
  __shared__ Range ranges[kThreads / 32 * kLines];
  __shared__ MaxBits max_bits[kThreads / 32 * kLines];
  __shared__ Sums all_sums[kThreads / 32 * kLines];
  release_next_kernel();
  if (state->is_scaling_only != 0) return wait_for_previous_kernel();
  const int slot = static_cast<int>(threadIdx.x) % kLines;
  const std::int64_t first_run = static_cast<int>(threadIdx.x) / kLines;
  constexpr int kLaneBits = 31 & ~(kLines - 1);
  for (std::int64_t group = blockIdx.x; group * kLines < lines.num_lines; group += gridDim.x) {
    const std::int64_t line = group * kLines + slot;
    const bool is_used = line < lines.num_lines;
    const T* const data = lines.data + (is_used ? line : 0) * lines.line_stride;
    const std::int64_t length = is_used ? lines.length : 0;
    const auto load_half = [&](std::int64_t h, bool is_read, Element<T>(&elements)[kHalf]) {
      const int count = !is_read || h >= length ? 0 : static_cast<int>(min(length - h, std::int64_t{kHalf}));
      const T* element = data + h * lines.inner_stride;
#pragma unroll
      for (int i = 0; i < kHalf; ++i, element += lines.inner_stride) {
        elements[i] = Element<T>{};
        if (i < count) elements[i] = device::load_element(element);
      }
    };
    // visit(h, n) for every half run from element h; n: its number among those of this thread, known when held.
    const auto for_each_half = [&](std::int64_t num_runs, const auto& visit) {
      if constexpr (kIsHeld) {
#pragma unroll 1
        for (int n = 0; n < kHeld / 8; ++n) visit((first_run + n / 2 * kRunsAtOnce) * kRun + n % 2 * kHalf, n);
      } else {
        for (std::int64_t run = first_run; run < num_runs; run += kRunsAtOnce) {
          visit(run * kRun, 0);
          visit(run * kRun + kHalf, 0);
        }
      }
    };
    std::uint32_t* const held = held_terms + threadIdx.x;
    Range range;
    MaxBits largest;
    if (!job.is_known) {
      for_each_half((length + kRun - 1) / kRun, [&](std::int64_t h, int n) {
        Element<T> elements[kHalf];
        load_half(h, true, elements);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const std::uint32_t packed = range.observe(elements[i / kTerms].term[i % kTerms]);
          if constexpr (kIsHeld) held[(n * 8 + i) * kThreads] = packed;
        }
      });
      range = merge_over_line(range, kLaneBits, slot, kLines, 0, kThreads / 32, ranges);
      if (__syncthreads_or(range.is_subnormal() ? 1 : 0) != 0) {
        for_each_half((length + kRun - 1) / kRun, [&](std::int64_t h, int) {
          Element<T> elements[kHalf];
          load_half(h, true, elements);
          for (int i = 0; i < 8; ++i) largest.merge({device::magnitude_bits(elements[i / kTerms].term[i % kTerms])});
        });
        largest = merge_over_line(largest, kLaneBits, slot, kLines, 0, kThreads / 32, max_bits);
      }
    }
    const int exponent =
        job.is_known ? (is_used ? job.stats[line].exponent : num::kNoExponent) : line_exponent(range, largest);
    const bool is_live = exponent != num::kNoExponent;
    const bool is_packed = kIsHeld && !job.is_known && exponent > device::kLeastPackedExponent;
    Sums sums;
    const std::int64_t sampled =
        is_used && job.digits.digits != nullptr ? job.digits.row_stride / kTerms * job.digits.stride : 0;
    const std::int64_t end = sampled > length ? sampled : length;
    for_each_half((end + kRun - 1) / kRun, [&](std::int64_t h, int n) {
      std::uint32_t digit[8];
      if (is_packed) {
#pragma unroll
        for (int i = 0; i < 8; ++i)
          digit[i] = device::add_packed(held[(n * 8 + i) * kThreads], exponent, sums.abs, sums.squares);
      } else {
        Element<T> elements[kHalf];
        load_half(h, is_live, elements);
#pragma unroll
        for (int i = 0; i < 8; ++i)
          digit[i] = device::add_term(elements[i / kTerms].term[i % kTerms], exponent, sums.abs, sums.squares);
      }
      if (h >= sampled) return;
      std::int64_t at = line * job.digits.row_stride + (h >> job.digits.stride / 2) * kTerms;
      std::uint32_t pair = 0;
      int count = 0;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        if ((i / kTerms & (job.digits.stride - 1)) != 0) continue;
        pair = pair >> 8 | digit[i] << 8;
        if ((++count & 1) != 0) continue;
        // Two digits at a time: a half run of stride 4 makes no more.
        *reinterpret_cast<std::uint16_t*>(job.digits.digits + at) = static_cast<std::uint16_t>(pair);
        if (kTerms == 2 && job.digits.swapped != nullptr)
          *reinterpret_cast<std::uint16_t*>(job.digits.swapped + at) =
              static_cast<std::uint16_t>(pair >> 8 | pair << 8);
        at += 2;
      }
    });
    sums = merge_over_line(sums, kLaneBits, slot, kLines, 0, kThreads / 32, all_sums);
    if (is_used && threadIdx.x < kLines) publish(job, line, range, exponent, sums);
  }
  wait_for_previous_kernel();
}

/// @range words: of shared memory that a thread holds terms in
template <class T, class Kernel>
Status start(Kernel kernel, unsigned grid, int threads, int words, const problem::Lines<T>& lines, const Job& job,
             const plan::DeviceState* state, product::Queue queue) {
  const int bytes = threads * words * static_cast<int>(sizeof(std::uint32_t));
  if (bytes != 0) {
    KIZAMI_RETURN_IF_ERROR(
        base::cuda_status(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
                          "shared memory of statistics"));
  }
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(grid);
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(bytes);
  config.stream = queue;
  config.attrs = &early;
  config.numAttrs = job.may_overlap ? 1 : 0;
  return base::cuda_status(cudaLaunchKernelEx(&config, kernel, lines, job, state), "statistics");
}

template <class T>
Status launch(const problem::Lines<T>& lines, const Job& job, const plan::DeviceState* state, int num_sms,
              product::Queue queue) {
  if (lines.num_lines == 0) return {};
  const auto blocks_of = [](std::int64_t n, std::int64_t part) {
    return static_cast<unsigned>(std::min<std::int64_t>(base::ceil_div(n, part), INT32_MAX));
  };
  const auto start_as = [&](auto kernel, unsigned grid, int threads, int words) {
    return start<T>(kernel, grid, threads, words, lines, job, state, queue);
  };
  const std::int64_t terms = lines.num_terms();
  if (lines.inner_stride <= lines.line_stride || lines.num_lines == 1) {
    const unsigned each = blocks_of(lines.num_lines, 1);
    if (terms <= 1024) return start_as(statistics_along<T, 1>, blocks_of(lines.num_lines, 8), kAlongThreads, 0);
    if (job.is_known || terms > 512 * kHeld) return start_as(statistics_along<T, 8>, each, kAlongThreads, 0);
    if (terms <= 128 * kHeld) return start_as(statistics_along_held<T, 128>, each, 128, kHeld);
    if (terms <= 256 * kHeld) return start_as(statistics_along_held<T, 256>, each, 256, kHeld);
    return start_as(statistics_along_held<T, 512>, each, 512, kHeld);
  }
  const auto start_across = [&]<int kLines, int kThreads, bool kIsHeld>() {
    const std::int64_t blocks = base::ceil_div(lines.num_lines, kLines);
    return start_as(statistics_across<T, kLines, kThreads, kIsHeld>,
                    static_cast<unsigned>(std::min<std::int64_t>(blocks, 1024 / kThreads * std::int64_t{num_sms})),
                    kThreads, kIsHeld ? kHeld : 0);
  };
  // More lines a block make longer pieces of memory, fewer fill more multiprocessors; of two blocks on one, one reads while
  // the other adds.
  if (terms <= 32 * kHeld && lines.num_lines >= 32 * num_sms) return start_across.template operator()<32, 1024, true>();
  if (terms <= 64 * kHeld && lines.num_lines >= 8 * num_sms) return start_across.template operator()<8, 512, true>();
  if (terms <= 128 * kHeld) return start_across.template operator()<4, 512, true>();
  if (terms <= 256 * kHeld) return start_across.template operator()<2, 512, true>();
  return start_across.template operator()<4, 1024, false>();
}

}  // namespace

template <class T>
Status device_statistics(const problem::Lines<T>& lines, num::LineStats* stats, const DeviceDigits& digits,
                         std::uint64_t* nonfinite, const plan::DeviceState* state, bool may_overlap, int num_sms,
                         product::Queue queue) {
  return launch(lines, Job{stats, digits, nonfinite, false, may_overlap}, state, num_sms, queue);
}

template <class T>
Status device_sampled_digits(const problem::Lines<T>& lines, const num::LineStats* stats, const DeviceDigits& digits,
                             const plan::DeviceState* state, int num_sms, product::Queue queue) {
  return launch(lines, Job{const_cast<num::LineStats*>(stats), digits, nullptr, true, false}, state, num_sms, queue);
}

#define KIZAMI_INSTANTIATE(T)                                                                                          \
  template Status device_statistics<T>(const problem::Lines<T>&, num::LineStats*, const DeviceDigits&, std::uint64_t*, \
                                       const plan::DeviceState*, bool, int, product::Queue);                           \
  template Status device_sampled_digits<T>(const problem::Lines<T>&, const num::LineStats*, const DeviceDigits&,       \
                                           const plan::DeviceState*, int, product::Queue)

KIZAMI_INSTANTIATE(float);
KIZAMI_INSTANTIATE(double);
KIZAMI_INSTANTIATE(std::complex<float>);
KIZAMI_INSTANTIATE(std::complex<double>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::split
