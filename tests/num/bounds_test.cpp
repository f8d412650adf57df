// SPDX-License-Identifier: MIT
// The bounds as functions: exact values where they are known, monotone where they must be, and below the targets that
// the plans rest on. That they hold for computed products is tested where products are computed.
#include "num/bounds.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "num/crt_table.hpp"
#include "tests/num/exact_numbers.hpp"

namespace kizami::num {
namespace {

using tests::exact;
using tests::Integer;
using tests::integer;
using tests::Rational;

const std::vector<std::int64_t> kLengths = {1,
                                            2,
                                            7,
                                            8,
                                            9,
                                            63,
                                            64,
                                            65,
                                            100,
                                            127,
                                            128,
                                            129,
                                            130,
                                            135,
                                            136,
                                            255,
                                            256,
                                            257,
                                            511,
                                            512,
                                            513,
                                            1000,
                                            1024,
                                            1025,
                                            4096,
                                            4097,
                                            9999,
                                            16384,
                                            65536,
                                            131072,
                                            131073,
                                            1 << 20,
                                            (1 << 20) + 1,
                                            std::int64_t{1} << 26,
                                            std::int64_t{1} << 30,
                                            (std::int64_t{1} << 34) - 1};

CrtInt half_of(int num_moduli) { return resize<kCrtLimbs>(crt_table(Ring::kReal, num_moduli).half_wide); }

TEST(NativeFactor, KnownValues) {
  EXPECT_EQ(native_factor(1), 8.0);
  EXPECT_EQ(native_factor(2), 8.0);
  EXPECT_EQ(native_factor(8), 8.0);
  EXPECT_EQ(native_factor(9), 9.0);
  EXPECT_EQ(native_factor(255), 255.0);
  EXPECT_EQ(native_factor(256), 256.0);
  EXPECT_EQ(native_factor(257), 16.0 * std::sqrt(257.0));
  EXPECT_LT(native_factor(257), 257.0);
  EXPECT_EQ(native_factor(1 << 20), 16384.0);
  EXPECT_EQ(native_factor(std::int64_t{1} << 32), 0x1p20);
}

/// min(max(k, 8), 16 sqrt(k)) restated in integers, and monotone.
TEST(NativeFactor, IsItsDefinition) {
  double last = 0;
  for (std::int64_t k = 1; k <= 5000; ++k) {
    const double c = native_factor(k);
    EXPECT_GE(c, last);
    last = c;
    if (k >= 256) {
      EXPECT_EQ(c, std::sqrt(256.0 * static_cast<double>(k)))
          << k;  // one rounding on either side of an exact scaling by 16
    } else {
      EXPECT_EQ(c, static_cast<double>(std::max<std::int64_t>(k, 8))) << k;
    }
  }
}

TEST(TargetBound, IsWhatThePolicySays) {
  for (const std::int64_t k : kLengths) {
    EXPECT_EQ(target_bound(Accuracy::native(), Scalar::kF64, k), native_factor(k) * 0x1p-53);
    EXPECT_EQ(target_bound(Accuracy::native(), Scalar::kF32, k), native_factor(k) * 0x1p-24);
    for (int bits = 1; bits <= 52; ++bits)
      EXPECT_EQ(target_bound(Accuracy::at_bits(bits), Scalar::kF64, k), std::ldexp(1.0, -bits));
  }
  EXPECT_EQ(significand_bits_guaranteed(Scalar::kF64), 52);
  EXPECT_EQ(significand_bits_guaranteed(Scalar::kF32), 23);
}

/// The FP64 rung must be able to answer every call of accuracy native.
TEST(Fp64Bounds, PairwiseIsWithinNativeForEveryLength) {
  for (std::int64_t k = 1; k < (std::int64_t{1} << 34); k += k < 3000 ? 1 : k / 7) {
    EXPECT_LE(fp64_pairwise_bound(k), target_bound(Accuracy::native(), Scalar::kF64, k)) << k;
    EXPECT_LE(fp64_pairwise_bound(k) + result_rounding(Scalar::kF32), target_bound(Accuracy::native(), Scalar::kF32, k))
        << k;
  }
}

TEST(Fp64Bounds, CompensatedReachesTheMostBitsThatMayBeAskedFor) {
  for (const std::int64_t k : kLengths) {
    if (k > (1 << 26)) continue;  // gamma_k^2 beyond: the planner refuses
    EXPECT_LE(fp64_compensated_bound(k), target_bound(Accuracy::at_bits(52), Scalar::kF64, k)) << k;
    EXPECT_LE(fp64_compensated_bound(k) + result_rounding(Scalar::kF32),
              target_bound(Accuracy::at_bits(23), Scalar::kF32, k))
        << k;
  }
}

TEST(Fp64Bounds, MonotoneAndNeverBelowTheirDefinition) {
  double pairwise = 0;
  double compensated = 0;
  for (std::int64_t k = 1; k < (std::int64_t{1} << 34); k += k < 3000 ? 1 : k / 7) {
    EXPECT_GE(fp64_pairwise_bound(k), pairwise) << k;
    EXPECT_GE(fp64_compensated_bound(k), compensated) << k;
    pairwise = fp64_pairwise_bound(k);
    compensated = fp64_compensated_bound(k);
    // gamma_n = n u / (1 - n u) exactly; n roundings deep: 128 in a chain, one a level.
    std::int64_t depth = kFp64ChainLength;
    while ((kFp64ChainLength << (depth - kFp64ChainLength)) < k) ++depth;
    const auto gamma = [](std::int64_t n) {
      Rational g(integer(n), Integer(tests::power_of_two(53) - integer(n)));
      g.canonicalize();
      return g;
    };
    EXPECT_GE(exact(pairwise), std::min(gamma(depth), tests::scaled(Rational(integer(k)), -53))) << k;
    EXPECT_GE(exact(compensated), Rational(tests::scaled(1, -53) + gamma(k) * gamma(k))) << k;
  }
}

TEST(NativeBlasBound, BlocksAndLimits) {
  int num_without_bound = 0;
  for (const double u : {0x1p-24, 0x1p-53}) {
    for (const std::int64_t k : kLengths) {
      EXPECT_EQ(native_blas_bound(k, k, u), dot_bound(k, u));
      for (const std::int64_t block : {std::int64_t{128}, std::int64_t{256}, std::int64_t{512}}) {
        const double bound = native_blas_bound(k, block, u);
        if (k <= block) {
          EXPECT_EQ(bound, dot_bound(k, u));
          continue;
        }
        const std::int64_t steps = block + (k + block - 1) / block;
        const Rational n = exact(u) * integer(steps);
        if (n < 1) {
          EXPECT_GE(exact(bound), Rational(n / (1 - n))) << k;
        } else {
          EXPECT_EQ(bound, std::numeric_limits<double>::infinity()) << k;
          ++num_without_bound;
        }
      }
    }
  }
  EXPECT_GT(num_without_bound, 0) << "no line is so long";
}

/// U is a lower bound of sqrt((P - 1) / 2) - sqrt(k) / 2, decided without a square root:
/// U + sqrt(k)/2 <= sqrt(H)  <=>  U sqrt(k) <= H - U^2 - k/4  <=>  (right side >= 0 and) U^2 k <= (right side)^2.
TEST(ScaledNormLimit, IsALowerBound) {
  for (int n = kMinModuli; n <= kMaxRealModuli; ++n) {
    for (const std::int64_t k : kLengths) {
      const double limit = scaled_norm_limit(half_of(n), k);
      if (limit <= 0) continue;
      const Rational u = exact(limit);
      const Rational right = integer(crt_table(Ring::kReal, n).half_wide) - u * u - Rational(integer(k)) / 4;
      ASSERT_GE(right, 0) << n << ", " << k;
      ASSERT_LE(u * u * integer(k), right * right) << n << ", " << k;
    }
  }
}

TEST(ScaledNormLimit, Monotone) {
  for (int n = kMinModuli; n <= kMaxRealModuli; ++n) {
    for (std::size_t i = 0; i < kLengths.size(); ++i) {
      const double limit = scaled_norm_limit(half_of(n), kLengths[i]);
      if (n > kMinModuli) {
        EXPECT_GT(limit, scaled_norm_limit(half_of(n - 1), kLengths[i]));
      }
      if (i > 0) {
        EXPECT_LE(limit, scaled_norm_limit(half_of(n), kLengths[i - 1]));
      }
    }
  }
}

TEST(TruncationBounds, MonotoneInModuliAndLength) {
  const double budget = truncation_budget(target_bound(Accuracy::native(), Scalar::kF64, 1024), Scalar::kF64);
  ASSERT_GT(budget, 0);
  for (int n = kMinModuli; n <= kMaxRealModuli; ++n) {
    for (std::size_t i = 0; i < kLengths.size(); ++i) {
      const std::int64_t k = kLengths[i];
      const double limit = scaled_norm_limit(half_of(n), k);
      if (limit < 1) continue;
      if (i > 0) {
        const double shorter = scaled_norm_limit(half_of(n), kLengths[i - 1]);
        EXPECT_GE(truncation_norm_bound(limit, k), truncation_norm_bound(shorter, kLengths[i - 1]));
        EXPECT_LE(pair_allowance(budget, limit, k), pair_allowance(budget, shorter, kLengths[i - 1]));
      }
      if (n < kMaxRealModuli) {
        const double more = scaled_norm_limit(half_of(n + 1), k);
        EXPECT_LT(truncation_norm_bound(more, k), truncation_norm_bound(limit, k));
        EXPECT_GT(pair_allowance(budget, more, k), pair_allowance(budget, limit, k));
      }
    }
  }
}

/// tau (1 + u) + u <= b for the budget tau of a target b: truncation, then the rounding of what truncation left.
TEST(TruncationBudget, LeavesRoomForTheRounding) {
  for (const Scalar scalar : {Scalar::kF32, Scalar::kF64}) {
    const Rational rounding = scalar == Scalar::kF64
                                  ? exact(0x1p-53)
                                  : Rational((1 + exact(0x1p-24)) * (1 + exact(0x1p-53)) - 1);  // to FP64, then to FP32
    EXPECT_GE(exact(result_rounding(scalar)), rounding);
    const auto check = [&](double target) {
      const double budget = truncation_budget(target, scalar);
      ASSERT_GT(budget, 0) << target;
      EXPECT_LE(Rational(exact(budget) * (1 + rounding) + rounding), exact(target));
    };
    for (int bits = 1; bits <= significand_bits_guaranteed(scalar); ++bits)
      check(target_bound(Accuracy::at_bits(bits), scalar, 1));
    for (const std::int64_t k : kLengths) check(target_bound(Accuracy::native(), scalar, k));
  }
}

/// D (1 + k / (2U)) / U <= budget for every D up to the allowance.
TEST(PairAllowance, KeepsTheBudget) {
  for (int n = kMinModuli; n <= kMaxRealModuli; ++n) {
    for (const std::int64_t k : kLengths) {
      const double limit = scaled_norm_limit(half_of(n), k);
      if (limit < 1) continue;
      const Rational u = exact(limit);
      for (const double budget : {0x1p-1, 0x1.23456p-20, 0x1p-53, 0x1.fp-50}) {
        const Rational d = exact(pair_allowance(budget, limit, k));
        ASSERT_LE(Rational(d * (1 + Rational(integer(k)) / (2 * u)) / u), exact(budget)) << n << ", " << k;
      }
    }
  }
}

TEST(EpilogueBound, CoversTwoRoundingsAndUnderflow) {
  for (const Scalar scalar : {Scalar::kF32, Scalar::kF64}) {
    const double u = unit_roundoff(scalar);
    const double tiny = scalar == Scalar::kF64 ? 0x1p-1074 : 0x1p-149;
    EXPECT_EQ(epilogue_bound(scalar, 0, 0), tiny);
    for (const double x : {0.0, 1.0, 0x1p100}) {
      for (const double y : {0.0, 3.0, 0x1p-100}) {
        // FP64: u y, then u (x + y (1 + u)). FP32: y is exact in FP64, the sum is rounded to FP64 and then to FP32.
        const Rational v = exact(scalar == Scalar::kF64 ? u : 0x1p-53);
        const Rational least = scalar == Scalar::kF64
                                   ? Rational(v * (exact(x) + exact(y) * (2 + v)))
                                   : Rational((exact(x) + exact(y)) * ((1 + v) * (1 + exact(u)) - 1));
        EXPECT_GE(exact(epilogue_bound(scalar, x, y)), least);
        EXPECT_GE(epilogue_bound(scalar, 2 * x, y), epilogue_bound(scalar, x, y));
        EXPECT_GE(epilogue_bound(scalar, x, 2 * y), epilogue_bound(scalar, x, y));
      }
    }
  }
}

}  // namespace
}  // namespace kizami::num
