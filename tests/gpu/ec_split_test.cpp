// SPDX-License-Identifier: MIT
// The split of FP32 operands on the device against ec_split_line(), bit for bit: planes, scales, what is known of
// lines, and what the blocks report of them, and of FP16 their profiles. All of the planes' storage is compared, so a
// byte between rows or beyond the last is a failure like any other. Then the decision that follows from the reports.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/int_math.hpp"
#include "device/state.hpp"
#include "gpu/device_case.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/ec_case.hpp"
#include "gpu/sm90_test.hpp"
#include "num/ec_profile.hpp"
#include "num/ec_range.hpp"
#include "num/line_stats.hpp"
#include "schemes/ec/device_decide.hpp"
#include "schemes/ec/device_planes_oracle.hpp"
#include "schemes/ec/device_profile.hpp"
#include "schemes/ec/device_split.hpp"
#include "schemes/ec/judged_parts.hpp"

namespace kizami::ec {
namespace {

using gpu_test::DeviceArray;
using gpu_test::DeviceEcOperand;
using gpu_test::EcLines;
using product::EcFormat;
using product::EcReport;

class DeviceEcSplitTest : public gpu_test::Sm90Test {};

/// Limits that some lines of every test keep and others do not.
[[nodiscard]] num::EcRangeLimits limits_of(EcFormat format) {
  return num::ec_range_limits(product::ec_top_exponent(format), 0x1p-15);
}

/// What is expected of one operand, from lines that are split on the host.
struct Expected {
  std::vector<std::int8_t> planes;
  std::vector<std::int32_t> scales;
  std::vector<num::LineStats> stats;
  std::uint32_t flags = 0;
  std::uint32_t nonfinite = 0;

  Expected(const problem::Lines<float>& lines, EcFormat format, std::int64_t row_stride)
      : planes(static_cast<std::size_t>(lines.num_lines * row_stride),
               static_cast<std::int8_t>(DeviceArray<std::int8_t>::kPoison)) {
    for (std::int64_t i = 0; i < lines.num_lines; ++i) {
      std::int32_t scale = 0;
      const num::EcLineSight sight =
          ec_split_line(lines, i, format, limits_of(format), planes.data() + i * row_stride, scale);
      scales.push_back(scale);
      num::LineStats line;
      line.is_finite = scale != num::kSkipLine;
      if (line.is_finite && sight.smallest > 0) {
        line.exponent = product::ec_top_exponent(format) - scale;
        line.lsb = -149;
      }
      stats.push_back(line);
      if (line.is_finite) flags |= ec_judged_flags(lines, i, format, limits_of(format), scale, sight);
      if (!line.is_finite) ++nonfinite;
    }
  }

  /// Of planes of FP16.
  [[nodiscard]] num::EcProfile profile(std::int64_t row_stride, std::int64_t length) const {
    num::EcProfile merged;
    for (std::size_t i = 0; i < scales.size(); ++i) {
      std::array<std::uint32_t, num::kEcBins> counts{};
      const std::int8_t* const row = planes.data() + static_cast<std::int64_t>(i) * row_stride;
      for (std::int64_t h = 0; h < length; ++h) {
        std::uint16_t hi = 0;
        std::memcpy(&hi, row + h / 32 * product::kEcBlockBytes + h % 32 * 2, sizeof hi);
        ++counts[static_cast<std::size_t>(num::ec_bin(hi))];
      }
      num::ec_merge(num::ec_profile(counts, static_cast<std::uint32_t>(length)), merged);
    }
    return merged;
  }
};

void expect_equal(const DeviceArray<std::int8_t>& planes, std::int64_t row_stride,
                  const DeviceArray<std::int32_t>& scales, const Expected& expected, const std::string& name) {
  EXPECT_EQ(scales.download(), expected.scales) << name;
  const std::vector<std::int8_t> found = planes.download();
  const auto wrong = std::mismatch(found.begin(), found.end(), expected.planes.begin());
  const auto at = wrong.first - found.begin();
  ASSERT_TRUE(wrong.first == found.end()) << name << " line " << at / row_stride << " byte " << at % row_stride;
  EXPECT_TRUE(planes.guards_are_intact() && scales.guards_are_intact()) << name;
}

struct Sum {
  std::uint32_t flags = 0;
  std::uint32_t a_nonfinite = 0;
  std::uint32_t b_nonfinite = 0;
};
Sum sum_of(const DeviceArray<EcReport>& reports, int count) {
  Sum sum;
  const std::vector<EcReport> all = reports.download();
  for (int r = 0; r < count; ++r) {
    const EcReport& report = all[static_cast<std::size_t>(r)];
    sum.flags |= report.flags();
    sum.a_nonfinite += report.a_nonfinite();
    sum.b_nonfinite += report.b_nonfinite();
  }
  return sum;
}

void expect_equal(const num::EcProfile& found, const num::EcProfile& wanted, const std::string& name) {
  EXPECT_EQ(found.inverse_mean, wanted.inverse_mean) << name;
  for (int i = 0; i < num::kEcLevels; ++i) EXPECT_EQ(found.ratio[i], wanted.ratio[i]) << name << " level " << i + 1;
}

/// The profiles that follow a split, from planes that are the host's: its words, and what follows from them. None are
/// made where flags let FP16 answer.
template <class T>
void expect_profiles(const DeviceEcSplit<T>& a, const DeviceEcSplit<T>& b, const DeviceArray<EcReport>& reports,
                     int num_reports, const DeviceArray<num::EcProfiles>& profiles, const Expected& want_a,
                     const Expected& want_b, bool should_hold, const std::string& name) {
  const std::int64_t length = a.lines.num_terms();
  const float limit = num::ec_profile_limit(0x1p-15, length);
  const Status status = device_ec_profile<T>({reports.data(), num_reports, limit, profiles.data()}, a, b, T(1.0F),
                                             gpu_test::num_multiprocessors(), nullptr);
  ASSERT_TRUE(status.ok()) << status.reason();
  const num::EcProfiles found = profiles.download()[0];
  EXPECT_TRUE(profiles.guards_are_intact()) << name;
  const std::uint32_t flags = sum_of(reports, num_reports).flags;
  num::EcProfiles wanted;
  if (!num::ec_f16_holds(flags & 0xF, flags >> 4)) {
    wanted.a = want_a.profile(a.row_stride, length);
    wanted.b = want_b.profile(b.row_stride, length);
    EXPECT_GT(found.num_done, 0U) << name;
    wanted.holds = num::ec_profiles_hold(wanted.a, wanted.b, limit) ? 1 : 0;
  } else {
    EXPECT_EQ(found.num_done, 0U) << name;
  }
  expect_equal(found.a, wanted.a, name + " a");
  expect_equal(found.b, wanted.b, name + " b");
  EXPECT_EQ(found.holds, wanted.holds) << name;
  EXPECT_TRUE(found.holds == 1 || !should_hold) << name;
}

void expect_split(const EcLines& a, const EcLines& b, EcFormat format, const std::string& name,
                  bool profiles_hold = false) {
  const int num_sms = gpu_test::num_multiprocessors();
  const DeviceEcOperand device_a(a, format, 1);
  const DeviceEcOperand device_b(b, format);
  const DeviceArray<EcReport> reports(static_cast<std::size_t>(product::ec_most_reports(a.num_lines, b.num_lines)));
  const DeviceArray<num::LineStats> a_stats(static_cast<std::size_t>(a.num_lines));
  const DeviceArray<num::EcProfiles> profiles(1);
  DeviceEcSplit<float> task = device_a.task();
  task.stats = a_stats.data();
  int num_reports = 0;
  const Status status =
      device_ec_split<float>(task, device_b.task(), format, {limits_of(format), reports.data(), profiles.data()}, 1.0F,
                             num_sms, num_reports, nullptr);
  ASSERT_TRUE(status.ok()) << status.reason();
  ASSERT_LE(num_reports, product::ec_most_reports(a.num_lines, b.num_lines));
  const Expected want_a(a.lines(a.memory.data()), format, device_a.row_stride);
  const Expected want_b(b.lines(b.memory.data()), format, device_b.row_stride);
  expect_equal(device_a.planes, device_a.row_stride, device_a.scales, want_a, name + " a");
  expect_equal(device_b.planes, device_b.row_stride, device_b.scales, want_b, name + " b");
  EXPECT_EQ(a_stats.download(), want_a.stats) << name;
  const Sum found = sum_of(reports, num_reports);
  EXPECT_EQ(found.flags, want_a.flags | want_b.flags << 4) << name;
  EXPECT_EQ(found.a_nonfinite, want_a.nonfinite) << name;
  EXPECT_EQ(found.b_nonfinite, want_b.nonfinite) << name;
  EXPECT_TRUE(reports.guards_are_intact() && a_stats.guards_are_intact()) << name;
  if (format == EcFormat::kF16) {
    expect_profiles<float>(task, device_b.task(), reports, num_reports, profiles, want_a, want_b, profiles_hold, name);
  }
}

TEST_F(DeviceEcSplitTest, HasTheBitsOfTheHost) {
  struct Shape {
    std::int64_t a_lines, b_lines, k;
  };
  // Lines of one to eight warps, units of one to eight CTAs, what is beyond the registers of either, and more blocks
  // than CTAs: also of lines that a cluster holds as a whole, where they are across memory, of both operands by turns or not.
  constexpr std::array<Shape, 16> kShapes = {{{1, 1, 1},
                                              {5, 33, 31},
                                              {65, 8, 32},
                                              {32, 9, 257},
                                              {40, 3, 1024},
                                              {33, 2, 2100},
                                              {3, 35, 4096},
                                              {2, 34, 4135},
                                              {9, 37, 9001},
                                              {14001, 13003, 40},
                                              {1000, 35, 1100},
                                              {2300, 1300, 1030},
                                              {4500, 70, 2048},
                                              {650, 9, 4096},
                                              {500, 35, 4135},
                                              {450, 300, 8192}}};
  std::mt19937_64 rng(1);
  for (const Shape& shape : kShapes) {
    for (const EcFormat format : {EcFormat::kF16, EcFormat::kTf32}) {
      for (const int layout : {0, 1, 2, 3}) {
        const bool is_a_across = layout % 2 == 0;
        const bool is_b_across = layout / 2 == 0;
        for (const std::int64_t gap : {0, 3}) {
          EcLines a(shape.a_lines, shape.k, is_a_across, gap, gap / 3);
          EcLines b(shape.b_lines, shape.k, is_b_across, gap);
          a.fill(rng, 20);
          b.fill(rng, gap == 0 ? 60 : 3, 100);
          for (std::int64_t i = 0; i < shape.a_lines; i += 4) a.scale_line(i, static_cast<int>(rng() % 240) - 120);
          if (shape.a_lines > 2) a(2, shape.k / 2) = std::numeric_limits<float>::infinity();
          if (shape.b_lines > 1) b(1, shape.k - 1) = std::numeric_limits<float>::quiet_NaN();
          if (shape.b_lines > 5) {
            for (std::int64_t h = 0; h < shape.k; ++h) b(5, h) = h % 2 == 0 ? 0.0F : -0.0F;
          }
          expect_split(a, b, format,
                       std::to_string(shape.a_lines) + "x" + std::to_string(shape.b_lines) + "x" +
                           std::to_string(shape.k) + (is_a_across ? " across" : " along") +
                           (is_b_across ? " across" : " along") + " gap " + std::to_string(gap) +
                           (format == EcFormat::kF16 ? " f16" : " tf32"));
        }
      }
    }
  }
}

// Real lines of up to 8192 terms wait in shared memory in FP16: across memory by clusters that have 16 of them, along it by warps that have 2048
// terms each. Others do not. What a split is told by is how many reports it makes.
TEST_F(DeviceEcSplitTest, HoldsLinesInSharedMemory) {
  constexpr std::int64_t kLines = 2113;
  const auto num_reports = [](std::int64_t k, bool is_across, EcFormat format) {
    const EcLines lines(kLines, k, is_across);
    const DeviceEcOperand operand(lines, format);
    const DeviceArray<EcReport> reports(static_cast<std::size_t>(product::ec_most_reports(kLines, 0)));
    int count = 0;
    const std::size_t kernels = gpu_test::captured_kernels([&](product::Queue stream) {
      return device_ec_split<float>(operand.task(), {}, format, {limits_of(format), reports.data(), nullptr}, 1.0F,
                                    gpu_test::num_multiprocessors(), count, stream);
    });
    EXPECT_EQ(kernels, 1U) << k;
    return count;
  };
  for (const std::int64_t k : {40, 700, 1025, 2048, 3000, 4096, 8192}) {
    const std::int64_t of_clusters = base::ceil_div(kLines, std::int64_t{16}) * HeldTerms::ranks_of(k);
    EXPECT_EQ(num_reports(k, true, EcFormat::kF16), of_clusters) << k;
  }
  for (const std::int64_t k : {40, 700, 1025, 2048, 3000, 4096, 8192}) {
    const std::int64_t warps = k <= 2048 ? 1 : k <= 4096 ? 2 : 4;
    EXPECT_EQ(num_reports(k, false, EcFormat::kF16), base::ceil_div(kLines * warps, std::int64_t{8})) << k;
  }
  EXPECT_EQ(num_reports(8193, true, EcFormat::kF16), base::ceil_div(kLines, std::int64_t{32}) * 8);
  EXPECT_EQ(num_reports(2048, true, EcFormat::kTf32), base::ceil_div(kLines, std::int64_t{32}) * 8);
  EXPECT_EQ(num_reports(2048, false, EcFormat::kTf32), base::ceil_div(kLines * 2, std::int64_t{8}));
}

// Density is judged by parts of a line, of which some may have more tiny elements than their share. Which parts these are follows from the
// line's length alone, whether both operands are split together, one is kept, or they are those of a batch of few or many products, along memory
// or across it: formats, and so bits, hang on it.
TEST_F(DeviceEcSplitTest, FlagsAreThoseOfTheLinesWhoeverSplitsThem) {
  std::mt19937_64 rng(6);
  const int num_sms = gpu_test::num_multiprocessors();
  constexpr EcFormat kFormat = EcFormat::kF16;
  constexpr std::uint32_t kDensity = num::kEcNotDense | num::kEcNotDense << 4;
  constexpr std::int32_t kMostProducts = 40;
  int num_dense = 0;
  int num_rounds = 0;
  for (const std::int64_t k : {300, 700, 1024, 1100, 2048, 2100, 4096, 8192, 9000}) {
    const std::int64_t many = k <= 2048 ? 2100 : 1100;
    for (const int layout : {0, 1, 2, 3}) {
      EcLines a(layout % 2 == 0 ? 40 : many, k, layout % 2 == 0);
      EcLines b(layout % 2 == 0 ? many : 40, k, layout / 2 == 0);
      a.fill(rng, 1);
      b.fill(rng, 1);
      const std::int64_t most_reports = product::ec_most_reports(a.num_lines, b.num_lines);
      const DeviceArray<EcReport> reports(static_cast<std::size_t>(kMostProducts * most_reports));
      const EcObservation observation{limits_of(kFormat), reports.data(), nullptr};
      for (int round = 0; round < 6; ++round) {
        EcLines tiny_a = a;
        EcLines tiny_b = b;
        std::uint32_t want = 0;  // of a line of each, for the others have no flags
        for (EcLines* lines : {&tiny_a, &tiny_b}) {
          const auto line = static_cast<std::int64_t>(rng() % 40);
          for (int run = 0; run < 2; ++run) {
            const auto begin = static_cast<std::int64_t>(rng() % static_cast<unsigned>(k));
            const auto length = static_cast<std::int64_t>(rng() % static_cast<unsigned>(k / 24));
            for (std::int64_t h = begin; h < std::min(k, begin + length); ++h) (*lines)(line, h) = 0x1p-40F;
          }
          problem::Lines<float> changed = lines->lines(lines->memory.data());
          changed.data += line * changed.line_stride;
          changed.num_lines = 1;
          want |= Expected(changed, kFormat, product::ec_line_bytes(kFormat, k)).flags << (lines == &tiny_a ? 0 : 4);
        }
        const DeviceEcOperand device_a(tiny_a, kFormat);
        const DeviceEcOperand device_b(tiny_b, kFormat);
        int count = 0;
        const auto flags_of = [&](const DeviceEcSplit<float>& of_a, const DeviceEcSplit<float>& of_b) {
          const Status status = device_ec_split<float>(of_a, of_b, kFormat, observation, 1.0F, num_sms, count, nullptr);
          EXPECT_TRUE(status.ok()) << status.reason();
          return sum_of(reports, count).flags;
        };
        const std::string what = std::to_string(k) + " layout " + std::to_string(layout) + " " + std::to_string(round);
        EXPECT_EQ(flags_of(device_a.task(), device_b.task()), want) << what;
        EXPECT_EQ(flags_of(device_a.task(), {}) | flags_of({}, device_b.task()), want) << what << ", apart";
        // Products of the same operands, found by arrays; that their planes lie in one place hurts nobody.
        const DeviceArray<const float*> a_array(std::vector<const float*>(kMostProducts, device_a.task().lines.data));
        const DeviceArray<const float*> b_array(std::vector<const float*>(kMostProducts, device_b.task().lines.data));
        DeviceEcSplits<float> all_a{device_a.task()};
        DeviceEcSplits<float> all_b{device_b.task()};
        all_a.array = a_array.data();
        all_b.array = b_array.data();
        for (const std::int32_t products : {1, kMostProducts}) {
          const Status status = device_ec_split_batch<float>({products, most_reports}, all_a, all_b, kFormat,
                                                             observation, 1.0F, num_sms, count, nullptr);
          ASSERT_TRUE(status.ok()) << status.reason();
          EXPECT_EQ(sum_of(reports, count).flags, want) << what << ", a batch of " << products;
        }
        num_dense += (want & kDensity) == 0 ? 1 : 0;
        ++num_rounds;
      }
    }
  }
  EXPECT_TRUE(num_dense > 0 && num_dense < num_rounds) << num_dense << " of " << num_rounds << " dense: only one kind";
}

// Each flag by itself, of one line among many that have none.
TEST_F(DeviceEcSplitTest, ReportsEachFlagOfASingleLine) {
  std::mt19937_64 rng(2);
  const auto change_and_expect = [&](const auto& change, std::uint32_t flags) {
    EcLines a(100, 64, false);
    EcLines b(90, 64, true);
    a.fill(rng, 2);
    b.fill(rng, 2);
    change(b);
    const Expected want(b.lines(b.memory.data()), EcFormat::kF16, product::ec_line_bytes(EcFormat::kF16, 64));
    EXPECT_EQ(want.flags, flags);
    expect_split(a, b, EcFormat::kF16, "flags " + std::to_string(flags));
  };
  change_and_expect([](EcLines&) {}, 0);
  change_and_expect([](EcLines& b) { b(70, 5) = 0x1p-40F; }, num::kEcNotFine);
  change_and_expect(
      [](EcLines& b) {
        for (int h = 0; h < 17; ++h) b(3, h) = 0x1p-16F;
      },
      num::kEcNotDense);
  change_and_expect([](EcLines& b) { b(89, 63) = 0; }, num::kEcNotFull);
  change_and_expect([](EcLines& b) { b(0, 0) = 0x1p-110F; }, num::kEcNotFine | num::kEcNotNarrow);
  change_and_expect([](EcLines& b) { b(0, 0) = 0x1p-149F; }, num::kEcNotFine | num::kEcNotNarrow | num::kEcNotFull);
}

// Elements that are neither all within a range nor mostly large: flags refuse them, profiles do not. With a line of
// zeros, one with NaN, and one whose elements are all zeros but for one, which lets nothing hold.
TEST_F(DeviceEcSplitTest, ProfilesHoldWhatFlagsRefuse) {
  for (const int layout : {0, 1, 2, 3}) {
    for (const std::int64_t gap : {0, 3}) {
      for (const bool is_sparse : {false, true}) {
        EcLines a(300, 2051, layout % 2 == 0, gap, gap / 3);
        EcLines b(70, 2051, layout / 2 == 0, gap);
        std::mt19937_64 rng(5);
        std::normal_distribution<double> normal;
        for (EcLines* lines : {&a, &b}) {
          for (std::int64_t i = 0; i < lines->num_lines; ++i) {
            for (std::int64_t h = 0; h < lines->length; ++h)
              (*lines)(i, h) = static_cast<float>(normal(rng) * std::exp(1.75 * normal(rng)));
            lines->scale_line(i, static_cast<int>(rng() % 200) - 100);
          }
        }
        a(17, 2050) = std::numeric_limits<float>::quiet_NaN();
        for (std::int64_t h = 0; h < b.length; ++h) b(69, h) = 0;
        a(0, 0) = 0;
        if (is_sparse) {
          for (std::int64_t h = 1; h < a.length; ++h) a(299, h) = 0;
        }
        const std::string name = "layout " + std::to_string(layout) + " gap " + std::to_string(gap);
        expect_split(a, b, EcFormat::kF16, name + (is_sparse ? " sparse" : ""), !is_sparse);
      }
    }
  }
}

/// Lines of complex numbers as the real lines that a split makes of them.
std::vector<float> formed(const std::vector<std::complex<float>>& lines, std::int64_t length, int forms,
                          bool conjugated) {
  std::vector<float> out;
  const std::int64_t num_lines = static_cast<std::int64_t>(lines.size()) / length;
  for (std::int64_t i = 0; i < num_lines * forms; ++i) {
    for (std::int64_t h = 0; h < length; ++h) {
      std::complex<float> z = lines[static_cast<std::size_t>(i / forms * length + h)];
      if (conjugated) z = std::conj(z);
      if (forms == 1) {
        out.insert(out.end(), {z.real(), z.imag()});
      } else if (i % 2 == 0) {
        out.insert(out.end(), {z.real(), -z.imag()});
      } else {
        out.insert(out.end(), {z.imag(), z.real()});
      }
    }
  }
  return out;
}

TEST_F(DeviceEcSplitTest, MakesTheFormsOfComplexLines) {
  using C = std::complex<float>;
  const int num_sms = gpu_test::num_multiprocessors();
  std::mt19937_64 rng(3);
  const auto number = [&] { return static_cast<float>(static_cast<double>(rng() >> 11) * 0x1p-53 - 0.5); };
  for (const std::int64_t length : {1, 7, 64, 700, 2100, 4500}) {
    for (const bool is_across : {false, true}) {
      for (const bool is_conjugated : {false, true}) {
        for (const EcFormat format : {EcFormat::kF16, EcFormat::kTf32}) {
          const std::int64_t lines[2] = {37, 18};
          const std::int64_t gap = length % 2 * 3;
          std::vector<C> values[2];
          std::vector<DeviceEcSplit<C>> tasks;
          std::vector<std::unique_ptr<DeviceArray<C>>> elements;
          std::vector<std::unique_ptr<DeviceArray<std::int8_t>>> planes;
          std::vector<std::unique_ptr<DeviceArray<std::int32_t>>> scales;
          std::vector<Expected> expected;
          std::vector<std::vector<float>> real_lines;
          const std::int64_t row_stride = product::ec_line_bytes(format, 2 * length);
          for (int x = 0; x < 2; ++x) {
            const std::int64_t num_lines = lines[x];
            for (std::int64_t e = 0; e < num_lines * length; ++e) values[x].emplace_back(number(), number());
            if (length > 5)
              values[x][static_cast<std::size_t>(2 * length + 3)].imag(std::numeric_limits<float>::infinity());
            std::vector<C> stored(static_cast<std::size_t>((is_across ? num_lines + gap : num_lines) *
                                                           (is_across ? length : length + gap)));
            const std::int64_t line_stride = is_across ? 1 : length + gap;
            const std::int64_t inner_stride = is_across ? num_lines + gap : 1;
            for (std::int64_t i = 0; i < num_lines; ++i) {
              for (std::int64_t h = 0; h < length; ++h) {
                stored[static_cast<std::size_t>(i * line_stride + h * inner_stride)] =
                    values[x][static_cast<std::size_t>(i * length + h)];
              }
            }
            const int forms = x == 0 ? 2 : 1;
            elements.push_back(std::make_unique<DeviceArray<C>>(stored));
            planes.push_back(
                std::make_unique<DeviceArray<std::int8_t>>(static_cast<std::size_t>(num_lines * forms * row_stride)));
            scales.push_back(std::make_unique<DeviceArray<std::int32_t>>(static_cast<std::size_t>(num_lines * forms)));
            tasks.push_back({{elements.back()->data(), num_lines, length, line_stride, inner_stride, is_conjugated},
                             planes.back()->data(),
                             row_stride,
                             scales.back()->data()});
            real_lines.push_back(formed(values[x], length, forms, is_conjugated));
            expected.emplace_back(
                problem::Lines<float>{real_lines.back().data(), num_lines * forms, 2 * length, 2 * length, 1}, format,
                row_stride);
          }
          const DeviceArray<EcReport> reports(
              static_cast<std::size_t>(product::ec_most_reports(2 * lines[0], lines[1])));
          const DeviceArray<num::EcProfiles> profiles(1);
          int num_reports = 0;
          const Status status =
              device_ec_split<C>(tasks[0], tasks[1], format, {limits_of(format), reports.data(), profiles.data()},
                                 C(1.0F), num_sms, num_reports, nullptr);
          ASSERT_TRUE(status.ok()) << status.reason();
          const std::string name = std::to_string(length) + (is_across ? " across" : " along") +
                                   (is_conjugated ? " conjugated" : "") + (format == EcFormat::kF16 ? " f16" : " tf32");
          for (std::size_t x = 0; x < 2; ++x) expect_equal(*planes[x], row_stride, *scales[x], expected[x], name);
          const Sum found = sum_of(reports, num_reports);
          EXPECT_EQ(found.flags, expected[0].flags | expected[1].flags << 4) << name;
          EXPECT_EQ(2 * found.a_nonfinite, expected[0].nonfinite) << name;
          EXPECT_EQ(found.b_nonfinite, expected[1].nonfinite) << name;
          if (format == EcFormat::kF16) {
            expect_profiles<C>(tasks[0], tasks[1], reports, num_reports, profiles, expected[0], expected[1], false,
                               name);
          }
        }
      }
    }
  }
}

/// The state after a decision of one stage, FP16, from reports that are followed by one that would change it.
[[nodiscard]] device::DeviceState decided(std::vector<EcReport> reports) {
  EcDecision decision;
  decision.num_reports = static_cast<int>(reports.size());
  reports.push_back(EcReport::of(num::kEcNotFine | num::kEcNotDense, 0, 100, 100));
  const DeviceArray<EcReport> on_device(reports);
  const DeviceArray<device::DeviceState> state(1);
  decision.reports = on_device.data();
  decision.num_stages = 1;
  decision.num_pairs = 77;
  decision.state = state.data();
  const Status status = device_ec_decide<float>(decision, {}, {}, 1.0F, gpu_test::num_multiprocessors(), nullptr);
  EXPECT_TRUE(status.ok()) << status.reason();
  return state.download()[0];
}

// A block of 128 threads reads them, each several at a time.
TEST_F(DeviceEcSplitTest, DecisionsReadEveryReport) {
  for (const int count : {1, 2, 255, 256, 257, 511, 1023, 1024, 1025, 1900, 2049, 5003}) {
    const std::vector<EcReport> plain(static_cast<std::size_t>(count), EcReport::of(num::kEcNotFine, 0, 0, 1));
    EXPECT_EQ(decided(plain).ec_stage, 0) << count;
    EXPECT_EQ(decided(plain).nonfinite_rows, 0U) << count;
    for (const int at : {0, count / 5, count / 2, count * 3 / 4, count - 1}) {
      std::vector<EcReport> reports = plain;
      reports[static_cast<std::size_t>(at)] = EcReport::of(num::kEcNotDense, 0, 3, 2);
      const device::DeviceState state = decided(reports);
      const bool refuses = count > 1;  // no line is both not fine and not dense, but some are either
      EXPECT_EQ(state.ec_stage, refuses ? -1 : 0) << count << ", " << at;
      EXPECT_EQ(state.selection.num_repaired, refuses ? 77 : 0) << count << ", " << at;
      EXPECT_EQ(state.nonfinite_rows, 3U) << count << ", " << at;
      EXPECT_EQ(state.nonfinite_cols, static_cast<std::uint64_t>(count) + 1) << count << ", " << at;
    }
  }
}

/// What the first split has found of an operand's lines, and a decision reads.
[[nodiscard]] std::vector<num::LineStats> stats_of(const EcLines& lines) {
  const std::int64_t row_stride = product::ec_line_bytes(EcFormat::kF16, lines.length);
  return Expected(lines.lines(lines.memory.data()), EcFormat::kF16, row_stride).stats;
}

TEST_F(DeviceEcSplitTest, DecisionsMakeAllPlanesAgainOrNone) {
  std::mt19937_64 rng(11);
  for (const int layout : {0, 1, 2, 3}) {
    for (const std::int64_t gap : {0, 3}) {
      for (const std::int64_t k : {5, 1024, 2100}) {
        EcLines a(37, k, layout % 2 == 0, gap);
        EcLines b(70, k, layout / 2 == 0, gap, gap / 3);
        a.fill(rng, 60);
        b.fill(rng, 20);
        for (std::int64_t i = 0; i < 37; i += 4) a.scale_line(i, static_cast<int>(rng() % 240) - 120);
        a(2, k / 2) = std::numeric_limits<float>::infinity();
        for (std::int64_t h = 0; h < k; ++h) b(5, h) = h % 2 == 0 ? 0.0F : -0.0F;
        const std::string name =
            "layout " + std::to_string(layout) + " gap " + std::to_string(gap) + " k " + std::to_string(k);
        const DeviceArray<num::LineStats> a_stats(stats_of(a));
        const DeviceArray<num::LineStats> b_stats(stats_of(b));
        for (const bool is_second : {true, false}) {
          const DeviceEcOperand device_a(a, EcFormat::kTf32);
          const DeviceEcOperand device_b(b, EcFormat::kTf32);
          DeviceEcSplit<float> task_a = device_a.task();
          DeviceEcSplit<float> task_b = device_b.task();
          task_a.stats = a_stats.data();
          task_b.stats = b_stats.data();
          std::vector<EcReport> of_lines(900);
          if (is_second) of_lines[700] = EcReport::of(num::kEcNotFine | num::kEcNotDense, 0, 0, 0);
          const DeviceArray<EcReport> reports(of_lines);
          const DeviceArray<device::DeviceState> state(1);
          EcDecision decision;
          decision.reports = reports.data();
          decision.num_reports = static_cast<int>(of_lines.size());
          decision.state = state.data();
          const Status status =
              device_ec_decide<float>(decision, task_a, task_b, 1.0F, gpu_test::num_multiprocessors(), nullptr);
          ASSERT_TRUE(status.ok()) << status.reason();
          EXPECT_EQ(state.download()[0].ec_stage, is_second ? 1 : 0) << name;
          for (const DeviceEcOperand* o : {&device_a, &device_b}) {
            if (is_second) {
              const Expected want(o->host.lines(o->host.memory.data()), EcFormat::kTf32, o->row_stride);
              expect_equal(o->planes, o->row_stride, o->scales, want, name);
            } else {
              const std::vector<std::int8_t> planes = o->planes.download();
              const auto poison = static_cast<std::int8_t>(DeviceArray<std::int8_t>::kPoison);
              EXPECT_EQ(std::count(planes.begin(), planes.end(), poison), std::ssize(planes))
                  << name << ": not asked for";
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace kizami::ec
