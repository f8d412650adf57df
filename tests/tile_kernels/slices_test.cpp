// SPDX-License-Identifier: MIT
// Floating slices: the split is exact, slices are as short as their sums need, and the fused product of pairs rounds in
// FP64 only.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "check/exact.hpp"
#include "kizami/policy.hpp"
#include "num/bounds.hpp"
#include "num/float_slices.hpp"
#include "tile_kernels/slice_diagonal.hpp"
#include "tile_kernels/slice_product.hpp"
#include "tile_kernels/slice_product_whole_k.hpp"
#include "tile_kernels/veltkamp_split.hpp"

namespace kizami::tile_kernels_test {
namespace {

using check::Exact;
using tile_kernels::ScaleOf;

std::size_t at(int i) { return static_cast<std::size_t>(i); }
template <class Slice>
double to_double(Slice x) {
  return static_cast<double>(static_cast<float>(x));
}

/// A matrix of normal numbers times powers of two in [2^-spread, 2^spread], and its slices.
template <class Slice, ScaleOf kScaleOf>
struct Sliced {
  Sliced(int rows_, int cols_, int rho_, int num_slices_, int spread, unsigned seed)
      : rows(rows_), cols(cols_), rho(rho_), num_slices(num_slices_), x(at(rows * cols)), exponents(at(num_lines())) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::uniform_int_distribution<int> exponent(-spread, spread);
    for (double& v : x) v = std::ldexp(normal(random), exponent(random));
    for (int line = 0; line < num_lines(); ++line) {
      double largest = 0;
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < cols; ++j) {
          if (kScaleOf == ScaleOf::kMatrix || i == line) largest = std::max(largest, std::fabs(x[at(i * cols + j)]));
        }
      }
      exponents[at(line)] = num::slice_exponent(largest);
    }
    std::vector<double> sigmas;
    std::vector<double> inverse_scales;
    for (int p = 0; p < num_slices; ++p) {
      for (const int c : exponents) {
        sigmas.push_back(num::slice_sigma(c, rho, p));
        inverse_scales.push_back(1 / num::slice_scale(c, rho, p));
      }
    }
    slices.resize(at(num_slices * rows * cols));
    const auto grid = static_cast<unsigned>(((rows + 7) / 8) * ((cols + 15) / 16));
    const Status status = KIZAMI_TILE_LAUNCH((tile_kernels::veltkamp_split_block<Slice, 8, 16, kScaleOf, false>), grid,
                                             nullptr, x.data(), cols, slices.data(), std::int64_t{rows} * cols, cols,
                                             sigmas.data(), inverse_scales.data(), num_lines(), num_slices, rows, cols);
    EXPECT_TRUE(status.ok()) << status.reason();
  }

  [[nodiscard]] int num_lines() const { return kScaleOf == ScaleOf::kRow ? rows : 1; }
  [[nodiscard]] int exponent_of(int i) const { return exponents[at(kScaleOf == ScaleOf::kRow ? i : 0)]; }
  [[nodiscard]] double slice(int p, int i, int j) const { return to_double(slices[at((p * rows + i) * cols + j)]); }

  int rows, cols, rho, num_slices;
  std::vector<double> x;
  std::vector<int> exponents;
  std::vector<Slice> slices;
};

template <class Slice, ScaleOf kScaleOf>
void expect_exact_split(int rho, int num_slices) {
  for (const int rows : {1, 8, 13}) {
    for (const int cols : {1, 16, 37}) {
      const Sliced<Slice, kScaleOf> s(rows, cols, rho, num_slices, 3, static_cast<unsigned>(rows * 100 + cols));
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < cols; ++j) {
          const int c = s.exponent_of(i);
          Exact rest(s.x[at(i * cols + j)]);
          for (int p = 0; p < num_slices; ++p) {
            const double slice = s.slice(p, i, j);
            const double units = std::ldexp(slice, 53 - rho);
            ASSERT_TRUE(std::fabs(slice) <= 1 && units == std::rint(units)) << "slice " << p << " is " << slice;
            rest.add_product(-slice, num::slice_scale(c, rho, p));
          }
          const Exact limit(std::ldexp(1.0, rho + c - 54 - (num_slices - 1) * num::slice_advance(rho)));
          ASSERT_TRUE(rest.abs() <= limit) << rows << " x " << cols << " at " << i << ", " << j;
        }
      }
    }
  }
}

TEST(VeltkampSplit, Bf16) {
  expect_exact_split<__nv_bfloat16, ScaleOf::kMatrix>(num::slice_rho(128, 8), 7);
  expect_exact_split<__nv_bfloat16, ScaleOf::kRow>(num::slice_rho(128, 8), 7);
}
TEST(VeltkampSplit, Fp16) {
  expect_exact_split<__half, ScaleOf::kMatrix>(num::slice_rho(1024, 11), 8);
  expect_exact_split<__half, ScaleOf::kRow>(num::slice_rho(1024, 11), 8);
}
TEST(VeltkampSplit, Fp8) {
  expect_exact_split<__nv_fp8_e4m3, ScaleOf::kMatrix>(num::slice_rho(4096, 4), 14);
  expect_exact_split<__nv_fp8_e4m3, ScaleOf::kRow>(num::slice_rho(4096, 4), 14);
  expect_exact_split<__nv_fp8_e5m2, ScaleOf::kMatrix>(num::slice_rho(4096, 3), 18);
}

/// Operands of one scale each, of digits whose sums over k_block elements of k are exact.
template <class Slice>
struct Factors {
  Factors(int m_, int n_, int k_, int k_block, int significand_bits, int num_a, int num_b)
      : m(m_),
        n(n_),
        k(k_),
        rho(num::slice_rho(k_block, significand_bits)),
        A(m, k, rho, num_a, 2, 1),
        B(k, n, rho, num_b, 2, 2) {
    for (int p = 0; p < num_a; ++p) {
      for (int q = 0; q < num_b; ++q)
        scales.push_back(num::slice_scale(A.exponents[0], rho, p) * num::slice_scale(B.exponents[0], rho, q));
    }
  }

  /// Whether C is the sum of the pairs that are wanted, but for num_sums FP64 additions.
  void expect_sum(const double* C, int num_sums, const auto& is_wanted) const {
    const double units = num::dot_bound(num_sums, num::unit_roundoff(Scalar::kF64)) * num::kSlackUp;
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        Exact error(-C[at(i * n + j)]);
        Exact magnitude;
        for (int p = 0; p < A.num_slices; ++p) {
          for (int q = 0; q < B.num_slices; ++q) {
            if (!is_wanted(p, q)) continue;
            const double scale = scales[at(p * B.num_slices + q)];
            for (int l = 0; l < k; ++l) {
              const double product = A.slice(p, i, l) * B.slice(q, l, j);  // of at most 22 bits: exact
              error.add_product(product, scale);
              magnitude.add_product(std::fabs(product), scale);
            }
          }
        }
        ASSERT_TRUE(error.abs() <= magnitude.times(units))
            << m << " x " << n << " x " << k << " at " << i << ", " << j << " is off by " << error.rounded<double>();
      }
    }
  }

  int m, n, k, rho;
  Sliced<Slice, ScaleOf::kMatrix> A, B;
  std::vector<double> scales;
};

constexpr int kRows = 16;  // of tiles of C
constexpr int kCols = 32;
[[nodiscard]] unsigned tiles_of(int m, int n) {
  return static_cast<unsigned>(((m + kRows - 1) / kRows) * ((n + kCols - 1) / kCols));
}

/// The bits of the slices follow from k_block, kTileK at least.
template <class Slice, int kTileK>
void expect_product(int m, int n, int k, int k_block, int significand_bits, int num_a, int num_b, int depth) {
  const Factors<Slice> x(m, n, k, k_block, significand_bits, num_a, num_b);
  std::vector<double> C(at(m * n), -1);
  const Status status =
      KIZAMI_TILE_LAUNCH((tile_kernels::slice_product_block<Slice, kRows, kCols, kTileK, false>), tiles_of(m, n),
                         nullptr, x.A.slices.data(), std::int64_t{m} * k, k, x.B.slices.data(), std::int64_t{k} * n, n,
                         x.scales.data(), C.data(), n, num_a, num_b, depth, m, n, k, 2);
  ASSERT_TRUE(status.ok()) << status.reason();
  x.expect_sum(C.data(), num::num_slice_pairs(num_a, num_b, depth) * ((k + kTileK - 1) / kTileK),
               [depth](int p, int q) { return p + q < depth; });
}

TEST(SliceProduct, Bf16RoundsInFp64Only) {
  expect_product<__nv_bfloat16, 128>(17, 33, 300, 128, 8, 7, 7, 9);
  expect_product<__nv_bfloat16, 128>(5, 3, 64, 128, 8, 4, 4, 4);
  expect_product<__nv_bfloat16, 32>(5, 3, 64, 128, 8, 3, 3, 1);
}
TEST(SliceProduct, Fp16RoundsInFp64Only) { expect_product<__half, 64>(16, 40, 100, 64, 11, 5, 5, 5); }
TEST(SliceProduct, Fp8RoundsInFp64Only) {
  expect_product<__nv_fp8_e4m3, 64>(7, 9, 70, 4096, 4, 14, 14, 16);
  expect_product<__nv_fp8_e5m2, 64>(7, 9, 70, 4096, 3, 18, 18, 20);
}
TEST(SliceProduct, TakesAsManySlicesOfAsOfBOrNot) {
  static_assert(tile_kernels::kMaxSlices == kMaxSlices);
  expect_product<__nv_fp8_e4m3, 64>(7, 9, 70, 4096, 4, 15, 16, 30);
  expect_product<__nv_fp8_e4m3, 64>(7, 9, 70, 4096, 4, kMaxSlices, 2, 5);
  expect_product<__nv_bfloat16, 128>(5, 3, 64, 128, 8, 2, 7, 6);
}

/// Each block sums its own pairs, in their order, and no others.
TEST(SliceProductPart, SumsItsShareOfThePairs) {
  constexpr int kTileK = 64;
  constexpr int kNumA = 4;
  constexpr int kNumB = 3;
  constexpr int kDepth = 5;
  const Factors<__nv_bfloat16> x(17, 33, 100, 128, 8, kNumA, kNumB);
  const int num_pairs = num::num_slice_pairs(kNumA, kNumB, kDepth);
  for (const int num_parts : {1, 2, 3, 20}) {
    std::vector<double> S(at(num_parts * x.m * x.n), -1);
    const Status status = KIZAMI_TILE_LAUNCH(
        (tile_kernels::slice_product_part_block<__nv_bfloat16, kRows, kCols, kTileK, false>),
        dim3(tiles_of(x.m, x.n), static_cast<unsigned>(num_parts)), nullptr, x.A.slices.data(), std::int64_t{x.m} * x.k,
        x.k, x.B.slices.data(), std::int64_t{x.k} * x.n, x.n, x.scales.data(), S.data(), std::int64_t{x.m} * x.n, x.n,
        num_parts, kNumA, kNumB, kDepth, x.m, x.n, x.k, 2);
    ASSERT_TRUE(status.ok()) << status.reason();
    for (int part = 0; part < num_parts; ++part) {
      const int first = num_pairs * part / num_parts;
      const int end = num_pairs * (part + 1) / num_parts;
      SCOPED_TRACE(std::to_string(part) + " of " + std::to_string(num_parts));
      x.expect_sum(S.data() + at(part * x.m * x.n), 2 * (end - first), [=](int p, int q) {
        const int number = num::num_slice_pairs(p, kNumB, kDepth) + q;  // p ascending, and the partners of each p
        return p + q < kDepth && number >= first && number < end;
      });
    }
  }
}

template <class Slice>
void sum_whole_k(const Slice* A, int num_a, const Slice* B, int num_b, const double* scales, int depth, int m, int n,
                 int k, double* C) {
  const Status status = KIZAMI_TILE_LAUNCH((tile_kernels::slice_product_whole_k_block<Slice, kRows, kCols, 64, false>),
                                           tiles_of(m, n), nullptr, A, std::int64_t{m} * k, k, B, std::int64_t{k} * n,
                                           n, scales, C, n, num_a, num_b, depth, m, n, k, 2);
  ASSERT_TRUE(status.ok()) << status.reason();
}
template <class Slice>
void expect_whole_k(int m, int n, int k, int significand_bits, int num_a, int num_b, int depth) {
  const Factors<Slice> x(m, n, k, k, significand_bits, num_a, num_b);
  std::vector<double> C(at(m * n), -1);
  sum_whole_k(x.A.slices.data(), num_a, x.B.slices.data(), num_b, x.scales.data(), depth, m, n, k, C.data());
  x.expect_sum(C.data(), num::num_slice_pairs(num_a, num_b, depth), [depth](int p, int q) { return p + q < depth; });
}
TEST(SliceProductWholeK, RoundsOncePerPair) {
  expect_whole_k<__nv_bfloat16>(17, 33, 300, 8, 7, 7, 9);
  expect_whole_k<__half>(5, 3, 1000, 11, 10, 9, 19);
  expect_whole_k<__nv_fp8_e4m3>(7, 9, 70, 4, 15, 16, 30);
}
/// One FP32 sum: digits of 8 bits and 300 elements leave its 24 bits, where blocks of 256 would not.
TEST(SliceProductWholeK, SumsAllOfKInFp32) {
  constexpr int kLength = 300;
  constexpr float kDigit = 255 * 0x1p-8F;
  const std::vector<__nv_bfloat16> digits(kLength, __nv_bfloat16(kDigit));
  float expected = 0;
  for (int l = 0; l < kLength; ++l) expected += kDigit * kDigit;
  ASSERT_NE(static_cast<double>(expected), kLength * static_cast<double>(kDigit) * kDigit);
  const double scale = 0x1p-3;
  double C = -1;
  sum_whole_k(digits.data(), 1, digits.data(), 1, &scale, 1, 1, 1, kLength, &C);
  EXPECT_EQ(C, expected * scale);
}

/// The sum of a diagonal.
template <class Slice, int kBits, int kTileK, int kParts>
void sum_diagonal(const std::vector<Slice>& A, const std::vector<Slice>& B, double scale, int diagonal,
                  num::SliceDiagonal pairs, int m, int n, int k, std::vector<double>& S) {
  const auto grid = static_cast<unsigned>(((m + 15) / 16) * ((n + 31) / 32));
  const Status status =
      KIZAMI_TILE_LAUNCH((tile_kernels::slice_diagonal_block<Slice, kBits, 16, 32, kTileK, false, kParts>), grid,
                         nullptr, A.data(), std::int64_t{m} * k, k, B.data(), std::int64_t{k} * n, n, scale, S.data(),
                         n, diagonal, pairs.first, pairs.num_pairs, m, n, k, 2);
  ASSERT_TRUE(status.ok()) << status.reason();
}

/// Each diagonal is exact by itself, and FP64 rounds once for each that is added.
template <class Slice, int kBits, int kTileK, int kParts>
void expect_diagonals(int m, int n, int k, int num_a, int num_b, int depth) {
  const int rho = 53 - kBits;
  ASSERT_EQ(rho, num::slice_rho(kTileK * kParts, kBits));
  const Sliced<Slice, ScaleOf::kMatrix> A(m, k, rho, num_a, 2, 1);
  const Sliced<Slice, ScaleOf::kMatrix> B(k, n, rho, num_b, 2, 2);
  std::vector<double> C(at(m * n), -1);
  std::vector<double> alone(C.size());
  std::vector<double> expected(C.size());
  const int last = std::min(depth, num_a + num_b - 1) - 1;
  for (int d = last; d >= 0; --d) {
    const num::SliceDiagonal pairs = num::slice_diagonal(d, num_a, num_b);
    const double scale = num::slice_scale(A.exponents[0], rho, d) * num::slice_scale(B.exponents[0], rho, 0);
    sum_diagonal<Slice, kBits, kTileK, kParts>(A.slices, B.slices, scale, d, pairs, m, n, k, alone);
    if (d == last) {
      C = alone;
    } else {
      const auto blocks = static_cast<unsigned>(((m + 7) / 8) * ((n + 15) / 16));
      const Status status = KIZAMI_TILE_LAUNCH((tile_kernels::add_block<8, 16, false>), blocks, nullptr, alone.data(),
                                               n, C.data(), n, m, n);
      ASSERT_TRUE(status.ok()) << status.reason();
    }
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        Exact sum;
        for (int p = pairs.first; p < pairs.first + pairs.num_pairs; ++p) {
          for (int l = 0; l < k; ++l) sum.add_product(A.slice(p, i, l) * B.slice(d - p, l, j), scale);
        }
        const double value = alone[at(i * n + j)];
        sum.add_product(-value, 1);
        ASSERT_EQ(sum.rounded<double>(), 0) << "diagonal " << d << " at " << i << ", " << j;
        double& total = expected[at(i * n + j)];
        total = d < last ? total + value : value;
      }
    }
  }
  EXPECT_EQ(C, expected) << m << " x " << n << " x " << k;
}

TEST(SliceDiagonal, IsExactAndAddedInFp64) {
  expect_diagonals<__nv_bfloat16, 8, 256, 1>(17, 33, 300, 7, 7, 9);
  expect_diagonals<__nv_bfloat16, 8, 64, 4>(5, 35, 460, 4, 2, 9);
  expect_diagonals<__half, 8, 64, 1>(16, 40, 100, 2, 5, 4);
  expect_diagonals<__nv_fp8_e4m3, 4, 512, 1>(7, 9, 600, 6, 6, 1);
}

/// Slices of the largest magnitude and of one sign, and as many as the range names: the ends of every exact sum.
TEST(SliceDiagonal, IsExactAtTheEndsOfItsRange) {
  constexpr int kLength = 1 << (34 - 16);
  for (const float sign : {1.0F, -1.0F}) {
    std::vector<__nv_bfloat16> A(kLength, __nv_bfloat16(1.0F));
    std::vector<__nv_bfloat16> B(kLength, __nv_bfloat16(sign));
    std::vector<double> C(1);
    sum_diagonal<__nv_bfloat16, 8, 256, 1>(A, B, 1, 0, {0, 1}, 1, 1, kLength, C);
    EXPECT_EQ(C[0], sign * kLength);
    B[kLength - 1] = __nv_bfloat16(sign * 0x1p-8F);
    B[0] = __nv_bfloat16(sign * 255 * 0x1p-8F);
    A[kLength / 2] = __nv_bfloat16(255 * 0x1p-8F);
    sum_diagonal<__nv_bfloat16, 8, 256, 1>(A, B, 1, 0, {0, 1}, 1, 1, kLength, C);
    EXPECT_EQ(C[0], sign * (kLength - 1 - 0x1p-8));
  }
}

}  // namespace
}  // namespace kizami::tile_kernels_test
