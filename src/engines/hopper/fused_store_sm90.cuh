// SPDX-License-Identifier: MIT
// From the sums of anti-diagonals in registers to elements of C: their exact sum, rounded once to 53 bits, then
// num::finish(). Registers are those of wgmma_text_sm90.cuh: a thread has pairs of neighbouring i. Nothing outside C is
// written.
#pragma once

#include <cstdint>

#include "engines/hopper/fused_slices_params.hpp"
#include "num/line_stats.hpp"
#include "num/scaled.hpp"
#include "num/scaling.hpp"

namespace kizami::engines::hopper {

/// Where an element of a thread lies: pair g of row half h.
struct FusedPlace {
  int lane_x;
  int row;
  __device__ explicit FusedPlace(int thread) : lane_x(2 * (thread % 4)), row(thread / 32 * 16 + thread % 32 / 4) {}
  [[nodiscard]] __device__ int i(int g) const { return 8 * g + lane_x; }
  [[nodiscard]] __device__ int j(int h) const { return row + 8 * h; }
};

/// sum_s 2^(step (l - 1 - s)) S_s of element e of a thread.
template <int kSlices, int kSums>
[[nodiscard]] __device__ __forceinline__ std::int64_t exact_sum(const std::int32_t (&acc)[kSlices][kSums], int e,
                                                                int step) {
  std::int64_t sum = acc[0][e];
#pragma unroll
  for (int s = 1; s < kSlices; ++s) sum = sum * (std::int64_t{1} << step) + acc[s][e];
  return sum;
}

/// Exponents for which a sum of fewer than 64 bits times a power of two is a normal number or zero.
[[nodiscard]] __device__ __forceinline__ bool is_plain_exponent(int exponent) {
  return static_cast<unsigned>(exponent + 900) < 1800u;
}

/// Calls visit(c, alpha, beta) with the matrix of the type that C has.
template <class Visit>
__device__ __forceinline__ void with_type(const FusedSliceParams& params, const Visit& visit) {
  if (params.has_floats != 0) {
    visit(params.float_c, params.float_alpha, params.float_beta);
  } else {
    visit(params.c, params.alpha, params.beta);
  }
}

/// C <- beta C of a warpgroup's part of a tile.
template <int kTileI>
__device__ __noinline__ void scale_tile(const FusedSliceParams& params, int i_first, int j_first, int thread) {
  with_type(params, [&](const auto& c, const auto& /*alpha*/, const auto& beta_at) {
    const auto beta = beta_at.load();
    for (int e = thread; e < 64 * kTileI; e += 128) {
      const int i = i_first + e % kTileI;
      const int j = j_first + e / kTileI;
      if (i >= params.m || j >= params.n) continue;
      auto& out = c(i, j);
      out = beta == 0 ? decltype(beta){0} : num::scale_by(beta, out);
    }
  });
}

/// The elements of a thread that store_fused_tile() left, one by one, from their sums in local memory.
template <int kSums>
__device__ __noinline__ void store_any_sums(const std::int64_t (&sums)[kSums], const FusedSliceParams& params,
                                            int i_first, int j_first, int thread, bool are_plain_stored) {
  const FusedPlace place(thread);
  with_type(params, [&](const auto& c, const auto& alpha_at, const auto& beta_at) {
    const auto alpha = alpha_at.load();
    const auto beta = beta_at.load();
#pragma unroll 1
    for (int e = 0; e < kSums; ++e) {
      const int i = i_first + place.i(e / 4) + e % 2;
      const int j = j_first + place.j(e / 2 % 2);
      if (i >= params.m || j >= params.n) continue;
      const std::int32_t row_exponent = params.row_exponents[i];
      const std::int32_t col_exponent = params.col_exponents[j];
      if (row_exponent == num::kSkipLine || col_exponent == num::kSkipLine) continue;
      const int exponent = params.unit + row_exponent + col_exponent;
      if (are_plain_stored && is_plain_exponent(exponent)) continue;
      auto& out = c(i, j);
      using T = std::remove_reference_t<decltype(out)>;
      const T old = beta == T{0} ? T{0} : out;
      out = num::finish(num::make_scaled(static_cast<double>(sums[e]), exponent), alpha, beta, old);
    }
  });
}

/// Two neighbouring elements of a column, of those that are wanted.
template <class T>
__device__ __forceinline__ void store_pair(const MatrixView<T>& c, int i, int j, const double (&value)[2],
                                           unsigned wanted, bool has_aligned_c) {
  T* const out = &c(i, j);
  const T first = static_cast<T>(value[0]);
  const T second = static_cast<T>(value[1]);
  if (wanted == 3u && has_aligned_c) {
    if constexpr (sizeof(T) == 8) {
      *reinterpret_cast<double2*>(out) = make_double2(first, second);
    } else {
      *reinterpret_cast<float2*>(out) = make_float2(first, second);
    }
  } else {
    if ((wanted & 1u) != 0) out[0] = first;
    if ((wanted & 2u) != 0) out[c.row_stride] = second;
  }
}

/// Stores 64 lines of B from j_first on by kTileI lines of A from i_first on, which a warpgroup holds.
/// @range all 128 threads of the warpgroup take part; thread = 0..127 within it
template <int kSlices, int kTileI>
__device__ __forceinline__ void store_fused_tile(const std::int32_t (&acc)[kSlices][kTileI / 2],
                                                 const FusedSliceParams& params, int i_first, int j_first, int thread) {
  const FusedPlace place(thread);
  const bool has_floats = params.has_floats != 0;
  const bool is_product = has_floats ? params.float_alpha.load() == 1.0F && params.float_beta.load() == 0.0F
                                     : params.alpha.load() == 1.0 && params.beta.load() == 0.0;
  bool are_all_stored = is_product;
  if (is_product) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int j = j_first + place.j(h);
      const std::int32_t col_exponent = j < params.n ? params.col_exponents[j] : num::kSkipLine;
      if (col_exponent == num::kSkipLine) continue;
#pragma unroll
      for (int g = 0; g < kTileI / 8; ++g) {
        const int i = i_first + place.i(g);
        double value[2] = {};
        unsigned wanted = 0;
#pragma unroll
        for (int b = 0; b < 2; ++b) {
          const std::int32_t row_exponent = i + b < params.m ? params.row_exponents[i + b] : num::kSkipLine;
          if (row_exponent == num::kSkipLine) continue;
          const int exponent = params.unit + row_exponent + col_exponent;
          if (is_plain_exponent(exponent)) {
            value[b] =
                static_cast<double>(exact_sum(acc, 4 * g + 2 * h + b, params.step)) * num::power_of_two(exponent);
            wanted |= 1u << b;
          } else {
            are_all_stored = false;
          }
        }
        if (has_floats) {
          store_pair(params.float_c, i, j, value, wanted, params.has_aligned_c != 0);
        } else {
          store_pair(params.c, i, j, value, wanted, params.has_aligned_c != 0);
        }
      }
    }
  }
  if (are_all_stored) return;
  std::int64_t sums[kTileI / 2];
#pragma unroll
  for (int e = 0; e < kTileI / 2; ++e) sums[e] = exact_sum(acc, e, params.step);
  store_any_sums(sums, params, i_first, j_first, thread, is_product);
}

}  // namespace kizami::engines::hopper
