// SPDX-License-Identifier: MIT
// What the kernels of a split in one pass do with a line's piece in shared memory.
#pragma once

#include <cstdint>

#include "certify/device_line_stats.cuh"
#include "certify/device_statistics.hpp"
#include "device/line.cuh"
#include "device/panel.cuh"
#include "schemes/ozaki2/device_residue_rows.cuh"

namespace kizami::ozaki2::kernels {

/// The sums of a warp's part of a line. @param for_pairs calls its argument with every pair of elements of it
template <class T, class ForPairs>
[[nodiscard]] __device__ __forceinline__ certify::kernels::Sums sums_of_pairs(bool is_live,
                                                                              const device::LineUnits& units,
                                                                              const ForPairs& for_pairs) {
  constexpr int kTerms = device::Element<T>::kTerms;
  certify::kernels::Sums sums;
  if (is_live && units.is_plain) {
    std::uint32_t abs = 0;  // of 64 terms at most
    for_pairs([&](const device::Element<T>(&elements)[2]) {
#pragma unroll
      for (int i = 0; i < 2 * kTerms; ++i) {
        const double x = elements[i / kTerms].term[i % kTerms];
        const std::uint32_t root = device::plain_root(x, units);
        abs += device::plain_abs(x, units);
        sums.squares += static_cast<std::uint64_t>(root) * root;
      }
    });
    sums.abs = abs;
  } else if (is_live) {
    for_pairs([&](const device::Element<T>(&elements)[2]) {
      for (int i = 0; i < 2 * kTerms; ++i)
        device::add_term(elements[i / kTerms].term[i % kTerms], units, sums.abs, sums.squares);
    });
  }
  return sums;
}

/// A block of a line's piece in shared memory becomes its fragments, each lane's next to those of its neighbours.
template <class T, int kWords, class Make>
__device__ void convert_block(unsigned char* block, unsigned char* rest, const Make& make) {
  using F = Fragment<T, kWords>;
  static_assert(F::kInPlace * F::kProductBytes == 64 * static_cast<int>(sizeof(T)));
  F fragments[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    device::Element<T> elements[2];
    device::read_pair<T>(block, pair_of_lane(i), elements);
    fragments[i] = make(elements);
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 2; ++i) fragments[i].store(block + i * 64 * sizeof(T), rest + i * F::kRestBytes);
}

/// The sampled digits of a warp's part of a line's piece, which begins at element `first` of line number `line`.
/// @param is_live false: zeros
template <class T>
__device__ void write_digits(const unsigned char* piece, int length, std::int64_t line, std::int64_t first, int part,
                             bool is_live, const device::LineUnits& units, const certify::DeviceDigits& digits) {
  constexpr int kTerms = device::Element<T>::kTerms;
  const int stride = static_cast<int>(digits.stride);
  const std::int64_t first_sample = first / stride;
  const auto count = static_cast<int>(
      max(std::int64_t{0}, min(std::int64_t{length / stride}, digits.row_stride / kTerms - first_sample)));
  const std::int64_t at = line * digits.row_stride + first_sample * kTerms;
  std::int8_t* const out = digits.digits + at;
  std::int8_t* const swapped = kTerms == 2 && digits.swapped != nullptr ? digits.swapped + at : nullptr;
#pragma unroll 2
  for (int s = 32 * part + static_cast<int>(threadIdx.x) % 32; s < count; s += 32 * device::Panel<T>::kWarpsPerLine) {
    const device::Element<T> e = device::load_element(reinterpret_cast<const T*>(piece) + s * stride);
#pragma unroll
    for (int t = 0; t < kTerms; ++t) {
      const auto digit = static_cast<std::int8_t>(is_live ? device::digit_of(e.term[t], units) : 0);
      out[s * kTerms + t] = digit;
      if (kTerms == 2 && swapped != nullptr) swapped[s * kTerms + 1 - t] = digit;
    }
  }
}

}  // namespace kizami::ozaki2::kernels
