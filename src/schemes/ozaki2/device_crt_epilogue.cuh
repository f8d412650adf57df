// SPDX-License-Identifier: MIT
// From the rounded integers of four elements of a column to C: scales, alpha, beta, what is not wanted.
#pragma once

#include <complex>
#include <cstdint>

#include "base/int_math.hpp"
#include "device/quads.cuh"
#include "num/line_stats.hpp"
#include "num/scaled.hpp"
#include "num/scaling.hpp"
#include "problem/part.hpp"
#include "schemes/ozaki2/device_crt.hpp"

namespace kizami::ozaki2::kernels {

/// What all elements of a thread share.
template <class T>
struct Epilogue {
  T alpha;
  T beta;
  bool is_product;            ///< alpha = 1, beta = 0
  bool has_moderate_factors;  ///< num::finish_moderate() will do for elements that are moderate
  bool has_repairs;

  __device__ explicit Epilogue(const DeviceReconstruction<T>& task)
      : alpha(task.alpha.load()),
        beta(task.beta.load()),
        is_product(alpha == T{1} && beta == T{0}),
        has_moderate_factors(device::is_moderate(alpha) && device::is_moderate(beta)),
        has_repairs(task.state->num_repairs != 0) {}
};

/// The word of the repaired elements' bits in which that of row i of column j stands.
template <class T>
[[nodiscard]] __device__ const std::uint32_t* repair_word(const DeviceReconstruction<T>& task, std::int64_t i,
                                                          std::int64_t j) {
  return task.repair_bits + (task.first_col + j) * task.bits_stride + (task.first_row + i) / 32;
}

/// One bit for each of four elements from row i of column j that someone else answers. @range they are rows of C
template <class T>
[[nodiscard]] __device__ unsigned repaired_of_quad(const DeviceReconstruction<T>& task, std::int64_t i,
                                                   std::int64_t j) {
  const std::int64_t first = task.first_row + i;
  const std::uint32_t* const word = task.repair_bits + (task.first_col + j) * task.bits_stride + first / 32;
  const int shift = static_cast<int>(first % 32);
  unsigned bits = *word >> shift;
  if (shift > 28) bits |= word[1] << (32 - shift);
  return bits & 15u;
}

/// C <- beta C, by all threads of a grid: of a part.
template <class T>
__device__ void scale_part(const MatrixView<T>& c, T beta, const problem::Part& part) {
  if (beta == T{1}) return;
  const std::int64_t total = c.rows * c.cols;
  const std::int64_t block = blockIdx.x + static_cast<std::int64_t>(gridDim.x) * blockIdx.y;
  const std::int64_t threads = static_cast<std::int64_t>(blockDim.x) * blockDim.y;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * gridDim.y * threads;
  for (std::int64_t at = block * threads + threadIdx.x + threadIdx.y * blockDim.x; at < total; at += step) {
    const std::int64_t j = at / c.rows;
    const std::int64_t i = at - j * c.rows;
    if (!part.has(i, j)) continue;
    T& out = c(i, j);
    out = beta == T{0} ? T{0} : part.element(i, j, num::scale_by(beta, part.element(i, j, T(out))));
  }
}

/// C <- beta C, or its part.
template <bool kIsPart, class T>
__device__ void scale_c(const DeviceReconstruction<T>& task) {
  if constexpr (kIsPart) {
    scale_part(task.c, task.beta.load(), task.part);
  } else {
    device::scale_all(task.c, task.beta.load());
  }
}

/// Writes what is wanted of four elements of column j, rows i + device::row_of_lane(e), whatever alpha, beta and the scales.
/// @param there  one bit for each that is a row of C
template <class T, int kParts, bool kIsPart, int kSide = 4>
__device__ void finish_quad(const DeviceReconstruction<T>& task, const Epilogue<T>& epilogue, std::int64_t i,
                            std::int64_t j, const std::int32_t (&row_scale)[4], int col_scale,
                            num::Scaled (&p)[kParts][4], unsigned there = 15u) {
  T value[4];
  unsigned wanted = 0;
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    const std::int64_t row = i + device::row_of_lane<kSide>(e);
    bool is_wanted = (there >> e & 1) != 0 && row_scale[e] != num::kSkipLine;
    if constexpr (kIsPart) is_wanted = is_wanted && task.part.has(row, j);
    if (epilogue.has_repairs && is_wanted) {
      const std::int64_t bit = task.first_row + row;
      is_wanted = (task.repair_bits[(task.first_col + j) * task.bits_stride + bit / 32] >> (bit % 32) & 1) == 0;
    }
    value[e] = T{0};
    if (!is_wanted) continue;
    wanted |= 1u << e;
    for (int part = 0; part < kParts; ++part) p[part][e].exponent -= row_scale[e] + col_scale;
    T old = epilogue.beta == T{0} ? T{0} : task.c(row, j);
    if constexpr (kIsPart) old = task.part.element(row, j, old);
    value[e] = device::finish_any<T, kParts>(p[0][e], p[kParts - 1][e], epilogue.alpha, epilogue.beta, old);
    if constexpr (kIsPart) value[e] = task.part.element(row, j, value[e]);
  }
  if constexpr (kSide == 4) {
    device::store(task.c, i, j, value, wanted);
  } else {
    device::store_rows<kSide>(task.c, i, j, value, wanted);
  }
}

/// The same of integers that are FP64 numbers, out of the way of the fast one. @param re, im  of the four; of real types re alone
template <class T, bool kIsPart, int kSide>
__device__ __noinline__ void finish_quad_apart(const DeviceReconstruction<T>& task, std::int64_t i, std::int64_t j,
                                               int col_scale, unsigned there, double2 re01, double2 re23, double2 im01,
                                               double2 im23) {
  constexpr int kParts = kIsComplex<T> ? 2 : 1;
  const double x[2][4] = {{re01.x, re01.y, re23.x, re23.y}, {im01.x, im01.y, im23.x, im23.y}};
  num::Scaled p[kParts][4];
  std::int32_t row_scale[4];
  for (int e = 0; e < 4; ++e) {
    const std::int64_t row = i + device::row_of_lane<kSide>(e);
    row_scale[e] = row < task.c.rows ? task.row_scale[row] : num::kSkipLine;
    for (int part = 0; part < kParts; ++part) p[part][e] = num::make_scaled(x[part][e], 0);
  }
  finish_quad<T, kParts, kIsPart, kSide>(task, Epilogue<T>(task), i, j, row_scale, col_scale, p, there);
}

/// Rows beyond the last have scale num::kSkipLine.
template <class T>
__device__ void load_row_scales(const DeviceReconstruction<T>& task, std::int64_t i, std::int32_t (&row_scale)[4]) {
#pragma unroll
  for (int e = 0; e < 4; ++e) row_scale[e] = i + e < task.c.rows ? task.row_scale[i + e] : num::kSkipLine;
}
/// The columns of this thread, every device::column_step()-th from the first one on: those with one of four rows from i
/// on.
template <bool kIsPart, class T>
[[nodiscard]] __device__ problem::Part::Columns columns_of_thread(const DeviceReconstruction<T>& task, std::int64_t i) {
  problem::Part::Columns columns{device::first_column_of_thread(), task.c.cols};
  if constexpr (kIsPart) {
    const problem::Part::Columns wanted = task.part.columns_of(i, 4, task.c.cols);
    columns.first += base::round_up(max(wanted.first - columns.first, std::int64_t{0}), device::column_step());
    columns.end = wanted.end;
  }
  return columns;
}
template <bool kIsPart, class T, class Visit>
__device__ void for_columns(const DeviceReconstruction<T>& task, std::int64_t i, const Visit& visit) {
  const problem::Part::Columns columns = columns_of_thread<kIsPart>(task, i);
  for (std::int64_t j = columns.first; j < columns.end; j += device::column_step()) {
    const int col_scale = task.col_scale[j];
    if (col_scale != num::kSkipLine) visit(j, col_scale);
  }
}

/// Scales so far from the ends of the range that an element is one product.
[[nodiscard]] __device__ inline bool has_moderate_scale(int scale) {
  constexpr int kModerate = 450;
  return static_cast<unsigned>(scale + kModerate) <= static_cast<unsigned>(2 * kModerate);
}
/// An element from its integers. @range of complex types alone im is looked at; scales are moderate
template <class T>
[[nodiscard]] __device__ __forceinline__ auto scaled_element(double re, double im, double unit) {
  if constexpr (kIsComplex<T>) {
    return std::complex<double>(re * unit, im * unit);
  } else {
    return re * unit;
  }
}
/// Not the conversion of std::complex, which device code makes zero.
template <class T, class Number>
[[nodiscard]] __device__ __forceinline__ T rounded_element(const Number& p) {
  if constexpr (kIsComplex<T>) {
    return T(static_cast<RealOf<T>>(p.real()), static_cast<RealOf<T>>(p.imag()));
  } else {
    return static_cast<T>(p);
  }
}

/// Writes element (i, j) of the block of C, whose integers are FP64 numbers, whatever alpha, beta and the scales; nothing where
/// a scale is num::kSkipLine or someone else answers it. @range of real types re alone is looked at
template <class T>
__device__ __forceinline__ void write_element(const DeviceReconstruction<T>& task, const Epilogue<T>& epilogue,
                                              std::int64_t i, std::int64_t j, std::int32_t row_scale, int col_scale,
                                              double re, double im) {
  if (row_scale == num::kSkipLine || col_scale == num::kSkipLine) return;
  if (epilogue.has_repairs && (*repair_word(task, i, j) >> ((task.first_row + i) % 32) & 1) != 0) return;
  T* const out = task.c.data + i * task.c.row_stride + j * task.c.col_stride;
  const auto store = [&](const T& value) {
    if constexpr (sizeof(T) == 16) {
      device::store_element(out, value);
    } else {
      *out = value;
    }
  };
  if ((epilogue.is_product || epilogue.has_moderate_factors) && has_moderate_scale(row_scale) &&
      has_moderate_scale(col_scale)) {
    const auto p = scaled_element<T>(re, im, num::power_of_two(-(row_scale + col_scale)));
    if (epilogue.is_product) return store(rounded_element<T>(p));
    const T old = epilogue.beta == T{0} ? T{} : *out;
    bool is_plain = true;
    if constexpr (sizeof(RealOf<T>) == 8) is_plain = device::is_moderate(p) && device::is_moderate(old);
    if (is_plain) return store(num::finish_moderate(p, epilogue.alpha, epilogue.beta, old));
  }
  constexpr int kParts = kIsComplex<T> ? 2 : 1;
  num::Scaled p[2] = {num::make_scaled(re, 0), num::make_scaled(im, 0)};
  for (num::Scaled& part : p) part.exponent -= row_scale + col_scale;
  const T old = epilogue.beta == T{0} ? T{0} : *out;
  store(device::finish_any<T, kParts>(p[0], p[1], epilogue.alpha, epilogue.beta, old));
}

/// Of the rows of a thread, for integers that are FP64 numbers: four neighbours, or device::row_of_lane() from row i on.
template <class T, bool kIsPart, int kSide = 4>
struct NumberEpilogue {
  static constexpr int kParts = kIsComplex<T> ? 2 : 1;
  std::int64_t i;
  Epilogue<T> epilogue;
  std::int32_t row_scale[4];
  bool is_fast;

  __device__ NumberEpilogue(const DeviceReconstruction<T>& task, std::int64_t first_row) : epilogue(task) {
    take_rows(task, first_row);
    judge_scales();
  }

  /// For other rows. Their scales are on their way then: judge_scales() waits for them.
  __device__ __forceinline__ void take_rows(const DeviceReconstruction<T>& task, std::int64_t first_row) {
    i = first_row;
    if constexpr (kSide == 4) {
      load_row_scales(task, i, row_scale);
    } else {  // moderate ones of rows beyond the last, so that they make nobody slow
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const std::int64_t row = row_of(e);
        row_scale[e] = row < task.c.rows ? task.row_scale[row] : 0;
      }
    }
  }
  __device__ __forceinline__ void judge_scales() {
    is_fast = (epilogue.is_product || epilogue.has_moderate_factors) && has_moderate_scale(row_scale[0]) &&
              has_moderate_scale(row_scale[1]) && has_moderate_scale(row_scale[2]) && has_moderate_scale(row_scale[3]);
  }

  /// For what C is in column j, where it will be wanted.
  __device__ __forceinline__ void prefetch(const DeviceReconstruction<T>& task, std::int64_t j) const {
    static_assert(kSide == 4);
    if (is_fast && epilogue.beta != T{0}) device::prefetch(task.c, i, j);
  }

  __device__ __forceinline__ void write(const DeviceReconstruction<T>& task, std::int64_t j, int col_scale,
                                        const double (&x)[kParts][4]) const {
    static_assert(kSide == 4);
    write(task, j, col_scale, x, [&] { return repaired_of_quad(task, i, j); });
  }
  /// @param repaired()  one bit for each that someone else answers, asked where there are repairs and scales are moderate
  template <class Repaired>
  __device__ __forceinline__ void write(const DeviceReconstruction<T>& task, std::int64_t j, int col_scale,
                                        const double (&x)[kParts][4], const Repaired& repaired) const {
    T value[4];
    if (is_fast && has_moderate_scale(col_scale) && is_inside(task, j) && finish_four(task, j, col_scale, x, value)) {
      const unsigned wanted = epilogue.has_repairs ? there(task) & ~repaired() : there(task);
      if constexpr (kSide == 4) {
        device::store(task.c, i, j, value, wanted);
      } else {
        device::store_rows<kSide>(task.c, i, j, value, wanted);
      }
    } else if (col_scale != num::kSkipLine) {
      constexpr int kLast = kParts - 1;
      finish_quad_apart<T, kIsPart, kSide>(task, i, j, col_scale, there(task), make_double2(x[0][0], x[0][1]),
                                           make_double2(x[0][2], x[0][3]), make_double2(x[kLast][0], x[kLast][1]),
                                           make_double2(x[kLast][2], x[kLast][3]));
    }
  }

 private:
  [[nodiscard]] __device__ __forceinline__ std::int64_t row_of(int e) const {
    return i + device::row_of_lane<kSide>(e);
  }
  /// One bit for each that is a row of C. Of neighbours those that are none have scale num::kSkipLine.
  [[nodiscard]] __device__ __forceinline__ unsigned there(const DeviceReconstruction<T>& task) const {
    unsigned rows = 15u;
    if constexpr (kSide < 4) {
      const auto left = static_cast<int>(min(task.c.rows - i, std::int64_t{128}));
#pragma unroll
      for (int e = 0; e < 4; ++e) rows ^= device::row_of_lane<kSide>(e) < left ? 0u : 1u << e;
    }
    return rows;
  }

  /// Whether all four are of the part, and none on its diagonal.
  [[nodiscard]] __device__ __forceinline__ bool is_inside(const DeviceReconstruction<T>& task, std::int64_t j) const {
    if constexpr (!kIsPart) {
      return true;
    } else if constexpr (kSide == 4) {
      return task.part.surrounds(i, 4, j);
    } else {  // of one triangle all are if those of both ends are
      return task.part.surrounds(i, 1, j) && task.part.surrounds(row_of(3), 1, j);
    }
  }

  /// Whether all four are num::finish_moderate(): then `value` has them. @range scales are moderate
  __device__ __forceinline__ bool finish_four(const DeviceReconstruction<T>& task, std::int64_t j, int col_scale,
                                              const double (&x)[kParts][4], T (&value)[4]) const {
    const auto product = [&](int e) {
      const double unit = num::power_of_two(-(row_scale[e] + col_scale));
      return scaled_element<T>(x[0][e], x[kParts - 1][e], unit);
    };
    if (epilogue.is_product) {
#pragma unroll
      for (int e = 0; e < 4; ++e) value[e] = rounded_element<T>(product(e));
      return true;
    }
    T old[4] = {};
    if (epilogue.beta != T{0}) load_old(task, j, old);
    bool is_plain = true;
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const auto p = product(e);
      value[e] = num::finish_moderate(p, epilogue.alpha, epilogue.beta, old[e]);
      if constexpr (sizeof(RealOf<T>) == 8)
        is_plain = is_plain && device::is_moderate(p) && device::is_moderate(old[e]);
    }
    return is_plain;
  }

  __device__ __forceinline__ void load_old(const DeviceReconstruction<T>& task, std::int64_t j, T (&old)[4]) const {
    if constexpr (kSide == 4) {
      device::load(task.c, i, j, old);
    } else {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        if (row_of(e) < task.c.rows) old[e] = task.c(row_of(e), j);
      }
    }
  }
};

}  // namespace kizami::ozaki2::kernels
