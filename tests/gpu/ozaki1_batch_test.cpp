// SPDX-License-Identifier: MIT
// Batches by scheme ozaki1 in device memory: formats, complex forms, one scale, and slices until nothing is left or as
// the certificate finds, of which each product has its own count.
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "gpu/batch_case.hpp"
#include "gpu/sm90_test.hpp"

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
  for (const EngineName engine : device_engines()) {
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
  if (const std::string why = gpu_test::why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
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
  for (const EngineName engine : device_engines()) {
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

/// Makes one element of each row of A and of each column of B so large in a product that no rung of slices certifies
/// it: the large ones do not meet.
template <class T>
void enlarge(BatchOperands<T>& operands, std::int64_t product) {
  const Layouts& l = operands.l;  // of small_layouts()
  const auto large = static_cast<RealOf<T>>(std::is_same_v<RealOf<T>, float> ? 0x1p40 : 0x1p90);
  for (std::int64_t i = 0; i < l.m; ++i)
    operands.a[static_cast<std::size_t>(product * l.stride_a + i * l.lda + i)] = T(large);
  for (std::int64_t j = 0; j < l.n; ++j)
    operands.b[static_cast<std::size_t>(product * l.stride_b + (l.k - 1 - j) * l.ldb + j)] = T(large);
}

TYPED_TEST(Ozaki1Batch, GaugeEntryChoosesForEachProductAsTheHostDoes) {
  using T = TypeParam;
  BatchOperands<T> host(small_layouts(), 7);
  const Layouts& l = host.l;
  ASSERT_LT(l.m + l.n, l.k);
  enlarge(host, 3);
  Way way = sliced_way(EngineName::kAuto, SliceFormat::kInt8, 0);
  const T half(RealOf<T>(0.5));
  std::vector<T> c = host.c;
  std::vector<Outcome> outcomes(4);
  const Status status = gemm_strided_batched<T>(l.layout, l.op_a, l.op_b, l.m, l.n, l.k, T(1), host.a.data(), l.lda,
                                                l.stride_a, host.b.data(), l.ldb, l.stride_b, half, c.data(), l.ldc,
                                                l.stride_c, l.num_products, way.policy, outcomes.data());
  ASSERT_TRUE(status.ok()) << status.reason();
  EXPECT_EQ(outcomes[0].scheme, Scheme::kOzaki1);
  EXPECT_EQ(outcomes[3].scheme, Scheme::kOzaki2) << "large elements that meet small ones";
  for (const EngineName engine : device_engines()) {
    way = sliced_way(engine, SliceFormat::kInt8, 0);
    const BatchResult<T> want = one_by_one<T>(host, T(1), half, way.policy);
    expect_same(want.c, c, way.name);
    ASSERT_EQ(want.outcomes.size(), outcomes.size());
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      EXPECT_EQ(want.outcomes[i].scheme, outcomes[i].scheme) << way.name << ", product " << i;
      EXPECT_EQ(want.outcomes[i].rung, outcomes[i].rung) << way.name << ", product " << i;
      EXPECT_EQ(want.outcomes[i].slices, outcomes[i].slices) << way.name << ", product " << i;
    }
    expect_products<T>(host, T(1), half, way, want);
  }
}

}  // namespace
}  // namespace kizami::gpu_test
