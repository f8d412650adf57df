// SPDX-License-Identifier: MIT
#include "dropin/policy/rules.hpp"

#include <gtest/gtest.h>

namespace kizami::dropin {
namespace {

std::vector<Rule> parsed(const std::string& text, const Settings& base = {}) {
  Result<std::vector<Rule>> rules = parse_rules(text, "test.rules", base);
  EXPECT_TRUE(rules.ok()) << rules.status().reason();
  return rules.ok() ? rules.value() : std::vector<Rule>();
}

std::string refusal(const std::string& text) {
  const Result<std::vector<Rule>> rules = parse_rules(text, "test.rules", {});
  return rules.ok() ? "accepted" : rules.status().reason();
}

/// Whether a rule with these conditions holds for the call.
bool holds(const std::string& conditions, const Request& request) {
  const Settings base;
  const std::vector<Rule> rules = parsed(conditions + " : scheme=native", base);
  return settings_for(request, rules, base).policy.scheme == Scheme::kNative;
}

TEST(Rules, ConditionsAreAllNeeded) {
  const Request call{"gemm", Scalar::kF64, 100, 200, 300, nullptr};
  EXPECT_TRUE(holds("", call));
  EXPECT_TRUE(holds("routine=syrk,gemm type=z,d m=100 n=..200 k=300..", call));
  EXPECT_FALSE(holds("routine=gemm3m", call));
  EXPECT_FALSE(holds("type=s,c,z", call));
  EXPECT_FALSE(holds("m=101..", call));
  EXPECT_FALSE(holds("n=..199", call));
  EXPECT_FALSE(holds("k=1..299", call));
  EXPECT_FALSE(holds("routine=gemm type=d m=100 n=200 k=299", call));
}

TEST(Rules, SizesAreCubicRootsRoundedDown) {
  const Request call{"gemm", Scalar::kF64, 10, 20, 30, nullptr};  // 18^3 = 5832 <= 6000 < 6859 = 19^3
  EXPECT_TRUE(holds("size=18", call));
  EXPECT_FALSE(holds("size=17", call));
  EXPECT_FALSE(holds("size=19..", call));
  EXPECT_TRUE(holds("size=..18", call));
  EXPECT_FALSE(holds("size=..17", call));
  EXPECT_TRUE(holds("size=0..", {"gemm", Scalar::kF64, 0, 1, 1, nullptr}));
  EXPECT_FALSE(holds("size=1..", {"gemm", Scalar::kF64, 0, 1, 1, nullptr}));
}

TEST(Rules, PlacesArePatternsOfTheFileThatCalls) {
  const void* here = reinterpret_cast<const void*>(&parse_rules);
  const std::string site = site_of(here);
  const std::string file = site.substr(0, site.find(':'));
  EXPECT_EQ(file, "test_dropin_policy");
  const Request call{"gemm", Scalar::kF64, 1, 1, 1, here};
  EXPECT_TRUE(holds("site=test_dropin_policy", call));
  EXPECT_TRUE(holds("site=test_*", call));
  EXPECT_FALSE(holds("site=libscipy*", call));
  EXPECT_EQ(site_of(nullptr), "unknown");
  EXPECT_FALSE(holds("site=test_*", {"gemm", Scalar::kF64, 1, 1, 1, nullptr}));
}

TEST(Rules, TheFirstThatHoldsDecidesOverTheEnvironment) {
  Settings base;
  base.policy.accuracy = Accuracy::at_bits(30);
  const std::vector<Rule> rules =
      parsed("# a comment\n\n  m=..9 : scheme=native\r\n\ttype=d : min_size=0 accuracy=bits=40 # more\n: log=1", base);
  ASSERT_EQ(rules.size(), 3U);
  const auto settings = [&](Scalar scalar, std::int64_t m) {
    return settings_for({"gemm", scalar, m, 10, 10, nullptr}, rules, base);
  };
  EXPECT_EQ(settings(Scalar::kF64, 9).policy.scheme, Scheme::kNative);
  EXPECT_EQ(settings(Scalar::kF64, 9).policy.accuracy, Accuracy::at_bits(30));
  EXPECT_EQ(settings(Scalar::kF64, 10).policy.accuracy, Accuracy::at_bits(40));
  EXPECT_EQ(settings(Scalar::kF64, 10).min_size, 0);
  EXPECT_TRUE(settings(Scalar::kF32, 10).is_logged);
  EXPECT_EQ(&settings_for({"gemm", Scalar::kF64, 1, 1, 1, nullptr}, {}, base), &base);
}

TEST(Rules, RefusalsHaveFileLineAndReason) {
  EXPECT_EQ(refusal("\n# x\ntype=q : log=1"),
            "test.rules:3: type = 'q', must be s, d, c, z or several with commas between");
  EXPECT_EQ(refusal("m=1"), "test.rules:1: no lone ':' between conditions and settings");
  EXPECT_EQ(refusal("m=1 :"), "test.rules:1: no setting after ':'");
  EXPECT_EQ(refusal(": log=1 : log=0"), "test.rules:1: a second lone ':', must be one between conditions and settings");
  EXPECT_EQ(refusal("m : log=1"), "test.rules:1: 'm' is not understood, must be name=value or a lone ':'");
  EXPECT_EQ(refusal("m=1 m=2 : log=1"), "test.rules:1: 'm' is given twice");
  EXPECT_EQ(refusal(": log=1 log=0"), "test.rules:1: 'log' is given twice");
  EXPECT_EQ(refusal("q=1 : log=1"),
            "test.rules:1: the condition 'q' is unknown, must be routine, type, m, n, k, size or site");
  EXPECT_EQ(refusal("routine=dgemm : log=1").substr(0, 40), "test.rules:1: routine 'dgemm' is unknown");
  EXPECT_EQ(refusal(": scheme=fast"), "test.rules:1: scheme = 'fast', must be one of auto, native, ozaki2, ec, ozaki1");
  for (const char* range : {"..", "", "a", "5..4", "-1", "1..x", "99999999999999999999", "1...2"})
    EXPECT_EQ(refusal(std::string("m=") + range + " : log=1").substr(0, 17), "test.rules:1: m =") << range;
  EXPECT_EQ(refusal("site= : log=1"), "test.rules:1: site = '', must be a pattern");
}

}  // namespace
}  // namespace kizami::dropin
