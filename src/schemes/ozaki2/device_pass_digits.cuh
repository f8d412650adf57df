// SPDX-License-Identifier: MIT
// What the kernels of a split in one pass do with a line's piece in shared memory.
#pragma once

#include <cstdint>
#include <type_traits>

#include "certify/device_line_stats.cuh"
#include "certify/device_statistics.hpp"
#include "device/line.cuh"
#include "device/panel.cuh"
#include "num/clipped_sum.hpp"
#include "problem/lines.hpp"
#include "schemes/ozaki2/device_residue_rows.cuh"
#include "schemes/ozaki2/device_split.hpp"

namespace kizami::ozaki2::kernels {

/// The sums of a warp's part of a line, with that of its clipped digits, 0 where the units are not plain.
/// @param for_pairs calls its argument with all elements of it, two at a time
template <class T, class ForPairs>
[[nodiscard]] __device__ __forceinline__ certify::kernels::Sums sums_of_pairs(bool is_live,
                                                                              const device::LineUnits& units,
                                                                              std::uint32_t clip,
                                                                              const ForPairs& for_pairs) {
  constexpr int kTerms = device::Element<T>::kTerms;
  certify::kernels::Sums sums;
  if (is_live && units.is_plain) {
    std::uint32_t abs = 0;  // of 64 terms at most
    std::uint32_t clipped = 0;
    for_pairs([&](const device::Element<T>(&elements)[2]) {
#pragma unroll
      for (int i = 0; i < 2 * kTerms; ++i) {
        const double x = elements[i / kTerms].term[i % kTerms];
        const std::uint32_t root = device::plain_root(x, units);
        abs += device::plain_abs(x, units);
        clipped += min(device::plain_digit(x, units), clip);
        sums.squares += static_cast<std::uint64_t>(root) * root;
      }
    });
    sums.abs = abs;
    sums.put_clipped(clipped);
  } else if (is_live) {
    for_pairs([&](const device::Element<T>(&elements)[2]) {
      for (int i = 0; i < 2 * kTerms; ++i)
        device::add_term(elements[i / kTerms].term[i % kTerms], units, sums.abs, sums.squares);
    });
  }
  return sums;
}

/// The clip of a line's digits.
template <class T>
[[nodiscard]] __device__ __forceinline__ std::uint32_t clip_of_line(const problem::Lines<T>& lines, double magnitudes,
                                                                    const device::LineUnits& units) {
  return num::digit_clip(magnitudes * units.digit / static_cast<double>(lines.num_terms()));
}

/// Adds a line that is left open.
__device__ inline void count_open(const ClippedCheck& check, const num::RungWeight& weight, std::int64_t num_terms,
                                  std::uint32_t clip, std::uint32_t sum) {
  if (check.open_lines == nullptr || num::is_certified_by_clipped_sum(check.allowance, weight, num_terms, clip, sum))
    return;
  atomicAdd(reinterpret_cast<unsigned long long*>(check.open_lines), 1ull);
  if (check.failures != nullptr) atomicAdd(reinterpret_cast<unsigned long long*>(check.failures), 1ull);
}

/// Blocks of a line's piece in shared memory, `step` apart, become their fragments, each lane's next to those of its neighbours;
/// kBlocks at a time, so that a lane waits less often for what it loads and converts. Every other four of lanes take the halves
/// of a block, or of elements of 16 bytes the two of a pair, in the opposite order, so that lanes that load together meet
/// different banks.
/// @param make(h, elements)  of elements of the block that begins at h
template <class T, int kWords, int kBlocks, class Make>
__device__ __forceinline__ void convert_blocks(unsigned char* piece, unsigned char* rest, int begin, int end, int step,
                                               const Make& make) {
  using F = Fragment<T, kWords>;
  static_assert(F::kInPlace * F::kProductBytes == 64 * static_cast<int>(sizeof(T)));
  const int swap = sizeof(T) == 16 ? 0 : static_cast<int>(threadIdx.x) / 4 % 2;
#pragma unroll 1
  for (int first = begin; first < end; first += kBlocks * step) {
    // The last one twice if one is left over.
    const auto block = [&](int b) { return first + b * step < end ? first + b * step : first; };
    F fragments[kBlocks][2];
    device::Element<T> elements[kBlocks][2][2];
    const auto read = [](const unsigned char* from, int h, device::Element<T>(&pair)[2]) {
      if constexpr (sizeof(T) == 16) {
        device::read_pair_in_turn(from, h, pair);
      } else {
        device::read_pair(from, h, pair);
      }
    };
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
      for (int i = 0; i < 2; ++i)
        read(piece + block(b) * static_cast<int>(sizeof(T)), pair_of_lane(i ^ swap), elements[b][i]);
    }
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
      for (int i = 0; i < 2; ++i) fragments[b][i] = make(block(b), elements[b][i]);
    }
    __syncwarp();
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
      for (int i = 0; i < 2; ++i)
        fragments[b][i].store(piece + (block(b) + 64 * (i ^ swap)) * static_cast<int>(sizeof(T)),
                              rest + (block(b) / 64 + (i ^ swap)) * F::kRestBytes);
    }
  }
}
/// Of elements that take one product each; as many as registers allow, and of complex FP32 numbers one, for two are no quicker.
template <class T>
inline constexpr int kBlocksAtOnce = kIsComplex<T> ? 1 : 2;

/// The sampled digits of a warp's part of a line's piece, which begins at element `first` of line number `line`.
/// @param is_live false: zeros
template <class T, class P = device::Panel<T>>
__device__ void write_digits(const unsigned char* piece, int length, std::int64_t line, std::int64_t first, int part,
                             bool is_live, const device::LineUnits& units, const certify::DeviceDigits& digits) {
  constexpr int kTerms = device::Element<T>::kTerms;
  const std::int64_t first_sample = first >> digits.log_stride;
  const auto count = static_cast<int>(
      max(std::int64_t{0}, min(std::int64_t{length >> digits.log_stride}, digits.row_stride / kTerms - first_sample)));
  const std::int64_t at = line * digits.row_stride + first_sample * kTerms;
  std::int8_t* const out = digits.digits + at;
  std::int8_t* const swapped = kTerms == 2 && digits.swapped != nullptr ? digits.swapped + at : nullptr;
  const auto write = [&]<int kUnrolled>(std::integral_constant<int, kUnrolled>, const auto& digit_of) {
    constexpr int kStep = 32 * P::kWarpsPerLine;
    int s = 32 * part + static_cast<int>(threadIdx.x) % 32;
    const T* from = reinterpret_cast<const T*>(piece) + (s << digits.log_stride);
#pragma unroll kUnrolled
    for (; s < count; s += kStep) {
      const device::Element<T> e = device::load_element(from);
      from += kStep << digits.log_stride;
#pragma unroll
      for (int t = 0; t < kTerms; ++t) {
        const auto digit = static_cast<std::int8_t>(digit_of(e.term[t]));
        out[s * kTerms + t] = digit;
        if (kTerms == 2 && swapped != nullptr) swapped[s * kTerms + 1 - t] = digit;
      }
    }
  };
  if (is_live && units.is_plain) {
    write(std::integral_constant<int, 4>{}, [&](double x) { return device::plain_digit(x, units); });
  } else {
    write(std::integral_constant<int, 1>{}, [&](double x) { return is_live ? device::digit_of(x, units) : 0u; });
  }
}

/// Zeros in the padding of a row of sampled digits, which is longer than the line's: from element `first` on. By one warp.
template <int kTerms>
__device__ void clear_digits(std::int64_t line, std::int64_t first, const certify::DeviceDigits& digits) {
  const std::int64_t row = line * digits.row_stride;
  for (std::int64_t at = (first >> digits.log_stride) * kTerms + threadIdx.x % 32; at < digits.row_stride; at += 32) {
    digits.digits[row + at] = 0;
    if (digits.swapped != nullptr) digits.swapped[row + at] = 0;
  }
}

}  // namespace kizami::ozaki2::kernels
