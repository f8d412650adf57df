// SPDX-License-Identifier: MIT
// T4: which rung of its ladder a call takes. Ordinary data need the lowest, structured operands stay in integers,
// graded ones are equilibrated, wide spreads climb. That the result is right is asserted on the way, that it was cheap
// is the subject.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "api_case.hpp"
#include "check/matrix_classes.hpp"

namespace kizami::api_test {
namespace {

using check::Case;

/// Runs the line and prints what it took.
Outcome take(const std::string& line) {
  Tally tally;
  const Outcome outcome = expect_guaranteed(case_of(line), &tally);
  fmt::print("[ rung     ] {:<8} {:>2} moduli, repaired {:>4}  {}\n", Tally::answer(outcome), outcome.moduli,
             outcome.repaired, line);
  return outcome;
}

TEST(Rung, OrdinaryDataTakeTheLowest) {
  for (const char* scalar : {"d", "s"}) {
    const int moduli = scalar[0] == 'd' ? 14 : 7;
    for (const char* cls : {"randn", "rand", "rands", "exprand:phi=0.5"}) {
      for (const char* k : {"256", "300", "1000", "2048"}) {
        if (kIsSanitized && std::string(k) != "300") continue;
        const std::string line = std::string(scalar) + " nn 24x20x" + k + " A=" + cls + " B=" + cls + " threads=2";
        const Outcome outcome = expect_guaranteed(case_of(line));
        EXPECT_EQ(outcome.rung, 0) << line;
        EXPECT_EQ(outcome.moduli, moduli) << line;
        EXPECT_FALSE(outcome.equilibrated) << line;
        EXPECT_EQ(outcome.repaired, 0) << line;
      }
    }
  }
}

class StructuredOperand : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(StructuredOperand, StaysInIntegers) {
  const std::string scalar = std::get<0>(GetParam());
  const std::string cls = std::get<1>(GetParam());
  // FP64 with few bits is left out: a ladder of 11 rungs from 5 moduli ends before the 17 to 19 that represent normal
  // numbers exactly, and the certificate sees 7 bits below the maximum of 64 elements.
  std::vector<std::string> accuracies = {"native"};
  if (scalar == "d") accuracies.insert(accuracies.end(), {"bits=40", "bits=52"});
  if (scalar == "s") accuracies.insert(accuracies.end(), {"bits=8", "bits=20", "bits=23"});
  Tally native;
  int turn = 0;
  for (const std::string& accuracy : accuracies) {
    for (const std::string& operands : {"A=" + cls + " B=randn", "A=randn B=" + cls, "A=" + cls + " B=" + cls}) {
      for (const char* shape : {"61x61x61", "17x19x300"}) {
        if (kIsSanitized && (shape[0] == '6' || turn++ % 2 != 0)) continue;
        const std::string line =
            scalar + " nn " + shape + " " + operands + " accuracy=" + accuracy + " fp64=refuse threads=2";
        const Outcome outcome = expect_guaranteed(case_of(line), accuracy == "native" ? &native : nullptr);
        EXPECT_GE(outcome.rung, 0) << line;
        EXPECT_EQ(outcome.repaired, 0) << line;
      }
    }
  }
  report(scalar + " " + cls, native);
}
INSTANTIATE_TEST_SUITE_P(All, StructuredOperand,
                         ::testing::Combine(::testing::Values("d", "s"),
                                            ::testing::Values("identity", "permutation", "diagonal", "banded:w=3",
                                                              "lower", "upper", "int:bits=8", "onehot",
                                                              "zerorows:every=3", "zerocols:every=2", "zeros")),
                         [](const auto& test) {
                           std::string name = std::string(std::get<0>(test.param)) + "_" + std::get<1>(test.param);
                           return name.substr(0, name.find(':'));
                         });

// A = X D, B = D^-1 Y with D from 2^-200 to 2^200: an exact rescaling of the inner index makes it ordinary.
TEST(Rung, GradedOperandsAreEquilibrated) {
  for (const char* k : {"257", "600", "1500"}) {
    const Outcome outcome =
        take(std::string("d nn 20x18x") + k + " A=grade:inner,span=400 B=grade:inner,span=400 threads=2");
    EXPECT_TRUE(outcome.equilibrated);
    EXPECT_GE(outcome.rung, 0);
    EXPECT_LE(outcome.moduli, 15);
    EXPECT_EQ(outcome.repaired, 0);
  }
  const Outcome outcome = take("s nn 20x18x600 A=grade:inner,span=100 B=grade:inner,span=100 threads=2");
  EXPECT_TRUE(outcome.equilibrated);
  EXPECT_LE(outcome.moduli, 8);
}

// Powers of two in front of rows and columns of C are free.
TEST(Rung, ScaledRowsAndColumnsTakeTheLowest) {
  const Outcome outcome = take("d nn 20x18x300 A=grade:rows,span=400 B=grade:cols,span=400 threads=2");
  EXPECT_EQ(outcome.rung, 0);
  EXPECT_FALSE(outcome.equilibrated);
}

TEST(Rung, WideSpreadsStayOnTheLadder) {
  const Outcome phi2 = take("d nn 24x20x2048 A=exprand:phi=2 B=exprand:phi=2 threads=2");
  EXPECT_GE(phi2.rung, 0);
  if (kIsSanitized) return;
  for (const char* seed : {"1", "2"}) {
    const Outcome phi4 = take(std::string("d nn 12x10x16384 A=exprand:phi=4 B=exprand:phi=4 threads=2 seed=") + seed);
    EXPECT_GE(phi4.rung, 0);
  }
}

TEST(Rung, UncertifiableDataAreAnsweredInFp64OrRefused) {
  const std::string line = "d nn 9x7x65 A=evil:span=1900 B=evil:span=1900 threads=2";
  const Outcome outcome = take(line);
  EXPECT_EQ(outcome.rung, -1);
  EXPECT_EQ(outcome.moduli, 0);
  EXPECT_EQ(outcome.repaired, 63);
}

// A pair or two among many need more than all others: they are recomputed, the others keep their rung.
TEST(Rung, FewBadPairsAreRepaired) {
  const std::int64_t n = 80, k = 70;
  std::vector<double> a(static_cast<std::size_t>(n * k)), b(static_cast<std::size_t>(k * n));
  const check::MatrixSpec spec = check::default_spec(check::MatrixClass::kRand);
  check::fill(spec, 1, check::Which::kA, dense(a, n, k));
  check::fill(spec, 1, check::Which::kB, dense(b, k, n));
  // Row 7 of A is huge where column 3 of B is zero.
  for (std::int64_t l = 0; l < k; ++l) {
    a[static_cast<std::size_t>(l * n + 7)] *= l < 10 ? 0x1p300 : 1.0;
    b[static_cast<std::size_t>(3 * k + l)] *= l < 10 ? 0.0 : 1.0;
  }
  std::vector<double> c(static_cast<std::size_t>(n * n));
  Outcome outcome;
  const Status status = gemm<double>(1.0, dense(std::as_const(a), n, k), dense(std::as_const(b), k, n), 0.0,
                                     dense(c, n, n), {}, &outcome);
  ASSERT_TRUE(status.ok()) << status.reason();
  EXPECT_EQ(outcome.repaired, 1);
  EXPECT_GE(outcome.rung, 0);
  const check::Reference<double> reference(1, dense(std::as_const(a), n, k), dense(std::as_const(b), k, n), 0, {});
  const check::RatioStats stats = check::error_ratios<double>(reference, dense(std::as_const(c), n, n),
                                                              {check::Against::kEntry, outcome.bound, 0}, {}, kThreads);
  const check::Verdict verdict = check::ratio_at_most_one(stats);
  EXPECT_TRUE(verdict) << verdict.message;
}

}  // namespace
}  // namespace kizami::api_test
