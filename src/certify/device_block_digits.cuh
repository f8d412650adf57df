// SPDX-License-Identifier: MIT
// Block digits on the device: certify::make_block_digits() in the layout of certify::SecondLookBuffers, each element
// read once. A term is kept as exponent and seven bits (packed_term()), so that the digits of a block follow from
// registers once its exponent is known.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "base/int_math.hpp"
#include "certify/block_sum.hpp"
#include "certify/device_line_block_digits.cuh"
#include "certify/device_second_look_grid.cuh"
#include "certify/digits.hpp"
#include "certify/second_look_buffers.hpp"
#include "certify/terms.hpp"
#include "num/line_stats.hpp"
#include "problem/lines.hpp"

namespace kizami::certify::second_look {

using kernels::bytes_of_element;
using kernels::digit_exponent;
using kernels::DigitRows;
using kernels::whole_blocks;

/// Packed terms of an element, shifted; [1] is the imaginary part.
template <class T>
__device__ inline void pack_element(const T& x, std::int32_t shift, std::uint32_t (&packed)[kTerms<T>]) {
  if constexpr (kTerms<T> == 2) {
    packed[0] = packed_term(static_cast<double>(x.real()), shift);
    packed[1] = packed_term(static_cast<double>(x.imag()), shift);
  } else {
    packed[0] = packed_term(static_cast<double>(x), shift);
  }
}

/// Lines whose elements are neighbours: a warp takes some blocks of a line, a lane elements `lane` and 32 + lane of
/// each.
template <class T>
__device__ void make_digits_along(const Lines<T>& lines, const num::LineStats* stats, const std::int32_t* inner_shift,
                                  std::int64_t first, std::int64_t count, const DigitRows& out) {
  constexpr int kParts = static_cast<int>(kTerms<T>);
  constexpr int kAtOnce = 8 / kParts;
  const std::int64_t num_blocks = whole_blocks(lines);
  const std::int64_t words = base::round_up(num_blocks * kParts, 2);  // those of a filled step are zero
  const std::int64_t pieces = ceil_div(num_blocks, std::int64_t{kAtOnce});
  const bool shares_scales = blocks_of_scale(lines.length, kParts) == 2;
  for (std::int64_t item = grid_warp(); item < count * pieces; item += grid_warps()) {
    const std::int64_t i = item / pieces;
    const std::int64_t first_block = item % pieces * kAtOnce;
    const std::int32_t line_exponent = stats[first + i].exponent;
    // All loads before the first use.
    const std::int64_t begin = first_block * kDigitBlock + lane();
    const T* const from = lines.data + (first + i) * lines.line_stride + begin * lines.inner_stride;
    const bool is_live = line_exponent != num::kNoExponent;
    const bool is_whole = is_live && (first_block + kAtOnce) * kDigitBlock <= lines.length;  // the same in a warp
    T raw[kAtOnce][2];
    if (is_whole) {
#pragma unroll
      for (int u = 0; u < 2 * kAtOnce; ++u) raw[u / 2][u % 2] = from[32 * u * lines.inner_stride];
    } else {
#pragma unroll
      for (int u = 0; u < 2 * kAtOnce; ++u)
        raw[u / 2][u % 2] = is_live && begin + 32 * u < lines.length ? from[32 * u * lines.inner_stride] : T{0};
    }
    std::uint32_t x[kAtOnce][2][kParts];
#pragma unroll
    for (int u = 0; u < 2 * kAtOnce; ++u) {
      const std::int32_t shift =
          inner_shift != nullptr && begin + 32 * u < lines.length ? inner_shift[begin + 32 * u] : 0;
      pack_element(raw[u / 2][u % 2], shift, x[u / 2][u % 2]);
    }
    std::uint32_t most_of[kAtOnce];
#pragma unroll
    for (int b = 0; b < kAtOnce; ++b) {
      most_of[b] = 0;
#pragma unroll
      for (int part = 0; part < kParts; ++part) most_of[b] = max(most_of[b], max(x[b][0][part], x[b][1][part]));
      most_of[b] = __reduce_max_sync(kFullWarp, most_of[b]);
    }
#pragma unroll
    for (int b = 0; b < kAtOnce; ++b) {
      const std::int64_t block = first_block + b;
      if (block >= num_blocks) break;
      const std::uint32_t most = shares_scales ? max(most_of[b], most_of[b ^ 1]) : most_of[b];
      const std::int32_t exponent = most == 0 ? num::kNoExponent : exponent_of_term(most);
      const std::int32_t deficit = block_deficit(line_exponent, exponent);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        std::uint32_t bytes[kParts];
        bytes_of_element<kParts>(x[b][half], digit_exponent(exponent, deficit), bytes);
#pragma unroll
        for (int part = 0; part < kParts; ++part)
          out.piece<kParts>(i, block, part, 2 * half + lane() / 16)[lane() % 16] =
              static_cast<std::int8_t>(bytes[part]);
      }
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        std::uint64_t bits = __ballot_sync(kFullWarp, x[b][0][part] != 0);
        bits |= std::uint64_t{__ballot_sync(kFullWarp, x[b][1][part] != 0)} << 32;
        if (lane() == part) out.nonzero[i * words + block * kParts + part] = bits;
      }
      if (lane() == 0) {
        out.scale(i, block) = shifted_block_scale(min(deficit, kMaxDeficit), out.scale_shift);
      }
    }
  }
}

/// Neighbouring lines: a lane takes a block of its line, or half of it where elements have two parts; two lanes have a
/// scale.
template <class T, int kBlocksOfScale>
__device__ void make_digits_across(const Lines<T>& lines, const num::LineStats* stats, const std::int32_t* inner_shift,
                                   std::int64_t first, std::int64_t count, const DigitRows& out) {
  constexpr int kParts = static_cast<int>(kTerms<T>);
  constexpr int kElements = static_cast<int>(kDigitBlock) / kParts;
  constexpr int kLanes = kParts * kBlocksOfScale;  ///< of a line
  constexpr int kLines = 32 / kLanes;              ///< of a warp
  const std::int64_t num_blocks = whole_blocks(lines);
  const std::int64_t words = base::round_up(num_blocks * kParts, 2);  // those of a filled step are zero
  const std::int64_t groups = ceil_div(count, std::int64_t{kLines});
  const int half = kParts == 2 ? lane() / kLines : 0;
  for (std::int64_t item = grid_warp(); item < groups * (num_blocks / kBlocksOfScale); item += grid_warps()) {
    const std::int64_t i = item % groups * kLines + lane() % kLines;
    const std::int64_t block = item / groups * kBlocksOfScale + (kBlocksOfScale == 2 ? lane() / kLines : 0);
    const std::int32_t line_exponent = i < count ? stats[first + i].exponent : num::kNoExponent;
    const std::int64_t begin = block * kDigitBlock + half * kElements;
    const std::int64_t end = line_exponent == num::kNoExponent ? 0 : lines.length;
    const T* const from = lines.data + (first + (i < count ? i : 0)) * lines.line_stride + begin * lines.inner_stride;
    std::uint32_t x[kElements][kParts];
    std::uint32_t most = 0;
    constexpr int kAtOnce = 16;  // loads before the first use
#pragma unroll
    for (int t = 0; t < kElements; t += kAtOnce) {
      T raw[kAtOnce];
      if (begin + t + kAtOnce <= end) {
#pragma unroll
        for (int u = 0; u < kAtOnce; ++u) raw[u] = from[(t + u) * lines.inner_stride];
      } else {
#pragma unroll
        for (int u = 0; u < kAtOnce; ++u) raw[u] = begin + t + u < end ? from[(t + u) * lines.inner_stride] : T{0};
      }
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        const std::int32_t shift = inner_shift != nullptr && begin + t + u < end ? inner_shift[begin + t + u] : 0;
        pack_element(raw[u], shift, x[t + u]);
#pragma unroll
        for (int part = 0; part < kParts; ++part) most = max(most, x[t + u][part]);
      }
    }
    if (kLanes == 2) most = max(most, __shfl_xor_sync(kFullWarp, most, kLines));
    if (i >= count) continue;
    const std::int32_t exponent = most == 0 ? num::kNoExponent : exponent_of_term(most);
    const std::int32_t deficit = block_deficit(line_exponent, exponent);
    std::uint32_t packed[kParts][kElements / 4] = {};
    std::uint32_t bits[kParts][kElements / 32] = {};
#pragma unroll
    for (int t = 0; t < kElements; ++t) {
      std::uint32_t bytes[kParts];
      bytes_of_element<kParts>(x[t], digit_exponent(exponent, deficit), bytes);
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        packed[part][t / 4] |= bytes[part] << 8 * (t % 4);
        bits[part][t / 32] |= (x[t][part] != 0 ? 1u : 0u) << t % 32;
      }
    }
    auto* const word = reinterpret_cast<std::uint32_t*>(out.nonzero + i * words + block * kParts);
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
#pragma unroll
      for (int q = 0; q < kElements / 16; ++q) {
        *reinterpret_cast<uint4*>(out.piece<kParts>(i, block, part, half * (kElements / 16) + q)) =
            make_uint4(packed[part][4 * q], packed[part][4 * q + 1], packed[part][4 * q + 2], packed[part][4 * q + 3]);
      }
#pragma unroll
      for (int w = 0; w < kElements / 32; ++w) word[2 * part + half + w] = bits[part][w];
    }
    if (half == 0) {
      out.scale(i, block) = shifted_block_scale(min(deficit, kMaxDeficit), out.scale_shift);
    }
  }
}

/// Digits, scales and non-zero bits of lines [first, first + count), by all threads of the grid.
template <class T>
__device__ __forceinline__ void make_digits(const Lines<T>& lines, const num::LineStats* stats,
                                            const std::int32_t* inner_shift, std::int64_t first, std::int64_t count,
                                            const DigitRows& out) {
  if (has_contiguous_lines(lines)) {
    make_digits_along(lines, stats, inner_shift, first, count, out);
    return;
  }
  if constexpr (kTerms<T> == 1) {
    if (blocks_of_scale(lines.length, 1) == 2)
      return make_digits_across<T, 2>(lines, stats, inner_shift, first, count, out);
  }
  make_digits_across<T, 1>(lines, stats, inner_shift, first, count, out);
}

}  // namespace kizami::certify::second_look
