// SPDX-License-Identifier: MIT
// Complex matrices: the real part is the real matrix of the class, the imaginary part another of it; suffixes choose,
// scale and spoil one part; conjugated views hold the conjugate; buffers watch both parts.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "case_line.hpp"
#include "check/case.hpp"
#include "check/compare.hpp"
#include "check/exact.hpp"
#include "check/matrix_classes.hpp"
#include "check/operands.hpp"
#include "filled_matrix.hpp"

namespace kizami::check {
namespace {

using Z = std::complex<double>;
using C = std::complex<float>;

std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }

/// Parts in which a class has the same values, as constants and patterns do.
bool has_equal_parts(MatrixClass id) {
  using M = MatrixClass;
  switch (id) {
    case M::kZeros:
    case M::kOnes:
    case M::kHilbert:
    case M::kVandermonde:
    case M::kIdentity:
    case M::kPermutation:
    case M::kOnehot:
      return true;
    default:
      return false;
  }
}

template <class T>
void expect_parts_of_class(const ClassInfo& info) {
  const MatrixSpec spec = default_spec(info.id);
  for (const Which which : {Which::kA, Which::kB}) {
    const Filled<T> x(spec, which, 13, 17);
    const Filled<RealOf<T>> real(spec, which, 13, 17);
    std::int64_t num_different = 0;
    for_each(x, [&](std::int64_t i, std::int64_t j, T value) {
      EXPECT_EQ(bits(value.real()), bits(real(i, j))) << info.name;
      EXPECT_TRUE(std::isfinite(value.imag())) << info.name;
      num_different += value.real() != value.imag() ? 1 : 0;
    });
    EXPECT_EQ(num_different == 0, has_equal_parts(info.id)) << info.name;
  }
}

TEST(ComplexClasses, PartsAreIndependentMatricesOfTheClass) {
  for (const ClassInfo& info : class_inventory()) {
    expect_parts_of_class<Z>(info);
    expect_parts_of_class<C>(info);
  }
}

TEST(ComplexClasses, SuffixesChooseAndScaleParts) {
  const auto plain = filled<Z>("randn", 9, 11), re = filled<Z>("randn,re", 9, 11), im = filled<Z>("randn,im", 9, 11),
             tiny = filled<Z>("randn,im2^-300", 9, 11), both = filled<Z>("randn,x2^-300,im2^340", 9, 11);
  for_each(plain, [&](std::int64_t i, std::int64_t j, Z x) {
    EXPECT_EQ(re(i, j), Z(x.real(), 0));
    EXPECT_EQ(im(i, j), Z(0, x.imag()));
    EXPECT_EQ(tiny(i, j), Z(x.real(), std::ldexp(x.imag(), -300)));
    EXPECT_EQ(both(i, j), Z(std::ldexp(x.real(), -300), std::ldexp(x.imag(), 40)));
  });
  EXPECT_EQ(filled<C>("ones,im2^300", 1, 1)(0, 0), C(1, std::numeric_limits<float>::max()));
}

TEST(ComplexClasses, PlacementsSpoilOnePart) {
  const auto x = filled<Z>("randn,nan@corner,infi@edge,-infi@1:2,inf@1:2,nani@last", 5, 7);
  for_each(x, [&](std::int64_t i, std::int64_t j, Z value) {
    EXPECT_EQ(std::isnan(value.real()), i == 0 && j == 0);
    EXPECT_EQ(std::isnan(value.imag()), i == 4 && j == 6);
    EXPECT_EQ(value.real() == kInfinity, i == 1 && j == 2);
    EXPECT_EQ(value.imag() == kInfinity, i == 2 && j == 6);
    EXPECT_EQ(value.imag() == -kInfinity, i == 1 && j == 2);
  });
}

// The imaginary part of the diagonal of AB vanishes term by term: Ar (-Ai) + Ai Ar.
TEST(ComplexClasses, GramIsAMatrixAndItsConjugateTranspose) {
  const auto a = filled<Z>("gram", 6, 9, Which::kA), b = filled<Z>("gram", 9, 6, Which::kB);
  const auto c = filled<Z>("gram", 6, 9, Which::kC);
  for_each(a, [&](std::int64_t i, std::int64_t j, Z x) {
    EXPECT_EQ(b(j, i), std::conj(x));
    EXPECT_EQ(c(i, j), x);
    EXPECT_NE(x.real(), x.imag());
  });
  const auto real_a = filled<float>("gram", 6, 9, Which::kA), real_b = filled<float>("gram", 9, 6, Which::kB);
  for_each(real_a, [&](std::int64_t i, std::int64_t j, float x) { EXPECT_EQ(real_b(j, i), x); });
}

TEST(ComplexClasses, CancelAndTest2KeepTheirPropertyInBothParts) {
  const auto a = filled<Z>("cancel", 4, 11, Which::kA), b = filled<Z>("cancel", 11, 3, Which::kB);
  const auto ta = filled<Z>("test2", 5, 12, Which::kA), tb = filled<Z>("test2", 12, 5, Which::kB);
  for (std::int64_t i = 0; i < 3; ++i) {
    for (const Part x : kBothParts) {
      for (const Part y : kBothParts) {
        ExactDot sum, empty;
        for (std::int64_t l = 0; l < 11; ++l) sum.add(part_of(a(i, l), x), part_of(b(l, i), y));
        for (std::int64_t l = 0; l < 12; ++l) empty.add(part_of(ta(i, l), x), part_of(tb(l, i), y));
        EXPECT_EQ(sum.sum().sign(), 0);
        EXPECT_EQ(sum.abs_sum().sign(), 1);
        EXPECT_EQ(empty.abs_sum().sign(), 0);
      }
    }
  }
}

// op(A) and op(B) have the same values whatever the ops: what an op conjugates is stored conjugated.
TEST(ComplexOperands, HoldTheSameValuesForEveryOp) {
  const std::string items = " A=randn,nani@1:2,-infi@2:2 B=negzero";
  const Operands<Z> plain(case_of("z nn 5x6x7" + items));
  for (const char a : {'n', 't', 'c', 'r'}) {
    for (const char b : {'n', 't', 'c', 'r'}) {
      for (const char* storage : {"", " layout=row ld+3", " ld+1 off+3"}) {
        const Operands<Z> x(case_of(std::string("z ") + a + b + " 5x6x7" + items + storage));
        EXPECT_TRUE(bits_equal<Z>(x.a.view(), plain.a.view())) << a << b;
        EXPECT_TRUE(bits_equal<Z>(x.b.view(), plain.b.view())) << a << b;
        EXPECT_EQ(x.a.view().is_conjugated, a == 'c' || a == 'r');
        EXPECT_TRUE(x.inputs_intact()) << x.inputs_intact().message;
        // As stored: element (1, 3) of op(A).
        const Z stored = x.a.view()(1, 3), want = plain.a.view()(1, 3);
        EXPECT_EQ(stored, x.a.view().is_conjugated ? std::conj(want) : want);
      }
    }
  }
  // For real types c is t and r is n.
  const Operands<float> real(case_of("s cr 3x4x5"));
  EXPECT_FALSE(real.a.view().is_conjugated);
  EXPECT_TRUE(bits_equal<float>(real.a.view(), Operands<float>(case_of("s tn 3x4x5")).a.view()));
}

TEST(ComplexOperands, WatchBothParts) {
  for (const char* line : {"c cn 3x4x5 ld+2 off+1", "c nn 3x4x5 layout=row"}) {
    Operands<C> x(case_of(line));
    ASSERT_TRUE(x.inputs_intact()) << x.inputs_intact().message;
    const StoredShape& s = x.c.stored();
    for (std::int64_t offset = -4; offset < s.num_elems + 4; ++offset) {
      const std::int64_t contiguous = std::string(line).find("row") == std::string::npos ? s.rows : s.cols;
      const bool is_inside = offset >= 0 && offset < s.num_elems && offset % s.ld < contiguous;
      C& at = x.c.data()[offset];
      const C before = at;
      for (const C spoiled : {C(1, before.imag()), C(before.real(), 1)}) {
        at = spoiled;
        EXPECT_EQ(x.c.canaries_intact().ok, is_inside) << line << " offset " << offset;
      }
      at = before;
    }
    C& element_of_a = x.a.view()(0, 0);
    for (const C spoiled :
         {C(element_of_a.real(), -element_of_a.imag()), C(-element_of_a.real(), element_of_a.imag())}) {
      const C before = std::exchange(element_of_a, spoiled);
      EXPECT_FALSE(x.inputs_intact()) << line;
      element_of_a = before;
    }
    EXPECT_TRUE(x.inputs_intact());
  }
}

}  // namespace
}  // namespace kizami::check
