// SPDX-License-Identifier: MIT
// Ways to make products of scheme ec that the library does not have (lab/bench/gpu_ec_ways), beside what it does: C has the
// same bits, with lines that are tiny, zero, or have NaN or Inf, at edges, with alpha and beta.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gpu/device_memory.hpp"
#include "gpu/ec_case.hpp"
#include "gpu_ec_ways/ec_ways.hpp"

namespace bench::ec_ways {
namespace {

using kizami::Status;
using kizami::engines::EcForm;
using kizami::engines::EcProduct;
using kizami::engines::hopper::DriftWords;
using kizami::gpu_test::DeviceArray;
using kizami::gpu_test::DeviceEcOperand;
using kizami::gpu_test::EcLines;
using kizami::gpu_test::num_multiprocessors;
using kizami::product::EcFormat;
using kizami::product::EcPromotion;

using EcWaysTest = kizami::gpu_test::EcDeviceTest;

struct Kernel {
  EcForm form;
  EcPromotion promotion;
};
constexpr Kernel kKernels[] = {{EcForm::kCooperative192x128, EcPromotion::kLong},
                               {EcForm::kCooperative128x128, EcPromotion::kShort},
                               {EcForm::kCooperative128x128, EcPromotion::kLong},
                               {EcForm::kSplitInner128x64, EcPromotion::kShort}};

struct Operands {
  EcLines a;
  EcLines b;
  float alpha = 1;
  float beta = 0;

  Operands(std::int64_t m, std::int64_t n, std::int64_t k, bool is_a_across, unsigned seed)
      : a(m, k, is_a_across), b(n, k, false, 16) {
    std::mt19937_64 rng(seed);
    a.fill(rng, 12);
    b.fill(rng, 12);
  }
};

[[nodiscard]] EcProduct product_of(const Operands& host, const DeviceEcOperand& a, const DeviceEcOperand& b,
                                   const DeviceArray<float>& c) {
  EcProduct p;
  p.format = EcFormat::kF16;
  p.a = {{a.planes.data(), a.row_stride, a.scales.data()}, a.task().lines};
  p.b = {{b.planes.data(), b.row_stride, b.scales.data()}, b.task().lines};
  p.alpha = host.alpha;
  p.beta = host.beta;
  p.c = c.data();
  p.c_col_stride = host.a.num_lines;
  return p;
}

/// C of the library, and the number of products that other ways have made, each with the same bits.
int compare(const Operands& host, const std::string& what) {
  const auto size = static_cast<std::size_t>(host.a.num_lines * host.b.num_lines);
  std::vector<float> before(size, std::numeric_limits<float>::quiet_NaN());
  if (host.beta != 0) {
    for (std::size_t i = 0; i < size; ++i) before[i] = static_cast<float>(i % 1013) - 500;
  }
  int made = 0;
  for (const Kernel& kernel : kKernels) {
    for (const EcWay way : kEcWays) {
      const auto run_with = [&](bool is_other) {
        const DeviceEcOperand a(host.a, EcFormat::kF16);
        const DeviceEcOperand b(host.b, EcFormat::kF16);
        const DeviceArray<float> c(before);
        EcProduct p = product_of(host, a, b, c);
        const DeviceArray<std::int32_t> decision(std::vector<std::int32_t>{0});
        if (is_other && way == EcWay::kEager) p.decision = decision.data();
        if (is_other && why_not(way, p, kernel.form, kernel.promotion) != nullptr) return std::vector<float>{};
        int num_reports = 0;
        const bool has_rows = is_other && way == EcWay::kRegisters;
        const Status split =
            has_rows ? split_without_rows(a.task(), b.task(), {}, num_multiprocessors(), num_reports, nullptr)
                     : kizami::ec::device_ec_split<float>(a.task(), b.task(), EcFormat::kF16, {}, 1.0F,
                                                          num_multiprocessors(), num_reports, nullptr);
        EXPECT_TRUE(split.ok()) << split.reason();
        const DeviceArray<DriftWords> words(std::vector<DriftWords>(1));
        const Status status = is_other ? run(way, p, kernel.form, kernel.promotion, words.data(), nullptr)
                                       : run_ec_product(p, kernel.form, kernel.promotion, nullptr);
        EXPECT_TRUE(status.ok()) << status.reason();
        EXPECT_TRUE(c.guards_are_intact());
        return c.download();
      };
      const std::vector<float> other = run_with(true);
      if (other.empty()) continue;
      const std::vector<float> expected = run_with(false);
      ++made;
      std::size_t differing = 0;
      for (std::size_t i = 0; i < size; ++i) {
        if (std::isnan(expected[i]) && std::isnan(other[i])) continue;
        if (std::memcmp(&expected[i], &other[i], sizeof(float)) != 0 && differing++ == 0) {
          ADD_FAILURE() << what << ", " << name_of(way) << ", form " << static_cast<int>(kernel.form) << ", promotion "
                        << static_cast<int>(kernel.promotion) << ": element " << i << " is " << other[i] << ", must be "
                        << expected[i];
        }
      }
      EXPECT_EQ(differing, 0U);
    }
  }
  return made;
}

TEST_F(EcWaysTest, WholeTilesHaveTheSameBits) { EXPECT_EQ(compare(Operands(512, 512, 1024, true, 1), "whole"), 9); }

TEST_F(EcWaysTest, ManyTilesAndBlocksHaveTheSameBits) {
  EXPECT_EQ(compare(Operands(2048, 2304, 2048, false, 2), "many"), 8);  // split_inner_128x64 has several blocks
}

TEST_F(EcWaysTest, EdgesHaveTheSameBits) {
  EXPECT_EQ(compare(Operands(300, 200, 96, true, 3), "edges"), 9);
  EXPECT_EQ(compare(Operands(67, 5, 16, false, 4), "small"), 9);
}

TEST_F(EcWaysTest, LinesOfAnyScaleHaveTheSameBits) {
  Operands host(256, 256, 512, true, 5);
  for (int i = 0; i < 256; ++i) {
    host.a.scale_line(i, i % 37 - 18);
    host.b.scale_line(i, i % 5 == 0 ? -120 - i % 20 : i % 41 - 20);  // some need two factors
  }
  for (std::int64_t h = 0; h < 512; ++h) host.b(7, h) = 0;
  host.b(100, 3) = std::numeric_limits<float>::infinity();
  host.b(133, 500) = std::numeric_limits<float>::quiet_NaN();
  host.a(5, 8) = std::numeric_limits<float>::infinity();
  EXPECT_EQ(compare(host, "scales"), 9);
  host.alpha = -1.5F;
  host.beta = 0.75F;
  EXPECT_EQ(compare(host, "alpha and beta"), 9);
}

TEST_F(EcWaysTest, EagerProductsLeaveCToOtherDecisions) {
  const Operands host(300, 200, 1024, true, 7);
  const DeviceEcOperand a(host.a, EcFormat::kF16);
  const DeviceEcOperand b(host.b, EcFormat::kF16);
  const std::vector<float> before(std::size_t{300} * 200, 7.0F);
  for (const std::int32_t decided : {-1, 1}) {
    const DeviceArray<float> c(before);
    const DeviceArray<std::int32_t> decision(std::vector<std::int32_t>{decided});
    int num_reports = 0;
    ASSERT_TRUE(kizami::ec::device_ec_split<float>(a.task(), b.task(), EcFormat::kF16, {}, 1.0F, num_multiprocessors(),
                                                   num_reports, nullptr)
                    .ok());
    EcProduct p = product_of(host, a, b, c);
    p.decision = decision.data();
    ASSERT_TRUE(run(EcWay::kEager, p, EcForm::kSplitInner128x64, EcPromotion::kShort, nullptr, nullptr).ok());
    EXPECT_EQ(c.download(), before) << decided;
  }
}

TEST_F(EcWaysTest, SaysWhatItDoesNotMake) {
  const Operands host(128, 128, 24, true, 6);
  const DeviceEcOperand a(host.a, EcFormat::kF16);
  const DeviceEcOperand b(host.b, EcFormat::kF16);
  const DeviceArray<float> c(std::vector<float>(std::size_t{128} * 128));
  const EcProduct p = product_of(host, a, b, c);
  EXPECT_NE(why_not(EcWay::kRegisters, p, EcForm::kCooperative128x128, EcPromotion::kShort), nullptr);
  EXPECT_EQ(why_not(EcWay::kTurns, p, EcForm::kCooperative128x128, EcPromotion::kShort), nullptr);
  EXPECT_NE(why_not(EcWay::kTurns, p, EcForm::kSplitInner128x64, EcPromotion::kShort), nullptr);
}

}  // namespace
}  // namespace bench::ec_ways
