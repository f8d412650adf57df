// SPDX-License-Identifier: MIT
// The count of pairs that the sampled certificate leaves open, against the host's predicate: whatever accumulators hold
// beyond the last row.
#include "certify/device_certificate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string_view>
#include <vector>

#include "base/int_math.hpp"
#include "engines/hopper/forms.hpp"
#include "engines/mma/forms.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/sm90_test.hpp"
#include "num/rung.hpp"
#include "schemes/ozaki2/ladder.hpp"

namespace kizami::certify {
namespace {

using gpu_test::DeviceArray;

std::vector<num::LineStats> random_stats(std::mt19937_64& rng, std::int64_t count, std::int64_t k) {
  std::vector<num::LineStats> stats(static_cast<std::size_t>(count));
  for (num::LineStats& s : stats) {
    s.exponent = static_cast<int>(rng() % 100);
    s.lsb = s.exponent - static_cast<int>(rng() % 80);
    s.sum_abs = (1u << num::kAbsBits) + rng() % static_cast<std::uint64_t>(k << num::kAbsBits);
    s.sum_squares = (1u << 2 * num::kSquareBits) + rng() % static_cast<std::uint64_t>(k << 2 * num::kSquareBits);
  }
  return stats;
}

class DeviceCertificate : public gpu_test::DeviceTest {};

TEST_F(DeviceCertificate, CountsWhatTheHostCounts) {
  std::mt19937_64 rng(5);
  constexpr std::int64_t kTerms = 1000;
  const num::Ladder ladder = ozaki2::certified_ladder(num::Ring::kReal, kTerms, 0x1p-50);
  ASSERT_GT(ladder.num_rungs, 0);
  for (const std::int64_t m : {1, 2, 3, 4, 30, 31, 513, 1026}) {
    for (const std::int64_t n : {1, 33, 70}) {
      for (const int num_parts : {1, 2}) {
        for (const std::int64_t num_pieces : {1, 3}) {
          const std::vector<num::LineStats> a = random_stats(rng, m, kTerms);
          const std::vector<num::LineStats> b = random_stats(rng, n, kTerms);
          const std::int64_t col_stride = base::round_up(m, 16);
          const std::int64_t piece_stride = n * col_stride;
          // Poison beyond the last row: all bits of it certify nothing, and zeros certify nothing either.
          std::vector<std::int32_t> acc(static_cast<std::size_t>(num_parts * num_pieces * piece_stride), -1515870811);
          std::uint64_t expected = 0;
          std::uint64_t certified = 0;
          for (std::int64_t j = 0; j < n; ++j) {
            for (std::int64_t i = 0; i < m; ++i) {
              bool has_failed = false;
              for (int part = 0; part < num_parts; ++part) {
                std::uint64_t sum = 0;
                for (std::int64_t piece = 0; piece < num_pieces; ++piece) {
                  const auto value = static_cast<std::int32_t>(rng() % 8 == 0 ? 0 : rng() % (1u << (rng() % 24)));
                  acc[static_cast<std::size_t>((part * num_pieces + piece) * piece_stride + j * col_stride + i)] =
                      value;
                  sum += static_cast<std::uint64_t>(value);
                }
                has_failed = has_failed ||
                             !num::is_certified(ladder, 0, num::line_weight(ladder, a[static_cast<std::size_t>(i)]),
                                                num::line_weight(ladder, b[static_cast<std::size_t>(j)]),
                                                static_cast<float>(sum) * 0x1p-12F);
              }
              (has_failed ? expected : certified) += 1;
            }
          }
          if (m * n > 1000) {
            EXPECT_GT(expected, 0u);
            EXPECT_GT(certified, 0u);
          }
          const DeviceArray<std::int32_t> device_acc(acc);
          const DeviceArray<num::LineStats> device_a(a);
          const DeviceArray<num::LineStats> device_b(b);
          const DeviceArray<device::DeviceState> state(std::vector<device::DeviceState>(1));
          SampledProducts products;
          products.acc = device_acc.data();
          products.num_parts = num_parts;
          products.num_pieces = num_pieces;
          products.part_stride = num_pieces * piece_stride;
          products.piece_stride = piece_stride;
          products.col_stride = col_stride;
          products.m = m;
          products.n = n;
          ASSERT_TRUE(count_sampled_failures_device(ladder, products, {.stats = device_a.data()},
                                                    {.stats = device_b.data()}, state.data(), nullptr)
                          .ok());
          EXPECT_EQ(state.download()[0].sampled_failures, expected)
              << m << " x " << n << ", " << num_parts << " parts, " << num_pieces << " pieces";
        }
      }
    }
  }
}

/// The product kernel's epilogue kCompare: digits in, a number of refused pairs out.
TEST_F(DeviceCertificate, ProductsCountWhatTheHostCounts) {
  if (const std::string why = gpu_test::why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  std::mt19937_64 rng(6);
  const num::Ladder ladder = ozaki2::certified_ladder(num::Ring::kReal, 1000, 0x1p-50);
  constexpr int kNumPlanes = 2;
  struct Shape {
    std::int64_t m, n, k;
  };
  for (const Shape& s :
       {Shape{1, 1, 64}, {2, 129, 64}, {130, 257, 192}, {301, 63, 640}, {256, 256, 100}, {515, 400, 1024}}) {
    const std::int64_t stride = base::round_up(s.k, 128);
    const auto random_digits = [&](std::int64_t lines) {
      std::vector<std::int8_t> digits(static_cast<std::size_t>(lines * stride));
      for (std::int64_t i = 0; i < lines; ++i) {
        const int most = 1 << rng() % 8;
        for (std::int64_t h = 0; h < s.k; ++h)
          digits[static_cast<std::size_t>(i * stride + h)] =
              static_cast<std::int8_t>(rng() % static_cast<unsigned>(most));
      }
      return digits;
    };
    const auto random_weights = [&](std::int64_t lines) {
      std::vector<num::RungWeight> weights;
      for (const num::LineStats& stats : random_stats(rng, lines, s.k)) {
        weights.push_back(num::rung_weight(ladder.rungs[0], stats));
        EXPECT_EQ(weights.back(), num::weight_at(num::line_weight(ladder, stats), 0));
      }
      weights.resize(static_cast<std::size_t>(base::round_up(lines, 2)), {1e30F, 1e30F});  // nobody's
      return weights;
    };
    const std::vector<std::int8_t> a = random_digits(s.m);
    const std::vector<std::int8_t> b = random_digits(s.n + kNumPlanes - 1);
    const std::vector<num::RungWeight> a_weights = random_weights(s.m);
    const std::vector<num::RungWeight> b_weights = random_weights(s.n);
    product::ProductDesc desc;
    desc.m = s.m;
    desc.n = s.n;
    desc.k = s.k;
    // Two planes, as of complex numbers: the lines of A are shared, those of B move on by one.
    desc.num_products = kNumPlanes;
    desc.epilogue = product::Epilogue::kCompare;
    desc.a_row_stride = desc.b_row_stride = stride;
    desc.b_plane_stride = stride;
    std::vector<double> quotients;
    const auto for_pairs = [&](const auto& visit) {
      for (std::int64_t plane = 0; plane < kNumPlanes; ++plane) {
        for (std::int64_t j = 0; j < s.n; ++j) {
          for (std::int64_t i = 0; i < s.m; ++i) {
            std::int32_t sum = 0;
            for (std::int64_t h = 0; h < s.k; ++h)
              sum +=
                  a[static_cast<std::size_t>(i * stride + h)] * b[static_cast<std::size_t>((j + plane) * stride + h)];
            visit(a_weights[static_cast<std::size_t>(i)], b_weights[static_cast<std::size_t>(j)],
                  static_cast<float>(sum));
          }
        }
      }
    };
    for_pairs([&](const num::RungWeight& x, const num::RungWeight& y, float sum) {
      quotients.push_back((x.error * y.norm1 + y.error * x.norm1) / (sum + 1e-30));
    });
    std::sort(quotients.begin(), quotients.end());
    const DeviceArray<std::int8_t> device_a(a);
    const DeviceArray<std::int8_t> device_b(b);
    const DeviceArray<num::RungWeight> device_a_weights(a_weights);
    const DeviceArray<num::RungWeight> device_b_weights(b_weights);
    product::Pointers pointers{device_a.data(), device_b.data()};
    pointers.a_weights = device_a_weights.data();
    pointers.b_weights = device_b_weights.data();
    // Whatever is not 0 asks for all planes: one pair that a product left open does.
    const DeviceArray<std::int32_t> one(std::vector<std::int32_t>{1});
    const DeviceArray<std::int32_t> none(std::vector<std::int32_t>{0});
    // Half of the pairs are refused, few, those by little, none by far.
    const std::size_t num_pairs = quotients.size();
    const auto quantile = [&](std::size_t above) {
      return static_cast<float>(quotients[num_pairs - 1 - std::min(above, num_pairs - 1)]);
    };
    for (const float allowance : {quantile(num_pairs / 2), quantile(num_pairs / 50), quantile(3), quantile(0),
                                  quantile(0) * 1.00001F, quantile(0) * 1.5F, 0x1p100F}) {
      desc.allowance = allowance;
      std::uint64_t expected = 0;
      for_pairs([&](const num::RungWeight& x, const num::RungWeight& y, float sum) {
        if (!num::is_certified(desc.allowance, x, y, sum)) ++expected;
      });
      int num_forms = 0;
      const auto expect_count = [&](std::string_view form, const auto& run) {
        ++num_forms;
        const DeviceArray<std::uint64_t> count(std::vector<std::uint64_t>{7});
        pointers.c = count.data();
        const Status status = run();
        ASSERT_TRUE(status.ok()) << status.reason();
        EXPECT_EQ(count.download()[0], 7 + expected)
            << form << ", " << s.m << " x " << s.n << " x " << s.k << ", allowance " << allowance;
        pointers.num_products = one.data();
        ASSERT_TRUE(run().ok());
        EXPECT_EQ(count.download()[0], 7 + 2 * expected) << form;
        pointers.num_products = none.data();
        ASSERT_TRUE(run().ok());
        EXPECT_EQ(count.download()[0], 7 + 2 * expected) << form;
        pointers.num_products = nullptr;
      };
      for (const engines::HopperFormTraits& form : engines::hopper_forms()) {
        if (!engines::form_accepts(form, desc)) continue;
        expect_count(form.name, [&] { return engines::run_hopper_product(desc, pointers, form.form, nullptr); });
      }
      for (const engines::MmaFormTraits& form : engines::kMmaForms)
        expect_count(form.name, [&] { return engines::run_mma_product(desc, pointers, form.form, nullptr); });
      EXPECT_EQ(num_forms, 3 + engines::kNumMmaForms);
      if (s.m * s.n > 1000 && allowance == quantile(num_pairs / 2)) {
        EXPECT_GT(expected, 0u);
        EXPECT_LT(expected, num_pairs);
      }
    }
  }
}

}  // namespace
}  // namespace kizami::certify
