// SPDX-License-Identifier: MIT
// What the planner chooses for slices in device memory (sums, blocks of lines, complex form) beside what bench_gpu_slices
// recorded of every way of it: never more than 5 % slower than the quickest.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "device_engines/h200_environment.hpp"
#include "device_engines/library.hpp"
#include "engines/hopper/hopper.hpp"
#include "exec/schemes.hpp"
#include "lab/bench/sliced_way.hpp"
#include "plan/h200_facts.hpp"
#include "plan/plan.hpp"
#include "schemes/ozaki1/stage.hpp"

namespace kizami::plan {
namespace {

/// Sums, lines of a block, streams, complex form.
using SliceWay = std::tuple<std::string, std::int64_t, int, std::string>;
/// Milliseconds of 7 truncated slices by type, n and engine: of the named ways, and what the planner took when they were
/// recorded.
struct Recorded {
  std::map<SliceWay, double> ways;
};
using Case = std::tuple<char, std::int64_t, std::string>;

std::map<Case, Recorded> records() {
  std::map<Case, Recorded> all;
  std::ifstream file(KIZAMI_SLICE_RECORDS);
  std::string line;
  while (std::getline(file, line)) {
    const auto json = nlohmann::json::parse(line);
    const auto who = json.at("who").get<std::string>();
    if (!who.starts_with("ozaki1/7/truncated") || !json.contains("sums")) continue;
    if (who.find("full") != std::string::npos || json.at("sums") == "rounded") continue;
    std::istringstream spec(json.at("case").get<std::string>());
    std::string type;
    std::string ops;
    std::int64_t n = 0;
    spec >> type >> ops >> n;
    const SliceWay way{json.at("sums"), json.at("block_lines"), json.at("streams"), json.at("complex_form")};
    double& ms = all[{type[0], n, json.at("engine")}].ways[way];
    const double found = json.at("ms_median").get<double>();
    ms = ms == 0 ? found : std::min(ms, found);
  }
  return all;
}

TEST(SliceChoice, IsAtMostFivePercentSlowerThanTheQuickestRecorded) {
  static const Library library;
  const std::array<const product::Engine*, 2> engines = {&engines::hopper_engine(), &library};
  Environment environment;
  environment.schemes = exec::schemes();
  environment.engines = engines;
  environment.facts = h200_facts();
  int compared = 0;
  for (const auto& [key, recorded] : records()) {
    const auto& [type, n, engine] = key;
    if (recorded.ways.size() < 2) continue;
    Policy policy;
    policy.scheme = Scheme::kOzaki1;
    policy.engine = engine == "hopper" ? EngineName::kHopper : EngineName::kCublasLt;
    policy.gauge = Gauge::kNorm;
    policy.reproducibility = Reproducibility::kNotGuaranteed;
    policy.slices.num_slices = 7;
    policy.slices.split = SliceSplit::kTruncated;
    const Result<Plan> plan = make({type == 'd' ? Scalar::kF64 : Scalar::kC128, n, n, n}, policy, environment);
    ASSERT_TRUE(plan.ok()) << plan.status().reason();
    const ozaki1::Ozaki1Stage& stage = ozaki1::ozaki1_of(plan.value());
    const SliceWay chosen{to_string(stage.sums), stage.blocks.lines, stage.blocks.num_streams,
                          to_string(stage.numerics.complex_form)};
    const auto found = recorded.ways.find(chosen);
    ASSERT_NE(found, recorded.ways.end()) << "no record of it: " << explain(plan.value());
    const auto best = std::min_element(recorded.ways.begin(), recorded.ways.end(),
                                       [](const auto& x, const auto& y) { return x.second < y.second; });
    EXPECT_LE(found->second, 1.05 * best->second)
        << type << " " << n << " " << engine << ": quickest is " << std::get<0>(best->first) << " by "
        << std::get<1>(best->first) << " lines in " << std::get<2>(best->first) << " streams, "
        << std::get<3>(best->first) << "; " << explain(plan.value());
    ++compared;
  }
  EXPECT_GE(compared, 20);
}

/// A k that no one sum holds, so that chunks cut it, and no lines to cut.
TEST(SliceChoice, NoLinesOfLongProductsArePlanned) {
  for (const auto& [m, n] : {std::pair{70, 0}, {0, 70}, {0, 0}}) {
    for (const std::int64_t k : {std::int64_t{0}, std::int64_t{1} << 24}) {
      Policy policy;
      policy.scheme = Scheme::kOzaki1;
      policy.slices.num_slices = 7;
      const Result<Plan> plan = make({Scalar::kF64, m, n, k}, policy, h200_environment());
      ASSERT_TRUE(plan.ok()) << plan.status().reason();
      EXPECT_GE(plan.value().schedule.seconds, 0);
    }
  }
}

}  // namespace
}  // namespace kizami::plan
