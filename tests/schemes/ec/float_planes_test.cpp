// SPDX-License-Identifier: MIT
// The planes of scheme ec, element by element: parts, scales, forms of complex lines, padding, skipped lines.
#include "schemes/ec/float_planes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <random>
#include <vector>

#include "num/line_stats.hpp"

namespace kizami::ec {
namespace {

using num::FloatType;
using problem::RealForm;

template <class F>
void expect_planes(const problem::Lines<std::complex<float>>& lines, RealForm form,
                   const std::vector<std::int32_t>& scales, FloatType type, const num::FloatSplit& split) {
  const std::int64_t row = lines.num_terms() + 29;
  const std::int64_t plane = lines.num_lines * row;
  std::vector<F> planes(static_cast<std::size_t>(split.num_parts * plane), F::quiet_nan());
  make_float_planes(lines, form, scales.data(), type, split, 2, reinterpret_cast<std::byte*>(planes.data()), row,
                    plane);
  for (std::int64_t i = 0; i < lines.num_lines; ++i) {
    for (std::int64_t t = 0; t < row; ++t) {
      const std::int32_t scale = scales[static_cast<std::size_t>(i)];
      double x = 0;
      if (t < lines.num_terms() && scale != num::kSkipLine) x = std::ldexp(problem::term(lines, form, i, t), scale);
      const auto parts = num::split_number<F>(x, split);
      for (int q = 0; q < split.num_parts; ++q) {
        const F got = planes[static_cast<std::size_t>(q * plane + i * row + t)];
        // The sign of a padding zero does not matter.
        if (got.is_zero() && parts[static_cast<std::size_t>(q)].is_zero()) continue;
        ASSERT_EQ(got.bits(), parts[static_cast<std::size_t>(q)].bits())
            << "line " << i << " term " << t << " part " << q;
      }
    }
  }
}

TEST(FloatPlanes, EveryTermOfEveryForm) {
  std::mt19937 random(1);
  constexpr std::int64_t kLines = 19, kLength = 301;  // not a multiple of a tile in either direction
  std::vector<std::complex<float>> memory(static_cast<std::size_t>(kLines * (kLength + 2)));
  for (std::complex<float>& x : memory) {
    const auto part = [&] {
      return std::ldexp(static_cast<float>(random()) - 0x1p31F, static_cast<int>(random() % 60) - 60);
    };
    x = {part(), part()};
  }
  std::vector<std::int32_t> scales(kLines);
  for (std::size_t i = 0; i < scales.size(); ++i)
    scales[i] = i % 7 == 3 ? num::kSkipLine : static_cast<int>(i % 5) - 20;
  for (const bool is_conjugated : {false, true}) {
    const problem::Lines<std::complex<float>> by_lines{memory.data(), kLines, kLength, kLength + 2, 1, is_conjugated};
    const problem::Lines<std::complex<float>> strided{memory.data(), kLines, kLength, 1, kLines, is_conjugated};
    for (const auto& lines : {by_lines, strided}) {
      for (const RealForm form : {RealForm::kPlain, RealForm::kRealPart, RealForm::kImagPart}) {
        expect_planes<Fp16>(lines, form, scales, FloatType::kFp16, {RoundingMode::kNearestEven, 2, 11});
        expect_planes<Tf32>(lines, form, scales, FloatType::kTf32, {RoundingMode::kNearestAway, 2, 0});
        expect_planes<Bf16>(lines, form, scales, FloatType::kBf16, {RoundingMode::kNearestEven, 3, 0});
      }
    }
  }
}

TEST(FloatPlanes, TermsOfKaratsuba) {
  std::vector<std::complex<float>> x(700);
  for (std::size_t h = 0; h < x.size(); ++h)
    x[h] = {static_cast<float>(h) * 1.25F - 400.0F, 1000.0F / static_cast<float>(h + 1)};
  const std::int32_t scale = 3;
  const num::FloatSplit split{RoundingMode::kNearestEven, 2, 0};
  for (const bool is_conjugated : {false, true}) {
    const problem::Lines<std::complex<float>> lines{x.data(), 1, 700, 700, 1, is_conjugated};
    for (const ComplexTerm term : {ComplexTerm::kReal, ComplexTerm::kImaginary, ComplexTerm::kSum}) {
      std::vector<Bf16> planes(2 * 704, Bf16::quiet_nan());
      make_float_planes(lines, term, &scale, FloatType::kBf16, split, 1, reinterpret_cast<std::byte*>(planes.data()),
                        704, 704);
      for (std::size_t h = 0; h < 704; ++h) {
        double want = 0;
        if (h < 700) {
          const double re = static_cast<double>(x[h].real());
          const double im = static_cast<double>(is_conjugated ? -x[h].imag() : x[h].imag());
          want = 8 * (term == ComplexTerm::kReal ? re : term == ComplexTerm::kImaginary ? im : re + im);
        }
        const auto parts = num::split_number<Bf16>(want, split);
        ASSERT_EQ(planes[h].to_double(), parts[0].to_double()) << h;
        ASSERT_EQ(planes[704 + h].to_double(), parts[1].to_double()) << h;
      }
    }
  }
}

// Subnormal numbers are scaled without loss: 2^s goes far beyond what FP32 could be multiplied by.
TEST(FloatPlanes, SubnormalLinesAreScaledExactly) {
  const std::vector<float> x = {0x1p-149F, 0x1.8p-148F, -0x1p-126F};
  const problem::Lines<float> lines{x.data(), 1, 3, 3, 1, false};
  const std::int32_t scale = 14 + 126;
  std::vector<Fp16> planes(2 * 32);
  make_float_planes(lines, RealForm::kPlain, &scale, FloatType::kFp16, {RoundingMode::kNearestEven, 2, 0}, 1,
                    reinterpret_cast<std::byte*>(planes.data()), 32, 32);
  EXPECT_EQ(planes[0].to_double(), 0x1p-9);
  EXPECT_EQ(planes[1].to_double(), 0x1.8p-8);
  EXPECT_EQ(planes[2].to_double(), -0x1p14);
}

}  // namespace
}  // namespace kizami::ec
