// SPDX-License-Identifier: MIT
// Plans of scheme ozaki1 for a device: every product of slices in one window, sums that stay exact, limits of the
// workspace, and what is refused.
#include "schemes/ozaki1/device_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "engines/desc_check.hpp"
#include "exec/schemes.hpp"
#include "schemes/ozaki1/plan.hpp"
#include "schemes/ozaki2/device_buffers.hpp"
#include "tests/plan/h200_facts.hpp"

namespace kizami::ozaki1 {
namespace {

/// Takes what the engines of a device take.
class WindowEngine final : public product::Engine {
 public:
  explicit WindowEngine(bool promotes_sums = true) : promotes_sums_(promotes_sums) {}
  [[nodiscard]] bool promotes_sums() const noexcept override { return promotes_sums_; }
  [[nodiscard]] std::string_view name() const noexcept override { return "hopper"; }
  [[nodiscard]] product::MemorySpace space() const noexcept override { return product::MemorySpace::kDevice; }
  [[nodiscard]] std::variant<product::Offer, product::Refusal> query(const product::ProductDesc& d,
                                                                     const product::DeviceFacts&) const override {
    const engines::Abilities abilities{.takes_windows = true, .takes_floats = true, .promotes_sums = promotes_sums_};
    if (auto reason = engines::why_refused(d, abilities)) return product::Refusal{*reason};
    double terms = static_cast<double>(d.k) * d.num_products;
    for (int l = 0; l < d.num_windows; ++l)
      terms += static_cast<double>(d.windows[static_cast<std::size_t>(l)].k - d.k);
    const double macs = static_cast<double>(d.m) * static_cast<double>(d.n) * terms;
    return product::Offer{.workspace_bytes = 64, .seconds = 1e-6 + macs / 7e14, .threads = 1};
  }
  [[nodiscard]] Status run(const product::ProductDesc&, const product::Offer&, const product::Pointers&, std::byte*,
                           product::Queue) const override {
    return {};
  }

 private:
  bool promotes_sums_;
};

Result<plan::Plan> make_on_device(const problem::Shape& shape, const Slicing& slices, std::size_t limit = 0,
                                  Gauge gauge = Gauge::kNorm, bool promotes_sums = true, bool may_sync = false) {
  static const WindowEngine promoting(true);
  static const WindowEngine plain(false);
  const product::Engine* const engines[] = {promotes_sums ? &promoting : &plain};
  Policy policy;
  policy.scheme = Scheme::kOzaki1;
  policy.slices = slices;
  policy.gauge = gauge;
  policy.workspace_limit_bytes = limit;
  policy.may_sync = may_sync;
  plan::Environment environment;
  environment.schemes = exec::schemes();
  environment.facts = plan::h200_facts();
  environment.engines = engines;
  return plan::make(shape, policy, environment);
}

Slicing slicing(int num_slices, int num_diagonals = 0, SliceSums sums = SliceSums::kAuto,
                ComplexForm form = ComplexForm::kAuto, SliceSplit split = SliceSplit::kAuto) {
  return {SliceFormat::kInt8, split, num_slices, num_diagonals, 0, sums, form, false};
}

/// Every product of slices that the scheme takes is in windows, each element of k in one, with the shift and the signs
/// that it has, and sums stay exact.
void expect_all_products(const plan::Plan& plan) {
  const SliceNumerics& slices = ozaki1_of(plan).numerics;
  const SliceRung& rung = slices.last();
  const SlicedForm form = device_sliced_form(plan);
  const std::int64_t kc = ozaki1_of(plan).chunk.kc;
  const std::int64_t stride = device_slice_stride(plan, kc);
  const std::int64_t numbers = slice_numbers(plan, kc);
  // (part of A, part of B, signs, slice of A, slice of B) -> numbers of k
  std::map<std::tuple<int, int, int, int, int, int>, std::int64_t> seen;
  SliceWalk walk(plan, kc);
  SliceBatch batch;
  while (walk.next(batch)) {
    ASSERT_TRUE(batch.num_windows >= 1 && batch.num_windows <= product::kMaxWindows);
    std::vector<bool> is_used(static_cast<std::size_t>(batch.num_planes));
    std::vector<std::vector<product::Window>> planes;
    for (int w = 0; w < batch.num_windows; ++w) {
      if (!batch.windows[w].is_added) planes.emplace_back();
      ASSERT_FALSE(planes.empty());
      planes.back().push_back(batch.windows[w]);
    }
    ASSERT_EQ(static_cast<int>(planes.size()), batch.num_planes);
    const auto elements_of = [](const std::vector<product::Window>& plane) {
      std::int64_t sum = 0;
      for (const product::Window& window : plane) sum += window.k;
      return sum;
    };
    for (std::size_t q = 1; q < planes.size(); ++q) ASSERT_GE(elements_of(planes[q - 1]), elements_of(planes[q]));
    int p = 0;
    for (int g = 0; g < batch.sums.num_groups; ++g) {
      const SliceGroup& group = batch.sums.groups[g];
      double largest = 0;
      for (; p < group.end; ++p) {
        const int plane = batch.sums.planes[p];
        ASSERT_TRUE(plane >= 0 && plane < batch.num_planes && !is_used[static_cast<std::size_t>(plane)]);
        is_used[static_cast<std::size_t>(plane)] = true;
        const std::vector<product::Window>& windows = planes[static_cast<std::size_t>(plane)];
        const double digit = num::max_digit(slices.rule);
        ASSERT_LT(static_cast<double>(elements_of(windows)) * digit * digit, 0x1p31) << "a sum leaves INT32";
        largest += 0x1p31 * batch.sums.factors[p];
        const int shift = group.shift + std::countr_zero(static_cast<std::uint32_t>(batch.sums.factors[p]));
        for (const product::Window& window : windows) {
          const std::int64_t offset = window.a_first % stride;
          ASSERT_EQ(window.b_first % stride, offset) << "elements meet others";
          for (std::int64_t at = 0, length = 0; at < window.k; at += length) {
            const std::int64_t in_slice = (offset + at) % stride;
            length = std::min(window.k - at, stride - in_slice);
            const auto i = static_cast<int>((window.a_first + at) / stride);
            const int j = rung.num_slices - 1 - static_cast<int>((window.b_first + at) / stride);
            bool is_found = false;
            for (int q = 0; q < form.num_products; ++q) {
              const SlicedProduct& product = form.products[q];
              is_found |= product.a_part == window.a_plane && product.b_part == window.b_plane &&
                          product.signs[0] == group.signs[0] && product.signs[1] == group.signs[1] &&
                          shift == slices.rule.step * (rung.num_diagonals - 1 - i - j) + product.shift;
            }
            EXPECT_TRUE(is_found) << "slices " << i << " and " << j;
            seen[{window.a_plane, window.b_plane, group.signs[0], group.signs[1], i, j}] +=
                std::min(length, std::max<std::int64_t>(numbers - in_slice, 0));
          }
        }
      }
      EXPECT_LT(largest, 0x1p63) << "a group leaves 64 bits";
    }
    EXPECT_EQ(p, batch.num_planes);
  }
  EXPECT_EQ(static_cast<int>(seen.size()),
            form.num_products * num::num_slice_products(rung.num_slices, rung.num_diagonals));
  for (const auto& [what, times_numbers] : seen) EXPECT_EQ(times_numbers, numbers);
}

TEST(DeviceOzaki1, TakesEveryProductOnce) {
  for (const auto& [l, d] : {std::pair(1, 1), {3, 3}, {7, 7}, {7, 9}, {4, 7}, {20, 39}, {20, 20}}) {
    for (const std::int64_t k : {1, 100, 1024, 40000, 131000, 300000}) {
      for (const SliceSums sums :
           {SliceSums::kPairs, SliceSums::kGrouped, SliceSums::kConcatenated, SliceSums::kBlocked}) {
        for (const SliceSplit split : {SliceSplit::kBytes, SliceSplit::kTruncated, SliceSplit::kNearest}) {
          SCOPED_TRACE(testing::Message() << l << " slices, " << d << " diagonals, k = " << k);
          const Result<plan::Plan> plan = make_on_device({Scalar::kF64, 300, 200, k}, slicing(l, d, sums, {}, split));
          ASSERT_TRUE(plan.ok()) << plan.status().reason();
          expect_all_products(plan.value());
        }
      }
    }
  }
  for (const ComplexForm form : {ComplexForm::kFourProducts, ComplexForm::kKaratsuba, ComplexForm::kEnlarged}) {
    for (const std::int64_t k : {1, 1000, 70000}) {
      const Result<plan::Plan> plan = make_on_device({Scalar::kC128, 30, 20, k}, slicing(7, 0, SliceSums::kAuto, form));
      ASSERT_TRUE(plan.ok()) << plan.status().reason();
      expect_all_products(plan.value());
    }
  }
}

TEST(DeviceOzaki1, SumsFloatingSlicesAsFarAsTheEngineDoes) {
  for (const SliceFormat format : {SliceFormat::kFp16, SliceFormat::kBf16, SliceFormat::kE4m3, SliceFormat::kE5m2}) {
    for (const std::int64_t k : {1, 1000, 16384, 70000}) {
      for (const int bits : {0, 3}) {
        SCOPED_TRACE(testing::Message() << to_string(format) << ", k = " << k << ", bits = " << bits);
        Slicing wishes = slicing(7, 9);
        wishes.format = format;
        wishes.slice_bits = bits;
        const Result<plan::Plan> plan = make_on_device({Scalar::kF64, 300, 200, k}, wishes);
        ASSERT_TRUE(plan.ok()) << plan.status().reason();
        expect_all_products(plan.value());
        const Result<plan::Plan> plain = make_on_device({Scalar::kF64, 300, 200, k}, wishes, 0, Gauge::kNorm, false);
        const std::int64_t exact = slice_sum_limit(format, slice_rule(wishes));
        ASSERT_EQ(plain.ok(), exact >= product::kWindowPad);
        if (!plain.ok()) continue;
        expect_all_products(plain.value());
        EXPECT_LE(ozaki1_of(plain.value()).chunk.kc, exact);
      }
    }
  }
  const auto seconds = [](SliceFormat format) {
    Slicing wishes = slicing(7, 9);
    wishes.format = format;
    wishes.slice_bits = 3;
    return make_on_device({Scalar::kF64, 300, 200, 70000}, wishes).value().schedule.seconds;
  };
  EXPECT_GT(seconds(SliceFormat::kFp16), seconds(SliceFormat::kE5m2)) << "digits of twice the bytes are written";
  Slicing bf16 = slicing(7, 9);
  bf16.format = SliceFormat::kBf16;
  const plan::Plan large = make_on_device({Scalar::kF64, 16384, 16384, 16384}, bf16).value();
  SliceWalk walk(large, 16384);
  SliceBatch batch;
  ASSERT_TRUE(walk.next(batch));
  EXPECT_EQ(batch.num_windows, 26) << "runs are cut anywhere, not between slices";
  EXPECT_FALSE(walk.next(batch));
}

TEST(DeviceOzaki1, MakesOneLaunchOfOneWindowADiagonalWhereSumsAllow) {
  const plan::Plan plan = make_on_device({Scalar::kF64, 8192, 8192, 8192}, slicing(7)).value();
  SliceWalk walk(plan, 8192);
  SliceBatch batch;
  ASSERT_TRUE(walk.next(batch));
  EXPECT_EQ(batch.num_windows, 7);
  EXPECT_EQ(batch.windows[0].k, 7 * 8192);
  EXPECT_EQ(batch.sums.num_groups, 2);
  EXPECT_FALSE(walk.next(batch));
  EXPECT_TRUE(slices_in_one_pass(plan));
  EXPECT_GT(plan.schedule.seconds, 1e-3);
  EXPECT_EQ(ozaki1_of(plan).engine->name(), "hopper");
}

/// Planes and windows of one launch after another.
std::vector<std::pair<int, int>> launches_of(const plan::Plan& plan) {
  std::vector<std::pair<int, int>> launches;
  SliceWalk walk(plan, ozaki1_of(plan).chunk.kc);
  SliceBatch batch;
  while (walk.next(batch)) launches.emplace_back(batch.num_planes, batch.num_windows);
  return launches;
}

// Equations 5 and 6 of the document: products of one anti-diagonal share an INT32 plane, r of them. The bits do not
// tell; planes do.
TEST(DeviceOzaki1, GroupsTheProductsOfAnAntiDiagonalInOnePlane) {
  using Launches = std::vector<std::pair<int, int>>;
  const auto launches = [](std::int64_t k, SliceSums sums, SliceSplit split = SliceSplit::kTruncated, int l = 7) {
    return launches_of(make_on_device({Scalar::kF64, 4096, 4096, k}, slicing(l, 0, sums, {}, split)).value());
  };
  EXPECT_EQ(launches(4096, SliceSums::kPairs), (Launches{{28, 28}}));
  EXPECT_EQ(launches(4096, SliceSums::kGrouped), (Launches{{7, 28}}));
  EXPECT_EQ(launches(4096, SliceSums::kBlocked), (Launches{{7, 28}}));
  EXPECT_EQ(launches(4096, SliceSums::kConcatenated), (Launches{{7, 7}}));
  // r = floor(131072 / k): at 18724 seven products would be 131068, at 18725 they would be 131075; at 2^16 two.
  EXPECT_EQ(launches(18724, SliceSums::kGrouped), (Launches{{7, 28}}));
  EXPECT_EQ(launches(18725, SliceSums::kGrouped), (Launches{{8, 28}}));
  EXPECT_EQ(launches(1 << 16, SliceSums::kGrouped), (Launches{{16, 28}}));
  EXPECT_EQ(launches((1 << 16) + 1, SliceSums::kGrouped), (Launches{{28, 28}}));
  // Bytes reach -128: floor((2^31 - 1) / 2^14) = 2^17 - 1, of which the next smaller multiple of 64 is taken.
  EXPECT_EQ(launches(1 << 16, SliceSums::kGrouped, SliceSplit::kBytes), (Launches{{28, 28}}));
  EXPECT_EQ(launches((1 << 16) - 32, SliceSums::kGrouped, SliceSplit::kBytes), (Launches{{16, 28}}));
  // A launch has 32 windows: the plane that it ends in is two.
  EXPECT_EQ(launches(4096, SliceSums::kGrouped, SliceSplit::kTruncated, 8), (Launches{{6, 32}, {3, 4}}));
  const auto bytes = [](SliceSums sums) {
    return make_on_device({Scalar::kF64, 4096, 4096, 4096}, slicing(7, 0, sums)).value().schedule.workspace_bytes;
  };
  EXPECT_EQ(bytes(SliceSums::kPairs) - bytes(SliceSums::kGrouped), std::size_t{21} * 4 * 4096 * 4096);
  EXPECT_EQ(bytes(SliceSums::kGrouped), bytes(SliceSums::kConcatenated));
}

TEST(DeviceOzaki1, KeepsTheLimitOfTheWorkspace) {
  const problem::Shape shape{Scalar::kC128, 3000, 2500, 20000};
  const std::size_t whole = make_on_device(shape, slicing(7)).value().schedule.workspace_bytes;
  for (const std::size_t limit : {whole, whole / 3, whole / 40}) {
    const Result<plan::Plan> plan = make_on_device(shape, slicing(7), limit);
    ASSERT_TRUE(plan.ok()) << plan.status().reason();
    EXPECT_LE(plan.value().schedule.workspace_bytes, limit);
    expect_all_products(plan.value());
  }
  const Result<plan::Plan> refused = make_on_device(shape, slicing(7), 4096);
  ASSERT_EQ(refused.status().code(), StatusCode::kWorkspaceTooSmall);
  const std::string reason = refused.status().reason();
  const std::size_t needed = std::stoull(reason.substr(reason.find(">= ") + 3));
  EXPECT_TRUE(make_on_device(shape, slicing(7), needed).ok()) << reason;
}

TEST(DeviceOzaki1, RefusesWhatNoKernelDoes) {
  const problem::Shape shape{Scalar::kF64, 30, 20, 10};
  const auto reason = [&](const Slicing& slices, Gauge gauge = Gauge::kNorm) {
    const Result<plan::Plan> plan = make_on_device(shape, slices, 0, gauge);
    return plan.ok() ? std::string("accepted") : plan.status().reason();
  };
  EXPECT_EQ(reason(slicing(kUntilZero)),
            "scheme ozaki1: slices = -1 (until nothing is left) with sync = never, must be allowed: the host waits for "
            "the count, for operands in device memory");
  EXPECT_EQ(reason(slicing(0)), "accepted");
  EXPECT_EQ(reason(slicing(4), Gauge::kEntry), "accepted");
}

// The operands are surveyed before they are sliced, in a workspace for the most slices that there may be.
TEST(DeviceOzaki1, LooksAtAllLinesBeforeItSlices) {
  const problem::Shape shape{Scalar::kF64, 300, 200, 1000};
  Slicing one_scale = slicing(5);
  one_scale.one_scale = true;
  const plan::Plan one = make_on_device(shape, one_scale).value();
  EXPECT_TRUE(has_slice_survey(one));
  EXPECT_FALSE(slices_in_one_pass(one));
  EXPECT_FALSE(has_slice_survey(make_on_device(shape, slicing(5)).value()));
  const auto until_zero = [&](int num_diagonals) {
    return make_on_device(shape, slicing(kUntilZero, num_diagonals), 0, Gauge::kNorm, true, true).value();
  };
  const plan::Plan all = until_zero(0);
  EXPECT_TRUE(has_slice_survey(all));
  EXPECT_FALSE(slices_in_one_pass(all));
  EXPECT_EQ(rung_until_zero(ozaki1_of(all).numerics, 0), (SliceRung{1, 1}));
  EXPECT_EQ(rung_until_zero(ozaki1_of(all).numerics, 7), (SliceRung{7, 13}));
  EXPECT_EQ(rung_until_zero(ozaki1_of(all).numerics, 50), (SliceRung{kMaxSlices, 2 * kMaxSlices - 1}));
  EXPECT_EQ(rung_until_zero(ozaki1_of(until_zero(9)).numerics, 7), (SliceRung{7, 9}));
  EXPECT_EQ(rung_until_zero(ozaki1_of(until_zero(9)).numerics, 3), (SliceRung{3, 5}));
  // What the plan of fewer slices needs fits in the workspace.
  for (const SliceSums sums : {SliceSums::kPairs, SliceSums::kConcatenated}) {
    for (const std::int64_t k : {100, 1000, 140000}) {
      plan::Plan plan =
          make_on_device({Scalar::kF64, 300, 200, k}, slicing(kUntilZero, 0, sums), 0, Gauge::kNorm, true, true)
              .value();
      const std::size_t booked = plan.schedule.product_bytes;
      for (int digits = kMaxSlices; digits > 0; --digits) {
        plan::edit_stage<Ozaki1Stage>(plan).numerics.rungs[0] = rung_until_zero(ozaki1_of(plan).numerics, digits);
        expect_all_products(plan);
        base::Carver counter;
        static_cast<void>(carve_device_slices(counter, plan));
        EXPECT_LE(counter.bytes(), booked) << digits << " slices";
      }
    }
  }
}

TEST(DeviceOzaki1, IsChosenWhereItIsPredictedFasterAndNoBitsArePromised) {
  static const WindowEngine engine;
  static const product::Engine* const engines[] = {&engine};
  plan::Environment environment;
  environment.schemes = exec::schemes();
  environment.facts = plan::h200_facts();
  environment.engines = engines;
  const auto scheme = [&](const problem::Shape& shape, int bits, Gauge gauge, Reproducibility promise) {
    Policy policy;
    policy.accuracy = Accuracy::at_bits(bits);
    policy.gauge = gauge;
    policy.reproducibility = promise;
    const Result<plan::Plan> plan = plan::make(shape, policy, environment);
    EXPECT_TRUE(plan.ok()) << plan.status().reason();
    return plan.ok() ? plan.value().first().scheme : Scheme::kAuto;
  };
  constexpr auto kNone = Reproducibility::kNotGuaranteed;
  constexpr problem::Shape kSmall{Scalar::kF64, 256, 256, 64};
  constexpr problem::Shape kLarge{Scalar::kF64, 8192, 8192, 8192};
  EXPECT_EQ(scheme(kSmall, 4, Gauge::kNorm, kNone), Scheme::kOzaki1);
  EXPECT_EQ(scheme(kLarge, 4, Gauge::kNorm, kNone), Scheme::kOzaki2);
  EXPECT_EQ(scheme(kSmall, 4, Gauge::kEntry, kNone), Scheme::kOzaki2);
  EXPECT_EQ(scheme(kSmall, 4, Gauge::kNorm, Reproducibility::kEngineToEngine), Scheme::kOzaki2);
}

TEST(DeviceOzaki1, HasTheNumericsOfTheHost) {
  for (const int l : {0, 4}) {
    const plan::Plan on_device = make_on_device({Scalar::kF64, 300, 200, 5000}, slicing(l)).value();
    plan::Environment host;
    host.schemes = exec::schemes();
    static const WindowEngine engine;  // stands for one of the host
    static const product::Engine* const engines[] = {&engine};
    host.engines = engines;
    Policy policy = on_device.policy;
    const Result<plan::Plan> on_host = plan::make(on_device.shape, policy, host);
    ASSERT_TRUE(on_host.ok()) << on_host.status().reason();
    EXPECT_EQ(plan::numerics_hash(on_device), plan::numerics_hash(on_host.value()));
    EXPECT_EQ(on_device.first().bound, on_host.value().first().bound);
  }
}

}  // namespace
}  // namespace kizami::ozaki1
