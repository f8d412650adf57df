// SPDX-License-Identifier: MIT
// Block digits in the layout of plan::SecondLookBuffers, for the kernels that make them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "base/int_math.hpp"
#include "plan/second_look_buffers.hpp"
#include "problem/lines.hpp"
#include "split/block_digit.hpp"
#include "split/device_line.cuh"
#include "split/device_panel.cuh"
#include "split/digits.hpp"
#include "split/terms.hpp"

namespace kizami::split::device {

/// Where the digits of some lines go.
struct DigitRows {
  std::int8_t* digits;
  float* scales;
  std::uint64_t* nonzero;
  std::int64_t num_lines;  ///< of a plane: plan::second_look_lines()
  int scale_shift;         ///< kScaleShiftA or kScaleShiftB

  /// 16 bytes of line i: those from 16 piece on of a part of a block.
  template <int kParts>
  [[nodiscard]] __device__ std::int8_t* piece(std::int64_t i, std::int64_t block, int part, int piece) const {
    const std::int64_t step = kParts == 2 ? block : block / 2;
    const int at = (kParts == 2 ? part : static_cast<int>(block % 2)) * 4 + piece;
    return digits + (step * num_lines + i) * 128 + 16 * (at ^ static_cast<int>(i % 8));
  }
  [[nodiscard]] __device__ float& scale(std::int64_t i, std::int64_t block) const {
    return scales[block * num_lines + scale_place(i)];
  }
};

/// Blocks of a line with those that fill its last step.
template <class T>
[[nodiscard]] __device__ inline std::int64_t whole_blocks(const problem::Lines<T>& lines) {
  const std::int64_t steps = plan::second_look_steps(lines.length, static_cast<int>(problem::kTerms<T>));
  return problem::kTerms<T> == 2 ? steps : 2 * steps;
}

/// The digits of a block that is so far below its line: none beyond kMaxDeficit.
[[nodiscard]] __device__ inline std::int32_t digit_exponent(std::int32_t block_exponent, std::int32_t deficit) {
  return deficit > kMaxDeficit ? block_exponent + 7 : block_exponent;
}

/// The bytes of one element: its digit, or of a complex one the sum and the difference of the digits of its parts.
template <int kParts>
__device__ inline void bytes_of_element(const std::uint32_t (&packed)[kParts], std::int32_t exponent,
                                        std::uint32_t (&bytes)[kParts]) {
  const std::uint32_t r = digit_of_term(packed[0], exponent);
  if constexpr (kParts == 2) {
    const std::uint32_t s = digit_of_term(packed[1], exponent);
    bytes[0] = r + s;
    bytes[1] = (r - s) & 255u;
  } else {
    bytes[0] = r;
  }
}

/// The block digits of a warp's part of a line's piece in shared memory, which begins at element `first` of line `line`: the scales
/// `part`, part + kWarpsPerLine, ... of the piece, whose length is whole ones. The bits of non-zero terms are in the order of elements 0, 2, ..., 62, 1, 3, ..., 63 of
/// a block, which is as good as any if both operands have it.
/// @param exponent of the line; num::kNoExponent: all is zero
template <class T>
__device__ void write_block_digits(const unsigned char* piece, int length, std::int64_t line, std::int64_t first,
                                   int part, int exponent, const problem::Lines<T>& lines, const DigitRows& out) {
  constexpr int kParts = Element<T>::kTerms;
  constexpr int kBlock = static_cast<int>(kDigitBlock);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t num_blocks = whole_blocks(lines);
  const std::int64_t words = base::round_up(num_blocks * kParts, 2);
  const bool is_live = exponent != num::kNoExponent;
  const auto write = [&](auto blocks) {
    constexpr int kBlocks = decltype(blocks)::value;
#pragma unroll(2 / kBlocks)
    for (int h = kBlocks * kBlock * part; h < length; h += kBlocks * kBlock * Panel<T>::kWarpsPerLine) {
      const std::int64_t first_block = (first + h) / kBlock;
      if (first_block >= num_blocks) break;
      std::uint32_t packed[kBlocks][2][kParts];
      std::uint32_t most = 0;
#pragma unroll
      for (int b = 0; b < kBlocks; ++b) {
        Element<T> elements[2];
        read_pair(piece, h + kBlock * b + 2 * lane, elements);
#pragma unroll
        for (int e = 0; e < 2 * kParts; ++e) {
          std::uint32_t& term = packed[b][e / kParts][e % kParts];
          term = is_live ? packed_term(elements[e / kParts].term[e % kParts], 0) : 0;
          most = max(most, term);
        }
      }
      most = __reduce_max_sync(~0u, most);
      const std::int32_t of_scale = most == 0 ? num::kNoExponent : exponent_of_term(most);
      const std::int32_t deficit = block_deficit(exponent, of_scale);
#pragma unroll
      for (int b = 0; b < kBlocks; ++b) {
        const std::int64_t block = first_block + b;
        std::uint32_t bytes[2][kParts];
#pragma unroll
        for (int e = 0; e < 2; ++e) bytes_of_element<kParts>(packed[b][e], digit_exponent(of_scale, deficit), bytes[e]);
#pragma unroll
        for (int p = 0; p < kParts; ++p) {
          *reinterpret_cast<std::uint16_t*>(out.piece<kParts>(line, block, p, lane / 8) + 2 * lane % 16) =
              static_cast<std::uint16_t>((bytes[0][p] & 255u) | bytes[1][p] << 8);
          std::uint64_t bits = __ballot_sync(~0u, packed[b][0][p] != 0);
          bits |= std::uint64_t{__ballot_sync(~0u, packed[b][1][p] != 0)} << 32;
          if (lane == p) out.nonzero[line * words + block * kParts + p] = bits;
        }
        if (lane == 0) out.scale(line, block) = shifted_block_scale(min(deficit, kMaxDeficit), out.scale_shift);
      }
    }
  };
  if constexpr (kParts == 1) {
    if (blocks_of_scale(lines.length, kParts) == 2) return write(std::integral_constant<int, 2>{});
  }
  write(std::integral_constant<int, 1>{});
}

}  // namespace kizami::split::device
