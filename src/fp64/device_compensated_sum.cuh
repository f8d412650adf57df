// SPDX-License-Identifier: MIT
// Dot2 with the additions of its two sums side by side. @cite [ORO2005, algorithm 5.3]
#pragma once

#include <cuda_runtime.h>

namespace kizami::fp64 {

inline constexpr int kSummedAtOnce = 8;  ///< products

/// A product and what its rounding lost.
struct Product {
  double value;
  double error;

  __device__ __forceinline__ Product() : value(0), error(0) {}
  __device__ __forceinline__ Product(double a, double b) : value(a * b), error(fma(a, b, -value)) {}
};

/// Products that are added one behind the other, and the sums before each of them.
struct SummedProducts {
  Product products[kSummedAtOnce] = {};
  double before[kSummedAtOnce] = {};
  double after = 0;
};

/// Dot2: the sum of products, and that of the errors of both. Of the former only the sums follow from one another, and
/// errors are needed by nobody but their own sum: so the errors of some products are found while the next ones are
/// added.
struct CompensatedSum {
  double high = 0;
  double low = 0;

  /// Adds products, and the errors of those that were added before them.
  __device__ __forceinline__ void add(SummedProducts& next, const SummedProducts& last) {
#pragma unroll
    for (int i = 0; i < kSummedAtOnce; ++i) {
      next.before[i] = high;
      high = high + next.products[i].value;
    }
    next.after = high;
    add_errors(last);
  }
  __device__ __forceinline__ void add_errors(const SummedProducts& of) {
#pragma unroll
    for (int i = 0; i < kSummedAtOnce; ++i) {
      const Product& p = of.products[i];
      const double t = i + 1 < kSummedAtOnce ? of.before[i + 1] : of.after;
      const double z = t - of.before[i];
      const double s_error = (of.before[i] - (t - z)) + (p.value - z);
      low = low + (s_error + p.error);
    }
  }
};

}  // namespace kizami::fp64
