// SPDX-License-Identifier: MIT
// Every class has golden bits, is finite, and is independent of layout and threads; suffixes scale and place exactly.
#include "check/matrix_classes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "filled_matrix.hpp"

namespace kizami::check {
namespace {

template <class T>
std::uint64_t digest(const Filled<T>& x) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const T value : x.data) {
    hash = (hash ^ std::bit_cast<std::uint64_t>(static_cast<double>(value))) * 0x100000001b3U;
    hash ^= hash >> 32;
  }
  return hash;
}

// Seed 7, 13 x 17, defaults: digests of A and B in double, and of A in float.
const std::map<std::string, std::array<std::uint64_t, 3>> kGolden = {
#include "golden_classes.inc"
};

TEST(MatrixClasses, HaveGoldenBits) {
  for (const ClassInfo& info : class_inventory()) {
    const MatrixSpec spec = default_spec(info.id);
    const std::array<std::uint64_t, 3> got = {digest(Filled<double>(spec, Which::kA, 13, 17)),
                                              digest(Filled<double>(spec, Which::kB, 13, 17)),
                                              digest(Filled<float>(spec, Which::kA, 13, 17))};
    const auto golden = kGolden.find(std::string(info.name));
    const bool is_same = golden != kGolden.end() && golden->second == got;
    EXPECT_TRUE(is_same) << "now {\"" << info.name << "\", {0x" << std::hex << got[0] << "U, 0x" << got[1] << "U, 0x"
                         << got[2] << "U}},";
  }
  EXPECT_EQ(kGolden.size(), class_inventory().size());
}

TEST(MatrixClasses, DoNotDependOnStorageOrThreads) {
  constexpr std::int64_t kRows = 301, kCols = 307;  // enough work for threads
  for (const ClassInfo& info : class_inventory()) {
    const MatrixSpec spec = default_spec(info.id);
    const Filled<double> plain(spec, Which::kB, kRows, kCols);
    std::vector<double> padded(static_cast<std::size_t>(kRows * (kCols + 5)), -7);
    const MatrixView<double> view = blas_view(padded.data(), kRows, kCols, kCols + 5, Layout::kRowMajor);
    fill(spec, kSeed, Which::kB, view, 3);
    for_each(plain, [&](std::int64_t i, std::int64_t j, double value) {
      ASSERT_EQ(std::bit_cast<std::uint64_t>(view(i, j)), std::bit_cast<std::uint64_t>(value)) << info.name;
    });
    for (std::int64_t i = 0; i < kRows; ++i) {
      for (std::int64_t j = kCols; j < kCols + 5; ++j)
        ASSERT_EQ(padded[static_cast<std::size_t>(i * (kCols + 5) + j)], -7) << info.name;
    }
  }
}

TEST(MatrixClasses, AreFiniteOnEveryShape) {
  constexpr std::pair<std::int64_t, std::int64_t> kShapes[] = {{0, 0}, {0, 3}, {3, 0}, {1, 1},
                                                               {1, 5}, {5, 1}, {2, 3}, {64, 3}};
  for (const ClassInfo& info : class_inventory()) {
    for (const auto& [rows, cols] : kShapes) {
      for (const int scale_exp : {0, 1000, -1000}) {
        MatrixSpec spec = default_spec(info.id);
        spec.scale_exp = scale_exp;
        for (const Which which : {Which::kA, Which::kB, Which::kC}) {
          for_each(Filled<double>(spec, which, rows, cols),
                   [&](auto, auto, double x) { ASSERT_TRUE(std::isfinite(x)) << info.name; });
          for_each(Filled<float>(spec, which, rows, cols),
                   [&](auto, auto, float x) { ASSERT_TRUE(std::isfinite(x)) << info.name; });
        }
      }
    }
  }
}

TEST(MatrixClasses, DifferBySeedAndOperand) {
  const MatrixSpec spec = default_spec(MatrixClass::kRandn);
  const std::uint64_t base = digest(Filled<double>(spec, Which::kA, 5, 5, 1));
  EXPECT_EQ(base, digest(Filled<double>(spec, Which::kA, 5, 5, 1)));
  EXPECT_NE(base, digest(Filled<double>(spec, Which::kA, 5, 5, 2)));
  EXPECT_NE(base, digest(Filled<double>(spec, Which::kB, 5, 5, 1)));
  EXPECT_NE(base, digest(Filled<double>(spec, Which::kC, 5, 5, 1)));
}

TEST(MatrixClasses, RescaledCopiesAreExactMultiples) {
  for (const ClassInfo& info : class_inventory()) {
    MatrixSpec spec = default_spec(info.id);
    const Filled<double> plain(spec, Which::kA, 9, 11);
    spec.scale_exp = -40;
    const Filled<double> scaled(spec, Which::kA, 9, 11);
    for_each(plain, [&](std::int64_t i, std::int64_t j, double x) {
      EXPECT_EQ(scaled(i, j), std::ldexp(x, -40)) << info.name;
    });
  }
  // Beyond the range: the largest finite number.
  EXPECT_EQ(filled<double>("ones,x2^1000", 1, 1)(0, 0), std::ldexp(1.0, 1000));
  EXPECT_EQ(filled<float>("ones,x2^1000", 1, 1)(0, 0), std::numeric_limits<float>::max());
}

TEST(MatrixClasses, PlacementsPutValuesThatAreNotFinite) {
  const auto x = filled<double>("randn,nan@corner,inf@edge,-inf@middle,nan@last,inf@1:2", 5, 7);
  for_each(x, [&](std::int64_t i, std::int64_t j, double value) {
    const bool is_nan = (i == 0 && j == 0) || (i == 4 && j == 6), is_inf = (i == 2 && j == 6) || (i == 1 && j == 2);
    EXPECT_EQ(std::isnan(value), is_nan);
    EXPECT_EQ(value == std::numeric_limits<double>::infinity(), is_inf);
    EXPECT_EQ(value == -std::numeric_limits<double>::infinity(), i == 2 && j == 3);
  });
  for_each(filled<float>("zeros,-inf@all,nan@corner", 2, 2), [](std::int64_t i, std::int64_t j, float value) {
    EXPECT_EQ(std::isnan(value), i == 0 && j == 0);
    EXPECT_FALSE(std::isfinite(value));
  });
}

}  // namespace
}  // namespace kizami::check
