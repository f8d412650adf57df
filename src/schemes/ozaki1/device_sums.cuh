// SPDX-License-Identifier: MIT
// The kernel of device_sums.hpp. Planes of a group are summed in 64 bits, each by one multiply-add; groups go to the
// sum of several words; it is rounded to 53 bits as slices.cpp rounds.
#pragma once

#include "base/cuda_status.hpp"
#include "base/overlapped_launch.hpp"
#include "device/quads.cuh"
#include "num/line_stats.hpp"
#include "num/scaled.hpp"
#include "schemes/ozaki1/device_sums.hpp"

namespace kizami::ozaki1::kernels {

/// Two's complement, least significant word first.
template <int kWords>
struct WideSum {
  std::uint64_t words[kWords];

  /// += value 2^shift.
  __device__ void add(std::int64_t value, int shift) {
    const int first = shift / 64;
    const int bits = shift % 64;
    const std::uint64_t extension = value < 0 ? ~std::uint64_t{0} : 0;
    const std::uint64_t low = static_cast<std::uint64_t>(value) << bits;
    const std::uint64_t high = bits == 0 ? extension : static_cast<std::uint64_t>(value >> (64 - bits));
    std::uint64_t carry = 0;
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const std::uint64_t part = w < first ? 0 : w == first ? low : w == first + 1 ? high : extension;
      const std::uint64_t sum = words[w] + part;
      words[w] = sum + carry;
      carry = static_cast<std::uint64_t>(sum < part) | static_cast<std::uint64_t>(words[w] < carry);
    }
  }
  /// The sum times 2^exponent, rounded to 53 bits.
  [[nodiscard]] __device__ num::Scaled rounded(int exponent) const {
    const bool is_negative = (words[kWords - 1] >> 63) != 0;
    std::uint64_t magnitude[kWords];
    std::uint64_t carry = is_negative ? 1 : 0;
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      magnitude[w] = (is_negative ? ~words[w] : words[w]) + carry;
      carry &= static_cast<std::uint64_t>(magnitude[w] == 0);
    }
    std::uint64_t high = magnitude[1];
    std::uint64_t low = magnitude[0];
    std::uint64_t rest = 0;
    int top = 1;
#pragma unroll
    for (int w = 2; w < kWords; ++w) {  // the highest word that is not zero, the one below, and whether more is
      if (magnitude[w] == 0) continue;
      rest = 0;
      for (int below = 0; below < w - 1; ++below) rest |= magnitude[below];
      high = magnitude[w];
      low = magnitude[w - 1];
      top = w;
    }
    return num::round_to_scaled(is_negative, high, low, rest != 0, exponent + 64 * (top - 1));
  }
};

/// An FP64 number, to which products are added with rounding (SliceSums::kRounded).
template <>
struct WideSum<1> {
  std::uint64_t words[1];

  __device__ void add(std::int64_t value, int shift) {
    const double sum = __dadd_rn(__longlong_as_double(static_cast<long long>(words[0])),
                                 __ll2double_rn(value) * num::power_of_two(shift));
    words[0] = static_cast<std::uint64_t>(__double_as_longlong(sum));
  }
  [[nodiscard]] __device__ num::Scaled rounded(int exponent) const {
    return num::make_scaled(__longlong_as_double(static_cast<long long>(words[0])), exponent);
  }
};

/// A sum of two words to 53 bits, to nearest with ties to even: (s 2^32 + r), of which s has at most 52 bits and sign.
/// @range |words| < 2^84
[[nodiscard]] __device__ inline double rounded_short(const WideSum<2>& sum) {
  const auto exact = [](std::uint32_t x) { return __hiloint2double(0x43300000, static_cast<int>(x)) - 0x1p52; };
  const auto top = static_cast<std::uint32_t>(sum.words[1]);
  const double high = __hiloint2double(0x43300000, static_cast<int>(top ^ 0x80000000u)) - (0x1p52 + 0x1p31);
  const double s = fma(high, 0x1p32, exact(static_cast<std::uint32_t>(sum.words[0] >> 32)));
  return fma(s, 0x1p32, exact(static_cast<std::uint32_t>(sum.words[0])));
}
[[nodiscard]] __device__ inline bool is_short(const WideSum<2>& sum) { return sum.words[1] + (1u << 20) < (1u << 21); }
/// Exponents for which rounded_short() times a power of two is a normal number or zero.
[[nodiscard]] __device__ inline bool is_moderate(int exponent) { return static_cast<unsigned>(exponent + 900) < 1800u; }

/// Blocks of the kernel that a multiprocessor holds at once.
inline constexpr int kSumBlocksPerSm = 3;

/// Elements of a column that a thread takes.
[[nodiscard]] constexpr int quad_of(int num_words) { return num_words == 2 ? 4 : 1; }

/// Neighbouring sums of one plane.
template <int kQuad>
__device__ void load_products(const std::int32_t* at, std::int32_t (&x)[kQuad]) {
  if constexpr (kQuad == 4) {
    const int4 four = __ldcs(reinterpret_cast<const int4*>(at));
    x[0] = four.x;
    x[1] = four.y;
    x[2] = four.z;
    x[3] = four.w;
  } else {
    x[0] = *at;
  }
}

/// Adds the products of kQuad elements from element (i, j) on to their sums.
template <class T, int kWords, int kForms, int kQuad>
__device__ void add_products(const DeviceSliceTask<T>& task, std::int64_t i, std::int64_t j,
                             WideSum<kWords> (&sums)[kForms][kQuad]) {
  const SliceSumList& list = task.list;
  const std::int32_t* const at = task.acc + j * task.col_stride + i;
  int p = 0;
#pragma unroll 1
  for (int g = 0; g < list.num_groups; ++g) {
    const SliceGroup group = list.groups[g];
    std::int64_t value[kQuad] = {};
#pragma unroll 4
    for (; p < group.end; ++p) {
      std::int32_t x[kQuad];
      load_products(at + list.planes[p] * task.plane_stride, x);
#pragma unroll
      for (int e = 0; e < kQuad; ++e) value[e] += static_cast<std::int64_t>(x[e]) * list.factors[p];
    }
#pragma unroll
    for (int form = 0; form < kForms; ++form) {
      const int sign = group.signs[form];
      if (sign == 0) continue;
#pragma unroll
      for (int e = 0; e < kQuad; ++e) sums[form][e].add(sign < 0 ? -value[e] : value[e], group.shift);
    }
  }
}

template <class T, int kWords>
__global__ void __launch_bounds__(device::kThreads, kSumBlocksPerSm)
    sum_slices(const __grid_constant__ DeviceSliceTask<T> task) {
  constexpr int kForms = kIsComplex<T> ? 2 : 1;
  constexpr int kQuad = quad_of(kWords);
  base::follow_previous_kernel();
  if (task.state->is_scaling_only != 0) {
    if (task.stored == nullptr) device::scale_all(task.c, task.beta.load());
    return;
  }
  if (task.state->takes_signs != 0) return;
  const std::int64_t rows = task.c.rows;
  const std::int64_t i = (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) * kQuad;
  if (i >= rows) return;
  const T alpha = task.alpha.load();
  const T beta = task.beta.load();
  const bool is_product = alpha == T{1} && beta == T{0};
  std::int32_t row_exponent[kQuad];
#pragma unroll
  for (int e = 0; e < kQuad; ++e) row_exponent[e] = i + e < rows ? task.row_exponents[i + e] : num::kSkipLine;
  for (std::int64_t j = device::first_column_of_thread(); j < task.c.cols; j += device::column_step()) {
    WideSum<kWords> sums[kForms][kQuad] = {};
    const auto words_at = [&](int form, int e) { return ((form * task.c.cols + j) * rows + i + e) * kWords; };
    if (task.loaded != nullptr) {
      for (int form = 0; form < kForms; ++form) {
        for (int e = 0; e < kQuad; ++e) {
          if (i + e >= rows) continue;
          for (int w = 0; w < kWords; ++w) sums[form][e].words[w] = task.loaded[words_at(form, e) + w];
        }
      }
    }
    add_products(task, i, j, sums);
    if (task.stored != nullptr) {
      for (int form = 0; form < kForms; ++form) {
        for (int e = 0; e < kQuad; ++e) {
          if (i + e >= rows) continue;
          for (int w = 0; w < kWords; ++w) task.stored[words_at(form, e) + w] = sums[form][e].words[w];
        }
      }
      continue;
    }
    const int col_exponent = task.col_exponents[j];
    if (col_exponent == num::kSkipLine) continue;
    T value[4] = {};
    unsigned wanted = 0;
#pragma unroll
    for (int e = 0; e < kQuad; ++e) {
      if (row_exponent[e] == num::kSkipLine) continue;
      wanted |= 1u << e;
      const int exponent = task.unit + row_exponent[e] + col_exponent;
      if constexpr (kWords == 2) {
        if (is_product && is_moderate(exponent) && is_short(sums[0][e]) && is_short(sums[kForms - 1][e])) {
          using R = RealOf<T>;
          const double unit = num::power_of_two(exponent);
          if constexpr (kForms == 2) {
            value[e] =
                T(static_cast<R>(rounded_short(sums[0][e]) * unit), static_cast<R>(rounded_short(sums[1][e]) * unit));
          } else {
            value[e] = static_cast<R>(rounded_short(sums[0][e]) * unit);
          }
          continue;
        }
      }
      const num::Scaled re = sums[0][e].rounded(exponent);
      const num::Scaled im = sums[kForms - 1][e].rounded(exponent);
      if (is_product && device::is_plain(re) && device::is_plain(im)) {
        value[e] = device::plain_element<T, kForms>(re, im);
      } else {
        const T old = beta == T{0} ? T{0} : task.c(i + e, j);
        value[e] = device::finish_any<T, kForms>(re, im, alpha, beta, old);
      }
    }
    device::store(task.c, i, j, value, wanted);
  }
}

}  // namespace kizami::ozaki1::kernels

namespace kizami::ozaki1 {

template <class T>
Status sum_slices_device(const DeviceSliceTask<T>& task, int num_sms, product::Queue queue) {
  if (task.c.rows == 0 || task.c.cols == 0) return {};
  const auto launch = [&](auto num_words) {
    const device::QuadGrid shape = device::quad_grid(task.c.rows, task.c.cols, kernels::kSumBlocksPerSm * num_sms,
                                                     kernels::quad_of(num_words.value));
    return base::launch_overlapped("sum_slices", kernels::sum_slices<T, num_words.value>, shape.grid, shape.block, 0,
                                   queue, task);
  };
  switch (task.num_words) {
    case 1:
      return launch(std::integral_constant<int, 1>{});
    case 2:
      return launch(std::integral_constant<int, 2>{});
    case 4:
      return launch(std::integral_constant<int, 4>{});
    default:
      return launch(std::integral_constant<int, 8>{});
  }
}

}  // namespace kizami::ozaki1

/// In one file for each type, for the time that they take to compile.
#define KIZAMI_INSTANTIATE_DEVICE_SLICE_SUMS(T)                                                  \
  template ::kizami::Status kizami::ozaki1::sum_slices_device<T>(const DeviceSliceTask<T>&, int, \
                                                                 ::kizami::product::Queue)
