// SPDX-License-Identifier: MIT
// What the cost functions of the host take a processor to reach: numbers that were fitted once (docs/perf/cpu_int8.md),
// or those of this processor if kizami calibrate has measured it. No bit hangs on them but by the choice between schemes
// where bits are not promised.
#pragma once

#include <array>
#include <cmath>

namespace kizami::product {

/// Multiply-adds a second and thread of square products by the BLAS.
struct NativeRates {
  struct Point {
    double n = 0;
    double rate = 0;
  };
  static constexpr int kMostPoints = 8;
  std::array<Point, kMostPoints> points{};  ///< by ascending n > 0
  int num_points = 0;                       ///< at least 1

  /// Between two sizes by the logarithm of n; beyond them that of the nearest.
  [[nodiscard]] double at(double n) const {
    int above = 0;
    while (above < num_points && points[static_cast<std::size_t>(above)].n < n) ++above;
    if (above == 0) return points[0].rate;
    const Point& low = points[static_cast<std::size_t>(above - 1)];
    if (above == num_points) return low.rate;
    const Point& high = points[static_cast<std::size_t>(above)];
    const double share = std::log(n / low.n) / std::log(high.n / low.n);
    return low.rate + share * (high.rate - low.rate);
  }
  [[nodiscard]] static NativeRates same(double rate) { return {{Point{1, rate}}, 1}; }
};

struct ProcessorRates {
  // Of one thread.
  double split_seconds = 1.0e-9;        ///< an element and plane
  double narrow_crt_seconds = 65e-9;    ///< an element of C, up to 16 moduli
  double wide_crt_seconds = 120e-9;     ///< beyond
  double certificate_seconds = 13e-9;   ///< an element of C; not measured
  double look_bytes_per_second = 8e9;   ///< of the look at exponents
  double thread_start_seconds = 10e-6;  ///< until a sleeping one works
  NativeRates native_f64 = NativeRates::same(2.4e10);
  NativeRates native_f32 = NativeRates::same(5.6e10);
  // What engines reach of the rates in their cost functions.
  double cpu_simd = 1;
  double tile = 1;
  double cpu_ref = 1;
  double tc_model = 1;
  // Of all threads.
  double copy_bytes_per_second = 0;  ///< read and written; 0: nobody has measured
};

}  // namespace kizami::product
