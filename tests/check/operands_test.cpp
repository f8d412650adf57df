// SPDX-License-Identifier: MIT
// The buffers of a case: values where the view says, canaries everywhere else, and both watched.
#include "check/operands.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "case_line.hpp"

namespace kizami::check {
namespace {

// op(A) and op(B) have the same values whatever the ops, the layout, the padding and the alignment.
TEST(Operands, HoldTheSameValuesForEveryStorage) {
  const Operands<double> plain(case_of("d nn 5x6x7"));
  for (const char* ops : {"nn", "nt", "tn", "tt"}) {
    for (const char* items : {"", " layout=row", " ld+3", " ld+1 off+3 layout=row"}) {
      const Operands<double> x(case_of(std::string("d ") + ops + " 5x6x7" + items));
      EXPECT_TRUE(bits_equal<double>(x.a.view(), plain.a.view()));
      EXPECT_TRUE(bits_equal<double>(x.b.view(), plain.b.view()));
      EXPECT_TRUE(bits_equal<double>(x.c.view(), plain.c.view()));
    }
  }
}

template <class T>
void expect_storage(const std::string& line) {
  const Case c = case_of(line);
  Operands<T> x(c);
  for (const Operand<T>* operand : {&x.a, &x.b, &x.c}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(operand->data()) % 64,
              static_cast<std::size_t>(c.offset) * sizeof(T) % 64)
        << line;
  }
  EXPECT_TRUE(x.inputs_intact()) << x.inputs_intact().message;
  // Every element outside the matrices is a canary, and each one is watched; none inside is.
  for (Operand<T>* operand : {&x.a, &x.c}) {
    const StoredShape& s = operand->stored();
    for (std::int64_t offset = -8; offset < s.num_elems + 8; ++offset) {
      const std::int64_t contiguous = c.layout == Layout::kColMajor ? s.rows : s.cols;
      const bool is_inside = offset >= 0 && offset < s.num_elems && offset % s.ld < contiguous;
      const T before = operand->data()[offset];
      EXPECT_EQ(std::isnan(before), !is_inside) << line;
      operand->data()[offset] = 12345;
      EXPECT_EQ(operand->canaries_intact().ok, is_inside) << line << " offset " << offset;
      EXPECT_EQ(x.inputs_intact().ok, is_inside && operand == &x.c) << line << " offset " << offset;
      operand->data()[offset] = before;
    }
  }
  EXPECT_TRUE(x.inputs_intact());
}

TEST(Operands, WatchPaddingAndSurroundings) {
  expect_storage<double>("d nn 3x4x5");
  expect_storage<double>("d tn 3x4x5 ld+3 off+1");
  expect_storage<float>("s nn 3x4x5 ld+3 off+17 layout=row");
  expect_storage<float>("s tt 1x1x1");
  expect_storage<double>("d nn 0x4x5 ld+2");
}

TEST(Operands, SeeOneFlippedBitInAnInput) {
  const Case c = case_of("d nt 9x8x7 A=randn,nan@corner B=negzero");
  Operands<double> x(c);
  EXPECT_TRUE(x.inputs_intact());
  x.b.view()(0, 0) = 0.0;  // was -0
  EXPECT_FALSE(x.inputs_intact());
  EXPECT_NE(x.inputs_intact().message.find("B was changed"), std::string::npos);
}

}  // namespace
}  // namespace kizami::check
