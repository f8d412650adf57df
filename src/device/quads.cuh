// SPDX-License-Identifier: MIT
// What kernels that end in C share: a thread takes four neighbouring elements of a column, and of several columns.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/int_math.hpp"
#include "kizami/types.hpp"
#include "num/scaled.hpp"
#include "num/scaling.hpp"

namespace kizami::device {

inline constexpr int kThreads = 256;

/// One element of 16 bytes: in one store where its address allows it, which std::complex does not promise.
template <class T>
__device__ void store_element(T* out, const T& value) {
  static_assert(sizeof(T) == 16);
  if (reinterpret_cast<std::uintptr_t>(out) % sizeof(T) == 0) {
    *reinterpret_cast<double2*>(out) = double2{value.real(), value.imag()};
  } else {
    *out = value;
  }
}

/// Stores four neighbouring elements; those not wanted keep what they are.
template <class T>
__device__ void store(const MatrixView<T>& c, std::int64_t i, std::int64_t j, const T (&value)[4], unsigned wanted) {
  T* const out = c.data + i * c.row_stride + j * c.col_stride;
  if constexpr (sizeof(T) == 8) {
    if (wanted == 15u && c.row_stride == 1 && reinterpret_cast<std::uintptr_t>(out) % 16 == 0) {
      double2 pair[2];
      for (int e = 0; e < 2; ++e) {
        pair[e].x = bit_cast<double>(value[2 * e]);
        pair[e].y = bit_cast<double>(value[2 * e + 1]);
        reinterpret_cast<double2*>(out)[e] = pair[e];
      }
      return;
    }
  }
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    if ((wanted >> e & 1) == 0) continue;
    if constexpr (sizeof(T) == 16) {
      store_element(out + e * c.row_stride, value[e]);
    } else {
      out[e * c.row_stride] = value[e];
    }
  }
}

/// The four rows of a lane, of the 128 of its warp: four neighbours, or with kSide = 1 every 32nd, so that what the lanes
/// store at once are neighbours.
template <int kSide>
[[nodiscard]] __device__ constexpr int row_of_lane(int e) {
  static_assert(kSide == 1 || kSide == 4);
  return e % kSide + e / kSide * (32 * kSide);
}
/// Stores the elements of these rows, from row i on, as store() does.
template <int kSide, class T>
__device__ void store_rows(const MatrixView<T>& c, std::int64_t i, std::int64_t j, const T (&value)[4],
                           unsigned wanted) {
  T* const out = c.data + i * c.row_stride + j * c.col_stride;
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    if ((wanted >> e & 1) != 0) store_element(out + row_of_lane<kSide>(e) * c.row_stride, value[e]);
  }
}

/// Four neighbouring elements. @range all of them are elements of c
template <class T>
__device__ void load(const MatrixView<T>& c, std::int64_t i, std::int64_t j, T (&value)[4]) {
  const T* const in = c.data + i * c.row_stride + j * c.col_stride;
  if constexpr (sizeof(T) == 8) {
    if (c.row_stride == 1 && reinterpret_cast<std::uintptr_t>(in) % 16 == 0) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const double2 pair = reinterpret_cast<const double2*>(in)[e];
        value[2 * e] = bit_cast<T>(pair.x);
        value[2 * e + 1] = bit_cast<T>(pair.y);
      }
      return;
    }
  }
#pragma unroll
  for (int e = 0; e < 4; ++e) value[e] = in[e * c.row_stride];
}

/// Asks for them to come to the L2 cache.
template <class T>
__device__ void prefetch(const MatrixView<T>& c, std::int64_t i, std::int64_t j) {
  constexpr int kSector = 32;
  const T* const in = c.data + i * c.row_stride + j * c.col_stride;
#pragma unroll
  for (int e = 0; e < 4; e += kSector / static_cast<int>(sizeof(T)))
    asm volatile("prefetch.global.L2 [%0];" : : "l"(in + e * c.row_stride));
}

/// The general epilogue, out of the way of the fast ones.
template <class T, int kParts>
__device__ __noinline__ T finish_any(num::Scaled re, num::Scaled im, T alpha, T beta, T old) {
  if constexpr (kParts == 2) {
    return num::finish(num::ScaledComplex{re, im}, alpha, beta, old);
  } else {
    return num::finish(re, alpha, beta, old);
  }
}

/// Zero, or of a magnitude from 2^-347 to 2^400: then num::finish_moderate() is num::finish(), of a product too, whose
/// num::Scaled is moderate from 2^-347 on: below it num::finish() has other signs of zeros. FP32 always is.
[[nodiscard]] __device__ inline bool is_moderate(double x) {
  const unsigned magnitude = static_cast<unsigned>(__double2hiint(x)) & 0x7FFFFFFFu;
  return magnitude - (676u << 20) < (747u << 20) || x == 0.0;
}
[[nodiscard]] __device__ inline bool is_moderate(float) { return true; }
template <class R>
[[nodiscard]] __device__ bool is_moderate(std::complex<R> x) {
  return is_moderate(x.real()) && is_moderate(x.imag());
}

/// Whether mantissa 2^exponent is a normal FP64 number, far from the ends of the range: then it is one product.
[[nodiscard]] __device__ inline bool is_plain(const num::Scaled& p) {
  return static_cast<unsigned>(p.exponent + 900) < 1700u;
}
[[nodiscard]] __device__ inline double plain_value(const num::Scaled& p) {
  return p.mantissa * num::power_of_two(p.exponent);
}

/// num::finish() for alpha = 1, beta = 0 and plain numbers.
template <class T, int kParts>
[[nodiscard]] __device__ T plain_element(const num::Scaled& re, const num::Scaled& im) {
  using R = RealOf<T>;
  if constexpr (kParts == 2) {
    return T(static_cast<R>(plain_value(re)), static_cast<R>(plain_value(im)));
  } else {
    return static_cast<R>(plain_value(re));
  }
}

[[nodiscard]] __device__ inline std::int64_t first_row_of_thread() {
  return (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) * 4;
}
[[nodiscard]] __device__ inline std::int64_t first_column_of_thread() {
  return blockIdx.y * static_cast<std::int64_t>(blockDim.y) + threadIdx.y;
}
[[nodiscard]] __device__ inline std::int64_t column_step() { return static_cast<std::int64_t>(gridDim.y) * blockDim.y; }

/// C <- beta C, by all threads of a grid.
template <class T>
__device__ void scale_all(const MatrixView<T>& c, T beta) {
  const std::int64_t total = c.rows * c.cols;
  const std::int64_t block = blockIdx.x + static_cast<std::int64_t>(gridDim.x) * blockIdx.y;
  const std::int64_t threads = static_cast<std::int64_t>(blockDim.x) * blockDim.y;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * gridDim.y * threads;
  for (std::int64_t at = block * threads + threadIdx.x + threadIdx.y * blockDim.x; at < total; at += step) {
    const std::int64_t j = at / c.rows;
    T& out = c(at - j * c.rows, j);
    out = beta == T{0} ? T{0} : num::scale_by(beta, out);
  }
}

/// Quads of a column side by side, as many columns as fill the block; each block takes several columns.
struct QuadGrid {
  dim3 block;
  dim3 grid;
};
/// @param least  threads side by side at least: 16, or 32 where a warp keeps to one column
[[nodiscard]] inline QuadGrid quad_grid(std::int64_t rows, std::int64_t cols, int blocks_at_once, int quad = 4,
                                        unsigned least = 16) {
  const std::int64_t quads = base::ceil_div(rows, std::int64_t{quad});
  const unsigned threads_x = quads >= 256 ? 256 : quads > 64 ? 128 : quads > 16 ? 64 : least;
  const dim3 block(threads_x, kThreads / threads_x);
  const std::int64_t blocks_x = base::ceil_div(quads, std::int64_t{threads_x});
  const std::int64_t blocks_y = base::ceil_div(cols, std::int64_t{block.y});
  // All blocks run at once: one more would take as long again.
  const std::int64_t enough = std::max(std::int64_t{1}, blocks_at_once / blocks_x);
  return {block, dim3(static_cast<unsigned>(blocks_x),
                      static_cast<unsigned>(std::min({blocks_y, enough, std::int64_t{65535}})))};
}

}  // namespace kizami::device
