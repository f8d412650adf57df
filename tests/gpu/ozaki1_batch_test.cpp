// SPDX-License-Identifier: MIT
// Batches by scheme ozaki1 in device memory: formats, complex forms, one scale, and slices until nothing is left or as
// the certificate finds, of which each product has its own count.
#include <complex>
#include <string>
#include <vector>

#include "gpu/batch_case.hpp"

namespace kizami::gpu_test {
namespace {

[[nodiscard]] Way sliced_way(EngineName engine, SliceFormat format, int num_slices) {
  Way way{std::to_string(num_slices) + " slices of " + std::string(to_string(format)) + " on " +
              std::string(to_string(engine)),
          {}};
  way.policy.scheme = Scheme::kOzaki1;
  way.policy.engine = engine;
  way.policy.slices.format = format;
  way.policy.slices.num_slices = num_slices;
  way.policy.may_sync = num_slices <= 0;
  return way;
}
[[nodiscard]] Layouts small_layouts() {
  return layouts_of(Layout::kColMajor, Op::kNone, Op::kTranspose, 37, 29, 70, 4, 1, 3, 5);
}

template <class T>
class Ozaki1Batch : public DeviceTest {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Ozaki1Batch, Types);

TYPED_TEST(Ozaki1Batch, HasTheBitsOfSingleCalls) {
  using T = TypeParam;
  for (const EngineName engine : kDeviceEngines) {
    Way way = sliced_way(engine, SliceFormat::kInt8, 5);
    expect_single_calls<T>(small_layouts(), T(2), T(-0.5), way);
    expect_single_calls<T>(layouts_of(Layout::kRowMajor, Op::kConjTranspose, Op::kNone, 130, 140, 260, 3, -1, 7, 0),
                           T(-1), T(1), way);  // A is shared
    way.name += ", one scale";
    way.policy.slices.one_scale = true;
    expect_single_calls<T>(small_layouts(), T(1), T(0), way);
  }
}

TYPED_TEST(Ozaki1Batch, OfEveryFormatHasTheBitsOfSingleCalls) {
  using T = TypeParam;
  for (const SliceFormat format : {SliceFormat::kFp16, SliceFormat::kBf16, SliceFormat::kE4m3, SliceFormat::kE5m2}) {
    for (const ComplexForm form : {ComplexForm::kAuto, ComplexForm::kKaratsuba, ComplexForm::kEnlarged}) {
      if (!kIsComplex<T> && form != ComplexForm::kAuto) continue;
      Way way = sliced_way(EngineName::kHopper, format, 4);
      way.policy.slices.complex_form = form;
      expect_single_calls<T>(small_layouts(), T(-1), T(0.5), way);
    }
  }
}

TYPED_TEST(Ozaki1Batch, UntilNothingIsLeftCountsForEachProduct) {
  using T = TypeParam;
  for (const EngineName engine : kDeviceEngines) {
    for (const bool has_one_scale : {false, true}) {
      Way way = sliced_way(engine, SliceFormat::kInt8, kUntilZero);
      way.policy.slices.one_scale = has_one_scale;
      const BatchOperands<T> host(small_layouts(), 7);
      const BatchResult<T> want = one_by_one<T>(host, T(1), T(0), way.policy);
      expect_products<T>(host, T(1), T(0), way, want);
      ASSERT_EQ(want.outcomes.size(), 4U);
      EXPECT_GT(want.outcomes[1].slices, want.outcomes[0].slices) << "the second product has wide lines";
      EXPECT_LT(want.outcomes[0].slices, kMaxSlices);
    }
  }
}

TYPED_TEST(Ozaki1Batch, GaugeEntryChoosesForEachProduct) {
  using T = TypeParam;
  for (const EngineName engine : kDeviceEngines) {
    const Way way = sliced_way(engine, SliceFormat::kInt8, 0);
    const BatchOperands<T> host(small_layouts(), 7);
    const BatchResult<T> want = one_by_one<T>(host, T(1), T(0.5), way.policy);
    expect_products<T>(host, T(1), T(0.5), way, want);
    ASSERT_EQ(want.outcomes.size(), 4U);
    EXPECT_EQ(want.outcomes[0].scheme, Scheme::kOzaki1);
    EXPECT_EQ(want.outcomes[1].scheme, Scheme::kOzaki2) << "the second product has wide lines";
  }
}

}  // namespace
}  // namespace kizami::gpu_test
