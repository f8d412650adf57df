// SPDX-License-Identifier: MIT
#include "bench_baselines.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "check/float_float.hpp"
#include "check/parallel.hpp"
#include "failure.hpp"

// The compiler vectorises the loops below where the processor has fused multiply-adds.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define KIZAMI_FMA_CLONES __attribute__((target_clones("fma", "default"), flatten))
#else
#define KIZAMI_FMA_CLONES
#endif

namespace kizami::cli {
namespace {

__extension__ using Float128 = __float128;
using check::FloatFloat;

/// Adds column[i] * y to the double-double sums hi[i] + lo[i].
KIZAMI_FMA_CLONES void add_column(std::int64_t m, const double* column, double y, double* hi, double* lo) {
  for (std::int64_t i = 0; i < m; ++i) {
    const double p = column[i] * y;
    const double p_error = std::fma(column[i], y, -p);
    const double s = hi[i] + p;
    const double z = s - hi[i];
    const double s_error = (hi[i] - (s - z)) + (p - z);
    const double rest = s_error + (lo[i] + p_error);
    hi[i] = s + rest;
    lo[i] = rest - (hi[i] - s);
  }
}

/// Adds column[i] * y to the float-float sums hi[i] + lo[i].
KIZAMI_FMA_CLONES void add_column(std::int64_t m, const float* column_hi, const float* column_lo, FloatFloat y,
                                  float* __restrict hi, float* __restrict lo) {
  for (std::int64_t i = 0; i < m; ++i) {
    const FloatFloat sum = check::multiply_add({hi[i], lo[i]}, {column_hi[i], column_lo[i]}, {y.hi, y.lo});
    hi[i] = sum.hi;
    lo[i] = sum.lo;
  }
}

/// A matrix as two of FP32.
struct FloatFloats {
  std::vector<float> hi;
  std::vector<float> lo;
};
FloatFloats to_float_floats(char name, const double* x, std::int64_t rows, std::int64_t cols) {
  const auto count = static_cast<std::size_t>(rows * cols);
  FloatFloats out{std::vector<float>(count), std::vector<float>(count)};
  for (std::size_t i = 0; i < count; ++i) {
    if (!check::is_float_float(x[i])) {
      const auto at = static_cast<std::int64_t>(i);
      throw Failure(ExitCode::kRefused,
                    fmt::format("ff32: {}({}, {}) = {:g}, must be 0 or within 2^-{}..2^{}", name, at % rows, at / rows,
                                x[i], check::kMostFloatFloatExponent, check::kMostFloatFloatExponent));
    }
    const FloatFloat pair = check::to_float_float(x[i]);
    out.hi[i] = pair.hi;
    out.lo[i] = pair.lo;
  }
  return out;
}

}  // namespace

void multiply_double_double(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, const double* b,
                            DoubleDouble* c, int threads) {
  check::parallel_for(n, m * n * k, threads, [&](std::int64_t j) {
    std::vector<double> hi(static_cast<std::size_t>(m));
    std::vector<double> lo(static_cast<std::size_t>(m));
    for (std::int64_t h = 0; h < k; ++h) add_column(m, a + h * m, b[j * k + h], hi.data(), lo.data());
    for (std::int64_t i = 0; i < m; ++i)
      c[j * m + i] = {hi[static_cast<std::size_t>(i)], lo[static_cast<std::size_t>(i)]};
  });
}

void multiply_float128(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, const double* b,
                       DoubleDouble* c, int threads) {
  check::parallel_for(n, m * n * k, threads, [&](std::int64_t j) {
    std::vector<Float128> sums(static_cast<std::size_t>(m));
    for (std::int64_t h = 0; h < k; ++h) {
      const Float128 y = b[j * k + h];
      for (std::int64_t i = 0; i < m; ++i) sums[static_cast<std::size_t>(i)] += static_cast<Float128>(a[h * m + i]) * y;
    }
    for (std::int64_t i = 0; i < m; ++i) {
      const Float128 sum = sums[static_cast<std::size_t>(i)];
      const auto hi = static_cast<double>(sum);
      c[j * m + i] = {hi, static_cast<double>(sum - static_cast<Float128>(hi))};
    }
  });
}

void multiply_float_float(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, const double* b, double* c,
                          int threads) {
  if (k > check::kMostFloatFloatTerms)
    throw Failure(ExitCode::kRefused, fmt::format("ff32: k = {}, must be <= {}", k, check::kMostFloatFloatTerms));
  const FloatFloats x = to_float_floats('A', a, m, k);
  const FloatFloats y = to_float_floats('B', b, k, n);
  check::parallel_for(n, m * n * k, threads, [&](std::int64_t j) {
    std::vector<float> hi(static_cast<std::size_t>(m));
    std::vector<float> lo(static_cast<std::size_t>(m));
    for (std::int64_t h = 0; h < k; ++h) {
      const auto at = static_cast<std::size_t>(j * k + h);
      add_column(m, x.hi.data() + h * m, x.lo.data() + h * m, {y.hi[at], y.lo[at]}, hi.data(), lo.data());
    }
    for (std::int64_t i = 0; i < m; ++i)
      c[j * m + i] = check::to_double({hi[static_cast<std::size_t>(i)], lo[static_cast<std::size_t>(i)]});
  });
}

}  // namespace kizami::cli
