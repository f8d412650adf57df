// SPDX-License-Identifier: MIT
// Block digits in the layout of certify::SecondLookBuffers, for the kernels that make them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/int_math.hpp"
#include "certify/block_digit.hpp"
#include "certify/device_line_stats.cuh"
#include "certify/digits.hpp"
#include "certify/second_look_buffers.hpp"
#include "certify/terms.hpp"
#include "device/bytes.cuh"
#include "device/line.cuh"
#include "device/panel.cuh"
#include "problem/lines.hpp"

namespace kizami::certify::kernels {

/// Where the digits of some lines go.
struct DigitRows {
  std::int8_t* digits;
  float* scales;
  std::uint64_t* nonzero;
  std::int64_t num_lines;  ///< of a plane: second_look_lines()
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
  const std::int64_t steps = second_look_steps(lines.length, static_cast<int>(problem::kTerms<T>));
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

/// How a warp takes elements of a line for their block digits: a lane has some neighbours, and some lanes a block.
template <class T>
struct BlockLanes {
  static constexpr int kParts = device::Element<T>::kTerms;
  static constexpr int kElements = 8 / kParts;  ///< of a lane
  static constexpr int kTerms = kElements * kParts;
  static constexpr int kOfBlock = static_cast<int>(kDigitBlock) / kElements;
  static constexpr int kStep = 32 * kElements;
  static constexpr int kBlocks = kStep / static_cast<int>(kDigitBlock);
  static constexpr int kChunks = kElements * static_cast<int>(sizeof(T)) / 16;  ///< of 16 bytes, of a lane
};

/// Terms of a line where all that are not zero are normal numbers of their type, far from the subnormal ones:
/// packed_term() is two instructions on a word, and that of zero lies too far below all others for a digit.
template <class R>
struct PlainTerms {
  static constexpr int kExponentAt = sizeof(R) == 8 ? 20 : 23;
  static constexpr int kBias = sizeof(R) == 8 ? 1023 : 127;
  static constexpr std::uint32_t kZero = static_cast<std::uint32_t>(kTermBias - kBias) << 6;

  [[nodiscard]] __device__ static bool has(const Range& range, int exponent) {
    return exponent != num::kNoExponent && range.lsb >= 27 - kBias;
  }
  /// @param word the high one of a term
  [[nodiscard]] __device__ static std::uint32_t packed(std::uint32_t word) {
    return ((word & 0x7FFFFFFFu) >> (kExponentAt - 6)) + kZero;
  }
};

/// 16 bytes of shared memory in one load, whichever of them are used: loads of single words meet the same banks.
[[nodiscard]] __device__ inline uint4 load_chunk(const unsigned char* from) {
  uint4 chunk;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(chunk.x), "=r"(chunk.y), "=r"(chunk.z), "=r"(chunk.w)
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(from))));
  return chunk;
}

/// The block digits of a warp's part of a line's piece in shared memory, which begins at element `first` of line
/// `line`: of every kWarpsPerLine-th step from `part` on. The bits of non-zero terms are in the order of the lanes'
/// loads, which is as good as any if both operands have it.
/// @param range, exponent of the line; num::kNoExponent: all is zero
/// @range length is whole scales
template <class T, class P = device::Panel<T>>
__device__ __noinline__ void write_block_digits(const unsigned char* piece, int length, std::int64_t line,
                                                std::int64_t first, int part, const Range& range, int exponent,
                                                const problem::Lines<T>& lines, const DigitRows& out) {
  using L = BlockLanes<T>;
  using Real = RealOf<T>;
  using Plain = PlainTerms<Real>;
  constexpr int kParts = L::kParts;
  constexpr int kBlock = static_cast<int>(kDigitBlock);
  constexpr int kWarps = P::kWarpsPerLine;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int rank = lane % L::kOfBlock;
  const std::int64_t num_blocks = whole_blocks(lines);
  const std::int64_t words = base::round_up(num_blocks * kParts, 2);
  const bool shares_scales = blocks_of_scale(lines.length, kParts) == 2;
  const auto end = static_cast<int>(min(std::int64_t{length}, num_blocks * kBlock - first));

  // Where this lane's part of its block goes, step by step.
  const std::int64_t block = first / kBlock + part * L::kBlocks + lane / L::kOfBlock;
  std::int8_t* digits[kParts];
#pragma unroll
  for (int p = 0; p < kParts; ++p)
    digits[p] = out.piece<kParts>(line, block, p, rank * L::kElements / 16) + rank * L::kElements % 16;
  float* scale = &out.scale(line, block);
  auto* nonzero = reinterpret_cast<std::uint8_t*>(out.nonzero + line * words + block * kParts) +
                  (kParts == 2 ? rank % 2 * 8 + rank / 2 : rank);
  constexpr int kBlocksOfStep = L::kBlocks * kWarps;
  const std::int64_t digits_step = (kParts == 2 ? kBlocksOfStep : kBlocksOfStep / 2) * out.num_lines * 128;
  const std::int64_t scale_step = kBlocksOfStep * out.num_lines;

  // A lane's chunks in turns, so that its neighbours meet other banks; their digits change places like them.
  const int turn = lane / (8 / L::kChunks) % L::kChunks;
  const auto places = static_cast<std::uint32_t>(turn * (L::kElements / L::kChunks)) * 0x1111u;

  const auto write = [&](auto has_plain_terms) {
    constexpr bool kIsPlain = decltype(has_plain_terms)::value;
    constexpr std::uint32_t kZero = kIsPlain ? Plain::kZero : 0;
#pragma unroll 1
    for (int h = L::kStep * part; h < end; h += L::kStep * kWarps) {
      const int at = h + lane * L::kElements;
      const bool is_there = at < end;
      const unsigned char* const from = piece + at * static_cast<int>(sizeof(T));
      std::uint32_t terms[L::kTerms];
      std::uint32_t most = kZero;
#pragma unroll
      for (int c = 0; c < L::kChunks; ++c) {
        const uint4 chunk = is_there ? load_chunk(from + 16 * (c ^ turn)) : uint4{};
        constexpr int kCount = L::kTerms / L::kChunks;
        Real x[kCount];
        memcpy(x, &chunk, sizeof x);
#pragma unroll
        for (int t = 0; t < kCount; ++t) {
          std::uint32_t& term = terms[c * kCount + t];
          if constexpr (!kIsPlain) {
            term = exponent == num::kNoExponent ? 0 : packed_term(static_cast<double>(x[t]), 0);
          } else if constexpr (sizeof(Real) == 8) {
            term = Plain::packed(static_cast<std::uint32_t>(__double2hiint(x[t])));
          } else {
            term = Plain::packed(__float_as_uint(x[t]));
          }
          most = max(most, term);
        }
      }
#pragma unroll
      for (int bit = 1; bit < L::kOfBlock; bit *= 2) most = max(most, __shfl_xor_sync(~0u, most, bit));
      if (shares_scales) most = max(most, __shfl_xor_sync(~0u, most, L::kOfBlock));
      const std::int32_t of_scale = most == kZero ? num::kNoExponent : exponent_of_term(most);
      const std::int32_t deficit = block_deficit(exponent, of_scale);
      const std::int32_t of_digits = most == kZero ? exponent : digit_exponent(of_scale, deficit);

      std::uint32_t bytes[kParts][L::kElements];
      std::uint32_t bits = 0;  // of a part: kElements
#pragma unroll
      for (int e = 0; e < L::kElements; ++e) {
        std::uint32_t of_element[kParts];
        std::uint32_t of_terms[kParts];
#pragma unroll
        for (int p = 0; p < kParts; ++p) {
          of_terms[p] = terms[e * kParts + p];
          if (of_terms[p] != kZero) bits |= 1u << (p * L::kElements + e);
        }
        bytes_of_element<kParts>(of_terms, of_digits, of_element);
#pragma unroll
        for (int p = 0; p < kParts; ++p) bytes[p][e] = of_element[p];
      }
      if constexpr (kParts == 2) {  // a byte of the real part's bits, and one of the imaginary one's
        const std::uint32_t others = __shfl_xor_sync(~0u, bits, 1);
        bits = rank % 2 == 0 ? (bits & 15u) | (others & 15u) << 4 : bits & 0xF0u | others >> 4;
      }
      if (is_there) {
#pragma unroll
        for (int p = 0; p < kParts; ++p) {
          const std::uint32_t low = device::pack_bytes(bytes[p][0], bytes[p][1], bytes[p][2], bytes[p][3]);
          if constexpr (kParts == 2) {
            *reinterpret_cast<std::uint32_t*>(digits[p]) = __byte_perm(low, 0, 0x3210u ^ places);
          } else {
            const std::uint32_t high = device::pack_bytes(bytes[p][4], bytes[p][5], bytes[p][6], bytes[p][7]);
            *reinterpret_cast<uint2*>(digits[p]) =
                make_uint2(__byte_perm(low, high, 0x3210u ^ places), __byte_perm(low, high, 0x7654u ^ places));
          }
        }
        *nonzero = static_cast<std::uint8_t>(bits);
        if (rank == 0) *scale = shifted_block_scale(min(deficit, kMaxDeficit), out.scale_shift);
      }
#pragma unroll
      for (int p = 0; p < kParts; ++p) digits[p] += digits_step;
      scale += scale_step;
      nonzero += kBlocksOfStep * kParts * 8;
    }
  };
  if (Plain::has(range, exponent)) return write(std::true_type{});
  write(std::false_type{});
}

}  // namespace kizami::certify::kernels
