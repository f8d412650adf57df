// SPDX-License-Identifier: MIT
// The product of split FP32 operands on the device, every form, format and promotion: against FP64 sums within the
// bound that ec_planes.hpp derives. FP64 adds k 2^-53 of |A||B| to a comparison that begins at 10^-6.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engines/hopper/ec_forms.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/ec_case.hpp"
#include "num/line_stats.hpp"
#include "schemes/ec/device_split.hpp"

namespace kizami::engines {
namespace {

using gpu_test::check;
using gpu_test::DeviceArray;
using gpu_test::DeviceEcOperand;
using gpu_test::EcLines;
using product::EcFormat;
using product::EcPromotion;

using EcProductTest = gpu_test::Sm90Test;
using Way = gpu_test::EcWay;

/// Operands, and a C whose columns are `c_gap` elements apart.
struct HostCase {
  EcLines a;
  EcLines b;
  std::int64_t c_gap = 0;
  float alpha = 1;
  float beta = 0;
  bool are_factors_on_device = false;

  [[nodiscard]] std::int64_t c_stride() const { return a.num_lines + c_gap; }
  [[nodiscard]] std::size_t c_at(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(i + j * c_stride());
  }
  [[nodiscard]] std::size_t c_size() const { return static_cast<std::size_t>(c_stride() * b.num_lines); }
};

/// Splits and multiplies into c.
void run(const HostCase& host, const Way& way, const DeviceEcOperand& a, const DeviceEcOperand& b,
         const DeviceArray<float>& factors, const DeviceArray<float>& c, cudaStream_t stream = nullptr) {
  int num_reports = 0;
  const Status split = ec::device_ec_split<float>(a.task(), b.task(), way.format, {}, 1.0F,
                                                  gpu_test::num_multiprocessors(), num_reports, stream);
  ASSERT_TRUE(split.ok()) << split.reason();
  EcProduct p;
  p.format = way.format;
  p.a = {{a.planes.data(), a.row_stride, a.scales.data()}, a.task().lines};
  p.b = {{b.planes.data(), b.row_stride, b.scales.data()}, b.task().lines};
  p.alpha = host.are_factors_on_device ? Factor<float>::at(factors.data()) : Factor<float>(host.alpha);
  p.beta = host.are_factors_on_device ? Factor<float>::at(factors.data() + 1) : Factor<float>(host.beta);
  p.c = c.data();
  p.c_col_stride = host.c_stride();
  const Status status = run_ec_product(p, way.form, way.promotion, stream);
  ASSERT_TRUE(status.ok()) << status.reason();
}

std::vector<float> run(const HostCase& host, const Way& way, const std::vector<float>& before) {
  const DeviceEcOperand a(host.a, way.format);
  const DeviceEcOperand b(host.b, way.format);
  const DeviceArray<float> factors(std::vector<float>{host.alpha, host.beta});
  const DeviceArray<float> c(before);
  run(host, way, a, b, factors, c);
  EXPECT_TRUE(c.guards_are_intact()) << way.name();
  return c.download();
}

[[nodiscard]] bool is_finite_line(const EcLines& lines, std::int64_t i) {
  for (std::int64_t h = 0; h < lines.length; ++h) {
    if (!std::isfinite(lines(i, h))) return false;
  }
  return true;
}

/// The worst |error| / bound over C; every element between columns must be as before, and lines with NaN or Inf must
/// have the bits of the FP32 sum in the order of k (any NaN is as good as another).
double worst_ratio(const HostCase& host, const Way& way, const std::vector<float>& before,
                   const std::vector<float>& after) {
  const std::int64_t k = host.a.length;
  const double relative = product::ec_relative_bound(way.format, way.promotion, k);
  const double floor = product::ec_floor(way.format);
  double worst = 0;
  std::vector<bool> is_b_finite;
  for (std::int64_t j = 0; j < host.b.num_lines; ++j) is_b_finite.push_back(is_finite_line(host.b, j));
  for (std::int64_t i = 0; i < host.a.num_lines; ++i) {
    const bool is_a_finite = is_finite_line(host.a, i);
    for (std::int64_t j = 0; j < host.b.num_lines; ++j) {
      const std::size_t at = host.c_at(i, j);
      const float c = after[at];
      if (!is_a_finite || !is_b_finite[static_cast<std::size_t>(j)]) {
        float sum = 0;
        for (std::int64_t h = 0; h < k; ++h) sum = std::fma(host.a(i, h), host.b(j, h), sum);
        const float product = host.alpha == 0 ? 0 : host.alpha * sum;
        const float expected = host.beta == 0 ? product : std::fma(host.beta, before[at], product);
        const bool is_same = std::isnan(expected) ? std::isnan(c) : c == expected;
        EXPECT_TRUE(is_same) << way.name() << " (" << i << ", " << j << "): " << c << ", must be " << expected;
        continue;
      }
      double sum = 0, gauge = 0, a_sum = 0, b_sum = 0, a_max = 0, b_max = 0;
      for (std::int64_t h = 0; h < k; ++h) {
        const double x = host.a(i, h);
        const double y = host.b(j, h);
        sum += x * y;
        gauge += std::fabs(x * y);
        a_sum += std::fabs(x);
        b_sum += std::fabs(y);
        a_max = std::max(a_max, std::fabs(x));
        b_max = std::max(b_max, std::fabs(y));
      }
      const double alpha = host.alpha;
      const double beta = host.beta;
      const double expected = alpha * sum + (beta == 0 ? 0 : beta * before[at]);
      // Beside the bound of the product: rounding after alpha and after the addition of beta C, which a 64th more than
      // covers for what the errors before are multiplied with, and FP32's underflow before and after alpha.
      const double bound = std::fabs(alpha) * (relative * gauge + floor * (a_max * b_sum + b_max * a_sum)) +
                           0x1p-24 * (1 + 0x1p-6) * (std::fabs(alpha * sum) + std::fabs(expected)) +
                           (std::fabs(alpha) + 1) * 0x1p-149;
      const double ratio = std::fabs(c - expected) / bound;
      if (!(ratio <= worst) && !std::isnan(worst)) worst = ratio;  // NaN stays
    }
  }
  for (std::int64_t j = 0; j < host.b.num_lines; ++j) {
    for (std::int64_t i = host.a.num_lines; i < host.c_stride(); ++i) {
      EXPECT_EQ(std::memcmp(&after[host.c_at(i, j)], &before[host.c_at(i, j)], sizeof(float)), 0) << "between columns";
    }
  }
  return worst;
}

std::vector<float> random_c(std::mt19937_64& rng, std::size_t size) {
  std::vector<float> c(size);
  for (float& x : c) x = static_cast<float>(static_cast<double>(rng() >> 11) * 0x1p-53 - 0.5);
  return c;
}

TEST_F(EcProductTest, KeepsItsBoundOnOddShapes) {
  struct Shape {
    std::int64_t m, n, k;
  };
  std::mt19937_64 rng(3);
  for (const Shape& shape : {Shape{1, 1, 1},
                             {7, 3, 40},
                             {65, 127, 33},
                             {129, 66, 300},
                             {193, 257, 129},
                             {500, 1, 1000},
                             {2, 400, 700},
                             {384, 256, 96}}) {
    const bool is_odd = shape.m % 2 != 0;
    HostCase host{{shape.m, shape.k, is_odd, 1}, {shape.n, shape.k, !is_odd, 0}, is_odd ? 3 : 0, 1, 0, false};
    host.a.fill(rng, 4);
    host.b.fill(rng, 4, 3);
    const std::vector<float> poison(host.c_size(), std::numeric_limits<float>::quiet_NaN());
    const std::vector<float> before = random_c(rng, host.c_size());
    for (const Way& way : gpu_test::all_ec_ways()) {
      host.alpha = 1;
      host.beta = 0;
      EXPECT_LE(worst_ratio(host, way, poison, run(host, way, poison)), 1)
          << way.name() << " " << shape.m << "x" << shape.n;
      host.alpha = -1.75F;
      host.beta = 0.3F;
      host.are_factors_on_device = !host.are_factors_on_device;
      EXPECT_LE(worst_ratio(host, way, before, run(host, way, before)), 1)
          << way.name() << " " << shape.m << "x" << shape.n;
    }
  }
}

TEST_F(EcProductTest, HasBitsThatDoNotChange) {
  std::mt19937_64 rng(4);
  HostCase host{{700, 520, true}, {650, 520, false}, 0, 1, 0, false};
  host.a.fill(rng, 8);
  host.b.fill(rng, 8);
  const std::vector<float> before(host.c_size());
  for (const Way& way : gpu_test::all_ec_ways()) {
    const std::vector<float> first = run(host, way, before);
    const std::vector<float> second = run(host, way, before);
    EXPECT_EQ(std::memcmp(first.data(), second.data(), first.size() * sizeof(float)), 0) << way.name();
  }
}

// Lines are those of 128 over and over, so C is, too. 99 tiles of clusters at least: most clusters have several, of an odd
// number of promotions each, and what consumers share goes on from one tile to the next.
TEST_F(EcProductTest, HasTheBitsOfOneTileInAllTiles) {
  constexpr std::int64_t kPeriod = 128;
  std::mt19937_64 rng(10);
  HostCase one{{kPeriod, 300, true}, {kPeriod, 300, false}, 0, 1, 0, false};
  one.a.fill(rng, 8);
  one.b.fill(rng, 8);
  HostCase many{{11 * kPeriod, 300, true}, {18 * kPeriod, 300, false}, 0, 1, 0, false};
  for (const auto& [of_one, of_many] : {std::pair{&one.a, &many.a}, std::pair{&one.b, &many.b}}) {
    for (std::int64_t i = 0; i < of_many->num_lines; ++i) {
      for (std::int64_t h = 0; h < of_many->length; ++h) (*of_many)(i, h) = (*of_one)(i % kPeriod, h);
    }
  }
  for (const Way& way : gpu_test::all_ec_ways()) {
    const std::vector<float> expected = run(one, way, std::vector<float>(one.c_size()));
    const std::vector<float> found = run(many, way, std::vector<float>(many.c_size()));
    std::size_t different = 0;
    for (std::int64_t j = 0; j < many.b.num_lines; ++j) {
      for (std::int64_t i = 0; i < many.a.num_lines; i += kPeriod) {
        const float* const column = &expected[one.c_at(0, j % kPeriod)];
        different += std::memcmp(&found[many.c_at(i, j)], column, kPeriod * sizeof(float)) != 0 ? 1 : 0;
      }
    }
    EXPECT_EQ(different, 0U) << way.name() << ": columns of 128 elements";
  }
}

TEST_F(EcProductTest, ReadsAlphaZeroAsNoProduct) {
  std::mt19937_64 rng(5);
  HostCase host{{130, 70, false}, {90, 70, false}, 1, 0, -2, true};
  host.a.fill(rng, 2);
  host.b.fill(rng, 2);
  host.a(4, 4) = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> before = random_c(rng, host.c_size());
  for (const Way& way : gpu_test::all_ec_ways()) {
    const std::vector<float> after = run(host, way, before);
    for (std::int64_t j = 0; j < host.b.num_lines; ++j) {
      for (std::int64_t i = 0; i < host.a.num_lines; ++i) {
        ASSERT_EQ(after[host.c_at(i, j)], -2 * before[host.c_at(i, j)]) << way.name();
      }
    }
  }
}

TEST_F(EcProductTest, SumsLinesWithNanOrInfInFp32) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::mt19937_64 rng(6);
  HostCase host{{150, 90, true}, {140, 90, false}, 0, 2, 1, false};
  host.a.fill(rng, 5);
  host.b.fill(rng, 5);
  host.a(0, 3) = kInf;
  host.a(77, 89) = std::numeric_limits<float>::quiet_NaN();
  host.a(149, 0) = -kInf;
  host.b(5, 3) = 0;  // Inf 0 is NaN
  host.b(139, 0) = kInf;
  const std::vector<float> before = random_c(rng, host.c_size());
  for (const Way& way : gpu_test::all_ec_ways()) {
    EXPECT_LE(worst_ratio(host, way, before, run(host, way, before)), 1) << way.name();
  }
}

TEST_F(EcProductTest, TakesLinesOfAnyMagnitude) {
  std::mt19937_64 rng(7);
  HostCase host{{140, 200, false}, {135, 200, true}, 1, 1, 0, false};
  host.a.fill(rng, 6);
  host.b.fill(rng, 6);
  for (std::int64_t i = 0; i < host.a.num_lines; ++i) host.a.scale_line(i, static_cast<int>(i) * 2 - 140);
  for (std::int64_t j = 0; j < host.b.num_lines; ++j) host.b.scale_line(j, static_cast<int>(j % 60) - 75);
  for (std::int64_t h = 0; h < 200; ++h) host.a(9, h) = 0;
  const std::vector<float> poison(host.c_size(), std::numeric_limits<float>::quiet_NaN());
  for (const Way& way : gpu_test::all_ec_ways()) {
    EXPECT_LE(worst_ratio(host, way, poison, run(host, way, poison)), 1) << way.name();
  }
}

TEST_F(EcProductTest, PromotesSoThatLongSumsOfOneSignDoNotDrift) {
  // Without promotion the tensor core truncates 3 k / 16 times in one direction: 5 10^-4 of |A||B| here, six times the
  // bound.
  std::mt19937_64 rng(8);
  HostCase host{{64, 65536, false}, {64, 65536, false}, 0, 1, 0, false};
  for (EcLines* lines : {&host.a, &host.b}) {
    for (float& x : lines->memory) x = static_cast<float>(static_cast<double>((rng() >> 11) + 1) * 0x1p-53);
  }
  const std::vector<float> poison(host.c_size(), std::numeric_limits<float>::quiet_NaN());
  for (const Way& way : gpu_test::all_ec_ways()) {
    EXPECT_LE(worst_ratio(host, way, poison, run(host, way, poison)), 1) << way.name();
  }
}

TEST_F(EcProductTest, CanBeCapturedAndReplayedWithOtherElements) {
  std::mt19937_64 rng(9);
  HostCase first{{260, 300, true}, {200, 300, false}, 0, 1, 0, false};
  first.a.fill(rng, 4);
  first.b.fill(rng, 4);
  HostCase second = first;
  second.a.fill(rng, 9);
  const std::vector<float> before(first.c_size());
  for (const Way& way : gpu_test::all_ec_ways()) {
    const std::vector<float> expected = run(second, way, before);
    const DeviceEcOperand b(first.b, way.format);
    DeviceEcOperand a(first.a, way.format);
    const DeviceArray<float> factors(std::vector<float>{1, 0});
    const DeviceArray<float> c(before);
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    run(first, way, a, b, factors, c, stream);  // kernels are loaded before a capture
    check(cudaStreamSynchronize(stream), "stream");
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
    run(first, way, a, b, factors, c, stream);
    check(cudaStreamEndCapture(stream, &graph), "capture");
    check(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
    a.elements.upload(second.a.memory);
    check(cudaGraphLaunch(exec, stream), "launch");
    check(cudaStreamSynchronize(stream), "stream");
    const std::vector<float> found = c.download();
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)), 0) << way.name();
    check(cudaGraphExecDestroy(exec), "graph");
    check(cudaGraphDestroy(graph), "graph");
    check(cudaStreamDestroy(stream), "stream");
  }
}

TEST_F(EcProductTest, RefusesWhatItCannotMultiply) {
  HostCase host{{8, 40, false}, {8, 40, false}, 0, 1, 0, false};
  const DeviceEcOperand a(host.a, EcFormat::kF16);
  const DeviceArray<float> c(host.c_size());
  EcProduct p;
  p.a = {{a.planes.data(), a.row_stride, a.scales.data()}, a.task().lines};
  p.b = p.a;
  p.c = c.data();
  p.c_col_stride = 7;
  const auto reason = [&] {
    const Status status = run_ec_product(p, EcForm::kCooperative128x128, EcPromotion::kShort, nullptr);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    return status.reason();
  };
  EXPECT_EQ(reason(), "c_col_stride = 7, must be at least m = 8");
  p.c_col_stride = 8;
  p.a.planes.row_stride = 128;
  EXPECT_EQ(reason(), "a.planes.row_stride = 128, must be a multiple of 128, at least 256 and below 2^40");
  p.a.planes.row_stride = a.row_stride;
  p.b.lines.length = 39;
  EXPECT_EQ(reason(), "length of the lines of b = 39, must be that of a, 40");
  p.b.lines.length = 40;
  p.a.lines.num_lines = 0;
  EXPECT_EQ(reason(), "m = 0, must be at least 1 and below 2^30");
}

}  // namespace
}  // namespace kizami::engines
