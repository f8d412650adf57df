// SPDX-License-Identifier: MIT
// Scheme ozaki1 in device memory with slices of FP16, BF16 and FP8, engine by engine: the bits of the host. Where
// digits have few enough bits, the host's are those of INT8 slices, which are the same numbers.
#include <cstdint>
#include <string>

#include "gpu/ozaki1_case.hpp"
#include "gpu/sm90_test.hpp"
#include "product/product.hpp"
#include "schemes/ozaki1/numerics.hpp"

namespace kizami::gpu_test {
namespace {

/// What the planner says where an engine carries no slices like those of a case; empty where it does.
[[nodiscard]] std::string refusal(const Case& c, EngineName engine) {
  const Slicing& slices = c.policy.slices;
  const std::int64_t exact = ozaki1::slice_sum_limit(slices.format, ozaki1::slice_rule(slices));
  const std::string format(to_string(slices.format));
  const bool is_asked = c.m > 0 && c.n > 0 && c.k > 0;  // the engine; the planner has its own reasons
  if (engine == EngineName::kCublasLt) {                // FP32 sums of whole windows
    const std::int64_t least = product::kWindowPad * (slices.complex_form == ComplexForm::kEnlarged ? 2 : 1);
    if (exact < least) {
      return "FP32 sums of " + format + " products are exact for " + std::to_string(exact) +
             " elements of k, windows have " + std::to_string(least) + " and more";
    }
    const bool is_fp8 = product::element_bytes(slices.format) == 1;
    return is_asked && is_fp8 ? "format = " + format + ", must be int8, fp16 or bf16" : "";
  }
  return is_asked && exact < product::kPadBytes
             ? "exact_k = " + std::to_string(exact) + ", must be a power of two and at least 64"
             : "";
}

/// The case on an engine against `like` it on the host, or the reason why not.
void expect_bits_or_reason(const Case& c, const Case& like, EngineName engine) {
  const std::string why = refusal(c, engine);
  if (why.empty()) {
    expect_bits(c, like, engine);
    return;
  }
  Policy policy = c.policy;
  policy.engine = engine;
  const Result<Plan> plan = cuda::make_plan(c.scalar, c.m, c.n, c.k, policy);
  ASSERT_FALSE(plan.ok()) << check::print(c) << " on " << to_string(engine);
  EXPECT_NE(plan.status().reason().find(why), std::string::npos) << check::print(c) << ": " << plan.status().reason();
}

/// All digits that a format has, against the same on the host.
void expect_formats(EngineName engine) {
  for (const char* format : {"fp16", "fp16 slice_bits=8", "fp16 slice_bits=10", "bf16", "e4m3", "e5m2"}) {
    for (const char* rest :
         {"d nn 37x29x260 slices=3", "s tt 20x30x129 slices=5 diagonals=7 a=2 b=-0.5",
          "z cn 12x9x70 slices=3 complex_form=four a=0.5-1i b=1i", "c nt 12x9x70 slices=2 complex_form=karatsuba",
          "z nn 12x9x70 slices=3 complex_form=enlarged"}) {
      const Case c = sliced_case(std::string(rest) + " gauge=norm format=" + format);
      expect_bits_or_reason(c, c, engine);
    }
  }
}

/// Digits of few bits: of every format, and those of INT8 that are equal.
struct Digits {
  const char* format;
  const char* bits;
};
constexpr Digits kDigits[] = {{"slice_format=fp16", "slice_bits=6"},
                              {"slice_format=bf16", "slice_bits=5"},
                              {"slice_format=e4m3", "slice_bits=4"},
                              {"slice_format=e5m2", "slice_bits=3"}};

/// @param rest with slices and diagonals by name  @param parts 0, or the workspace has this part of what the plan would like
void expect_digits(const std::string& rest, EngineName engine, std::size_t parts = 0) {
  for (const Digits& digits : kDigits) {
    const std::string line = rest + " gauge=norm " + digits.bits + ' ';
    Case c = sliced_case(line + digits.format);
    if (parts > 0 && refusal(c, engine).empty()) {
      limit_workspace(c, engine, parts);
    }
    expect_bits_or_reason(c, sliced_case(line + "slice_format=int8 slice_split=nearest"), engine);
  }
}

void expect_shapes_and_factors(EngineName engine) {
  for (const char* rest :
       {"d nn 300x270x1500 slices=4 diagonals=5", "d tn 133x270x700 slices=7 diagonals=7 ld+3 a=-1 b=2 layout=row",
        "d nt 65x260x5000 slices=3 diagonals=5 slice_sums=grouped", "s tt 260x133x9000 slices=3 diagonals=3 a=0.5 b=1",
        "d nn 1x200x300 slices=5 diagonals=5 slice_sums=pairs", "d nn 200x1x65 slices=20 diagonals=39",
        "z cn 130x140x300 slices=4 diagonals=4 complex_form=four a=1-1i b=0.25i",
        "c nr 70x140x300 slices=3 diagonals=3 complex_form=karatsuba b=1",
        "z tc 140x70x300 slices=3 diagonals=5 complex_form=enlarged",
        "d nn 4200x20x300 slices=3 diagonals=3 slice_sums=blocked", "d nn 5x9x0 slices=3 diagonals=3 b=2"})
    expect_digits(rest, engine);
}

void expect_lines_of_all_kinds(EngineName engine) {
  for (const char* lines : {"A=grade:rows B=grade:cols", "A=zerorows B=evil:span=90", "A=subnormal B=huge:exp=100",
                            "A=randn,nan@middle B=randn,inf@edge"}) {
    for (const char* rest : {"d nn 67x45x260 slices=5 diagonals=5", "d nn 40x30x20000 slices=3 diagonals=3",
                             "z nn 40x33x130 slices=4 diagonals=4 complex_form=karatsuba",
                             "d nn 67x45x260 slices=5 diagonals=5 slice_scale=matrix",
                             "s tt 40x33x130 slices=-1 diagonals=9 slice_scale=matrix", "d nn 40x33x130 slices=-1"})
      expect_digits(std::string(rest) + ' ' + lines, engine);
  }
}

void expect_chunks(EngineName engine) {
  expect_digits("d nn 500x450x900 slices=5 diagonals=5", engine, 5);
  expect_digits("z tn 200x250x1500 slices=3 diagonals=5 complex_form=four", engine, 3);
  expect_digits("d nt 450x300x9000 slices=3 diagonals=3", engine, 5);
}

using Ozaki1FloatCall = DeviceTest;

TEST_F(Ozaki1FloatCall, OfEveryFormatOnHopper) {
  if (const std::string why = gpu_test::why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  expect_formats(EngineName::kHopper);
}
TEST_F(Ozaki1FloatCall, OfShapesAndFactorsOnHopper) {
  if (const std::string why = gpu_test::why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  expect_shapes_and_factors(EngineName::kHopper);
}
TEST_F(Ozaki1FloatCall, OfLinesOfAllKindsOnHopper) {
  if (const std::string why = gpu_test::why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  expect_lines_of_all_kinds(EngineName::kHopper);
}
TEST_F(Ozaki1FloatCall, InAWorkspaceThatIsSmallOnHopper) {
  if (const std::string why = gpu_test::why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  expect_chunks(EngineName::kHopper);
}

TEST_F(Ozaki1FloatCall, OfEveryFormatOnCublasLt) { expect_formats(EngineName::kCublasLt); }
TEST_F(Ozaki1FloatCall, OfShapesAndFactorsOnCublasLt) { expect_shapes_and_factors(EngineName::kCublasLt); }
TEST_F(Ozaki1FloatCall, OfLinesOfAllKindsOnCublasLt) { expect_lines_of_all_kinds(EngineName::kCublasLt); }
TEST_F(Ozaki1FloatCall, InAWorkspaceThatIsSmallOnCublasLt) { expect_chunks(EngineName::kCublasLt); }

#if defined(KIZAMI_TEST_HAS_TILE)
TEST_F(Ozaki1FloatCall, OfEveryFormatOnTile) { expect_formats(EngineName::kTile); }
TEST_F(Ozaki1FloatCall, OfShapesAndFactorsOnTile) { expect_shapes_and_factors(EngineName::kTile); }
TEST_F(Ozaki1FloatCall, OfLinesOfAllKindsOnTile) { expect_lines_of_all_kinds(EngineName::kTile); }
TEST_F(Ozaki1FloatCall, InAWorkspaceThatIsSmallOnTile) { expect_chunks(EngineName::kTile); }
#endif

}  // namespace
}  // namespace kizami::gpu_test
