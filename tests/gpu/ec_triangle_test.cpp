// SPDX-License-Identifier: MIT
// Products of one triangle of C by scheme ec: the bits of all of C, and half of the work.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/int_math.hpp"
#include "engines/hopper/ec_forms.hpp"
#include "engines/hopper/triangle_params.hpp"
#include "gpu/device_case.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/ec_case.hpp"
#include "gpu/product_on_device.hpp"
#include "gpu/triangle_case.hpp"
#include "plan/plan.hpp"
#include "product/triangle.hpp"
#include "schemes/ec/device_plan.hpp"

namespace kizami::gpu_test::triangle_case {
namespace {

using EcTriangleProduct = Sm90Test;

// The kernel of a triangle beside that of all of C in the same form and in the other one that sums as it does.
TEST_F(EcTriangleProduct, HasTheBitsOfAllOfC) {
  using product::EcFormat;
  constexpr auto kLong = product::EcPromotion::kLong;
  const product::EcTriangleEngine* const engine = product::triangles_of(&engines::hopper_ec_engine());
  ASSERT_NE(engine, nullptr);
  std::mt19937_64 rng(17);
  for (const std::int64_t n : {1, 2, 64, 128, 191, 192, 193, 256, 257, 384, 700, 768, 1033, 2304, 2500}) {
    EcLines lines(n, n == 700 ? 1000 : 130, n % 2 == 0);
    lines.fill(rng, 4);
    for (const EcFormat format : {EcFormat::kF16, EcFormat::kTf32}) {
      const DeviceEcOperand a(lines, format);
      int num_reports = 0;
      ASSERT_TRUE(ec::device_ec_split<float>(a.task(), {}, format, {}, Factor<float>(1.0F), num_multiprocessors(),
                                             num_reports, nullptr)
                      .ok());
      for (const bool is_lower : {true, false}) {
        for (const bool is_aligned : {true, false}) {
          product::EcProduct p;
          p.format = format;
          p.a.planes = {a.planes.data(), a.row_stride, a.scales.data()};
          p.a.lines.num_lines = n;
          p.a.lines.length = lines.length;
          p.b = p.a;
          p.c_col_stride = base::round_up(n, std::int64_t{4}) + (is_aligned ? 4 : 1);
          p.alpha = is_aligned ? 1.0F : -1.5F;
          p.beta = n % 3 == 0 ? 0.5F : 0.0F;
          const Part part{is_lower ? PartKind::kLower : PartKind::kUpper};
          std::vector<float> before = drawn<float>(static_cast<std::size_t>(p.c_col_stride * n), {}, 3);
          for (std::int64_t j = 0; j < n; ++j) {
            for (std::int64_t i = 0; i < p.c_col_stride; ++i) {  // what is beyond the diagonal, and between columns
              if (i >= n || !part.has(i, j))
                before[static_cast<std::size_t>(j * p.c_col_stride + i)] = std::numeric_limits<float>::quiet_NaN();
            }
          }
          const DeviceArray<float> c(before);
          p.c = c.data();
          const Status status = engine->run_triangle(p, is_lower, kLong, nullptr);
          ASSERT_TRUE(status.ok()) << status.reason();
          const std::vector<float> got = c.download();
          EXPECT_TRUE(c.guards_are_intact());
          for (const engines::EcForm form : {engines::kEcTriangleForm, engines::EcForm::kCooperative128x128}) {
            const DeviceArray<float> all(before);
            p.c = all.data();
            ASSERT_TRUE(engines::run_ec_product(p, form, kLong, nullptr).ok());
            const std::vector<float> want = all.download();
            std::int64_t wrong = 0;
            std::int64_t touched = 0;
            for (std::int64_t j = 0; j < n; ++j) {
              for (std::int64_t i = 0; i < p.c_col_stride; ++i) {
                const auto at = static_cast<std::size_t>(j * p.c_col_stride + i);
                if (i < n && part.has(i, j)) {
                  wrong += is_same(got[at], want[at]) && !std::isnan(got[at]) ? 0 : 1;
                } else {
                  touched += std::isnan(got[at]) ? 0 : 1;
                }
              }
            }
            EXPECT_EQ(wrong, 0) << "n " << n << " lower " << is_lower << " aligned " << is_aligned;
            EXPECT_EQ(touched, 0) << "n " << n << " lower " << is_lower << " aligned " << is_aligned;
          }
          if (HasFailure()) return;
        }
      }
    }
  }
}

using EcTriangleCall = Sm90Test;

/// A call of a size for which all of C is made in a form that sums as that of a triangle.
Outcome expect_ec_bits_of_all(const Spec& s) {
  EXPECT_NE(engines::ec_form_for(s.n, s.n, s.k, product::EcFormat::kF16, num_multiprocessors()),
            engines::EcForm::kSplitInner128x64)
      << print(s);
  return expect_bits_of_all<float>(s, false, ec_plan_of(s));
}

TEST_F(EcTriangleCall, BitsOfAllOfC) {
  for (const PartKind kind : {PartKind::kLower, PartKind::kUpper}) {
    for (const bool is_row_major : {false, true}) {
      Spec s{.n = 2190, .k = 640, .kind = kind, .is_transposed = is_row_major, .is_row_major = is_row_major};
      EXPECT_EQ(expect_ec_bits_of_all(s).variant, EcVariant::kScaled);
      s.alpha = -1.5;
      s.beta = 0.75;
      s.is_transposed = !s.is_transposed;
      s.has_device_factors = is_row_major;
      expect_ec_bits_of_all(s);
      s.has_other_b = true;
      expect_ec_bits_of_all(s);
      if (HasFailure()) return;
    }
  }
}

TEST_F(EcTriangleCall, EveryStageAndFactor) {
  for (const PartKind kind : {PartKind::kLower, PartKind::kUpper}) {
    Spec s{.n = 2190, .k = 300, .kind = kind, .beta = 0.5};
    s.elements.phi = 4;
    EXPECT_EQ(expect_ec_bits_of_all(s).variant, EcVariant::kScaledTf32);
    s.elements = {.phi = 0.5, .has_nonfinite = true, .has_zero_line = true};
    const Outcome outcome = expect_ec_bits_of_all(s);
    EXPECT_EQ(outcome.nonfinite_rows, 2);
    EXPECT_EQ(outcome.nonfinite_cols, 2);
    s.elements = {.phi = 16};  // beyond the range of all stages
    EXPECT_EQ(expect_ec_bits_of_all(s).scheme, Scheme::kOzaki2);
    s.elements = {};
    for (const double alpha : {0.0, std::numeric_limits<double>::infinity()}) {
      s.k = alpha == 0 ? 300 : 31;  // each element of signs is a warp's; shorter sums have no plan
      for (const bool is_on_device : {false, true}) {
        s.alpha = alpha;
        s.has_device_factors = is_on_device;
        expect_ec_bits_of_all(s);
        if (HasFailure()) return;
      }
    }
  }
}

// By the promotion that large C has of itself, with profiles of lines.
TEST_F(EcTriangleCall, LargeC) {
  for (const PartKind kind : {PartKind::kLower, PartKind::kUpper}) {
    for (const double phi : {0.5, 2.0}) {
      Spec s{.n = 4100, .k = 1100, .kind = kind};
      s.elements.phi = phi;
      const plan::Plan plan = ec_plan_of(s, Scalar::kF32, 0);
      ASSERT_TRUE(ec::ec_of(plan).numerics.takes_profiles);
      expect_bits_of_all<float>(s, false, plan);
      if (HasFailure()) return;
    }
  }
}

TEST_F(EcTriangleCall, SplitsOnceInAsManyLaunches) {
  for (const bool is_row_major : {false, true}) {
    const Spec s{.n = 2190, .k = 640, .is_row_major = is_row_major};
    TriangleCase<float> call(s, ec_plan_of(s));
    const ec::DeviceEcBuffers buffers = call.ec_buffers();
    const std::int64_t bytes = s.n * product::ec_line_bytes(product::EcFormat::kF16, s.k);
    ASSERT_TRUE(call.run({}).ok());
    EXPECT_LT(call.untouched(buffers.b.planes, bytes), bytes / 8);
    ASSERT_TRUE(call.run(call.part()).ok());
    EXPECT_EQ(call.outcome().variant, EcVariant::kScaled);
    EXPECT_EQ(call.untouched(buffers.b.planes, bytes), bytes);
    for (const Part& part : {call.part(), Part{}})  // split, decision with the FP64 rung, product
      EXPECT_EQ(captured_kernels([&](product::Queue queue) { return call.run(part, queue); }), 3U);
  }
}

TEST_F(EcTriangleCall, IsRefusedWhereThereIsNoKernel) {
  const Spec s{.n = 600, .k = 300};
  TriangleCase<float> call(s, ec_plan_of(s, Scalar::kF32, 64));
  const Status status = call.run(call.part());
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_NE(status.reason().find("promotes every 128"), std::string::npos) << status.reason();
  TriangleCase<std::complex<float>> of_complex(s, ec_plan_of(s, Scalar::kC64));
  const Status refused = of_complex.run(of_complex.part());
  EXPECT_EQ(refused.code(), StatusCode::kUnsupported);
  EXPECT_NE(refused.reason().find("makes all of a complex C"), std::string::npos) << refused.reason();
  const std::vector<float> c = call.c();
  EXPECT_EQ(0, std::memcmp(c.data(), call.before().data(), c.size() * sizeof(float)));
}

}  // namespace
}  // namespace kizami::gpu_test::triangle_case
