// SPDX-License-Identifier: MIT
// The file of a processor's rates: what is read back, what is refused and why; and what the planner makes of rates.
#include "exec/processor_file.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "exec/environment.hpp"
#include "plan/plan.hpp"

namespace kizami::exec {
namespace {

using product::NativeRates;
using product::ProcessorRates;

const ProcessorKey kKey{"Some(R)  CPU 7 @ 2GHz", 12, "OpenBLAS 1", "1.2.3"};

ProcessorRates some_rates() {
  ProcessorRates rates;
  rates.split_seconds = 2e-9;
  rates.cpu_simd = 0.5;
  rates.copy_bytes_per_second = 20e9;
  rates.native_f64 = {{{{128, 1e10}, {1024, 4e10}}}, 2};
  return rates;
}

std::string why_refused(const std::string& text, const ProcessorKey& key = kKey) {
  const Result<ProcessorRates> rates = parse_processor(text, key);
  EXPECT_FALSE(rates.ok());
  return rates.ok() ? "" : rates.status().reason();
}

/// The text with its first `from` exchanged.
std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(ProcessorFile, IsReadAsWritten) {
  const Result<ProcessorRates> read = parse_processor(print_processor(kKey, some_rates()), kKey);
  ASSERT_TRUE(read.ok()) << read.status().reason();
  EXPECT_DOUBLE_EQ(read.value().split_seconds, 2e-9);
  EXPECT_DOUBLE_EQ(read.value().cpu_simd, 0.5);
  EXPECT_DOUBLE_EQ(read.value().copy_bytes_per_second, 20e9);
  EXPECT_DOUBLE_EQ(read.value().narrow_crt_seconds, ProcessorRates().narrow_crt_seconds);
  EXPECT_EQ(print_processor(kKey, some_rates()).find("narrow_crt_ns"), std::string::npos);  // nobody has measured it
  ASSERT_EQ(read.value().native_f64.num_points, 2);
  EXPECT_DOUBLE_EQ(read.value().native_f64.at(1024), 4e10);
}

TEST(ProcessorFile, NamesProcessorAndThreads) {
  setenv("XDG_CACHE_HOME", "/cache", 1);
  const std::string path = processor_path_of(kKey);
  EXPECT_EQ(path, "/cache/kizami/processor-Some-R-CPU-7-2GHz-12.v1.json");
  ProcessorKey other = kKey;
  other.threads = 2;
  EXPECT_NE(processor_path_of(other), path);
}

TEST(ProcessorFile, IsOfNoUseElsewhere) {
  const std::string text = print_processor(kKey, some_rates());
  ProcessorKey key = kKey;
  key.version = "1.3.0";
  EXPECT_EQ(why_refused(text, key), "measured by another version (kizami = \"1.2.3\", here \"1.3.0\")");
  key = kKey;
  key.processor = "Other";
  EXPECT_TRUE(why_refused(text, key).starts_with("of another processor"));
  key = kKey;
  key.threads = 1;
  EXPECT_TRUE(why_refused(text, key).starts_with("of other threads"));
  key = kKey;
  key.blas = "MKL";
  EXPECT_TRUE(why_refused(text, key).starts_with("with another BLAS"));
}

TEST(ProcessorFile, IsRefusedWhereDamaged) {
  const std::string text = print_processor(kKey, some_rates());
  EXPECT_EQ(why_refused(text.substr(0, text.size() / 2)), "no JSON");
  EXPECT_EQ(why_refused(""), "no JSON");
  EXPECT_EQ(why_refused("[]"), "no object");
  EXPECT_EQ(why_refused("{}"), "format is missing");
  EXPECT_TRUE(why_refused(with(text, "\"format\": 1", "\"format\": 2")).starts_with("of another format"));
  EXPECT_EQ(why_refused(with(text, "measured", "meant")), "measured is missing");
  EXPECT_EQ(why_refused(with(text, "\"cpu_simd_share\": 0.5", "\"cpu_simd_share\": 0")),
            "cpu_simd_share = 0, must be above 0");
  EXPECT_EQ(why_refused(with(text, "\"cpu_simd_share\": 0.5", "\"cpu_simd_share\": \"x\"")),
            "cpu_simd_share = \"x\", must be above 0");
  EXPECT_EQ(why_refused(with(text, "1024", "100")), "native_f64_gmacs: sizes must ascend");
}

TEST(NativeRates, LieBetweenTheSizesThatWereMeasured) {
  const NativeRates rates{{{{128, 1e10}, {512, 3e10}}}, 2};
  EXPECT_EQ(rates.at(1), 1e10);
  EXPECT_EQ(rates.at(128), 1e10);
  EXPECT_NEAR(rates.at(256), 2e10, 1);
  EXPECT_EQ(rates.at(512), 3e10);
  EXPECT_EQ(rates.at(1e6), 3e10);
  EXPECT_EQ(NativeRates::same(7).at(3), 7);
}

// ---- the planner -------------------------------------------------------------------------------------------------------

plan::Plan planned(const ProcessorRates& rates, Reproducibility reproducibility) {
  plan::Environment machine = environment();
  machine.facts.processor = rates;
  Policy policy;
  policy.reproducibility = reproducibility;
  Result<plan::Plan> plan = plan::make({Scalar::kF64, 900, 900, 900}, policy, machine);
  EXPECT_TRUE(plan.ok());
  return std::move(plan).value();
}

TEST(ProcessorRates, DecideBetweenSchemesOnlyWhereBitsAreNotPromised) {
  ProcessorRates slow_blas;
  slow_blas.native_f64 = NativeRates::same(1e7);
  ProcessorRates fast_blas;
  fast_blas.native_f64 = NativeRates::same(1e13);
  EXPECT_EQ(planned(slow_blas, Reproducibility::kNotGuaranteed).first().scheme, Scheme::kOzaki2);
  EXPECT_EQ(planned(fast_blas, Reproducibility::kNotGuaranteed).first().scheme, Scheme::kNative);
  ProcessorRates slow_products = fast_blas;
  slow_products.cpu_simd = slow_products.tile = 1e-5;
  slow_products.split_seconds = 1e-3;
  const plan::Plan usual = planned({}, Reproducibility::kEngineToEngine);
  for (const ProcessorRates& rates : {slow_blas, fast_blas, slow_products}) {
    const plan::Plan promised = planned(rates, Reproducibility::kEngineToEngine);
    EXPECT_EQ(promised.first().scheme, Scheme::kOzaki2);
    EXPECT_EQ(plan::numerics_hash(promised), plan::numerics_hash(usual));
  }
}

TEST(ProcessorRates, ReachEachPrediction) {
  const double usual = planned({}, Reproducibility::kEngineToEngine).schedule.seconds;
  const auto with_rate = [](double ProcessorRates::*rate, double factor) {
    ProcessorRates rates;
    rates.*rate *= factor;
    return planned(rates, Reproducibility::kEngineToEngine).schedule.seconds;
  };
  EXPECT_GT(with_rate(&ProcessorRates::split_seconds, 3), usual);
  EXPECT_GT(with_rate(&ProcessorRates::narrow_crt_seconds, 3), usual);
  EXPECT_GT(with_rate(&ProcessorRates::certificate_seconds, 3), usual);
  EXPECT_LT(with_rate(&ProcessorRates::cpu_simd, 3), usual);
}

}  // namespace
}  // namespace kizami::exec
