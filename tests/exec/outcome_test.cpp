// SPDX-License-Identifier: MIT
// The outcome of a batch.
#include "exec/outcome.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace kizami::exec {
namespace {

Outcome total_of(std::initializer_list<Outcome> products) {
  Outcome all;
  all.engine = "none";
  for (const Outcome& one : products) add_outcome(one, all);
  return all;
}

Outcome of_ozaki2(int rung, double bound, std::int64_t repaired) {
  Outcome outcome;
  outcome.scheme = Scheme::kOzaki2;
  outcome.engine = "hopper";
  outcome.rung = rung;
  outcome.moduli = rung < 0 ? 0 : 14 + rung;
  outcome.bound = bound;
  outcome.repaired = repaired;
  return outcome;
}

Outcome of_ec(EcVariant variant) {
  Outcome outcome;
  outcome.scheme = Scheme::kEc;
  outcome.engine = "hopper";
  outcome.variant = variant;
  return outcome;
}

TEST(BatchOutcome, IsTheWorstOfItsProducts) {
  Outcome strange = of_ozaki2(2, 1e-14, 3);
  strange.equilibrated = true;
  strange.nonfinite_rows = 4;
  strange.nonfinite_cols = 5;
  const Outcome all = total_of({of_ozaki2(0, 1e-13, 1), strange, of_ozaki2(-1, 1e-13, 100)});
  EXPECT_EQ(all.scheme, Scheme::kOzaki2);
  EXPECT_EQ(all.engine, "hopper");
  EXPECT_EQ(all.bound, 1e-13);
  EXPECT_EQ(all.rung, 2);
  EXPECT_EQ(all.moduli, 16);
  EXPECT_TRUE(all.equilibrated);
  EXPECT_EQ(all.repaired, 104);
  EXPECT_EQ(all.nonfinite_rows, 4);
  EXPECT_EQ(all.nonfinite_cols, 5);
}

TEST(BatchOutcome, OfSchemeEcTellsOfTheWidestRange) {
  EXPECT_EQ(total_of({of_ec(EcVariant::kScaled), of_ec(EcVariant::kScaled)}).variant, EcVariant::kScaled);
  const Outcome wide = total_of({of_ec(EcVariant::kScaled), of_ec(EcVariant::kScaledTf32), of_ec(EcVariant::kScaled)});
  EXPECT_EQ(wide.scheme, Scheme::kEc);
  EXPECT_EQ(wide.variant, EcVariant::kScaledTf32);
  for (const auto& products : {std::initializer_list<Outcome>{of_ec(EcVariant::kScaled), of_ozaki2(-1, 1e-6, 9)},
                               std::initializer_list<Outcome>{of_ozaki2(-1, 1e-6, 9), of_ec(EcVariant::kScaled)}}) {
    const Outcome beyond = total_of(products);
    EXPECT_EQ(beyond.scheme, Scheme::kOzaki2);
    EXPECT_EQ(beyond.variant, EcVariant::kAuto);
    EXPECT_EQ(beyond.repaired, 9);
  }
}

TEST(BatchOutcome, OfQuickReturnsHasNoEngine) {
  Outcome quick;
  quick.engine = "none";
  EXPECT_EQ(total_of({}).engine, "none");
  EXPECT_EQ(total_of({quick, quick}).engine, "none");
  EXPECT_EQ(total_of({quick, of_ec(EcVariant::kScaled), quick}).engine, "hopper");
  EXPECT_EQ(total_of({quick, of_ec(EcVariant::kScaled), quick}).scheme, Scheme::kEc);
}

}  // namespace
}  // namespace kizami::exec
