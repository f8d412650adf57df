// SPDX-License-Identifier: MIT
// What the planner takes in device memory (native or a scheme, its engine, a form of its kernel) beside what was recorded on
// an H200 of several of them in one run: never more than 5 % slower than the quickest. slice_choice_test.cpp has the ways of
// slices. Plans are made here, without a device.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "check/case.hpp"
#include "device_engines/h200_environment.hpp"
#include "device_engines/library.hpp"
#include "engines/hopper/forms.hpp"
#include "engines/mma/forms.hpp"
#include "engines/mma/product_i8.hpp"
#include "plan/plan.hpp"
#include "schemes/ozaki2/stage.hpp"

namespace kizami::plan {
namespace {

constexpr double kMostSlower = 1.05;

/// Calls `take` with each line of a file of lab/results/h200.
template <class Take>
void for_each_record(const std::string& name, const Take& take) {
  std::ifstream file(std::string(KIZAMI_H200_RECORDS) + "/" + name);
  ASSERT_TRUE(file.is_open()) << name;
  std::string line;
  while (std::getline(file, line)) take(nlohmann::json::parse(line));
}

/// Milliseconds of two ways of one run, by their names.
using Pairs = std::map<std::pair<std::string, std::string>, std::pair<double, double>>;

void add_pairs(const std::map<std::string, double>& run, Pairs& pairs) {
  for (const auto& [way, ms] : run) {
    for (const auto& [other, other_ms] : run) {
      if (way != other) pairs.insert_or_assign(std::pair(way, other), std::pair(ms, other_ms));
    }
  }
}

/// Whether `chosen` takes at most 5 % more than each other way.
/// @param times of pairs that one run recorded
void expect_quick(const std::string& name, const Pairs& times, const std::string& chosen, const std::string& why,
                  double most_slower = kMostSlower) {
  for (const auto& [ways, ms] : times) {
    if (ways.first != chosen) continue;
    EXPECT_LE(ms.first / ms.second, most_slower)
        << name << ": " << ways.second << " is quicker than " << chosen << "; " << why;
  }
}

// ---- schemes and engines ----------------------------------------------------------------------------------------------

/// The way that a line is of; nothing: no plan here takes it (slices, cuBLAS's own emulation, prepared operands).
std::optional<std::string> way_of(std::string who) {
  constexpr std::string_view kPortable = "/portable";
  if (who.ends_with(kPortable)) who.resize(who.size() - kPortable.size());
  constexpr std::string_view kWays[] = {"native", "hopper", "cublaslt", "mma", "ec"};
  if (std::find(std::begin(kWays), std::end(kWays), who) == std::end(kWays)) return std::nullopt;
  return who;
}

/// Lines of products by schemes and engines, older ones first.
std::vector<nlohmann::json> recorded_products() {
  std::vector<nlohmann::json> lines;
  for (const char* name : {"gemm.jsonl", "ec_call.jsonl", "slices.jsonl", "batch.jsonl"})
    for_each_record(name, [&](const nlohmann::json& json) { lines.push_back(json); });
  std::ranges::stable_sort(lines, {},
                           [](const nlohmann::json& json) { return json.at("date").get_ref<const std::string&>(); });
  return lines;
}

/// By case, of each two ways the newest run that has both. Kernels of other cards are cases of their own. Within a run the
/// quickest record of a way: engine hopper has further ones of more moduli. Ways are "native", "ec" and, of scheme ozaki2, the
/// names of engines.
std::map<std::string, Pairs> recorded_pairs() {
  std::map<std::string, Pairs> all;
  std::map<std::pair<std::string, std::string>, std::map<std::string, double>> runs;  // by case and commit
  for (const nlohmann::json& json : recorded_products()) {
    const auto who = json.at("who").get<std::string>();
    const std::optional<std::string> way = way_of(who);
    if (!way) continue;
    const std::string spec = json.at("case").get<std::string>() + (who.ends_with("/portable") ? " portable" : "");
    std::map<std::string, double>& run = runs[{spec, json.at("commit").get<std::string>()}];
    const auto ms = json.at("ms_median").get<double>();
    const auto [at, is_first] = run.emplace(*way, ms);
    if (!is_first) at->second = std::min(at->second, ms);
    add_pairs(run, all[spec]);
  }
  return all;
}

struct Product {
  problem::Shape shape;
  std::int64_t num_products = 1;
  std::size_t workspace_limit = 0;  ///< bytes; 0: none was named
};
/// Of "d nn 8192x8192x256 phi=0.5 batch=16 workspace=400", the last in MiB.
Product product_of(const std::string& spec) {
  const Result<check::Case> parsed = check::parse_case(spec.substr(0, spec.find(" phi")));
  EXPECT_TRUE(parsed.ok()) << spec << ": " << parsed.status().reason();
  const check::Case& c = parsed.value();
  Product out{{c.scalar, c.m, c.n, c.k}, 1};
  constexpr std::string_view kBatch = " batch=";
  constexpr std::string_view kWorkspace = " workspace=";
  if (const std::size_t at = spec.find(kBatch); at != std::string::npos)
    out.num_products = std::stoll(spec.substr(at + kBatch.size()));
  if (const std::size_t at = spec.find(kWorkspace); at != std::string::npos)
    out.workspace_limit = std::stoull(spec.substr(at + kWorkspace.size())) << 20;
  return out;
}

/// A card of another kind with the rates of an H200: no wgmma, engines of all cards.
Environment portable_environment() {
  static const Library library(false);
  static const std::array<const product::Engine*, 2> engines = {&library, &engines::mma_product_engine()};
  Environment environment = h200_environment();
  environment.engines = engines;
  environment.ec_engines = {};
  environment.facts.code_capability = 80;
  return environment;
}

std::string way_of(const Plan& plan) {
  const Scheme scheme = plan.first().scheme;
  return scheme == Scheme::kOzaki2 ? std::string(ozaki2::ozaki2_of(plan).engine->name())
                                   : std::string(to_string(scheme));
}

/// A plan is made before anyone has seen elements, and has to choose for ordinary and wide ones alike: this product is left to
/// native, which is 13 % slower of ordinary elements, and quicker by more of wide ones (device_certificate_plan.cpp).
constexpr std::string_view kLeftForWideElements = "d nn 2048x2048x2048 phi=0.5";
constexpr std::string_view kItsWideElements[] = {"d nn 2048x2048x2048 phi=2", "d nn 2048x2048x2048 phi=4"};
constexpr double kMostSlowerThere = 1.14;

TEST(Choice, IsAtMostFivePercentSlowerThanTheQuickestRecorded) {
  Policy policy;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  int compared = 0;
  const std::map<std::string, Pairs> recorded = recorded_pairs();
  for (const auto& [spec, pairs] : recorded) {
    if (pairs.empty()) continue;  // one way only
    const Product product = product_of(spec);
    policy.workspace_limit_bytes = product.workspace_limit;
    const Environment environment = spec.ends_with(" portable") ? portable_environment() : h200_environment();
    const Result<Plan> plan = make(product.shape, policy, environment, {.num_products = product.num_products});
    ASSERT_TRUE(plan.ok()) << spec << ": " << plan.status().reason();
    const std::string chosen = way_of(plan.value());
    const bool is_recorded =
        std::any_of(pairs.begin(), pairs.end(), [&](const auto& entry) { return entry.first.first == chosen; });
    if (!is_recorded) {
      EXPECT_EQ(chosen, "ec") << spec << ": no record of what is taken";  // of wide elements nobody recorded it
      continue;
    }
    expect_quick(spec, pairs, chosen, explain(plan.value()),
                 spec == kLeftForWideElements ? kMostSlowerThere : kMostSlower);
    ++compared;
  }
  EXPECT_GE(compared, 50);
  const auto ratio = [&](std::string_view spec, const char* way, const char* other) {
    const auto& [ms, other_ms] = recorded.at(std::string(spec)).at({way, other});
    return ms / other_ms;
  };
  EXPECT_GT(ratio(kLeftForWideElements, "native", "hopper"), kMostSlower) << "is held: take out the exception";
  for (const std::string_view spec : kItsWideElements)
    EXPECT_GT(ratio(spec, "hopper", "native"), kMostSlowerThere) << spec << ": the reason of the exception is gone";
}

/// Two commits by turns on one card: the one before Strassen's products, and the one that has them (docs/perf/strassen.md).
TEST(Choice, QuadrantsAreTakenWhereTheyWereQuicker) {
  std::map<std::string, std::map<std::string, double>> runs;
  for_each_record("gemm.jsonl", [&](const nlohmann::json& json) {
    const auto commit = json.at("commit").get<std::string>();
    const auto spec = json.at("case").get<std::string>();
    if ((commit != "c4964ff2" && commit != "83d242b1") || !spec.starts_with("d ")) return;
    double& ms = runs[spec][commit == "83d242b1" ? "quadrants" : "whole"];
    const auto found = json.at("ms_median").get<double>();
    ms = ms == 0 ? found : std::min(ms, found);
  });
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  policy.engine = EngineName::kHopper;
  for (const auto& [spec, run] : runs) {
    const Result<Plan> plan = make(product_of(spec).shape, policy, h200_environment());
    ASSERT_TRUE(plan.ok()) << plan.status().reason();
    Pairs pairs;
    add_pairs(run, pairs);
    ASSERT_EQ(pairs.size(), 2U) << spec;
    expect_quick(spec, pairs, ozaki2::ozaki2_of(plan.value()).takes_strassen ? "quadrants" : "whole",
                 explain(plan.value()));
  }
  EXPECT_EQ(runs.size(), 3U);
}

// ---- forms ------------------------------------------------------------------------------------------------------------

/// Milliseconds of a form in a run: the median of single launches, and of one among launches on end.
struct FormTimes {
  double single = std::numeric_limits<double>::infinity();
  double on_end = std::numeric_limits<double>::infinity();
};

/// All forms of the INT8 kernels on the same planes, one after another: those of engine hopper, and those of engine mma. Records
/// whose residues are not folded are of other kernels. Of long products launches on end are compared, for the first form of a run
/// comes to a cool card.
TEST(Choice, FormsAreAtMostFivePercentSlowerThanTheQuickestRecorded) {
  std::map<std::string, std::map<std::string, FormTimes>> recorded;
  for_each_record("product.jsonl", [&](const nlohmann::json& json) {
    if (json.value("residues", "") != "folded") return;
    const auto form = json.at("form").get<std::string>();
    const std::string engine = form.starts_with("mma_") ? "mma" : "hopper";
    const std::string run = engine + " " + json.at("commit").get<std::string>() + " " +
                            json.at("bytes").get<std::string>() + " " + json.at("case").get<std::string>();
    FormTimes& times = recorded[run][form];
    times.single = std::min(times.single, json.at("ms").get<double>());
    times.on_end = std::min(times.on_end, json.at("burst_ms").get<double>());
  });
  std::map<std::string, std::map<std::string, double>> runs;
  for (const auto& [run, forms] : recorded) {
    constexpr double kLong = 2;
    const bool is_long = std::ranges::any_of(forms, [](const auto& form) { return form.second.single > kLong; });
    for (const auto& [form, times] : forms) runs[run][form] = is_long ? times.on_end : times.single;
  }
  int compared = 0;
  for (const auto& [run, forms] : runs) {
    if (forms.size() < 2) continue;
    product::ProductDesc desc;
    long m = 0;
    long n = 0;
    long k = 0;
    int planes = 0;
    const std::string spec = run.substr(run.find(" product ") + 1);
    ASSERT_EQ(std::sscanf(spec.c_str(), "product %ldx%ldx%ld planes=%d", &m, &n, &k, &planes), 4) << run;
    desc.m = m;
    desc.n = n;
    desc.k = k;
    desc.num_products = planes;
    desc.epilogue = product::Epilogue::kReduce;
    desc.has_unsigned_bytes = run.find(" unsigned ") != std::string::npos;
    const std::string chosen =
        run.starts_with("mma")
            ? "mma_" + std::string(engines::traits_of(engines::mma_form_for(desc, h200_facts())).name)
            : std::string(engines::traits_of(engines::tile_for(desc, h200_facts().num_sms)).name);
    ASSERT_TRUE(forms.contains(chosen)) << run << ": " << chosen;
    Pairs pairs;
    add_pairs(forms, pairs);
    expect_quick(run, pairs, chosen, "");
    ++compared;
  }
  EXPECT_GE(compared, 40);
}

}  // namespace
}  // namespace kizami::plan
