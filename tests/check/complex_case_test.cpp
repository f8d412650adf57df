// SPDX-License-Identifier: MIT
// The grammar of complex cases: scalars c and z, the four ops, complex factors, suffixes of one part.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "case_line.hpp"
#include "check/case.hpp"
#include "check/random.hpp"
#include "check/text.hpp"
#include "kizami/wishes.hpp"

namespace kizami::check {
namespace {

TEST(ComplexCase, PrintsTheCanonicalLine) {
  const auto canonical = [](std::string_view line) { return print(case_of(line)); };
  EXPECT_EQ(canonical("z cr 3x4x5 a=1.50-2e0i b=-0.5i"), "z cr 3x4x5 a=1.5-2i b=0-0.5i A=randn B=randn seed=1");
  EXPECT_EQ(canonical("c rt 1x1x1 a=2i b=1+0i accuracy=correct"),
            "c rt 1x1x1 a=0+2i b=1 A=randn B=randn accuracy=correct seed=1");
  EXPECT_EQ(canonical("z nn 1x1x1 a=1e-5-2E+30i b=nan-infi"),
            "z nn 1x1x1 a=1e-05-2e+30i b=nan-infi A=randn B=randn seed=1");
  EXPECT_EQ(canonical("z nn 1x1x1 a=-inf+nani b=1-0i"), "z nn 1x1x1 a=-inf+nani b=1-0i A=randn B=randn seed=1");
  EXPECT_EQ(canonical("z nn 3x3x3 A=randn,im2^-40,re,nani@corner B=exprand:phi=4,im,x2^3,-infi@1:2,inf@last"),
            "z nn 3x3x3 a=1 b=0 A=randn,re,im2^-40,nani@corner B=exprand:phi=4,x2^3,im,-infi@1:2,inf@last seed=1");
}

TEST(ComplexCase, FactorsReadAsWritten) {
  const Case c = case_of("z nn 1x1x1 a=1.5-2i b=-infi");
  EXPECT_EQ(alpha_of<std::complex<double>>(c), std::complex<double>(1.5, -2));
  EXPECT_EQ(c.beta, 0);
  EXPECT_EQ(c.beta_imag, -kInfinity);
  // Each part is rounded to FP32 for c.
  const Case rounded = case_of("c nn 1x1x1 a=0.1+0.1i");
  EXPECT_EQ(alpha_of<std::complex<float>>(rounded), std::complex<float>(0.1F, 0.1F));
  EXPECT_EQ(rounded.alpha_imag, 0.1F);
  EXPECT_EQ(case_of("d nn 1x1x1 a=3").alpha_imag, 0);
}

TEST(ComplexCase, OpsConjugateAndTranspose) {
  for (const char* scalar : {"s", "d", "c", "z"}) {
    const Case c = case_of(std::string(scalar) + " cr 3x4x5 ld+2");
    EXPECT_EQ(c.op_a, Op::kConjTranspose);
    EXPECT_EQ(c.op_b, Op::kConjugate);
    EXPECT_EQ(letter_of(c.scalar), scalar[0]);
    const StoredShape a = stored_shape(c, Which::kA), b = stored_shape(c, Which::kB);
    EXPECT_EQ(a.rows, 5);
    EXPECT_EQ(a.cols, 3);
    EXPECT_EQ(a.ld, 7);
    EXPECT_EQ(b.rows, 5);
    EXPECT_EQ(b.cols, 4);
    expect_round_trip(c);
  }
}

TEST(ComplexCase, RoundTripsFactorsBitForBit) {
  AddressedRandom random(3, 0, 0, 0);
  for (int t = 0; t < 1000; ++t) {
    Case c;
    c.scalar = t % 2 == 0 ? Scalar::kC128 : Scalar::kC64;
    const auto any = [&] {
      const double special[] = {0.0, -0.0, 1.0, -1.0, kInfinity, -kInfinity, std::nan("")};
      if (random.below(4) == 0) return special[random.below(std::size(special))];
      return c.scalar == Scalar::kC128
                 ? std::bit_cast<double>(random.bits())
                 : static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(random.bits())));
    };
    c.alpha = any();
    c.alpha_imag = any();
    c.beta = any();
    c.beta_imag = any();
    expect_round_trip(c);
  }
  EXPECT_FALSE(case_of("z nn 1x1x1 b=1") == case_of("z nn 1x1x1 b=1-0i"));
  EXPECT_FALSE(case_of("z nn 1x1x1 a=1+2i") == case_of("z nn 1x1x1 a=1-2i"));
}

TEST(ComplexCase, RoundTripsPartsOnEveryClass) {
  for (const ClassInfo& info : class_inventory()) {
    for (const FilledParts parts : {FilledParts::kBoth, FilledParts::kReal, FilledParts::kImaginary}) {
      Case c;
      c.scalar = Scalar::kC128;
      c.m = c.n = c.k = 7;
      c.a = c.b = default_spec(info.id);
      c.a.parts = parts;
      c.a.imag_exp = -300;
      c.b.scale_exp = 9;
      c.b.placements = {{Placement::Kind::kPosInf, Placement::Place::kMiddle, 0, 0, Part::kImaginary},
                        {Placement::Kind::kNaN, Placement::Place::kAt, 6, 0, Part::kReal}};
      expect_round_trip(c);
    }
  }
}

TEST(ComplexCase, AccuracyCorrectIsRead) {
  EXPECT_EQ(case_of("d nn 1x1x1 accuracy=correct").policy.accuracy, Accuracy::correct());
  EXPECT_EQ(to_string(Accuracy::correct()), "correct");
}

struct MalformedComplex {
  std::string line;
  std::vector<std::string> message_has;
};

TEST(ComplexCase, RefusesMalformedLinesAndSaysWhy) {
  const std::string head = "z nn 3x4x5 ";
  const std::vector<MalformedComplex> lines = {
      {"d nn 1x1x1 a=1+2i", {"'a=1+2i'", "f64", "real numbers"}},
      {"s nn 1x1x1 b=0i", {"'b=0i'", "f32", "real numbers"}},
      {head + "a=i", {"imaginary part ''", "not a number"}},
      {head + "a=-i", {"imaginary part '-'"}},
      {head + "a=1+i", {"imaginary part ''"}},
      {head + "a=1++2i", {"'1+'"}},
      {head + "a=1--2i", {"'1-'"}},
      {head + "a=+2i", {"imaginary part '+2'"}},
      {head + "a=2i+1", {"'2i+1'", "not a number"}},
      {head + "a=1+2j", {"'1+2j'"}},
      {head + "a=1+2ii", {"imaginary part '2i'"}},
      {head + "a=1e+i", {"imaginary part '1e+'"}},
      {head + "a=1+1e999i", {"imaginary part", "range of double"}},
      {head + "a=nanni", {"imaginary part 'nann'"}},
      {"c nn 1x1x1 a=1-1e39i", {"'a=-1e+39'", "f32"}},
      {"c nn 1x1x1 accuracy=bits=24", {"accuracy=bits=24", "c64", "1..23"}},
      {"c nn 1x1x1 A=int:bits=25", {"'A=int:bits=25'", "<= 24"}},
      {"d nn 1x1x1 A=randn,re", {"'A=randn,re'", "no imaginary part"}},
      {"d nn 1x1x1 C=randn,im2^4", {"'C=randn,im2^4'", "no imaginary part"}},
      {"s nn 1x1x1 B=randn,nani@corner", {"'B=randn,nani@corner'", "no imaginary part"}},
      {head + "A=randn,re,im", {"'im'", "second choice"}},
      {head + "A=randn,im2^1,im2^1", {"second scaling"}},
      {head + "A=randn,im2^1001", {"'im2^1001'", "-1000..1000"}},
      {head + "A=randn,ini@corner", {"'ini'", "nani"}},
      {head + "A=randn,i@corner", {"'i'", "nani"}},
  };
  for (const MalformedComplex& m : lines) {
    const Result<Case> c = parse_case(m.line);
    ASSERT_FALSE(c.ok()) << m.line;
    for (const std::string& part : m.message_has) {
      EXPECT_NE(c.status().reason().find(part), std::string::npos)
          << m.line << "\nsays: " << c.status().reason() << "\nlacks: " << part;
    }
  }
}

TEST(ComplexCase, SurvivesMutilatedLines) {
  const std::string line =
      "z cr 33x65x129 a=1e-5-2.5i b=nan-infi A=exprand:phi=4,re,im2^5 B=gram,nani@1:2 accuracy=correct";
  AddressedRandom random(4, 0, 0, 0);
  for (std::size_t t = 0; t < 10000; ++t) {
    std::string bad = t < line.size() ? line.substr(0, t) : line;
    if (t >= line.size())
      bad[random.below(bad.size())] =
          static_cast<char>(random.below(2) == 0 ? random.bits() : " =:,x@^.-+9ein"[random.below(14)]);
    const Result<Case> c = parse_case(bad);
    if (c.ok()) {
      expect_round_trip(c.value());
    } else {
      EXPECT_FALSE(c.status().reason().empty());
    }
  }
}

}  // namespace
}  // namespace kizami::check
