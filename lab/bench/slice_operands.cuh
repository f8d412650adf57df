// SPDX-License-Identifier: MIT
// What the programs that multiply by tile kernels of floating slices share: normal operands on the device, the largest
// element, and how far a product is from the exact and from another one.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "device_bench.cuh"

namespace bench {

static __global__ void fill_normal(double* data, std::int64_t count, std::uint64_t seed) {
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const std::uint64_t at = seed * 0x1000000000ull + 2 * static_cast<std::uint64_t>(i);
    data[i] = sqrt(-2.0 * log(unit(at))) * cospi(2.0 * unit(at + 1));
  }
}

static __global__ void find_largest(const double* data, std::int64_t count, double* largest) {
  double mine = 0;
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    mine = fmax(mine, fabs(data[i]));
  }
  raise_to(largest, mine);
}
[[nodiscard]] inline double largest_of(const double* data, std::int64_t count) {
  const DeviceBuffer<double> largest(1);
  check(cudaMemset(largest.data, 0, sizeof(double)), "largest element");
  find_largest<<<2048, 256>>>(data, count, largest.data);
  double found = 0;
  check(cudaMemcpy(&found, largest.data, sizeof found, cudaMemcpyDeviceToHost), "largest element");
  return found;
}

template <class T>
void upload(const DeviceBuffer<T>& to, const std::vector<T>& from) {
  check(cudaMemcpy(to.data, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice), "upload");
}

/// Of eight rows of C from the exact product.
struct ProductError {
  double entry;      ///< largest |C - AB| / (|A||B|)
  double frobenius;  ///< ||C - AB|| / ||AB||
};
/// Row-major n x n; C is seen as its transpose, so that columns are read.
[[nodiscard]] inline ProductError error_of_columns(const double* a, const double* b, const double* c, std::int64_t n) {
  constexpr int kColumns = 8;
  const DeviceBuffer<double> sums(3);
  check(cudaMemset(sums.data, 0, 3 * sizeof(double)), "errors");
  for (int sample = 0; sample < kColumns; ++sample) {
    row_error<double, 1><<<static_cast<unsigned>(n), 256>>>(
        b, {1, n}, a, {1, n}, c, n, n, sample * (n - 1) / (kColumns - 1), sums.data, sums.data + 1);
  }
  double found[3];
  check(cudaMemcpy(found, sums.data, sizeof found, cudaMemcpyDeviceToHost), "errors");
  return {found[0], std::sqrt(found[1] / found[2])};
}

/// Adds the squares of x - y and of y to sums[0] and sums[1], raises sums[2] and sums[3] to the largest of their
/// magnitudes, and adds the elements that differ to *differences.
static __global__ void compare(const double* x, const double* y, std::int64_t count, double* sums,
                               unsigned long long* differences) {
  double squares = 0;
  double squares_of_y = 0;
  double largest = 0;
  double largest_of_y = 0;
  unsigned long long differ = 0;
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const double d = x[i] - y[i];
    squares += d * d;
    squares_of_y += y[i] * y[i];
    largest = d == d ? fmax(largest, fabs(d)) : 1e300;
    largest_of_y = fmax(largest_of_y, fabs(y[i]));
    differ += __double_as_longlong(x[i]) != __double_as_longlong(y[i]) ? 1 : 0;
  }
  atomicAdd(&sums[0], squares);
  atomicAdd(&sums[1], squares_of_y);
  raise_to(&sums[2], largest);
  raise_to(&sums[3], largest_of_y);
  if (differ != 0) atomicAdd(differences, differ);
}

/// Of x from y.
struct Difference {
  double frobenius;  ///< ||x - y|| / ||y||
  double largest;    ///< largest |x - y| over largest |y|
  unsigned long long elements;
};
[[nodiscard]] inline Difference difference(const double* x, const double* y, std::int64_t count) {
  const DeviceBuffer<double> sums(4);
  const DeviceBuffer<unsigned long long> differences(1);
  check(cudaMemset(sums.data, 0, 4 * sizeof(double)), "squares");
  check(cudaMemset(differences.data, 0, sizeof(unsigned long long)), "differences");
  compare<<<2048, 256>>>(x, y, count, sums.data, differences.data);
  double found[4];
  Difference result{};
  check(cudaMemcpy(found, sums.data, sizeof found, cudaMemcpyDeviceToHost), "squares");
  check(cudaMemcpy(&result.elements, differences.data, sizeof result.elements, cudaMemcpyDeviceToHost), "differences");
  result.frobenius = std::sqrt(found[0] / found[1]);
  result.largest = found[2] / found[3];
  return result;
}

}  // namespace bench
