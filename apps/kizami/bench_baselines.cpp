// SPDX-License-Identifier: MIT
#include "bench_baselines.hpp"

#include <cmath>
#include <vector>

#include "check/parallel.hpp"

// The compiler vectorises the loop below where the processor has fused multiply-adds.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define KIZAMI_FMA_CLONES __attribute__((target_clones("arch=haswell", "default")))
#else
#define KIZAMI_FMA_CLONES
#endif

namespace kizami::cli {
namespace {

__extension__ using Float128 = __float128;

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

}  // namespace kizami::cli
