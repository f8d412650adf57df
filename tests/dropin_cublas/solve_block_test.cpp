// SPDX-License-Identifier: MIT
// The kernel that solves with diagonal blocks, step by step on the host (fake_kizami.cpp): its residual is that of
// substitution, whatever the condition of the triangle.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "dropin/cublas/solve_block.hpp"
#include "dropin_cublas/fake_kizami.hpp"

namespace kizami::dropin::cublas {
namespace {

template <class T>
struct System {
  std::int64_t order, width;
  std::vector<T> l, c;
  T alpha = static_cast<T>(1.5);
  bool has_unit_diagonal = false;

  System(std::int64_t m, std::int64_t n, double diagonal, int seed)
      : order(m), width(n), l(static_cast<std::size_t>(m * m)), c(static_cast<std::size_t>(m * n)) {
    std::mt19937_64 source(static_cast<std::uint64_t>(seed));
    std::uniform_real_distribution<double> unit(-1, 1);
    for (T& x : l) x = static_cast<T>(unit(source));
    for (T& x : c) x = static_cast<T>(unit(source));
    for (std::int64_t i = 0; i < m; ++i) {
      T& on_diagonal = l[static_cast<std::size_t>(i * m + i)];
      on_diagonal = static_cast<T>(std::copysign(diagonal, on_diagonal) * (1 + 0.5 * unit(source)));
      for (std::int64_t j = i + 1; j < m; ++j)  // above: not to be read
        l[static_cast<std::size_t>(j * m + i)] = std::numeric_limits<T>::quiet_NaN();
    }
  }
  /// @return X, of which every element is written
  [[nodiscard]] std::vector<T> solved() const {
    std::vector<T> x = c;
    Forward<T> f{order, width, alpha, has_unit_diagonal, l.data(), 1, order, x.data(), 1, order};
    EXPECT_TRUE(solve_block(f, nullptr).ok());
    return x;
  }
  /// The largest |L X - alpha C| / (|L||X| + |alpha C|), in units of u.
  [[nodiscard]] double residual(const std::vector<T>& x) const {
    double worst = 0;
    for (std::int64_t j = 0; j < width; ++j) {
      for (std::int64_t i = 0; i < order; ++i) {
        const long double right = static_cast<long double>(alpha) * c[static_cast<std::size_t>(j * order + i)];
        long double sum = -right;
        long double gauge = std::abs(right);
        for (std::int64_t k = 0; k <= i; ++k) {
          const long double factor =
              k == i && has_unit_diagonal ? 1.0L : static_cast<long double>(l[static_cast<std::size_t>(k * order + i)]);
          const long double term = factor * x[static_cast<std::size_t>(j * order + k)];
          sum += term;
          gauge += std::abs(term);
        }
        const auto ratio = static_cast<double>(std::abs(sum) / gauge) * 2 / std::numeric_limits<T>::epsilon();
        if (!(ratio <= worst) && !std::isnan(worst)) worst = ratio;  // a NaN stays
      }
    }
    return worst;
  }
};

template <class T>
class SolveBlock : public testing::Test {
 protected:
  void SetUp() override { dropin_test::solved_blocks() = {}; }
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(SolveBlock, Types);

TYPED_TEST(SolveBlock, KeepsTheBoundOfSubstitution) {
  int seed = 1;
  for (const std::int64_t order : {1, 2, 7, 8, 9, 31, 33, 64, 100, 128}) {
    for (const std::int64_t width : {1, 31, 33, 70}) {
      const System<TypeParam> system(order, width, static_cast<double>(order), ++seed);
      EXPECT_LE(system.residual(system.solved()), static_cast<double>(order + kSolvedRoundings))
          << order << " x " << width;
    }
  }
}

// Condition numbers of 10^8 and more: a product with the inverse of a block would not keep it.
TYPED_TEST(SolveBlock, KeepsItForIllConditionedTriangles) {
  for (const double diagonal : {0.25, 0.125}) {
    const System<TypeParam> system(64, 40, diagonal, 5);
    const std::vector<TypeParam> x = system.solved();
    double largest = 0;
    for (const TypeParam value : x) largest = std::max(largest, static_cast<double>(std::abs(value)));
    EXPECT_GT(largest, 1e8) << diagonal;
    EXPECT_LE(system.residual(x), 64 + kSolvedRoundings) << diagonal;
  }
}

// Column (i, v) is v in row i, and 0 in all others; what follows an Inf in a column is made of 0 Inf, and not looked at.
TYPED_TEST(SolveBlock, DividesByNumbersWithoutAReciprocal) {
  using Limits = std::numeric_limits<TypeParam>;
  const std::vector<TypeParam> diagonals{Limits::denorm_min(), Limits::min() / 4, Limits::max(), Limits::infinity(),
                                         TypeParam{3},         -TypeParam{7},     Limits::min(), TypeParam{0}};
  const std::vector<TypeParam> values{TypeParam{1}, -TypeParam{5}, Limits::max(), Limits::infinity(), Limits::min()};
  const auto order = static_cast<std::int64_t>(diagonals.size());
  const auto width = static_cast<std::int64_t>(diagonals.size() * values.size());
  System<TypeParam> system(order, width, 1, 6);
  system.alpha = 1;
  std::ranges::fill(system.l, TypeParam{0});
  std::ranges::fill(system.c, TypeParam{0});
  const auto at = [&](std::size_t i, std::size_t v) { return (i * values.size() + v) * diagonals.size() + i; };
  for (std::size_t i = 0; i < diagonals.size(); ++i) {
    system.l[i * (diagonals.size() + 1)] = diagonals[i];
    for (std::size_t v = 0; v < values.size(); ++v) system.c[at(i, v)] = values[v];
  }
  const std::vector<TypeParam> x = system.solved();
  for (std::size_t i = 0; i < diagonals.size(); ++i) {
    for (std::size_t v = 0; v < values.size(); ++v) {
      const TypeParam expected = values[v] / diagonals[i];
      const TypeParam found = x[at(i, v)];
      EXPECT_TRUE(found == expected || (std::isnan(found) && std::isnan(expected)))
          << values[v] << " / " << diagonals[i] << ": " << found;
    }
  }
}

// Elements that overflow or vanish when they are divided by the diagonal, which solutions do not.
TYPED_TEST(SolveBlock, KeepsItWhereDividedElementsAreOutOfRange) {
  const int far = sizeof(TypeParam) == 8 ? 600 : 80;
  for (const int sign : {1, -1}) {
    System<TypeParam> system(40, 9, 1, 8);
    const auto scale = [&](std::size_t i, std::size_t j, int exponent) {
      TypeParam& x = system.l[j * 40 + i];
      x = std::ldexp(x, exponent);
    };
    scale(3, 3, -sign * far);  // column 3 divided by its diagonal is 2^(2 far), or 2^(-2 far), times what it was
    for (std::size_t i = 4; i < 40; ++i) scale(i, 3, sign * far);
    for (std::size_t j = 0; j < 9; ++j) {  // X is of the size of 1 up to there
      for (std::size_t k = 0; k < 3; ++k) system.l[k * 40 + 3] = 0;
      TypeParam& right = system.c[j * 40 + 3];
      right = std::ldexp(right, -sign * far);
    }
    EXPECT_LE(system.residual(system.solved()), 40 + kSolvedRoundings) << sign;
  }
}

TYPED_TEST(SolveBlock, AUnitDiagonalIsNotLookedAt) {
  System<TypeParam> system(50, 9, 0.0, 7);
  system.has_unit_diagonal = true;
  EXPECT_LE(system.residual(system.solved()), 50 + kSolvedRoundings);
}

}  // namespace
}  // namespace kizami::dropin::cublas
