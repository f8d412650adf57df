// SPDX-License-Identifier: MIT
// Rows of the exact product, and the errors of others by three measures, from it and from the native product.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "device_bench.cuh"

namespace bench {

/// Errors of the sampled rows of C from those of X.
struct Errors {
  double frobenius = -1;  ///< ||C - X||_F / ||X||_F
  double element = -1;    ///< largest |C - X| / |X|
  double entry = -1;      ///< largest |C - X| / (|A||B|)
};

/// What compare_rows() adds up, for one X.
struct ErrorSums {
  double element, entry, squares, squares_of_x;

  __device__ void add(double difference, double x, double gauge) {
    if (difference != 0) raise_to(&element, fabs(difference / x));
    raise_to(&entry, fabs(difference) / gauge);
    atomicAdd(&squares, difference * difference);
    atomicAdd(&squares_of_x, x * x);
  }
};

/// The row of C that a sampled one is.
__host__ __device__ inline std::int64_t sampled_row(std::int64_t m, int num_rows, int row) {
  return m * row / num_rows;
}

/// exact: [rows][columns][parts]; a block for each column and row.
template <class R, int kTerms>
__global__ void exact_rows(const R* a, const R* b, std::int64_t m, std::int64_t k, ExactElement* exact) {
  const std::int64_t i = sampled_row(m, static_cast<int>(gridDim.y), static_cast<int>(blockIdx.y));
  for (int part = 0; part < kTerms; ++part) {
    const ExactElement x = exact_element<R, kTerms>(a + i * kTerms, m, b + blockIdx.x * k * kTerms, 1, k, part);
    if (threadIdx.x == 0) exact[(static_cast<std::int64_t>(blockIdx.y) * gridDim.x + blockIdx.x) * kTerms + part] = x;
  }
}

/// sums: of the exact product, and of the native one.
template <class R, int kTerms>
__global__ void compare_rows(const ExactElement* exact, const R* native, const R* c, std::int64_t m, std::int64_t n,
                             int num_rows, ErrorSums* sums) {
  for (std::int64_t at = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; at < num_rows * n * kTerms;
       at += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const std::int64_t i = sampled_row(m, num_rows, static_cast<int>(at / kTerms / n));
    const std::int64_t from = (at / kTerms % n * m + i) * kTerms + at % kTerms;
    const ExactElement x = exact[at];
    sums[0].add(x.error_of(c[from]), x.high, x.gauge);
    sums[1].add(static_cast<double>(c[from]) - native[from], native[from], x.gauge);
  }
}

/// Rows of A B and native C, column-major, beside which products are held.
template <class R, int kTerms>
class Reference {
 public:
  Reference(const R* a, const R* b, const R* native, std::int64_t m, std::int64_t n, std::int64_t k, int num_rows)
      : native_(native),
        m_(m),
        n_(n),
        num_rows_(static_cast<int>(std::min<std::int64_t>(num_rows, m))),
        exact_(num_rows_ * n * kTerms),
        sums_(2) {
    exact_rows<R, kTerms>
        <<<dim3(static_cast<unsigned>(n), static_cast<unsigned>(num_rows_)), 128>>>(a, b, m, k, exact_.data);
    check(cudaGetLastError(), "exact rows");
  }

  struct Found {
    Errors from_exact, from_native;
  };
  /// Waits for the device.
  [[nodiscard]] Found errors(const R* c) const {
    ErrorSums sums[2];
    check(cudaMemset(sums_.data, 0, sizeof sums), "errors");
    compare_rows<R, kTerms><<<512, 256>>>(exact_.data, native_, c, m_, n_, num_rows_, sums_.data);
    check(cudaMemcpy(sums, sums_.data, sizeof sums, cudaMemcpyDeviceToHost), "errors");
    const auto errors_of = [](const ErrorSums& s) {
      return Errors{std::sqrt(s.squares / s.squares_of_x), s.element, s.entry};
    };
    return {errors_of(sums[0]), errors_of(sums[1])};
  }

 private:
  const R* native_;
  std::int64_t m_, n_;
  int num_rows_;
  DeviceBuffer<ExactElement> exact_;
  DeviceBuffer<ErrorSums> sums_;
};

}  // namespace bench
