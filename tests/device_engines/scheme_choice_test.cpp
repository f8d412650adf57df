// SPDX-License-Identifier: MIT
// Which scheme the planner takes where the policy promises no bits, beside what bench_gpu_gemm and bench_gpu_ec_call
// recorded on an H200 of each: never more than 5 % slower than the quickest.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "check/case.hpp"
#include "device_engines/h200_environment.hpp"
#include "plan/plan.hpp"

namespace kizami::plan {
namespace {

/// Milliseconds by scheme, of the last records in which all of them stand together.
using Ways = std::map<Scheme, double>;

/// Cases of elements that the lowest rung answers.
std::map<std::string, Ways> records() {
  std::map<std::string, Ways> last;
  for (const char* name : {"gemm.jsonl", "ec_call.jsonl"}) {
    std::map<std::string, std::map<std::string, Ways>> by_run;  // of a case
    std::ifstream file(std::string(KIZAMI_H200_RECORDS) + "/" + name);
    std::string line;
    while (std::getline(file, line)) {
      const auto json = nlohmann::json::parse(line);
      const auto who = json.at("who").get<std::string>();
      const auto spec = json.at("case").get<std::string>();
      if (!spec.ends_with(" phi=0.5")) continue;
      const std::map<std::string, Scheme> schemes = {
          {"native", Scheme::kNative}, {"hopper", Scheme::kOzaki2}, {"ec", Scheme::kEc}};
      const auto scheme = schemes.find(who);
      if (scheme == schemes.end()) continue;
      Ways& ways = by_run[spec][json.at("commit").get<std::string>()];
      double& ms = ways[scheme->second];
      const double found = json.at("ms_median").get<double>();
      ms = ms == 0 ? found : std::min(ms, found);
      if (ways.size() > 1) last[spec].insert_or_assign(scheme->second, ms);
      if (ways.contains(Scheme::kNative)) last[spec].insert_or_assign(Scheme::kNative, ways.at(Scheme::kNative));
    }
  }
  return last;
}

TEST(SchemeChoice, IsAtMostFivePercentSlowerThanTheQuickestRecorded) {
  Policy policy;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  int compared = 0;
  for (const auto& [spec, ways] : records()) {
    if (ways.size() < 2) continue;
    const Result<check::Case> parsed = check::parse_case(spec.substr(0, spec.find(" phi")));
    ASSERT_TRUE(parsed.ok()) << spec << ": " << parsed.status().reason();
    const check::Case& c = parsed.value();
    const Result<Plan> plan = make({c.scalar, c.m, c.n, c.k}, policy, h200_environment());
    ASSERT_TRUE(plan.ok()) << plan.status().reason();
    const auto chosen = ways.find(plan.value().first().scheme);
    if (chosen == ways.end()) continue;  // nobody recorded it
    const auto best =
        std::min_element(ways.begin(), ways.end(), [](const auto& x, const auto& y) { return x.second < y.second; });
    EXPECT_LE(chosen->second, 1.05 * best->second)
        << spec << ": quickest is " << to_string(best->first) << "; " << explain(plan.value());
    ++compared;
  }
  EXPECT_GE(compared, 15);
}

}  // namespace
}  // namespace kizami::plan
