// SPDX-License-Identifier: MIT
// Scheme ec through the front door: every variant on every matrix class within the plan's bound, BLAS semantics, range
// safety, and what does not change a bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "api_case.hpp"
#include "check/matrix_spec.hpp"
#include "check/random.hpp"

namespace kizami::api_test {
namespace {

using check::Case;

constexpr std::array kVariants{EcVariant::kAuto,     EcVariant::kScaled, EcVariant::kHalfhalf, EcVariant::kTf32tf32,
                               EcVariant::kMarkidis, EcVariant::kFeng,   EcVariant::kBf16x3,   EcVariant::kBf16x6,
                               EcVariant::kBf16x9,   EcVariant::kFp16,   EcVariant::kTf32,     EcVariant::kScaledTf32};

Policy ec_policy(EcVariant variant = EcVariant::kAuto) {
  Policy policy;
  policy.scheme = Scheme::kEc;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  policy.ec.variant = variant;
  policy.threads = kThreads;
  return policy;
}

/// As expect_guaranteed(), but the outcome's scheme may be what stands behind ec.
template <class T>
Outcome expect_within_bound(const Case& c, Tally* tally = nullptr) {
  const auto answer = [](const Outcome& outcome) {
    return std::string(outcome.scheme == Scheme::kEc ? to_string(outcome.variant) : to_string(outcome.scheme));
  };
  const auto held = api_test::expect_within_bound<T>(c, tally, answer);
  return held.has_value() ? held->outcome : Outcome{};
}

class EcVariants : public ::testing::TestWithParam<EcVariant> {};

TEST_P(EcVariants, EveryClassMeetsThePlansBound) {
  struct Extents {
    std::int64_t m, n, k;
  };
  constexpr Extents kShapes[] = {{9, 5, 1}, {13, 6, 33}, {5, 17, 129}, {7, 11, 300}, {3, 8, 1000}};
  Tally tally;
  std::size_t turn = 0;
  for (const check::ClassInfo& info : check::class_inventory()) {
    for (const Scalar scalar : {Scalar::kF32, Scalar::kC64}) {
      for (int pairing = 0; pairing < 3; ++pairing, ++turn) {
        Case c;
        c.scalar = scalar;
        const Extents& extents = kShapes[turn % std::size(kShapes)];
        // A variant whose own bound does not reach the accuracy is refused where the planner chooses it.
        if (GetParam() == EcVariant::kAuto && extents.k < 100) continue;
        if (is_left_out(static_cast<std::int64_t>(turn), 7)) continue;
        c.m = extents.m;
        c.n = extents.n;
        c.k = extents.k;
        const check::MatrixSpec normal = check::default_spec(check::MatrixClass::kRandn);
        c.a = pairing == 2 ? normal : check::default_spec(info.id);
        c.b = pairing == 1 ? normal : check::default_spec(info.id);
        c.policy = ec_policy(GetParam());
        c.seed = turn + 1;
        if (is_complex(scalar)) {
          expect_within_bound<std::complex<float>>(c, &tally);
        } else {
          expect_within_bound<float>(c, &tally);
        }
      }
    }
  }
  report(std::string(to_string(GetParam())), tally);
}

INSTANTIATE_TEST_SUITE_P(All, EcVariants, ::testing::ValuesIn(kVariants),
                         [](const auto& variant) { return std::string(to_string(variant.param)); });

TEST(Ec, OpsLayoutsScalarsAndStrides) {
  Tally tally;
  const std::string lines[] = {
      "s nt 33x17x200 a=-1 b=0 ld+3",    "s tn 33x17x200 a=1.5 b=-0.5 ld+3", "s tt 8x9x130 a=0 b=2",
      "s nn 8x9x130 a=1 b=1 layout=row", "c cn 9x12x160 a=1-2i b=0.5i ld+1", "c rt 9x12x160 a=-1 b=0",
      "c nr 5x7x150 a=0.5 b=1+1i",       "c tc 5x7x150 a=2i b=-1 layout=row"};
  for (const std::string& line : lines) {
    Case c = case_of(line + " A=randn B=randn seed=11");
    for (const EcVariant variant : {EcVariant::kAuto, EcVariant::kHalfhalf, EcVariant::kBf16x6}) {
      c.policy = ec_policy(variant);
      if (is_complex(c.scalar)) {
        expect_within_bound<std::complex<float>>(c, &tally);
      } else {
        expect_within_bound<float>(c, &tally);
      }
    }
  }
  EXPECT_EQ(tally.cases, 24);
}

/// exp_rand(a, b) of [OY2021, section 4.1]: exponent uniform in {a..b-1}, 23 random bits, random sign.
std::vector<float> exp_rand(std::int64_t count, int a, int b, std::uint64_t seed) {
  std::vector<float> out(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t word = check::AddressedRandom(seed, 0, i, 0).bits();
    const int exponent = a + static_cast<int>((word >> 32) % static_cast<std::uint64_t>(b - a));
    const float x = std::ldexp(1.0F + std::ldexp(static_cast<float>(word & 0x7fffff), -23), exponent);
    out[static_cast<std::size_t>(i)] = (word >> 24 & 1) != 0 ? -x : x;
  }
  return out;
}

/// Runs operands as given and checks |C - AB| <= bound |A||B| in FP64, whose own error is far below the bound.
Outcome run_exp_rand(int a_lo, int a_hi, int b_lo, int b_hi, const Policy& policy, double* max_ratio = nullptr) {
  constexpr std::int64_t m = 24, n = 20, k = 512;
  const std::vector<float> a = exp_rand(m * k, a_lo, a_hi, 1), b = exp_rand(k * n, b_lo, b_hi, 2);
  std::vector<float> c(m * n, -1.0F);
  Outcome outcome;
  const Status status = gemm<float>(Layout::kColMajor, Op::kNone, Op::kNone, m, n, k, 1.0F, a.data(), m, b.data(), k,
                                    0.0F, c.data(), m, policy, &outcome);
  EXPECT_TRUE(status.ok()) << status.reason();
  double most = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < m; ++i) {
      double exact = 0, gauge = 0;
      for (std::int64_t h = 0; h < k; ++h) {
        const double term = static_cast<double>(a[static_cast<std::size_t>(h * m + i)]) *
                            static_cast<double>(b[static_cast<std::size_t>(j * k + h)]);
        exact += term;
        gauge += std::abs(term);
      }
      const double got = static_cast<double>(c[static_cast<std::size_t>(j * m + i)]);
      const double ratio = std::abs(got - exact) / (gauge * outcome.bound * (1 + 0x1p-20) + 0x1p-149);
      if (!(ratio <= most) && !std::isnan(most)) most = ratio;  // NaN stays
    }
  }
  if (max_ratio != nullptr) {
    *max_ratio = most;
  } else {
    EXPECT_LE(most, 1.0) << "exp_rand(" << a_lo << ", " << a_hi << ") x (" << b_lo << ", " << b_hi << ")";
  }
  return outcome;
}

// [OY2021, figure 8] and wider: FP32-grade results by default, and the outcome says by what.
TEST(EcRange, ExpRandClassesAreAnsweredByDefault) {
  EXPECT_EQ(run_exp_rand(-15, 15, -15, 15, ec_policy()).scheme, Scheme::kEc);
  EXPECT_EQ(run_exp_rand(-15, 15, -35, -15, ec_policy()).scheme, Scheme::kEc);
  EXPECT_EQ(run_exp_rand(-45, -35, -45, -35, ec_policy()).variant, EcVariant::kScaled);
  EXPECT_EQ(run_exp_rand(-33, 33, -33, 33, ec_policy()).scheme, Scheme::kEc);
  run_exp_rand(-60, 60, -60, 60, ec_policy());
  run_exp_rand(-149, 100, -60, 20, ec_policy());
  run_exp_rand(100, 120, -120, -100, ec_policy());
}

// halfhalf as given keeps no part of elements below 2^-36: its check finds that, and the next variant answers.
TEST(EcRange, HalfhalfLeavesItsRangeAndSaysSo) {
  EXPECT_EQ(run_exp_rand(-2, 2, -2, 2, ec_policy(EcVariant::kHalfhalf)).variant, EcVariant::kHalfhalf);
  EXPECT_EQ(run_exp_rand(-45, -35, -2, 2, ec_policy(EcVariant::kHalfhalf)).variant, EcVariant::kScaled);
  EXPECT_EQ(run_exp_rand(14, 20, -2, 2, ec_policy(EcVariant::kHalfhalf)).variant, EcVariant::kScaled);
  // Without the check it is as wrong as the document says.
  Policy policy = ec_policy(EcVariant::kHalfhalf);
  policy.ec.check_range = false;
  double ratio = 0;
  EXPECT_EQ(run_exp_rand(-45, -35, -2, 2, policy, &ratio).variant, EcVariant::kHalfhalf);
  EXPECT_GT(ratio, 100.0);
}

// One element of each line is 2^30 times the others: FP16 keeps 2^-39 of it, too little for the products it is not in.
TEST(EcRange, Tf32AnswersWhatIsTooWideForFp16) {
  Case c = case_of("s nn 24x20x512 A=huge:exp=30 B=randn seed=5");
  c.policy = ec_policy();
  EXPECT_EQ(expect_within_bound<float>(c).variant, EcVariant::kScaledTf32);
}

TEST(EcRange, BeyondEveryVariantSchemeOzaki2Answers) {
  Case c = case_of("s nn 9x7x300 A=huge:exp=100 B=huge:exp=100 seed=5");
  c.policy = ec_policy();
  const Outcome outcome = expect_within_bound<float>(c);
  EXPECT_EQ(outcome.scheme, Scheme::kOzaki2);
  EXPECT_EQ(outcome.variant, EcVariant::kAuto);
}

TEST(Ec, SubnormalOperandsAndResults) {
  for (const int exponent : {-149, -140, -126, -70}) {
    const int top = exponent + 6;
    EXPECT_EQ(run_exp_rand(exponent, top, 0, 3, ec_policy()).scheme, Scheme::kEc) << exponent;
  }
}

// A step whose exponent a subnormal part sets cuts its other addends: the largest element of each row meets a zero, the
// others are 2^-38 of it (subnormal in FP16), and their partners spread over 10 binades. Such lines must not count as
// exact.
TEST(EcRange, SubnormalPartsThatSetTheAlignmentAreFound) {
  constexpr std::int64_t m = 5, n = 4, k = 480;
  std::vector<float> a(m * k, 0x1p-24F), b(k * n, 0.0F);
  const std::vector<float> spread = exp_rand(k * n, 0, 1, 9);
  for (std::int64_t i = 0; i < m; ++i) a[static_cast<std::size_t>(i)] = 0x1p14F;  // meets b = 0
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t h = 1; h < k; ++h) {
      const auto x = static_cast<std::size_t>(j * k + h);
      b[x] = std::ldexp(spread[x], h % 16 == 1 ? 14 : 4);
    }
  }
  const auto worst_ratio = [&](const Policy& policy) {
    std::vector<float> c(m * n);
    Outcome outcome;
    const Status status = gemm<float>(Layout::kColMajor, Op::kNone, Op::kNone, m, n, k, 1.0F, a.data(), m, b.data(), k,
                                      0.0F, c.data(), m, policy, &outcome);
    EXPECT_TRUE(status.ok()) << status.reason();
    double most = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      double exact = 0, gauge = 0;
      for (std::int64_t h = 1; h < k; ++h) {
        const double term = 0x1p-24 * static_cast<double>(b[static_cast<std::size_t>(j * k + h)]);
        exact += term;
        gauge += std::abs(term);
      }
      for (std::int64_t i = 0; i < m; ++i) {
        const double error = std::abs(static_cast<double>(c[static_cast<std::size_t>(j * m + i)]) - exact);
        most = std::max(most, error / (outcome.bound * gauge));
      }
    }
    return most;
  };
  for (const EcVariant variant : {EcVariant::kAuto, EcVariant::kHalfhalf}) {
    EXPECT_LE(worst_ratio(ec_policy(variant)), 1.0) << to_string(variant);
    Policy unchecked = ec_policy(variant);
    unchecked.ec.check_range = false;
    EXPECT_GT(worst_ratio(unchecked), 1.0) << to_string(variant);  // what the check is for
  }
}

// Multiplying A by 2^s changes no bit of the significands of C.
TEST(Ec, ScaleInvariance) {
  constexpr std::int64_t m = 17, n = 9, k = 200;
  const std::vector<float> a = exp_rand(m * k, -3, 3, 7), b = exp_rand(k * n, -3, 3, 8);
  for (const EcVariant variant : {EcVariant::kScaled, EcVariant::kTf32tf32, EcVariant::kBf16x6}) {
    std::vector<float> plain(m * n), scaled(m * n), a_scaled(a);
    for (float& x : a_scaled) x = std::ldexp(x, 40);
    for (const bool is_scaled : {false, true}) {
      ASSERT_TRUE(gemm<float>(Layout::kColMajor, Op::kNone, Op::kNone, m, n, k, 1.0F, (is_scaled ? a_scaled : a).data(),
                              m, b.data(), k, 0.0F, (is_scaled ? scaled : plain).data(), m, ec_policy(variant))
                      .ok());
    }
    for (float& x : scaled) x = std::ldexp(x, -40);
    expect_same_bits(scaled, plain, m, n, std::string(to_string(variant)));
  }
}

TEST(Ec, ThreadsWorkspaceAndBatchesChangeNoBit) {
  for (const char* line : {"s nt 70x50x500 A=randn B=randn seed=3", "c cn 40x37x300 A=randn B=randn seed=4"}) {
    Case c = case_of(line);
    c.policy = ec_policy();
    const auto variants_of_schedule = [&]<class T>() {
      const std::vector<T> want = product_of<T>(c);
      Case other = c;
      other.policy.threads = 1;
      expect_same_bits(product_of<T>(other), want, c.m, c.n, "1 thread");
      other.policy.workspace_limit_bytes =
          make_plan(c.scalar, c.m, c.n, c.k, c.policy).value().workspace_bytes() * 9 / 10;
      if (make_plan(c.scalar, c.m, c.n, c.k, other.policy).ok())
        expect_same_bits(product_of<T>(other), want, c.m, c.n, "less workspace");
      check::Operands<T> x(c, kThreads);
      std::vector<T> batch(static_cast<std::size_t>(3 * c.m * c.n));
      ASSERT_TRUE(gemm_strided_batched<T>(c.layout, c.op_a, c.op_b, c.m, c.n, c.k, T{1}, x.a.data(), x.a.ld(), 0,
                                          x.b.data(), x.b.ld(), 0, T{0}, batch.data(), c.m, c.m * c.n, 3, c.policy)
                      .ok());
      for (int i = 0; i < 3; ++i) {
        const auto first = batch.begin() + i * c.m * c.n;
        expect_same_bits(std::vector<T>(first, first + c.m * c.n), want, c.m, c.n, "product of a batch");
      }
    };
    if (is_complex(c.scalar)) {
      variants_of_schedule.operator()<std::complex<float>>();
    } else {
      variants_of_schedule.operator()<float>();
    }
  }
}

// A workspace of exactly the plan's bytes, poisoned: no byte beyond it is written, and none of it is read before.
TEST(Ec, WorkspaceOfExactlyThePlansBytes) {
  for (const char* line : {"s nt 33x29x257 A=randn B=randn seed=3", "c nn 21x37x130 A=randn B=randn seed=4"}) {
    for (const EcVariant variant :
         {EcVariant::kAuto, EcVariant::kHalfhalf, EcVariant::kBf16x9, EcVariant::kScaledTf32}) {
      Case c = case_of(line);
      c.policy = ec_policy(variant);
      const auto run_with_canaries = [&]<class T>() {
        const std::vector<T> want = product_of<T>(c);
        const Plan plan = make_plan(c.scalar, c.m, c.n, c.k, c.policy).value();
        constexpr std::size_t kBeyond = 4096, kAlignment = 64;
        std::vector<std::byte> memory(plan.workspace_bytes() + kBeyond + kAlignment, std::byte{0xA5});
        void* start = memory.data();
        std::size_t space = memory.size();
        ASSERT_NE(std::align(kAlignment, plan.workspace_bytes() + kBeyond, start, space), nullptr);
        auto* const first = static_cast<std::byte*>(start);
        check::Operands<T> x(c, kThreads);
        const check::Operands<T>& operands = x;
        ASSERT_TRUE(
            run<T>(plan, T{1}, operands.a.view(), operands.b.view(), T{0}, x.c.view(), {first, plan.workspace_bytes()})
                .ok());
        const MatrixView<T> got = x.c.view();
        for (std::int64_t j = 0; j < c.n; ++j) {
          for (std::int64_t i = 0; i < c.m; ++i) ASSERT_EQ(got(i, j), want[static_cast<std::size_t>(j * c.m + i)]);
        }
        EXPECT_TRUE(std::all_of(first + plan.workspace_bytes(), first + plan.workspace_bytes() + kBeyond,
                                [](std::byte b) { return b == std::byte{0xA5}; }))
            << line << " " << to_string(variant);
      };
      if (is_complex(c.scalar)) {
        run_with_canaries.operator()<std::complex<float>>();
      } else {
        run_with_canaries.operator()<float>();
      }
    }
  }
}

TEST(Ec, NonFiniteElementsAreWhereExactArithmeticPutsThem) {
  constexpr std::int64_t m = 8, n = 6, k = 200;
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> a = exp_rand(m * k, -3, 3, 7), b = exp_rand(k * n, -3, 3, 8), c(m * n, 5.0F), clean(m * n);
  const auto multiply = [&](std::vector<float>& out, float beta, Outcome& outcome, const Policy& policy) {
    return gemm<float>(Layout::kColMajor, Op::kNone, Op::kNone, m, n, k, 1.0F, a.data(), m, b.data(), k, beta,
                       out.data(), m, policy, &outcome);
  };
  Outcome outcome;
  ASSERT_TRUE(multiply(clean, 0.0F, outcome, ec_policy()).ok());
  a[3] = inf;                                              // row 3, element 0
  b[static_cast<std::size_t>(2 * k + 5)] = std::nanf("");  // column 2
  ASSERT_TRUE(multiply(c, 0.0F, outcome, ec_policy()).ok());
  EXPECT_EQ(outcome.scheme, Scheme::kEc);
  EXPECT_EQ(outcome.nonfinite_rows, 1);
  EXPECT_EQ(outcome.nonfinite_cols, 1);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < m; ++i) {
      const float got = c[static_cast<std::size_t>(j * m + i)];
      if (j == 2) {
        EXPECT_TRUE(std::isnan(got));
      } else if (i == 3) {
        EXPECT_EQ(got, b[static_cast<std::size_t>(j * k)] > 0 ? inf : -inf);
      } else {
        EXPECT_EQ(got, clean[static_cast<std::size_t>(j * m + i)]);
      }
    }
  }
  Policy rejecting = ec_policy();
  rejecting.reject_nonfinite = true;
  std::vector<float> untouched(m * n, 5.0F);
  EXPECT_EQ(multiply(untouched, 0.0F, outcome, rejecting).code(), StatusCode::kNonFinite);
  EXPECT_EQ(untouched, std::vector<float>(m * n, 5.0F));
}

TEST(Ec, QuickReturnsAndEmptyShapes) {
  std::vector<float> c(6, std::nanf(""));
  Outcome outcome;
  const auto empty = [&](std::int64_t k, float beta) {
    return gemm<float>(Layout::kColMajor, Op::kNone, Op::kNone, 2, 3, k, 0.0F, nullptr, 2, nullptr,
                       std::max<std::int64_t>(k, 1), beta, c.data(), 2, ec_policy(EcVariant::kScaled), &outcome);
  };
  ASSERT_TRUE(empty(4, 0.0F).ok());
  EXPECT_EQ(c, std::vector<float>(6, 0.0F));  // beta = 0 never reads C
  EXPECT_EQ(outcome.engine, "none");
  ASSERT_TRUE(empty(0, 1.0F).ok());
}

// Positive operands expose the bias of truncation: over k = 16384 it reaches about 10^-4 without promotion, and stays
// below the bound of the promoted chains, 1.8e-5, with it. This fails if the promotion is removed.
TEST(Ec, PromotionKeepsLongSumsOfPositiveNumbersAccurate) {
  constexpr std::int64_t m = 6, n = 5, k = 16384;
  const auto positive = [](std::int64_t count, std::uint64_t seed) {
    std::vector<float> x = exp_rand(count, -1, 0, seed);
    for (float& value : x) value = std::abs(value);
    return x;
  };
  const std::vector<float> a = positive(m * k, 1), b = positive(k * n, 2);
  const auto error = [&](const Policy& policy) {
    std::vector<float> c(m * n);
    EXPECT_TRUE(gemm<float>(Layout::kColMajor, Op::kNone, Op::kNone, m, n, k, 1.0F, a.data(), m, b.data(), k, 0.0F,
                            c.data(), m, policy)
                    .ok());
    double most = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < m; ++i) {
        double exact = 0;
        for (std::int64_t h = 0; h < k; ++h) {
          exact += static_cast<double>(a[static_cast<std::size_t>(h * m + i)]) *
                   static_cast<double>(b[static_cast<std::size_t>(j * k + h)]);
        }
        most = std::max(most, std::abs(static_cast<double>(c[static_cast<std::size_t>(j * m + i)]) - exact) / exact);
      }
    }
    return most;
  };
  Policy unchecked = ec_policy(EcVariant::kScaled);
  unchecked.ec.check_range = false;  // then the plan's bound is that of the chains alone
  const double bound = make_plan(Scalar::kF32, m, n, k, unchecked).value().bound();
  EXPECT_LE(bound, 2e-5);
  for (const EcVariant variant : {EcVariant::kScaled, EcVariant::kHalfhalf, EcVariant::kTf32tf32, EcVariant::kBf16x6})
    EXPECT_LE(error(ec_policy(variant)), bound) << to_string(variant);
  EXPECT_GT(error(ec_policy(EcVariant::kMarkidis)), bound);
}

// Three real products: within the bound against norms for every class, real and imaginary parts of any ratio.
TEST(EcKaratsuba, EveryClassMeetsThePlansBound) {
  Tally tally;
  std::size_t turn = 0;
  for (const check::ClassInfo& info : check::class_inventory()) {
    for (const EcVariant variant : {EcVariant::kScaled, EcVariant::kScaledTf32, EcVariant::kBf16x6}) {
      Case c = case_of(turn % 2 == 0 ? "c cn 9x7x300 a=1 b=0" : "c nt 6x11x129 a=1-2i b=0.5i ld+2");
      c.a = c.b = check::default_spec(info.id);
      c.a.imag_exp = static_cast<int>(turn % 3) * 10 - 10;
      c.seed = ++turn;
      c.policy = ec_policy(variant);
      c.policy.gauge = Gauge::kNorm;
      c.policy.ec.karatsuba = true;
      const Outcome outcome = expect_within_bound<std::complex<float>>(c, &tally);
      EXPECT_EQ(outcome.scheme, Scheme::kEc);
      EXPECT_EQ(outcome.gauge, Gauge::kNorm);
    }
  }
  report("karatsuba", tally);
}

// What the flag changes: one product less, other bits.
TEST(EcKaratsuba, IsAnotherComputationThanFourProducts) {
  Case c = case_of("c nn 20x20x400 a=1 b=0 A=randn B=randn seed=3");
  c.policy = ec_policy(EcVariant::kScaled);
  c.policy.gauge = Gauge::kNorm;
  const std::vector<std::complex<float>> four = product_of<std::complex<float>>(c);
  const std::uint64_t hash = make_plan(c.scalar, c.m, c.n, c.k, c.policy).value().numerics_hash();
  c.policy.ec.karatsuba = true;
  EXPECT_NE(product_of<std::complex<float>>(c), four);
  EXPECT_NE(make_plan(c.scalar, c.m, c.n, c.k, c.policy).value().numerics_hash(), hash);
}

// One FP32 sum of fused multiply-adds a result, the SIMT product of [OY2021]: scheme ec is no worse on the same data.
TEST(Ec, DefaultIsNoWorseThanAnFp32Chain) {
  for (const char* line : {"s nn 40x30x2048 A=randn B=randn seed=1", "s nn 40x30x4096 A=rand B=rand seed=2",
                           "s nn 40x30x2048 A=exprand:phi=1 B=exprand:phi=1 seed=3"}) {
    Case c = case_of(line);
    c.policy = ec_policy();
    check::Operands<float> x(c, kThreads);
    Outcome outcome;
    ASSERT_TRUE(call(c, x, outcome).ok());
    EXPECT_EQ(outcome.scheme, Scheme::kEc);
    const MatrixView<const float> a = std::as_const(x).a.view(), b = std::as_const(x).b.view();
    std::vector<float> chain(static_cast<std::size_t>(c.m * c.n));
    for (std::int64_t j = 0; j < c.n; ++j) {
      for (std::int64_t i = 0; i < c.m; ++i) {
        float sum = 0;
        for (std::int64_t h = 0; h < c.k; ++h) sum = std::fma(a(i, h), b(h, j), sum);
        chain[static_cast<std::size_t>(j * c.m + i)] = sum;
      }
    }
    const auto worst = [&](MatrixView<const float> got) {
      const check::Reference<float> reference(1.0F, a, b, 0.0F, got);
      return check::error_ratios<float>(reference, got, {check::against(Gauge::kEntry), 0x1p-24, 0}, {}, kThreads).max;
    };
    const double chain_units = worst(dense(std::as_const(chain), c.m, c.n));
    const double ec_units = worst(std::as_const(x).c.view());
    EXPECT_LE(ec_units, chain_units) << line;
    fmt::print("[ accuracy ] {}: FP32 chain {:.3g} u |A||B|, ec {:.3g}\n", line, chain_units, ec_units);
  }
}

TEST(Ec, PreparedOperandsAreRefused) {
  const Result<Plan> plan = make_plan(Scalar::kF32, 8, 8, 200, ec_policy());
  ASSERT_TRUE(plan.ok());
  const std::vector<float> a(8 * 200, 1.0F);
  const Result<PreparedOperand> prepared = prepare<float>(plan.value(), Side::kA, dense(a, 8, 200));
  EXPECT_EQ(prepared.status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace kizami::api_test
