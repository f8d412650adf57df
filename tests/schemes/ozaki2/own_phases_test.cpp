// SPDX-License-Identifier: MIT
// Calls of scheme ozaki2 whose engine has bodies of its own for split and reconstruction: they run where they take what
// is there, the common phases run where they do not, and no bit tells which.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "engines/cpu_ref/cpu_ref.hpp"
#include "engines/tile/tile.hpp"
#include "exec/schemes.hpp"
#include "plan/plan.hpp"
#include "product/phases.hpp"
#include "schemes/ozaki2/run.hpp"

namespace kizami::ozaki2 {
namespace {

/// Engine tile, with a count of what its own phases did.
class CountedEngine final : public product::Engine, public product::PhaseBodies {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "tile"; }
  [[nodiscard]] std::variant<product::Offer, product::Refusal> query(const product::ProductDesc& d,
                                                                     const product::DeviceFacts& f) const override {
    return engines::tile_engine().query(d, f);
  }
  [[nodiscard]] Status run(const product::ProductDesc& d, const product::Offer& offer, const product::Pointers& p,
                           std::byte* workspace, product::Queue queue) const override {
    return engines::tile_engine().run(d, offer, p, workspace, queue);
  }
  [[nodiscard]] std::optional<std::string> why_refused(const product::SplitDesc& d) const override {
    return bodies_.why_refused(d);
  }
  [[nodiscard]] std::optional<std::string> why_refused(const product::ReconstructionDesc& d) const override {
    return bodies_.why_refused(d);
  }
  [[nodiscard]] Status split(const product::SplitDesc& d) const override {
    ++splits;
    return bodies_.split(d);
  }
  [[nodiscard]] Status reconstruct(const product::ReconstructionDesc& d) const override {
    ++reconstructions;
    return bodies_.reconstruct(d);
  }
  mutable int splits = 0;
  mutable int reconstructions = 0;

 private:
  const product::PhaseBodies& bodies_ = *product::phases_of(&engines::tile_engine());
};

struct Call {
  std::int64_t m = 37;
  std::int64_t n = 26;
  std::int64_t k = 150;
  double beta = 0;
  bool is_row_major = false;
  std::size_t workspace_limit = 0;
  Accuracy accuracy = {};
  int spread = 2;
  bool has_nan = false;
  bool has_huge_c = false;
};

template <class T>
std::vector<T> random_values(std::int64_t count, int spread, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& x : values)
    x = static_cast<T>(
        std::ldexp(normal(random), static_cast<int>(random() % static_cast<unsigned>(2 * spread + 1)) - spread));
  return values;
}

/// C of one call on an engine; NaN, the bits of which are nobody's promise, as one value.
template <class T>
std::vector<T> result_of(const Call& call, const product::Engine& engine) {
  std::vector<T> a = random_values<T>(call.m * call.k, call.spread, 1);
  const std::vector<T> b = random_values<T>(call.k * call.n, call.spread, 2);
  std::vector<T> c = random_values<T>(call.m * call.n, 2, 3);
  if (call.has_nan) a[11] = std::numeric_limits<T>::quiet_NaN();
  if (call.has_huge_c) c[7] = std::numeric_limits<T>::max();
  const product::Engine* const engines[] = {&engine};
  plan::Environment environment;
  environment.schemes = exec::schemes();
  environment.engines = engines;
  environment.facts.num_threads = 2;
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  policy.accuracy = call.accuracy;
  policy.workspace_limit_bytes = call.workspace_limit;
  const Result<plan::Plan> plan = plan::make({kScalarOf<T>, call.m, call.n, call.k}, policy, environment);
  if (!plan.ok()) {
    ADD_FAILURE() << plan.status().reason();
    return {};
  }
  const auto view = [&](auto* data, std::int64_t rows, std::int64_t cols) {
    using Element = std::remove_pointer_t<decltype(data)>;
    return call.is_row_major ? MatrixView<Element>{data, rows, cols, cols, 1}
                             : MatrixView<Element>{data, rows, cols, 1, rows};
  };
  const T* const a_data = a.data();
  const problem::Problem<T> problem{T{1}, view(a_data, call.m, call.k), view(b.data(), call.k, call.n),
                                    static_cast<T>(call.beta), view(c.data(), call.m, call.n)};
  const base::AlignedBuffer workspace(plan.value().schedule.workspace_bytes);
  Outcome outcome;
  const Status status =
      run_ozaki2<T, T>(plan.value(), problem, nullptr, nullptr, const_cast<std::byte*>(workspace.data()), outcome);
  EXPECT_TRUE(status.ok()) << status.reason();
  for (T& x : c) x = std::isnan(x) ? T{12345} : x;
  return c;
}

struct Counts {
  int splits;
  int reconstructions;
};
/// Runs the call on engine tile and on cpu_ref, and compares.
template <class T = double>
Counts counts_of(const Call& call) {
  const CountedEngine engine;
  EXPECT_EQ(result_of<T>(call, engine), result_of<T>(call, engines::cpu_ref_engine()));
  return {engine.splits, engine.reconstructions};
}

TEST(OwnPhases, RunWhereTheyTakeWhatIsThere) {
  for (const bool is_row_major : {false, true}) {
    const Counts counts = counts_of({.is_row_major = is_row_major});
    EXPECT_EQ(counts.splits, 2);
    EXPECT_EQ(counts.reconstructions, is_row_major ? 0 : 1) << "C must be column-major";
  }
  for (const double beta : {0.0, -0.3}) {
    for (const Counts& counts : {counts_of({.beta = beta}), counts_of<float>({.beta = beta})}) {
      EXPECT_EQ(counts.splits, 2) << "beta = " << beta;
      EXPECT_EQ(counts.reconstructions, 1) << "beta = " << beta;
    }
  }
}

TEST(OwnPhases, RunInEveryChunk) {
  const Counts counts = counts_of({.m = 300, .n = 280, .k = 300, .workspace_limit = 5 << 20});
  EXPECT_GT(counts.splits, 2);
  EXPECT_GT(counts.reconstructions, 1);
}

TEST(OwnPhases, LeaveTheRestToTheCommonOnes) {
  const Counts added = counts_of({.beta = 0.5, .has_huge_c = true});
  EXPECT_EQ(added.splits, 2);
  EXPECT_EQ(added.reconstructions, 0);
  const Counts with_nan = counts_of({.has_nan = true});
  EXPECT_EQ(with_nan.splits, 1) << "of B, which is finite";
  EXPECT_EQ(with_nan.reconstructions, 0);
  const Counts correct = counts_of({.accuracy = Accuracy::correct(), .spread = 1});
  EXPECT_EQ(correct.reconstructions, 0) << "rounds in another way";
}

}  // namespace
}  // namespace kizami::ozaki2
