// SPDX-License-Identifier: MIT
// Single elements of C in the FP64 rung, a warp each: the bits of line_product(), nonfinite_product() and the
// epilogues. Lanes take whole chains, or single terms of a compensated sum; what the order of the definition fixes is
// done by all lanes at once, with equal values.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/int_math.hpp"
#include "fp64/device.hpp"
#include "fp64/fp64.hpp"
#include "fp64/headroom.hpp"
#include "num/scaled.hpp"

namespace kizami::fp64 {

inline constexpr int kWarpSize = 32;
inline constexpr unsigned kAllLanes = 0xFFFFFFFFU;

[[nodiscard]] __device__ inline int lane_index() { return static_cast<int>(threadIdx.x % kWarpSize); }
[[nodiscard]] __device__ inline std::int64_t warp_index() {
  return (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarpSize;
}
[[nodiscard]] __device__ inline std::int64_t num_warps() { return std::int64_t{gridDim.x} * blockDim.x / kWarpSize; }

/// Writes C_ij = alpha product + beta C_ij, if it is of the part. `finish` is num::finish or num::finish_nonfinite.
template <class T, class Finish>
__device__ void write_element(const DeviceCall<T>& call, std::int64_t i, std::int64_t j, const Finish& finish) {
  if (!call.part.has(i, j)) return;
  const T alpha = call.alpha.load();
  const T beta = call.beta.load();
  T& out = call.c(i, j);
  const T old = beta == T{0} ? T{0} : call.part.element(i, j, T(out));
  out = call.part.element(i, j, finish(alpha, beta, old));
}

/// The two factors of a term.
struct Factors {
  double a;
  double b;
};

/// Sums of chains, pushed in order through the binary counter, 32 at a time: the counter adds these as a tree, whose
/// root is all that is pushed on. Level 5 + l is held by lane l of a warp. The last sum is added to all levels that
/// hold one: so the counter ends.
class PairwiseCounter {
 public:
  /// The sums of the chains first, first + 1, ... of num_chains, one a lane. @range first a multiple of 32
  __device__ __forceinline__ void push(double chain, std::int64_t first, std::int64_t num_chains) {
    static_assert(kMaxLevels <= kWarpSize);
    const std::int64_t left = num_chains - first;
    for (int distance = 1; distance < kWarpSize; distance *= 2) {
      const double other = __shfl_down_sync(kAllLanes, chain, distance);
      if (lane_index() + distance < left) chain = chain + other;  // else the end of the sums passes as it is
    }
    double carry = __shfl_sync(kAllLanes, chain, 0);
    const bool is_last = left <= kWarpSize;
    const std::int64_t count = first / kWarpSize;
    int level = 0;
    for (; (count >> level) != 0; ++level) {
      const bool is_held = ((count >> level) & 1) != 0;
      if (!is_held && !is_last) break;
      if (is_held) carry = __shfl_sync(kAllLanes, level_sum_, level) + carry;
    }
    if (is_last) {
      sum_ = carry;
    } else if (lane_index() == level) {
      level_sum_ = carry;
    }
  }
  /// Of all chains.
  [[nodiscard]] __device__ double sum() const { return sum_; }

 private:
  double level_sum_ = 0;
  double sum_ = 0;
};

/// Chains of 128 fused multiply-adds, one a lane.
template <class Terms>
[[nodiscard]] __device__ double pairwise_sum(std::int64_t num_terms, const Terms& terms) {
  constexpr std::int64_t kChain = num::kFp64ChainLength;
  const std::int64_t num_chains = base::ceil_div(num_terms, kChain);
  PairwiseCounter counter;
  for (std::int64_t first = 0; first < num_chains; first += kWarpSize) {
    const std::int64_t begin = (first + lane_index()) * kChain;
    const std::int64_t end = std::min(begin + kChain, num_terms);
    double chain = 0;
    constexpr int kAtOnce = 16;  // loads before the first use: lines may be strided, and a lane has a chain of its own
    std::int64_t t = begin;
    for (; t + kAtOnce <= end; t += kAtOnce) {
      Factors f[kAtOnce];
#pragma unroll
      for (int e = 0; e < kAtOnce; ++e) f[e] = terms(t + e);
#pragma unroll
      for (int e = 0; e < kAtOnce; ++e) chain = fma(f[e].a, f[e].b, chain);
    }
    for (; t < end; ++t) {
      const Factors f = terms(t);
      chain = fma(f.a, f.b, chain);
    }
    counter.push(chain, first, num_chains);
  }
  return counter.sum();
}

/// Dot2: the products and their errors are made by the lanes, the sums run over the terms in order.
template <class Terms>
[[nodiscard]] __device__ double compensated_sum(std::int64_t num_terms, const Terms& terms) {
  const int lane = lane_index();
  double high = 0;
  double low = 0;
  for (std::int64_t first = 0; first < num_terms; first += kWarpSize) {
    double product = 0;
    double product_error = 0;
    if (first + lane < num_terms) {
      const Factors f = terms(first + lane);
      product = f.a * f.b;
      product_error = fma(f.a, f.b, -product);
    }
    const auto count = static_cast<int>(std::min<std::int64_t>(kWarpSize, num_terms - first));
#pragma unroll 4
    for (int source = 0; source < count; ++source) {
      const double p = __shfl_sync(kAllLanes, product, source);
      const double p_error = __shfl_sync(kAllLanes, product_error, source);
      const double t = high + p;
      const double z = t - high;
      const double s_error = (high - (t - z)) + (p - z);
      low = low + (s_error + p_error);
      high = t;
    }
  }
  return high + low;
}

template <class Terms>
[[nodiscard]] __device__ double sum_of_terms(std::int64_t num_terms, num::Fp64Summation summation, const Terms& terms) {
  return summation == num::Fp64Summation::kPairwise ? pairwise_sum(num_terms, terms)
                                                    : compensated_sum(num_terms, terms);
}

/// A product whose terms may underflow: they are taken relative to the largest of them.
template <class T>
[[nodiscard]] __device__ __noinline__ num::Scaled wide_product(const DeviceCall<T>& call, std::int64_t i,
                                                               std::int64_t j, problem::RealForm form) {
  const std::int64_t num_terms = call.a.num_terms();
  int largest = num::kNoExponent;
  for (std::int64_t t = lane_index(); t < num_terms; t += kWarpSize) {
    const double x = call.a.term(i, t);
    const double y = problem::term(call.b, form, j, t);
    if (x != 0.0 && y != 0.0) largest = std::max(largest, num::floor_log2(x) + num::floor_log2(y));
  }
  largest = __reduce_max_sync(kAllLanes, largest);
  if (largest == num::kNoExponent) return {};
  const double sum = sum_of_terms(num_terms, call.summation, [&](std::int64_t t) -> Factors {
    const double x = call.a.term(i, t);
    const double y = problem::term(call.b, form, j, t);
    if (x == 0.0 || y == 0.0) return {0.0, 0.0};
    const int e = num::floor_log2(y);
    return {num::ldexp(x, e - largest), num::ldexp(y, -e)};
  });
  return num::make_scaled(sum, largest);
}

/// One real product of a pair of finite lines.
template <class T>
[[nodiscard]] __device__ __noinline__ num::Scaled real_product(const DeviceCall<T>& call, std::int64_t i,
                                                               std::int64_t j, problem::RealForm form) {
  const num::LineStats row = call.a_stats[i];
  const num::LineStats col = call.b_stats[j];
  if (may_underflow(row, col)) return wide_product(call, i, j, form);
  if (row.is_zero() || col.is_zero()) return {};
  const num::ScaleFactors fa = headroom_factors(line_shift(row));
  const num::ScaleFactors fb = headroom_factors(line_shift(col));
  const double sum = sum_of_terms(call.a.num_terms(), call.summation, [&](std::int64_t t) -> Factors {
    return {call.a.term(i, t) * fa.first * fa.second, problem::term(call.b, form, j, t) * fb.first * fb.second};
  });
  return num::make_scaled(sum, -(line_shift(row) + line_shift(col)));
}

/// Answers element (i, j) of two finite lines.
template <class T>
__device__ __noinline__ void answer_pair(const DeviceCall<T>& call, std::int64_t i, std::int64_t j) {
  ScaledOf<T> product;
  if constexpr (kIsComplex<T>) {
    product.re = real_product(call, i, j, problem::RealForm::kRealPart);
    product.im = real_product(call, i, j, problem::RealForm::kImagPart);
  } else {
    product = real_product(call, i, j, problem::RealForm::kPlain);
  }
  if (lane_index() == 0) {
    write_element(call, i, j, [&](T alpha, T beta, T old) { return num::finish(product, alpha, beta, old); });
  }
}

/// The sum of the terms that are not finite. A finite line of the two is read only where the other one is not finite.
template <class T>
[[nodiscard]] __device__ double real_nonfinite_product(const DeviceCall<T>& call, std::int64_t i, std::int64_t j,
                                                       problem::RealForm form) {
  const bool look_at_a = !call.a_stats[i].is_finite;
  const bool look_at_b = !call.b_stats[j].is_finite;
  double sum = 0;
  for (std::int64_t t = lane_index(); t < call.a.num_terms(); t += kWarpSize) {
    const bool is_finite = (!look_at_a || num::is_finite(call.a.term(i, t))) &&
                           (!look_at_b || num::is_finite(problem::term(call.b, form, j, t)));
    if (!is_finite) sum += call.a.term(i, t) * problem::term(call.b, form, j, t);
  }
  // Only NaN, Inf and 0 are added: any order gives the same.
  for (int step = kWarpSize / 2; step > 0; step /= 2) sum += __shfl_xor_sync(kAllLanes, sum, step);
  return sum;
}

/// Answers element (i, j), of which a line holds NaN or Inf.
template <class T>
__device__ __noinline__ void answer_nonfinite_pair(const DeviceCall<T>& call, std::int64_t i, std::int64_t j) {
  WideOf<T> product;
  if constexpr (kIsComplex<T>) {
    const double re = real_nonfinite_product(call, i, j, problem::RealForm::kRealPart);
    product = {re, real_nonfinite_product(call, i, j, problem::RealForm::kImagPart)};
  } else {
    product = real_nonfinite_product(call, i, j, problem::RealForm::kPlain);
  }
  if (lane_index() == 0) {
    write_element(call, i, j, [&](T alpha, T beta, T old) { return num::finish_nonfinite(product, alpha, beta, old); });
  }
}

/// Calls answer(line) for every line with NaN or Inf, by all warps of the grid at once.
template <class Answer>
__device__ void for_each_nonfinite(const num::LineStats* stats, std::int64_t num_lines, const Answer& answer) {
  for (std::int64_t first = 0; first < num_lines; first += kWarpSize) {
    const std::int64_t line = first + lane_index();
    const bool is_nonfinite = line < num_lines && !stats[line].is_finite;
    for (unsigned found = __ballot_sync(kAllLanes, is_nonfinite); found != 0; found &= found - 1)
      answer(first + __ffs(static_cast<int>(found)) - 1);
  }
}

/// Answers all elements of lines with NaN or Inf. @param has_rows, has_cols there are such lines of op(A), of op(B)
template <class T>
__device__ __noinline__ void answer_nonfinite_lines(const DeviceCall<T>& call, bool has_rows, bool has_cols) {
  if (has_rows) {
    for_each_nonfinite(call.a_stats, call.c.rows, [&](std::int64_t i) {
      for (std::int64_t j = warp_index(); j < call.c.cols; j += num_warps()) answer_nonfinite_pair(call, i, j);
    });
  }
  if (has_cols) {
    for_each_nonfinite(call.b_stats, call.c.cols, [&](std::int64_t j) {
      for (std::int64_t i = warp_index(); i < call.c.rows; i += num_warps()) {
        if (call.a_stats[i].is_finite) answer_nonfinite_pair(call, i, j);
      }
    });
  }
}

/// Answers the pairs of the list.
template <class T>
__device__ __noinline__ void answer_repairs(const DeviceCall<T>& call) {
  const auto num_repairs = static_cast<std::int64_t>(call.state->num_repairs);
  for (std::int64_t p = warp_index(); p < num_repairs; p += num_warps()) {
    const device::Pair pair = call.repairs[p];
    if (call.a_stats[pair.row].is_finite && call.b_stats[pair.col].is_finite) answer_pair(call, pair.row, pair.col);
  }
}

}  // namespace kizami::fp64
