// SPDX-License-Identifier: MIT
// Where the planner takes Strassen's products on an H200, and what they book.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "device_engines/h200_environment.hpp"
#include "exec/device_triangle.hpp"
#include "plan/plan.hpp"
#include "schemes/ozaki2/device_buffers.hpp"
#include "schemes/ozaki2/stage.hpp"
#include "schemes/ozaki2/strassen.hpp"

namespace kizami::plan {
namespace {

[[nodiscard]] Plan plan_for(const problem::Shape& shape, Policy policy = {}) {
  policy.scheme = Scheme::kOzaki2;
  policy.engine = EngineName::kHopper;
  const Result<Plan> plan = make(shape, policy, h200_environment());
  EXPECT_TRUE(plan.ok()) << plan.status().reason();
  return plan.value();
}
[[nodiscard]] bool takes_strassen(const problem::Shape& shape, const Policy& policy = {}) {
  return ozaki2::ozaki2_of(plan_for(shape, policy)).takes_strassen;
}

TEST(StrassenPlan, IsForLargeProducts) {
  EXPECT_TRUE(takes_strassen({Scalar::kF64, 16384, 16384, 16384}));
  EXPECT_TRUE(takes_strassen({Scalar::kF64, 8192, 8192, 8192}));
  EXPECT_FALSE(takes_strassen({Scalar::kF64, 1024, 1024, 1024}));
  EXPECT_FALSE(takes_strassen({Scalar::kF64, 8192, 8192, 512})) << "split and CRT take more than is saved";
  EXPECT_FALSE(takes_strassen({Scalar::kF64, 16384, 64, 16384}));
  EXPECT_FALSE(takes_strassen({Scalar::kF32, 8192, 8192, 8192}));
  for (const Scalar scalar : {Scalar::kC64, Scalar::kC128}) {
    EXPECT_TRUE(takes_strassen({scalar, 16384, 16384, 16384})) << to_string(scalar);
    EXPECT_TRUE(takes_strassen({scalar, 8192, 8192, 8192})) << to_string(scalar);
    EXPECT_FALSE(takes_strassen({scalar, 2048, 2048, 2048})) << to_string(scalar);
    EXPECT_FALSE(takes_strassen({scalar, 8192, 8192, 512})) << to_string(scalar);
  }
}

/// Split and CRT move more bytes, products make fewer operations.
TEST(StrassenPlan, SavesLessWhereMemoryIsSlower) {
  Plan plan = plan_for({Scalar::kF64, 16384, 16384, 16384});
  const double saved = ozaki2::strassen_gain_seconds(plan);
  plan.schedule.facts.rates.memory = 0.7;
  EXPECT_LT(ozaki2::strassen_gain_seconds(plan), saved - 1e-3);
  EXPECT_GT(saved, 1e-3);
}

/// Also where rows of sampled digits are padded beyond what clusters have of both halves.
TEST(StrassenPlan, SplitsInOnePassWhateverIsSampled) {
  int beyond = 0;
  for (const int bits : {0, 20, 25, 30, 35, 40}) {
    Policy policy;
    if (bits > 0) policy.accuracy = Accuracy::at_bits(bits);
    for (std::int64_t k = 12000; k <= 16384; k += 97) {
      const Plan plan = plan_for({Scalar::kF64, 16384, 16384, k}, policy);
      if (!ozaki2::ozaki2_of(plan).takes_strassen) continue;
      const certify::SampledBuffers rows =
          certify::sampled_rows(ozaki2::certificate_plan(plan), ozaki2::ozaki2_of(plan).ladder);
      // 16 blocks have 512 elements of either half.
      beyond +=
          rows.row_stride << rows.log_stride > ozaki2::strassen_halves(plan.shape).k + std::int64_t{16} * 512 ? 1 : 0;
      EXPECT_TRUE(ozaki2::splits_in_one_pass(plan)) << "k = " << k << ", bits " << bits;
    }
  }
  EXPECT_GT(beyond, 5) << "or the test says nothing";
}

/// Beyond the split in one pass, as far as one sum of INT32 goes.
TEST(StrassenPlan, IsForLongLines) {
  for (const std::int64_t k : {16385, 20000, 32768, 65536, 100000})
    EXPECT_TRUE(takes_strassen({Scalar::kF64, 16384, 16384, k})) << k;
  EXPECT_FALSE(takes_strassen({Scalar::kF64, 16384, 16384, 131073})) << "k in two chunks";
  EXPECT_FALSE(takes_strassen({Scalar::kF64, 1024, 1024, 20000}));
}

/// Where planes of all quadrants are beyond the limit: chunks with all lines of one operand, so that each is split once.
TEST(StrassenPlan, CutsLargeProductsIntoChunks) {
  for (const auto& [m, n] : {std::pair{32768, 32768}, {49152, 16384}, {16384, 49152}}) {
    const problem::Shape shape{Scalar::kF64, m, n, 32768};
    const Plan plan = plan_for(shape);
    ASSERT_TRUE(ozaki2::ozaki2_of(plan).takes_strassen) << m;
    const Chunk& chunk = ozaki2::ozaki2_of(plan).chunk;
    EXPECT_LT(chunk.mc * chunk.nc, shape.m * shape.n) << "what is whole says nothing";
    EXPECT_TRUE(chunk.mc == shape.m || chunk.nc == shape.n) << chunk.mc << " x " << chunk.nc;
    EXPECT_GE(chunk.kc, shape.k);
    EXPECT_LE(plan.schedule.workspace_bytes, plan.schedule.facts.memory_bytes / 4);
  }
  const Plan whole = plan_for({Scalar::kF64, 16384, 16384, 32768});  // one of four blocks of 32768
  EXPECT_TRUE(ozaki2::ozaki2_of(whole).takes_strassen);
  EXPECT_EQ(ozaki2::ozaki2_of(whole).chunk.mc, 16384);
  EXPECT_EQ(ozaki2::ozaki2_of(whole).chunk.nc, 16384);
}

/// With one rung a whole product has fewer planes than its quadrants: where those alone are beyond the limit C is not cut
/// for them, for the plan makes triangles, too.
TEST(StrassenPlan, CutsNothingThatIsOneChunkWithout) {
  Policy policy;
  policy.forced_moduli = 14;
  const problem::Shape shape{Scalar::kF64, 24576, 24576, 24576};  // 25 GB of planes, 44 GB of quadrants
  const Plan plan = plan_for(shape, policy);
  EXPECT_EQ(ozaki2::ozaki2_of(plan).chunk.mc, shape.m);
  EXPECT_EQ(ozaki2::ozaki2_of(plan).chunk.nc, shape.n);
  EXPECT_EQ(exec::why_no_part(plan), std::nullopt);
}

TEST(StrassenPlan, IsPartOfTheScheduleAlone) {
  const problem::Shape shape{Scalar::kF64, 8192, 8192, 8192};
  Policy small;
  small.workspace_limit_bytes = std::size_t{1} << 30;
  const Plan without = plan_for(shape, small);
  EXPECT_FALSE(ozaki2::ozaki2_of(without).takes_strassen) << "in chunks of both, whose lines are split again";
  EXPECT_EQ(numerics_hash(plan_for(shape)), numerics_hash(without));
}

TEST(StrassenPlan, BooksSevenQuartersOfThePlanes) {
  const Plan plan = plan_for({Scalar::kF64, 8192, 8192, 8192});
  const int moduli = ozaki2::ozaki2_of(plan).ladder.rungs[0].num_moduli;
  const product::ProductDesc desc = ozaki2::strassen_product(plan, moduli);
  EXPECT_EQ(desc.m, 4096);
  EXPECT_EQ(desc.n, 4096);
  EXPECT_EQ(desc.k, 4096);
  EXPECT_EQ(desc.num_products, 7 * moduli);
  EXPECT_EQ(desc.planes_of_modulus, 7);
  EXPECT_GE(static_cast<std::int64_t>(plan.schedule.workspace_bytes),
            desc.num_products * (desc.a_plane_stride + desc.b_plane_stride + desc.c_plane_stride));
}

}  // namespace
}  // namespace kizami::plan
