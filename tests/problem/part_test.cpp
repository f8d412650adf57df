// SPDX-License-Identifier: MIT
#include "problem/part.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>

namespace kizami::problem {
namespace {

// All questions by their definition, an element at a time.
TEST(Part, AnswersOfRowsAndColumnsAreThoseOfTheirElements) {
  constexpr std::int64_t kN = 11;
  for (const PartKind kind : {PartKind::kAll, PartKind::kLower, PartKind::kUpper}) {
    const Part part{kind, false};
    for (std::int64_t i = 0; i < kN; ++i) {
      for (std::int64_t count = 1; i + count <= kN; ++count) {
        const Part::Columns columns = part.columns_of(i, count, kN);
        for (std::int64_t j = 0; j < kN; ++j) {
          bool has_some = false;
          bool has_all_beside = true;
          for (std::int64_t e = 0; e < count; ++e) {
            has_some |= part.has(i + e, j);
            has_all_beside &= part.has(i + e, j) && (kind == PartKind::kAll || i + e != j);
          }
          EXPECT_EQ(columns.first <= j && j < columns.end, has_some);
          EXPECT_EQ(part.surrounds(i, count, j), has_all_beside);
          EXPECT_EQ(part.meets(i, count, j, 1), has_some);
          EXPECT_EQ(part.meets(j, 1, i, count), Part({kind == PartKind::kLower   ? PartKind::kUpper
                                                      : kind == PartKind::kUpper ? PartKind::kLower
                                                                                 : kind,
                                                      false})
                                                    .meets(i, count, j, 1));
        }
      }
    }
  }
}

TEST(Part, TheDiagonalOfAHermitianTriangleIsReal) {
  using Z = std::complex<double>;
  const Part part{PartKind::kLower, true};
  EXPECT_EQ(part.element(3, 3, Z(1, 2)), Z(1, 0));
  EXPECT_EQ(part.element(4, 3, Z(1, 2)), Z(1, 2));
  EXPECT_EQ(part.element(3, 3, 2.5), 2.5);
  EXPECT_EQ(Part({PartKind::kLower, false}).element(3, 3, Z(1, 2)), Z(1, 2));
}

}  // namespace
}  // namespace kizami::problem
