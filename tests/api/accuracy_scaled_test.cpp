// SPDX-License-Identifier: MIT
// T4: copies rescaled by powers of two up to the ends of the range, alpha and beta, and lines that span more than the
// range of FP64: the bound holds there too.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api_case.hpp"

namespace kizami::api_test {
namespace {

using check::Case;

constexpr const char* kRepresentative[] = {"randn",   "rand",        "exprand:phi=4", "int:bits=8",
                                           "halfulp", "grade:inner", "hilbert",       "cancel:near"};
constexpr const char* kScaledShapes[] = {"3x5x7", "6x4x129", "5x7x300"};

class RescaledCopies : public ::testing::TestWithParam<const char*> {};

TEST_P(RescaledCopies, MeetThePlansBound) {
  Tally tally;
  int turn = 0;
  for (const char* cls : kRepresentative) {
    for (const int s : {-300, -40, -10, -5, 5, 10, 40, 300}) {
      const std::string scaled = std::string(cls) + ",x2^" + std::to_string(s);
      const std::string inverse = std::string(cls) + ",x2^" + std::to_string(-s);
      for (const std::string& operands :
           {"A=" + scaled + " B=" + cls, "A=" + scaled + " B=" + scaled, "A=" + inverse + " B=" + scaled}) {
        ++turn;
        if (kIsSanitized && turn % 4 != 0) continue;
        expect_guaranteed(
            case_of(std::string(GetParam()) + " " + kScaledShapes[turn % 3] + " " + operands + " threads=2" +
                    (turn % 5 == 0 ? " gauge=norm" : "") + " seed=" + std::to_string(turn)),
            &tally);
      }
    }
  }
  report(std::string("rescaled ") + GetParam(), tally);
}
INSTANTIATE_TEST_SUITE_P(All, RescaledCopies, ::testing::Values("d nn", "s nn", "z nc", "c rt"),
                         [](const auto& test) { return std::string(1, test.param[0]); });

class AlphaAndBeta : public ::testing::TestWithParam<const char*> {};

TEST_P(AlphaAndBeta, MeetTheBoundWithTheEpilogue) {
  const char scalar = GetParam()[0];
  const bool is_complex = scalar == 'c' || scalar == 'z';
  std::vector<std::string> alphas = {"1", "-1", "0", "0.5", "2.7", "-3"};
  std::vector<std::string> betas = {"0", "1", "-1", "0.3"};
  std::vector<std::string> extremes = scalar == 's' || scalar == 'c'
                                          ? std::vector<std::string>{"1e38", "1e-38", "1e-44"}
                                          : std::vector<std::string>{"1e308", "1e-308", "5e-324", "1e200"};
  if (is_complex) {
    alphas = {"1", "-1", "0", "-0.7", "1i", "2-0.3i"};
    betas = {"0", "1", "0.3", "-1i", "1-2i"};
    extremes.resize(2);
    extremes.push_back("1" + std::string("+") + extremes[0] + "i");
    extremes.push_back(extremes[0] + "-" + extremes[1] + "i");
  }
  alphas.insert(alphas.end(), extremes.begin(), extremes.end());
  betas.insert(betas.end(), extremes.begin(), extremes.end());
  const char* const classes[] = {"A=randn B=randn", "A=exprand:phi=4 B=evil", "A=underflow B=underflow C=subnormal",
                                 "A=overflow B=overflow C=big", "A=cancel B=cancel C=tiny"};
  Tally tally;
  int turn = 0;
  for (const std::string& alpha : alphas) {
    for (const std::string& beta : betas) {
      for (const char* operands : classes) {
        ++turn;
        if (kIsSanitized && turn % 5 != 0) continue;
        const char* const gauge = turn % 3 == 0 ? " gauge=norm" : "";
        expect_guaranteed(case_of(std::string(GetParam()) + " " + kScaledShapes[turn % 3] + " a=" + alpha +
                                  " b=" + beta + " " + operands + gauge + " threads=2 seed=" + std::to_string(turn)),
                          &tally);
      }
    }
  }
  report(std::string("alpha, beta ") + GetParam(), tally);
}
INSTANTIATE_TEST_SUITE_P(All, AlphaAndBeta, ::testing::Values("d nn", "s nn", "z cn", "c tr"),
                         [](const auto& test) { return std::string(1, test.param[0]); });

/// One row times one column.
double dot(const std::vector<double>& a, const std::vector<double>& b, const Policy& policy, Outcome& outcome) {
  const auto k = static_cast<std::int64_t>(a.size());
  double c = -7;
  const Status status = gemm<double>(Layout::kColMajor, Op::kNone, Op::kNone, 1, 1, k, 1.0, a.data(), 1, b.data(), k,
                                     0.0, &c, 1, policy, &outcome);
  EXPECT_TRUE(status.ok()) << status.reason();
  return c;
}

// The largest element of one line meets a zero of the other, and what remains lies up to 2^2000 below it.
TEST(WideLines, MeetTheBound) {
  const std::vector<double> as[] = {{0x1p1000, 0x1.8123456789abp-20, 0.0},
                                    {0x1p1000, 0x1.8123456789abp-450, -0x1.3p-455},
                                    {0x1p1000, 0x1.8123456789abp-1000, 0x1p-1074},
                                    {0x1.fp1023, 0x1.23456789p-510, 0x1.fp-560},
                                    {0x1p600, 0x1.23456789p-300, 0x1.fp-560}};
  const std::vector<double> bs[] = {{0.0, 0x1.f123456789abdp-450, 0x1p1000},
                                    {0.0, 0x1.f123456789abdp-50, 0x1.1p-51},
                                    {0.0, 1.0, 0x1p1020},
                                    {0x1p-1074, 0x1.fp1023, 0.0}};
  double worst = 0;
  for (const std::vector<double>& a : as) {
    for (const std::vector<double>& b : bs) {
      for (const Accuracy& accuracy : {Accuracy::native(), Accuracy::at_bits(52)}) {
        Policy policy;
        policy.accuracy = accuracy;
        Outcome outcome;
        const double c = dot(a, b, policy, outcome);
        const check::Reference<double> reference(1, dense(a, 1, 3), dense(b, 3, 1), 0, {});
        const double ratio =
            reference.ratio(reference.element(0, 0), c, {check::Against::kEntry, outcome.bound, 0x1p-1074}, 0, 0);
        EXPECT_TRUE(check::ratio_at_most_one(ratio))
            << "ratio " << ratio << ": a = " << a[0] << ", " << a[1] << ", " << a[2] << "; b = " << b[0] << ", " << b[1]
            << ", " << b[2] << "; c = " << c << ", rung " << outcome.rung;
        worst = std::max(worst, ratio);
      }
    }
  }
  RecordProperty("max_ratio", std::to_string(worst));
}

}  // namespace
}  // namespace kizami::api_test
