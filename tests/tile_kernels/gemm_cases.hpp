// SPDX-License-Identifier: MIT
// Products by the GEMM tile kernel on the host against exact sums of products: every order of the operands, shapes
// around the edges of tiles, strides larger than the matrix.
//   |C - AB| <= (k u_acc + u_out + k u_acc u_out) |A||B| + half a subnormal of C's type, for any order of the sums;
//   integers: C = AB
// @cite JR2013, theorem 4.2
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "check/exact.hpp"
#include "kizami/formats.hpp"
#include "num/bounds.hpp"
#include "tests/sanitized.hpp"
#include "tile_kernels/gemm.hpp"

namespace kizami::tile_kernels_test {

using tile_kernels::GemmTypes;
using tile_kernels::Order;

/// Unit roundoff of an element type and half its smallest subnormal number; 0 for integers.
struct Rounding {
  double relative;
  double absolute;
};
template <class T>
Rounding rounding_of() {
  if constexpr (std::is_integral_v<T>) return {0, 0};
  if constexpr (std::is_same_v<T, double>) return {num::unit_roundoff(Scalar::kF64), 0x1p-1074};
  if constexpr (std::is_same_v<T, float>) return {num::unit_roundoff(Scalar::kF32), 0x1p-150};
  if constexpr (std::is_same_v<T, __half>) return {Fp16::unit_roundoff(), Fp16::min_subnormal().to_double() / 2};
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return {Bf16::unit_roundoff(), Bf16::min_subnormal().to_double() / 2};
}

/// An element as the double that it is, and the nearest element to a double.
template <class T>
double to_double(T x) {
  if constexpr (std::is_same_v<T, double> || std::is_integral_v<T>) {
    return static_cast<double>(x);
  } else if constexpr (std::is_same_v<T, __nv_tf32>) {
    return __builtin_bit_cast(Tf32, x).to_double();
  } else {
    return static_cast<double>(static_cast<float>(x));
  }
}
template <class T>
T from_double(double x) {
  if constexpr (std::is_same_v<T, __nv_tf32>) {
    return __builtin_bit_cast(T, Tf32::from(x));
  } else if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(x);
  } else {
    return T(static_cast<float>(x));
  }
}
/// What the kernel multiplies in place of x.
template <class Types>
double factor(typename Types::Element x) {
  if constexpr (std::is_same_v<typename Types::MmaFactor, typename Types::Element>) return to_double(x);
  return to_double(from_double<typename Types::MmaFactor>(to_double(x)));
}

struct Shape {
  int m, n, k;
};
/// Around one and two tiles of 32 x 64 in steps of 16; k = 0 gives zeros.
inline constexpr std::array<Shape, 11> kShapes = {{{1, 1, 1},
                                                   {32, 64, 16},
                                                   {31, 63, 15},
                                                   {33, 65, 17},
                                                   {64, 128, 48},
                                                   {5, 200, 33},
                                                   {97, 3, 31},
                                                   {1, 64, 100},
                                                   {40, 1, 7},
                                                   {17, 9, 0},
                                                   {100, 130, 70}}};

/// A matrix in memory whose lines of the contiguous index are `pad` elements apart, which hold a canary.
template <class T>
struct Matrix {
  Matrix(int rows_, int cols_, Order order_, int stride_)
      : rows(rows_), cols(cols_), order(order_), stride(stride_), memory(count(), from_double<T>(kCanary)) {}

  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(order == Order::kRowMajor ? rows : cols) * static_cast<std::size_t>(stride) + 1;
  }
  [[nodiscard]] std::size_t at(int i, int j) const {
    return order == Order::kRowMajor
               ? static_cast<std::size_t>(i) * static_cast<std::size_t>(stride) + static_cast<std::size_t>(j)
               : static_cast<std::size_t>(j) * static_cast<std::size_t>(stride) + static_cast<std::size_t>(i);
  }
  [[nodiscard]] T operator()(int i, int j) const { return memory[at(i, j)]; }
  T& operator()(int i, int j) { return memory[at(i, j)]; }

  static constexpr double kCanary = -77;
  int rows, cols;
  Order order;
  int stride;
  std::vector<T> memory;
};

template <class T>
void fill_random(Matrix<T>& matrix, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> bytes(-128, 127);
  for (int i = 0; i < matrix.rows; ++i) {
    for (int j = 0; j < matrix.cols; ++j) {
      matrix(i, j) = from_double<T>(std::is_integral_v<T> ? bytes(random) : normal(random));
    }
  }
}

/// C against the exact product of the factors, and its padding against the canary.
template <class Types>
void expect_product(const Matrix<typename Types::Element>& A, const Matrix<typename Types::Element>& B,
                    const Matrix<typename Types::Result>& C, const std::string& what) {
  const int k = A.cols;
  const Rounding sum = rounding_of<typename Types::Accumulator>();
  const Rounding store = rounding_of<typename Types::Result>();
  const double of_sum = num::dot_bound(k, sum.relative);
  const double units = std::is_integral_v<typename Types::Result>
                           ? 0
                           : (of_sum + store.relative + of_sum * store.relative) * num::kSlackUp;
  for (int i = 0; i < C.rows; ++i) {
    for (int j = 0; j < C.cols; ++j) {
      if (tests::is_left_out(i * C.cols + j, 7)) continue;
      check::Exact error(-to_double(C(i, j)));
      check::Exact magnitude;
      for (int l = 0; l < k; ++l) {
        const double x = factor<Types>(A(i, l));
        const double y = factor<Types>(B(l, j));
        error.add_product(x, y);
        magnitude.add_product(std::fabs(x), std::fabs(y));
      }
      check::Exact allowed = magnitude.times(units);
      allowed.add(store.absolute);
      ASSERT_TRUE(error.abs() <= allowed) << what << ": C(" << i << ", " << j << ") = " << to_double(C(i, j))
                                          << " is off by " << error.template rounded<double>();
    }
  }
  for (int i = 0; i < C.rows; ++i) {
    for (int pad = C.cols; pad < C.stride; ++pad) {
      ASSERT_EQ(to_double(C.memory[C.at(i, pad)]), C.kCanary)
          << what << ": written beyond the row, at " << i << ", " << pad;
    }
  }
}

/// One launch. @range kAligned: strides are multiples of 16 elements, memory of 16 bytes
template <class Types, Order kA, Order kB, bool kAligned>
void expect_gemm(const Shape& s, int group, int threads) {
  const auto stride = [](int extent) { return kAligned ? (extent + 31) / 16 * 16 : extent + 3; };
  Matrix<typename Types::Element> A(s.m, s.k, kA, stride(kA == Order::kRowMajor ? s.k : s.m));
  Matrix<typename Types::Element> B(s.k, s.n, kB, stride(kB == Order::kRowMajor ? s.n : s.k));
  Matrix<typename Types::Result> C(s.m, s.n, Order::kRowMajor, stride(s.n));
  std::mt19937 random(static_cast<unsigned>(s.m * 10000 + s.n * 100 + s.k));
  fill_random(A, random);
  fill_random(B, random);
  tile::LaunchOptions options;
  options.max_threads = threads;
  options.block_order = tile::BlockOrder::kShuffled;
  const auto grid = static_cast<unsigned>(((s.m + 31) / 32) * ((s.n + 63) / 64));
  const Status status = KIZAMI_TILE_LAUNCH((tile_kernels::gemm_block<Types, 32, 64, 16, kA, kB, kAligned>), grid,
                                           &options, A.memory.data(), A.stride, B.memory.data(), B.stride,
                                           C.memory.data(), C.stride, s.m, s.n, s.k, group);
  const std::string what = std::to_string(s.m) + " x " + std::to_string(s.n) + " x " + std::to_string(s.k) +
                           (kA == Order::kRowMajor ? " row" : " col") + (kB == Order::kRowMajor ? " row" : " col") +
                           (kAligned ? " aligned" : "") + " group=" + std::to_string(group);
  ASSERT_TRUE(status.ok()) << what << ": " << status.reason();
  expect_product<Types>(A, B, C, what);
}

/// Every shape in each of the four orders; the aligned form of the two that the device uses.
template <class Types>
void expect_gemms() {
  int group = 0;
  for (const Shape& shape : kShapes) {
    group = group % 3 + 1;
    expect_gemm<Types, Order::kRowMajor, Order::kRowMajor, false>(shape, group, 2);
    expect_gemm<Types, Order::kRowMajor, Order::kColMajor, false>(shape, group, 1);
    expect_gemm<Types, Order::kColMajor, Order::kRowMajor, false>(shape, group, 2);
    expect_gemm<Types, Order::kColMajor, Order::kColMajor, false>(shape, group, 1);
    expect_gemm<Types, Order::kRowMajor, Order::kColMajor, true>(shape, group, 2);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace kizami::tile_kernels_test
