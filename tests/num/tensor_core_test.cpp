// SPDX-License-Identifier: MIT
// One step of the tensor-core model against its definition in MPFR, and against sums worked out by hand.
#include "num/tensor_core.hpp"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace kizami::num {
namespace {

constexpr RoundingMode kModes[] = {RoundingMode::kTowardZero, RoundingMode::kNearestEven};

/// A number of 4000 bits: every sum here is exact in it.
class Wide {
 public:
  explicit Wide(double x = 0) {
    mpfr_init2(value_, 4000);
    mpfr_set_d(value_, x, MPFR_RNDN);
  }
  ~Wide() { mpfr_clear(value_); }
  Wide(const Wide&) = delete;
  Wide& operator=(const Wide&) = delete;
  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

int exponent_of(double x, int least) {
  int e = 0;
  std::frexp(x, &e);
  return std::max(e - 1, least);
}

float to_fp32(Wide& x, RoundingMode rounding) {
  // mpfr_get_flt stops at the largest number under RZ; the hardware goes on to infinity.
  if (rounding == RoundingMode::kTowardZero && mpfr_cmpabs(x.get(), Wide(0x1p128).get()) >= 0)
    return mpfr_sgn(x.get()) < 0 ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  return mpfr_get_flt(x.get(), rounding == RoundingMode::kTowardZero ? MPFR_RNDZ : MPFR_RNDN);
}

/// The definition at the top of num/tensor_core.hpp, for finite operands.
float by_definition(const TensorCore& core, FloatType type, float c, const std::vector<double>& a,
                    const std::vector<double>& b) {
  std::vector<double> terms;  // products of 11-bit numbers are exact in FP64
  std::vector<int> exponents;
  for (std::size_t h = 0; h < a.size(); ++h) {
    if (a[h] == 0 || b[h] == 0) continue;
    terms.push_back(a[h] * b[h]);
    exponents.push_back(exponent_of(a[h], min_exponent(type)) + exponent_of(b[h], min_exponent(type)));
  }
  if (core.is_fused && c != 0) {
    terms.push_back(static_cast<double>(c));
    exponents.push_back(exponent_of(static_cast<double>(c), -126));
  }
  Wide sum;
  if (!terms.empty()) {
    const int quantum = *std::max_element(exponents.begin(), exponents.end()) - core.fraction_bits;
    for (const double term : terms) {
      Wide x(term);
      mpfr_mul_2si(x.get(), x.get(), -quantum, MPFR_RNDN);
      if (core.alignment == RoundingMode::kTowardZero) {
        mpfr_trunc(x.get(), x.get());
      } else {
        mpfr_roundeven(x.get(), x.get());
      }
      mpfr_add(sum.get(), sum.get(), x.get(), MPFR_RNDN);
    }
    mpfr_mul_2si(sum.get(), sum.get(), quantum, MPFR_RNDN);
  }
  const float rounded = to_fp32(sum, core.sum_rounding);
  if (core.is_fused || !std::isfinite(rounded)) return rounded;
  Wide total(static_cast<double>(c));
  Wide partial(static_cast<double>(rounded));
  mpfr_add(total.get(), total.get(), partial.get(), MPFR_RNDN);
  const float result = to_fp32(total, core.add_rounding);
  return result == 0 ? 0.0F : result;
}

double random_operand(FloatType type, std::mt19937& random, int spread) {
  const std::uint32_t bits = random();
  const double x = bit_cast<float>((127U << 23) | (bits & 0x807fffffU));
  const int exponent = static_cast<int>(random() % static_cast<std::uint32_t>(2 * spread + 1)) - spread;
  if (random() % 9 == 0) return 0.0;
  const double scaled = std::ldexp(x, exponent);
  switch (type) {
    case FloatType::kFp16:
      return Fp16::from(scaled, RoundingMode::kNearestEven, Saturation::kFinite).to_double();
    case FloatType::kBf16:
      return Bf16::from(scaled).to_double();
    case FloatType::kTf32:
      return Tf32::from(scaled).to_double();
  }
  return 0;
}

TEST(TensorCoreStep, EqualsItsDefinition) {
  std::mt19937 random(3);
  for (const FloatType type : {FloatType::kFp16, FloatType::kBf16, FloatType::kTf32}) {
    for (const bool is_fused : {true, false}) {
      for (const RoundingMode alignment : kModes) {
        for (const RoundingMode rounding : kModes) {
          for (const int fraction_bits : {23, 24, 25, 40}) {
            TensorCore core{16, fraction_bits, is_fused, alignment, rounding, rounding};
            for (int sample = 0; sample < 300; ++sample) {
              const int spread = sample % 3 == 0 ? 2 : sample % 3 == 1 ? 18 : 70;
              std::vector<double> a(1 + random() % 16);
              std::vector<double> b(a.size());
              for (double& x : a) x = random_operand(type, random, spread);
              for (double& x : b) x = random_operand(type, random, spread);
              const float c = static_cast<float>(random_operand(FloatType::kTf32, random, 2 * spread) *
                                                 (1.0 + std::ldexp(static_cast<double>(random() % 1024), -23)));
              if (!std::isfinite(c)) continue;
              const float got = tensor_core_step(core, type, c, a.data(), b.data(), static_cast<int>(a.size()));
              const float want = by_definition(core, type, c, a, b);
              ASSERT_EQ(bit_cast<std::uint32_t>(got), bit_cast<std::uint32_t>(want == 0 ? 0.0F : want))
                  << std::hexfloat << got << " for " << want << ", fraction_bits " << fraction_bits << " fused "
                  << is_fused << " sample " << sample;
            }
          }
        }
      }
    }
  }
}

// 2^24 + (1 + 2^-k) in one step: what survives tells the extra alignment bits [Fasi2021, section 3].
TEST(TensorCoreStep, ExtraBitsSurviveAlignment) {
  const auto step = [](TensorCore core, std::vector<double> a, std::vector<double> b, float c) {
    return tensor_core_step(core, FloatType::kFp16, c, a.data(), b.data(), static_cast<int>(a.size()));
  };
  const TensorCore hopper = hopper_tensor_core(FloatType::kFp16);
  const TensorCore ampere = ampere_tensor_core(FloatType::kFp16);
  // c = 1, products of 2^-24: a half of FP32's last place each. Aligned with 2 extra bits both survive and make a whole
  // one; with none each is cut.
  EXPECT_EQ(step(hopper, {0x1p-12, 0x1p-12}, {0x1p-12, 0x1p-12}, 1.0F), 1.0F + 0x1p-23F);
  EXPECT_EQ(step(ampere, {0x1p-12, 0x1p-12}, {0x1p-12, 0x1p-12}, 1.0F), 1.0F + 0x1p-23F);
  TensorCore none = hopper;
  none.fraction_bits = 23;
  EXPECT_EQ(step(none, {0x1p-12, 0x1p-12}, {0x1p-12, 0x1p-12}, 1.0F), 1.0F);
  // Quarters: four of 2^-25 survive 2 extra bits, not 1.
  const std::vector<double> quarter_a(4, 0x1p-12), quarter_b(4, 0x1p-13);
  EXPECT_EQ(step(hopper, quarter_a, quarter_b, 1.0F), 1.0F + 0x1p-23F);
  EXPECT_EQ(step(ampere, quarter_a, quarter_b, 1.0F), 1.0F);
  // Truncation, not rounding: 1 + 3/4 of a last place stays 1, of either sign.
  EXPECT_EQ(step(hopper, {0x1p-12, 0x1p-12}, {0x1p-12, 0x1p-13}, 1.0F), 1.0F);
  EXPECT_EQ(step(hopper, {-0x1p-12, -0x1p-12}, {0x1p-12, 0x1p-13}, -1.0F), -1.0F);
}

// The exponent of a product is not normalised: 1.5 * 1.5 = 2.25 aligns as 2^0, so one more bit of the small one
// survives.
TEST(TensorCoreStep, ProductExponentsAreNotNormalised) {
  const TensorCore hopper = hopper_tensor_core(FloatType::kFp16);
  const double a[] = {1.5, 0x1p-12};
  const double b[] = {1.5, 0x1p-13};
  // 2.25 + 2^-25 with c = -2.25 + 2^-22 (a multiple of its last place): the exact remainder keeps 2^-25.
  EXPECT_EQ(tensor_core_step(hopper, FloatType::kFp16, 0.0F, a, b, 2), 2.25F);
  const double a3[] = {1.5, 0x1p-12, -1.5};
  const double b3[] = {1.5, 0x1p-13, 1.5};
  EXPECT_EQ(tensor_core_step(hopper, FloatType::kFp16, 0.0F, a3, b3, 3), 0x1p-25F);
}

TEST(TensorCoreStep, SpecialValues) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const TensorCore core = hopper_tensor_core(FloatType::kFp16);
  const auto bits = [&](float c, double a0, double b0, double a1, double b1) {
    const double a[] = {a0, a1};
    const double b[] = {b0, b1};
    return bit_cast<std::uint32_t>(tensor_core_step(core, FloatType::kFp16, c, a, b, 2));
  };
  EXPECT_EQ(bits(1, inf, 2, 1, 1), 0x7f800000U);
  EXPECT_EQ(bits(1, inf, -2, 1, 1), 0xff800000U);
  EXPECT_EQ(bits(1, inf, 2, inf, -1), 0x7fffffffU);
  EXPECT_EQ(bits(1, inf, 0, 1, 1), 0x7fffffffU);
  EXPECT_EQ(bits(1, nan, 1, 1, 1), 0x7fffffffU);
  EXPECT_EQ(bits(-std::numeric_limits<float>::infinity(), 1, 1, 1, 1), 0xff800000U);
  EXPECT_EQ(bits(-0.0F, 0, -1, 0, 1), 0U);
  EXPECT_EQ(bits(1, 1, -1, 0, 1), 0U);
  EXPECT_EQ(bits(std::numeric_limits<float>::max(), 0x1p15, 0x1p15, 1, 1), 0x7f7fffffU);
}

TEST(TensorCoreStep, OverflowIsInfinity) {
  const TensorCore core = hopper_tensor_core(FloatType::kTf32);
  const double a[] = {0x1p127, 0x1p127};
  const double b[] = {1, 1};
  EXPECT_EQ(tensor_core_step(core, FloatType::kTf32, 0.0F, a, b, 2), std::numeric_limits<float>::infinity());
}

TEST(RoundToFp32, CutsSubnormalResultsToTheirUnit) {
  EXPECT_EQ(round_to_fp32(3, -150, RoundingMode::kTowardZero), 0x1p-149F);
  EXPECT_EQ(round_to_fp32(3, -150, RoundingMode::kNearestEven), 0x1p-148F);
  EXPECT_EQ(round_to_fp32(1, -150, RoundingMode::kTowardZero), 0.0F);
  EXPECT_EQ(round_to_fp32(-((std::int64_t{1} << 25) - 1), 0, RoundingMode::kTowardZero), -0x1.fffffep24F);
}

}  // namespace
}  // namespace kizami::num
