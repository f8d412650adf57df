// SPDX-License-Identifier: MIT
// The look at exponents against its definition, one element after another: types, strides, lengths around vectors,
// threads.
#include "schemes/native/exponent_range.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/certify/simd_targets.hpp"
#include "tests/certify/stored_lines.hpp"
#include "tests/num/exact_numbers.hpp"

namespace kizami::native {
namespace {

using tests::Rng;

template <class R>
R random_number(Rng& rng) {
  constexpr R kSpecial[] = {0,
                            -R{0},
                            std::numeric_limits<R>::infinity(),
                            -std::numeric_limits<R>::infinity(),
                            std::numeric_limits<R>::quiet_NaN(),
                            std::numeric_limits<R>::denorm_min()};
  if (rng() % 5 == 0) return kSpecial[rng() % 6];
  const int most = num::FloatTraits<R>::kMaxExponent - 1;
  return static_cast<R>(std::ldexp(tests::random_value<R>(rng, 0), tests::random_int(rng, -most - 20, most)));
}

template <class T>
num::ExponentRange by_definition(const MatrixView<const T>& x) {
  num::ExponentRange range;
  const auto add = [&](auto value) {
    if (value == 0 || !std::isfinite(value)) return;
    range.add({std::ilogb(value), std::ilogb(value)});
  };
  for (std::int64_t j = 0; j < x.cols; ++j) {
    for (std::int64_t i = 0; i < x.rows; ++i) {
      if constexpr (kIsComplex<T>) {
        add(x(i, j).real());
        add(x(i, j).imag());
      } else {
        add(x(i, j));
      }
    }
  }
  return range;
}

template <class T>
void expect_definition() {
  const int targets = tests::for_each_simd_target([](const std::string& name) {
    Rng rng(7);
    for (const auto& [rows, cols] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {0, 3}, {3, 0}, {1, 1}, {1, 70}, {70, 1}, {7, 9}, {31, 5}, {64, 3}, {300, 260}}) {
      for (const auto& [row_stride, col_stride] : std::vector<std::pair<std::int64_t, std::int64_t>>{
               {1, rows}, {1, rows + 3}, {cols + 1, 1}, {2, 2 * rows}, {0, 1}}) {
        if (tests::kIsSanitized && rows * cols > 5000) continue;
        std::vector<T> memory(static_cast<std::size_t>(rows * row_stride + cols * col_stride + rows * cols + 1));
        for (T& x : memory) {
          if constexpr (kIsComplex<T>) {
            x = T(random_number<RealOf<T>>(rng), random_number<RealOf<T>>(rng));
          } else {
            x = random_number<T>(rng);
          }
        }
        const MatrixView<const T> view{memory.data(), rows, cols, row_stride, col_stride};
        for (const int threads : {1, 3})
          ASSERT_EQ(exponent_range(view, threads), by_definition(view)) << name << ' ' << rows << " x " << cols;
      }
    }
  });
  EXPECT_GT(targets, 1);
}

TEST(ExponentRange, IsItsDefinition64) { expect_definition<double>(); }
TEST(ExponentRange, IsItsDefinition32) { expect_definition<float>(); }
TEST(ExponentRange, IsItsDefinitionComplex64) { expect_definition<std::complex<double>>(); }
TEST(ExponentRange, IsItsDefinitionComplex32) { expect_definition<std::complex<float>>(); }

TEST(ExponentRange, OfNothing) {
  const std::vector<double> zeros(100, 0.0);
  EXPECT_TRUE(exponent_range(MatrixView<const double>{zeros.data(), 10, 10, 1, 10}, 2).is_empty());
}

}  // namespace
}  // namespace kizami::native
