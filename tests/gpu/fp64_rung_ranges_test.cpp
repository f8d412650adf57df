// SPDX-License-Identifier: MIT
// The FP64 rung of the device against that of the host: ranges, factors, lines that are not finite, kinds of matrices.
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <vector>

#include "check/matrix_classes.hpp"
#include "gpu/fp64_rung_case.hpp"

namespace kizami::gpu_test::fp64_case {
namespace {

/// Lines of the whole range, whose terms may underflow, subnormal ones, zeros; every pair of factors; with and without
/// lines that are not finite; the whole product and lists of pairs.
template <class T>
void expect_ranges_and_factors(std::uint64_t seed) {
  Rng rng(seed);
  for (const T alpha : factors<T>()) {
    for (const T beta : factors<T>()) {
      const std::int64_t m = random_int(rng, 1, 40);
      const std::int64_t n = random_int(rng, 1, 40);
      const std::int64_t k = random_int(rng, 1, rng() % 4 == 0 ? 5000 : 200);
      const Kind kind_a = static_cast<Kind>(rng() % 3);
      const Kind kind_b = static_cast<Kind>(rng() % 3);
      const auto a = random_operand<T>(rng, kind_a, m, k, rng() % 2 == 0);
      const auto b = random_operand<T>(rng, kind_b, n, k, rng() % 2 == 0);
      Setting<T> setting;
      setting.alpha = alpha;
      setting.beta = beta;
      for (const int rung : {-1, 1}) {
        setting.rung = rung;
        setting.factors_on_device = rng() % 2 == 0;
        setting.summation = kSummations[rng() % 2];
        setting.num_sms = kSmCounts[rng() % 2];
        setting.layout = kCLayouts[rng() % std::size(kCLayouts)];
        setting.repairs = rung < 0 ? std::vector<device::Pair>{} : random_pairs<T>(rng, m, n, random_int(rng, 0, 30));
        expect_host_bits(rng, a, b, setting);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}
TEST_F(Fp64Rung, RangesAndFactors32) { expect_ranges_and_factors<float>(15); }
TEST_F(Fp64Rung, RangesAndFactors64) { expect_ranges_and_factors<double>(16); }
TEST_F(Fp64Rung, RangesAndFactorsComplex32) { expect_ranges_and_factors<std::complex<float>>(17); }
TEST_F(Fp64Rung, RangesAndFactorsComplex64) { expect_ranges_and_factors<std::complex<double>>(18); }

/// Pairs that may underflow in all tiles: both sums and both summations over several chains.
template <class T>
void expect_wide_products(std::uint64_t seed) {
  Rng rng(seed);
  for (const std::int64_t k : {1, 31, 33, 128, 129, 400, 5000}) {
    const auto a = random_operand<T>(rng, Kind::kWholeRange, 70, k, false);
    const auto b = random_operand<T>(rng, Kind::kWholeRange, 9, k, false);
    for (const Fp64Summation summation : kSummations) {
      Setting<T> setting;
      setting.summation = summation;
      setting.num_sms = kSmCounts[rng() % 2];
      expect_host_bits(rng, a, b, setting);
      setting.rung = 3;
      setting.repairs = random_pairs<T>(rng, 70, 9, 50);
      expect_host_bits(rng, a, b, setting);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}
TEST_F(Fp64Rung, WideProducts64) { expect_wide_products<double>(19); }
TEST_F(Fp64Rung, WideProductsComplex64) { expect_wide_products<std::complex<double>>(20); }

/// Whole rows and columns, all of them, and elements of either side only.
template <class T>
void expect_nonfinite(std::uint64_t seed) {
  Rng rng(seed);
  for (int i = 0; i < 24; ++i) {
    const std::int64_t m = random_int(rng, 1, 100);
    const std::int64_t n = random_int(rng, 1, 100);
    const std::int64_t k = random_int(rng, 1, 150);
    auto a_lines = make_lines<T>(rng, Kind::kOrdinary, m, k);
    auto b_lines = make_lines<T>(rng, Kind::kOrdinary, n, k);
    if (i % 4 != 0) plant_nonfinite(rng, a_lines);
    if (i % 4 != 1) plant_nonfinite(rng, b_lines);
    if (i % 8 == 7) {  // every row and every column
      for (auto& line : a_lines) line[rng() % line.size()] = nan_of<T>();
      for (auto& line : b_lines) line[rng() % line.size()] = make<T>(std::numeric_limits<double>::infinity(), 0.0);
    }
    const Operand<T> a(a_lines, k, tests::kStorages[rng() % 5], rng() % 2 == 0);
    const Operand<T> b(b_lines, k, tests::kStorages[rng() % 5], rng() % 2 == 0);
    for (const int rung : {-1, 0}) {
      Setting<T> setting;
      setting.rung = rung;
      setting.num_sms = kSmCounts[i % 2];
      setting.beta = i % 3 == 0 ? T{0} : make<T>(-1.25, 0.5);
      setting.alpha = i % 3 == 1 ? T{1} : make<T>(0.5, -3);
      if (rung >= 0 && i % 2 == 0) setting.repairs = random_pairs<T>(rng, m, n, 10);
      expect_host_bits(rng, a, b, setting);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}
TEST_F(Fp64Rung, Nonfinite32) { expect_nonfinite<float>(21); }
TEST_F(Fp64Rung, Nonfinite64) { expect_nonfinite<double>(22); }
TEST_F(Fp64Rung, NonfiniteComplex32) { expect_nonfinite<std::complex<float>>(23); }
TEST_F(Fp64Rung, NonfiniteComplex64) { expect_nonfinite<std::complex<double>>(24); }

/// Every class of the check kit.
template <class T>
void expect_matrix_classes() {
  Rng rng(25);
  for (const check::ClassInfo& info : check::class_inventory()) {
    const std::int64_t m = 66;
    const std::int64_t n = 37;
    const std::int64_t k = 300;
    const check::MatrixSpec spec = check::default_spec(info.id);
    std::vector<T> a_values(static_cast<std::size_t>(m * k)), b_values(static_cast<std::size_t>(k * n));
    const MatrixView<T> a_view{a_values.data(), m, k, 1, m};  // column-major
    const MatrixView<T> b_view{b_values.data(), k, n, n, 1};  // row-major
    check::fill(spec, 5, check::Which::kA, a_view);
    check::fill(spec, 5, check::Which::kB, b_view);
    const Operand<T> a(a_values, Side::kA, a_view);
    const Operand<T> b(b_values, Side::kB, b_view);
    for (const Fp64Summation summation : kSummations) {
      Setting<T> setting;
      setting.summation = summation;
      setting.num_sms = kSmCounts[rng() % 2];
      expect_host_bits(rng, a, b, setting);
      setting.rung = 4;
      setting.repairs = random_pairs<T>(rng, m, n, 2);
      expect_host_bits(rng, a, b, setting);
      if (testing::Test::HasFatalFailure()) {
        ADD_FAILURE() << "class " << info.name;
        return;
      }
    }
  }
}
TEST_F(Fp64Rung, MatrixClasses32) { expect_matrix_classes<float>(); }
TEST_F(Fp64Rung, MatrixClasses64) { expect_matrix_classes<double>(); }
TEST_F(Fp64Rung, MatrixClassesComplex32) { expect_matrix_classes<std::complex<float>>(); }
TEST_F(Fp64Rung, MatrixClassesComplex64) { expect_matrix_classes<std::complex<double>>(); }

/// Nothing to answer: C keeps its bits, whatever the operands and the factors are.
TEST_F(Fp64Rung, NothingToDo) {
  Rng rng(26);
  const auto a = random_operand<double>(rng, Kind::kOrdinary, 50, 70, false);
  const auto b = random_operand<double>(rng, Kind::kOrdinary, 60, 70, false);
  const auto nonfinite = random_operand<double>(rng, Kind::kOrdinary, 50, 70, true);
  for (const Fp64Summation summation : kSummations) {
    for (const double beta : {0.0, 2.0}) {
      Setting<double> setting;
      setting.summation = summation;
      setting.beta = beta;
      setting.rung = 0;
      expect_host_bits(rng, a, b, setting);
      setting.is_scaling_only = true;
      for (const int rung : {-1, 0}) {
        setting.rung = rung;
        setting.repairs = {{1, 1}};
        expect_host_bits(rng, nonfinite, b, setting);
      }
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace kizami::gpu_test::fp64_case
