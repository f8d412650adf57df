// SPDX-License-Identifier: MIT
// Kernels over the elements of a buffer: numbers of a seed, sums, comparisons.
#include <cuda_runtime.h>

#include "gpu_soak/device.hpp"

namespace gpu_soak {
namespace {

constexpr int kThreads = 256;
constexpr unsigned kMaxBlocks = 1024;

__device__ std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}
/// In (-1/2, 1/2), never 0.
__device__ double centred(std::uint64_t seed, std::uint64_t at) {
  return (static_cast<double>(mixed(seed + at * 0x9e3779b97f4a7c15ULL) >> 12) + 0.5) * 0x1p-52 - 0.5;
}

__device__ std::int64_t first_index() { return blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; }
__device__ std::int64_t num_threads() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

unsigned blocks(std::int64_t count) {
  const auto wanted = static_cast<std::uint64_t>((count + kThreads - 1) / kThreads);
  return wanted < 1 ? 1 : wanted > kMaxBlocks ? kMaxBlocks : static_cast<unsigned>(wanted);
}

__device__ double magnified(double u, double exponent, Numbers numbers) {
  if (numbers == Numbers::kIntegers) return ldexp(rint(16 * u), static_cast<int>(rint(exponent / 0.6931471805599453)));
  return u * exp(exponent);
}

template <class R, int kParts>
__global__ void fill_parts(R* buffer, std::int64_t count, const Filling x) {
  for (std::int64_t p = first_index(); p < count; p += num_threads()) {
    const std::int64_t place = p / kParts - x.offset;
    const std::int64_t row = place < 0 ? -1 : place % x.ld;
    const std::int64_t col = place < 0 ? -1 : place / x.ld;
    const auto at = static_cast<std::uint64_t>(p);
    double value = centred(x.seed, at);
    if (x.is_dominant) {
      // Of a row the elements beside the diagonal add up to less than 1/2 of it.
      value = row == col ? (p % kParts == 0 ? 1 + fabs(value) : value) : value / static_cast<double>(x.ld);
    } else {
      const auto owner = static_cast<std::uint64_t>(x.elements.spread == Spread::kElements ? p / kParts
                                                    : x.elements.spread == Spread::kRows   ? row
                                                                                           : col);
      const double spread = x.elements.phi * 3.46410161513775 * centred(~x.seed, owner);
      value = magnified(value, spread, x.elements.numbers);
      const double chance = centred(x.seed ^ 0x5555555555555555ULL, at) + 0.5;
      if (x.elements.numbers == Numbers::kThirdZero && chance < 0.33) value = 0;
      if (x.elements.numbers == Numbers::kMostlyZero && chance < 0.95) value = 0;
    }
    if (x.has_nan && mixed(x.seed ^ ~at) % 8 == 0) value = __longlong_as_double(0x7ff8000000000000LL);
    buffer[p] = static_cast<R>(value);
  }
}

template <class R>
__global__ void place_part(R* part, int kind) {
  constexpr double kInfinity = HUGE_VAL;
  *part = static_cast<R>(kind == 0 ? kInfinity - kInfinity : kind * kInfinity);
}

__global__ void add_words(const std::uint32_t* words, std::int64_t count, unsigned long long* sum) {
  unsigned long long own = 0;
  for (std::int64_t i = first_index(); i < count; i += num_threads()) {
    own += words[i] * (2 * static_cast<unsigned long long>(i) + 1);
  }
  for (int step = 16; step > 0; step /= 2) own += __shfl_down_sync(~0U, own, step);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, own);
}

__global__ void compare_words(const std::uint32_t* words, const std::uint32_t* expected, std::int64_t count,
                              Findings* findings) {
  for (std::int64_t i = first_index(); i < count; i += num_threads()) {
    if (words[i] == expected[i]) continue;
    atomicAdd(&findings->num_written, 1ULL);
    atomicMin(&findings->first_written, static_cast<unsigned long long>(i));
  }
}

/// Of words of an element of C, stored at c_ld, and of X, stored at x_ld.
template <bool kCopies>
__global__ void visit_elements(std::uint32_t* x, std::int64_t x_ld, const std::uint32_t* c, std::int64_t c_ld,
                               std::int64_t rows, std::int64_t cols, int words, Findings* findings) {
  for (std::int64_t t = first_index(); t < rows * cols * words; t += num_threads()) {
    const std::int64_t i = t / words % rows;
    const std::int64_t j = t / words / rows;
    std::uint32_t& of_x = x[(i + j * x_ld) * words + t % words];
    const std::uint32_t of_c = c[(i + j * c_ld) * words + t % words];
    if constexpr (kCopies) {
      of_x = of_c;
    } else if (of_x != of_c) {
      atomicAdd(&findings->num_other_bits, 1ULL);
      atomicMin(&findings->first_other_bits,
                static_cast<unsigned long long>(j) << 28 | static_cast<unsigned long long>(i));
    }
  }
}

template <bool kCopies>
void visit(kizami::Scalar scalar, void* x, const Matrix& of_x, const void* c, const Matrix& of_c, Findings* findings,
           cudaStream_t stream) {
  const auto words = static_cast<int>(element_bytes(scalar) / 4);
  if (of_c.rows == 0 || of_c.cols == 0) return;
  visit_elements<kCopies><<<blocks(of_c.rows * of_c.cols * words), kThreads, 0, stream>>>(
      static_cast<std::uint32_t*>(x) + of_x.offset * words, of_x.ld,
      static_cast<const std::uint32_t*>(c) + of_c.offset * words, of_c.ld, of_c.rows, of_c.cols, words, findings);
  check(cudaGetLastError(), "launch of a kernel over elements");
}

}  // namespace

void fill(kizami::Scalar scalar, void* buffer, std::int64_t num_elements, const Filling& filling, cudaStream_t stream) {
  const bool is_complex = kizami::is_complex(scalar);
  const std::int64_t count = num_elements * (is_complex ? 2 : 1);
  const auto fill_as = [&](auto kernel, auto* parts) {
    kernel<<<blocks(count), kThreads, 0, stream>>>(parts, count, filling);
  };
  if (kizami::real_of(scalar) == kizami::Scalar::kF32) {
    fill_as(is_complex ? fill_parts<float, 2> : fill_parts<float, 1>, static_cast<float*>(buffer));
  } else {
    fill_as(is_complex ? fill_parts<double, 2> : fill_parts<double, 1>, static_cast<double*>(buffer));
  }
  check(cudaGetLastError(), "launch of a fill");
}

void place(kizami::Scalar scalar, void* buffer, const Exception& exception, cudaStream_t stream) {
  if (kizami::real_of(scalar) == kizami::Scalar::kF32) {
    place_part<<<1, 1, 0, stream>>>(static_cast<float*>(buffer) + exception.at, exception.kind);
  } else {
    place_part<<<1, 1, 0, stream>>>(static_cast<double*>(buffer) + exception.at, exception.kind);
  }
  check(cudaGetLastError(), "launch of an exception");
}

void add_sum(const void* buffer, std::int64_t bytes, unsigned long long* sum, cudaStream_t stream) {
  add_words<<<blocks(bytes / 4), kThreads, 0, stream>>>(static_cast<const std::uint32_t*>(buffer), bytes / 4, sum);
  check(cudaGetLastError(), "launch of a sum");
}

void expect_equal(const void* buffer, const void* expected, std::int64_t bytes, Findings* findings,
                  cudaStream_t stream) {
  compare_words<<<blocks(bytes / 4), kThreads, 0, stream>>>(
      static_cast<const std::uint32_t*>(buffer), static_cast<const std::uint32_t*>(expected), bytes / 4, findings);
  check(cudaGetLastError(), "launch of a comparison");
}

void copy_elements(kizami::Scalar scalar, const void* c0, const Matrix& c, void* x, const Matrix& of_x,
                   cudaStream_t stream) {
  visit<true>(scalar, x, of_x, c0, c, nullptr, stream);
}

void expect_same_bits(kizami::Scalar scalar, const void* c, const Matrix& of_c, const void* x, const Matrix& of_x,
                      Findings* findings, cudaStream_t stream) {
  visit<false>(scalar, const_cast<void*>(x), of_x, c, of_c, findings, stream);
}

}  // namespace gpu_soak
