// SPDX-License-Identifier: MIT
// Plans for cards that are not here, by their descriptions: who multiplies, in which shapes, and whether it pays.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "device/padding.hpp"
#include "device_engines/card_environment.hpp"
#include "engines/cublas/cublas.hpp"
#include "engines/mma/forms.hpp"
#include "exec/device_rates.hpp"
#include "fp64/device.hpp"
#include "kizami/predict.hpp"
#include "plan/h200_facts.hpp"
#include "plan/plan.hpp"
#include "schemes/ozaki1/device_plan.hpp"
#include "schemes/ozaki2/device_buffers.hpp"
#include "schemes/ozaki2/residues.hpp"
#include "schemes/ozaki2/stage.hpp"

namespace kizami::plan {
namespace {

Plan plan_of(const std::string& card, const problem::Shape& shape, Policy policy = {}) {
  const Result<Plan> plan = make(shape, policy, environment_of(card));
  EXPECT_TRUE(plan.ok()) << card << ": " << plan.status().reason();
  return plan.ok() ? plan.value() : Plan{};
}

Policy of_scheme(Scheme scheme) {
  Policy policy;
  policy.scheme = scheme;
  return policy;
}

constexpr const char* kOthers[] = {"a100", "rtx4090", "rtx5090", "l40s", "b200", "b300"};

TEST(Cards, OnlyHopperHasItsEngine) {
  EXPECT_EQ(
      ozaki2::ozaki2_of(plan_of("h200", {Scalar::kF64, 4096, 4096, 4096}, of_scheme(Scheme::kOzaki2))).engine->name(),
      "hopper");
  for (const char* card : kOthers) {
    for (const Scheme scheme : {Scheme::kOzaki2, Scheme::kOzaki1}) {
      Policy policy = of_scheme(scheme);
      if (scheme == Scheme::kOzaki1)
        policy.slices.num_slices = 7;  // a rung would be found by the host, which waits for it
      const Plan plan = plan_of(card, {Scalar::kF64, 4096, 4096, 4096}, policy);
      const std::string words = explain(plan);
      EXPECT_EQ(words.find("engine        hopper"), std::string::npos) << card << "\n" << words;
      EXPECT_LE(plan.schedule.workspace_bytes, plan.schedule.facts.memory_bytes) << card;
    }
  }
}

TEST(Cards, ErrorCorrectionIsOfHopperAlone) {
  for (const char* card : kOthers) {
    Policy policy = of_scheme(Scheme::kEc);
    policy.reproducibility = Reproducibility::kNotGuaranteed;
    const Result<Plan> plan = make({Scalar::kF32, 1000, 1000, 1000}, policy, environment_of(card));
    ASSERT_FALSE(plan.ok()) << card;
    EXPECT_NE(plan.status().reason().find("must be 90"), std::string::npos) << plan.status().reason();
    policy.scheme = Scheme::kAuto;
    EXPECT_NE(plan_of(card, {Scalar::kF32, 1000, 1000, 1000}, policy).first().scheme, Scheme::kEc) << card;
  }
}

/// Lines of scheme ozaki2 lie in a cluster, or where there are none whole in a block; those of slices in a cluster.
TEST(Cards, OnePassEndsWhereTheirClustersOrBlocksDo) {
  struct {
    const char* card;
    std::int64_t longest;
    std::int64_t longest_of_slices;
  } const cases[] = {{"a100", 4096, 1024},
                     {"rtx4090", 4096, 1024},
                     {"rtx5090", 8192, 8192},
                     {"b200", 16384, 16384},
                     {"h200", 16384, 16384}};
  for (const auto& [card, longest, longest_of_slices] : cases) {
    for (const Scalar scalar : {Scalar::kF32, Scalar::kF64, Scalar::kC64, Scalar::kC128}) {
      for (const std::int64_t k : {std::int64_t{1025}, longest, longest + 1}) {
        EXPECT_EQ(ozaki2::splits_in_one_pass(plan_of(card, {scalar, 500, 500, k}, of_scheme(Scheme::kOzaki2))),
                  k <= longest)
            << card << " " << k;
      }
    }
    for (const std::int64_t k : {longest_of_slices, longest_of_slices + 1}) {
      Policy slices = of_scheme(Scheme::kOzaki1);
      slices.slices.num_slices = 7;
      EXPECT_EQ(ozaki1::slices_in_one_pass(plan_of(card, {Scalar::kF64, 500, 500, k}, slices)), k == longest_of_slices)
          << card << " " << k;
    }
  }
}

/// The sampled product compares where one pass has made the weights of lines; a scout and a pass into sums of quadrants are
/// clusters.
TEST(Cards, OnePassOfWholeLinesIsOneOfClustersButForScoutsAndQuadrants) {
  Policy policy = of_scheme(Scheme::kOzaki2);
  policy.engine = EngineName::kMma;
  for (const char* card : {"a100", "rtx4090", "rtx5090", "h200"}) {
    const bool has_clusters = environment_of(card).facts.has_clusters();
    Plan plan = plan_of(card, {Scalar::kF64, 4096, 4096, 4096}, policy);
    ASSERT_EQ(ozaki2::ozaki2_of(plan).engine->name(), "mma") << card;
    edit_stage<ozaki2::Ozaki2Stage>(plan).takes_strassen = false;
    EXPECT_TRUE(ozaki2::splits_in_one_pass(plan)) << card;
    EXPECT_TRUE(ozaki2::compares_in_product(plan)) << card;
    EXPECT_TRUE(ozaki2::learns_look(plan)) << card;
    EXPECT_EQ(ozaki2::has_scout(plan), has_clusters) << card;
    edit_stage<ozaki2::Ozaki2Stage>(plan).takes_strassen = true;
    EXPECT_EQ(ozaki2::splits_in_one_pass(plan), has_clusters) << card;
    plan = plan_of(card, {Scalar::kF64, 500, 500, 1000}, policy);
    edit_stage<ozaki2::Ozaki2Stage>(plan).takes_strassen = true;
    EXPECT_TRUE(ozaki2::splits_in_one_pass(plan)) << card;
  }
}

/// Integers of three words of FP64 numbers take more than the 99 KB that a block of some cards has, and whole lines have two.
TEST(Cards, OnePassTakesThreeWordsWhereTheyFit) {
  Policy policy = of_scheme(Scheme::kOzaki2);
  policy.forced_moduli = 20;
  for (const char* card : {"a100", "rtx4090", "rtx5090", "b200", "h200"}) {
    const product::DeviceFacts facts = environment_of(card).facts;
    const bool has_room = facts.shared_bytes >= 128 << 10;
    for (const Scalar scalar : {Scalar::kF32, Scalar::kF64, Scalar::kC64, Scalar::kC128}) {
      const bool takes_more = scalar == Scalar::kF64 || scalar == Scalar::kC128;
      for (const std::int64_t k : {1000, 2000}) {
        const Plan plan = plan_of(card, {scalar, 500, 500, k}, policy);
        EXPECT_EQ(ozaki2::words_of(ozaki2::ozaki2_of(plan).ladder.rungs[0]), 3) << card;
        EXPECT_EQ(ozaki2::splits_in_one_pass(plan), (has_room || !takes_more) && (k == 1000 || facts.has_clusters()))
            << card << " " << k;
      }
    }
  }
}

/// Integers of complex FP32 numbers at 7 and 8 moduli stay where the numbers were, one word each; those of 10, as 23 bits ask for, have
/// two, which have no place there; and those of FP64 numbers two that have.
TEST(Cards, OnePassKeepsComplexFp32NumbersInOneWord) {
  const auto words = [](Scalar scalar, int moduli) {
    Policy policy = of_scheme(Scheme::kOzaki2);
    policy.forced_moduli = moduli;
    const Plan plan = plan_of("h200", {scalar, 2048, 2048, 2048}, policy);
    const int count = ozaki2::pass_words_of(scalar, ozaki2::ozaki2_of(plan).ladder.rungs[0]);
    EXPECT_EQ(ozaki2::keeps_fragments(scalar, count), scalar == Scalar::kF64 || scalar == Scalar::kC128 || count == 1)
        << moduli;
    return count;
  };
  EXPECT_EQ(words(Scalar::kC64, 7), 1);
  EXPECT_EQ(words(Scalar::kC64, 8), 1);
  EXPECT_EQ(words(Scalar::kC64, 9), 2);
  EXPECT_EQ(words(Scalar::kC64, 10), 2);
  EXPECT_EQ(words(Scalar::kF32, 7), 2);
  EXPECT_EQ(words(Scalar::kF64, 14), 2);
  EXPECT_EQ(words(Scalar::kC128, 15), 2);
  const Plan native = plan_of("h200", {Scalar::kC64, 2048, 2048, 2048}, of_scheme(Scheme::kOzaki2));
  EXPECT_EQ(ozaki2::pass_words_of(Scalar::kC64, ozaki2::ozaki2_of(native).ladder.rungs[0]), 1) << "of accuracy native";
}

TEST(Cards, RepairsHaveAKernelWhereABlockHasItsMemory) {
  for (const char* card : {"a100", "rtx4090", "rtx5090"})
    EXPECT_FALSE(
        ozaki2::repairs_have_own_kernel(plan_of(card, {Scalar::kF64, 4096, 4096, 4096}, of_scheme(Scheme::kOzaki2))))
        << card;
  for (const char* card : {"h200", "b200"})
    EXPECT_TRUE(
        ozaki2::repairs_have_own_kernel(plan_of(card, {Scalar::kF64, 4096, 4096, 4096}, of_scheme(Scheme::kOzaki2))))
        << card;
}

/// Where FP64 is weak, large products are emulated; where it is not, the planner may well leave them.
TEST(Cards, WeakFp64IsEmulated) {
  for (const char* card : {"rtx4090", "rtx5080", "rtx5090", "l40s"}) {
    for (const std::int64_t n : {2048, 8192}) {
      Policy policy;
      policy.reproducibility = Reproducibility::kNotGuaranteed;
      const problem::Shape shape{Scalar::kF64, n, n, n};
      const Plan plan = plan_of(card, shape, policy);
      EXPECT_EQ(plan.first().scheme, Scheme::kOzaki2) << card << " " << n;
      const double native = engines::cublas_engine().seconds(shape, plan.schedule.facts, 1);
      EXPECT_GT(native / plan.schedule.seconds, n == 8192 ? 10.0 : 5.0) << card << " " << n;
    }
  }
}

TEST(Cards, AreDescribedBesideAnH200) {
  const product::RelativeRates own = exec::rates_of(described("h200"));
  for (const double rate : {own.memory, own.int8, own.fp64, own.native_fp64, own.native_fp32}) EXPECT_EQ(rate, 1.0);
  // Attributes alone come within a third of the sheet: a card that nobody has described is not taken for another kind.
  for (const char* card : {"a100", "rtx4090", "rtx5090", "h200", "b200"}) {
    const model::Device& device = described(card);
    const product::RelativeRates sheet = exec::rates_of(device);
    const product::RelativeRates found = exec::rates_of(exec::description_by_attributes(
        exec::limits_of(device), 1e12 * device.find_sheet(model::Fact::kBandwidthTbs)->value, "a card"));
    EXPECT_NEAR(found.memory / sheet.memory, 1, 0.01) << card;
    EXPECT_NEAR(found.fp64 / sheet.fp64, 1, 0.34) << card;
    EXPECT_NEAR(found.native_fp64 / sheet.native_fp64, 1, 0.34) << card;
    EXPECT_NEAR(found.native_fp32 / sheet.native_fp32, 1, 0.34) << card;
    EXPECT_NEAR(found.int8 / sheet.int8, 1, 0.5) << card;
  }
}

/// tests/plan/h200_facts.hpp says what the description says.
TEST(Cards, TheH200OfOtherTestsIsTheDescribedOne) {
  const base::DeviceLimits limits = exec::limits_of(described("h200"));
  const product::DeviceFacts facts = h200_facts();
  EXPECT_EQ(limits.compute_capability, facts.compute_capability);
  EXPECT_EQ(limits.code_capability, facts.code_capability);
  EXPECT_EQ(limits.num_sms, facts.num_sms);
  EXPECT_EQ(limits.shared_bytes, facts.shared_bytes);
  EXPECT_EQ(limits.l2_bytes, facts.l2_bytes);
  EXPECT_EQ(limits.clock_hz, facts.clock_hz);
}

}  // namespace
}  // namespace kizami::plan
