// SPDX-License-Identifier: MIT
// The digits of scheme ozaki1 as a device makes them, in one pass and block by block, against those of the host: equal
// numbers for every format, rule, type, complex form, layout and length, and zeros in the padding.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/int_math.hpp"
#include "certify/statistics.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/host_lines.hpp"
#include "gpu/sm90_test.hpp"
#include "kizami/formats.hpp"
#include "schemes/ozaki1/device_split.hpp"
#include "schemes/ozaki1/split.hpp"
#include "schemes/ozaki2/device_split.hpp"

namespace kizami::ozaki1 {
namespace {

using gpu_test::DeviceArray;
using gpu_test::HostLines;
using gpu_test::kMemories;
using gpu_test::Memory;
using num::DigitKind;

constexpr int kNumSms = 132;

/// A format with its rule.
struct Digits {
  SliceFormat format;
  num::DigitRule rule;
  int count;

  [[nodiscard]] std::string text() const {
    return std::string(to_string(format)) + ", " + std::to_string(count) + " digits of " + std::to_string(rule.step) +
           " bits";
  }
};
constexpr Digits kAllDigits[] = {{SliceFormat::kInt8, num::digit_rule(DigitKind::kBytes, 7), 7},
                                 {SliceFormat::kInt8, num::digit_rule(DigitKind::kBytes, 7), 11},
                                 {SliceFormat::kInt8, num::digit_rule(DigitKind::kTruncated, 7), 5},
                                 {SliceFormat::kInt8, num::digit_rule(DigitKind::kNearest, 6), 5},
                                 {SliceFormat::kFp16, num::digit_rule(DigitKind::kNearest, 9), 7},
                                 {SliceFormat::kFp16, num::digit_rule(DigitKind::kNearest, 10), 3},
                                 {SliceFormat::kBf16, num::digit_rule(DigitKind::kNearest, 8), 7},
                                 {SliceFormat::kBf16, num::digit_rule(DigitKind::kNearest, 3), 20},
                                 {SliceFormat::kE4m3, num::digit_rule(DigitKind::kNearest, 4), 12},
                                 {SliceFormat::kE5m2, num::digit_rule(DigitKind::kNearest, 3), 5}};

/// The parts of a complex form, of A or of B.
struct Parts {
  std::vector<SliceTerms> terms;
};
template <class T>
[[nodiscard]] std::vector<Parts> all_parts() {
  using enum num::SliceTerms;
  if (!kIsComplex<T>) return {{{kPlain}}};
  return {{{kReal, kImaginary}}, {{kReal, kImaginary, kSum}}, {{kRealForm, kImagForm}}, {{kPlain}}};
}

/// Digits of one operand as integers.
struct Expected {
  std::vector<num::LineStats> stats;
  std::vector<std::int32_t> exponents;
  std::vector<int> digits;
  std::uint64_t nonfinite = 0;
};

/// Strides in numbers.
struct Strides {
  std::int64_t slice = 0;
  std::int64_t row = 0;
  std::int64_t part = 0;
};
template <class T>
[[nodiscard]] Strides strides_of(const Digits& d, const Parts& parts, std::int64_t num_lines, std::int64_t length) {
  Strides strides;
  strides.slice = base::round_up(num::num_slice_terms(parts.terms[0], kIsComplex<T>, length), std::int64_t{128});
  strides.row = d.count * strides.slice;
  strides.part = num_lines * strides.row;
  return strides;
}

/// @param first, length of the elements that are sliced  @param one_exponent of all lines; or each has its own
template <class T>
[[nodiscard]] Expected on_host(const problem::Lines<T>& lines, const Digits& d, const Parts& parts, bool is_reversed,
                               std::int64_t first, std::int64_t length, std::optional<int> one_exponent = {}) {
  Expected e;
  e.stats.resize(static_cast<std::size_t>(lines.num_lines));
  certify::gather_statistics(lines, nullptr, 1, e.stats.data());
  for (const num::LineStats& s : e.stats) {
    e.exponents.push_back(!s.is_finite ? num::kSkipLine : s.is_zero() ? 0 : one_exponent.value_or(s.exponent));
    e.nonfinite += s.is_finite ? 0 : 1;
  }
  const Strides strides = strides_of<T>(d, parts, lines.num_lines, length);
  const auto make = [&](auto of_type) {
    using Digit = decltype(of_type);
    std::vector<Digit> digits(parts.terms.size() * static_cast<std::size_t>(strides.part));
    for (std::size_t p = 0; p < parts.terms.size(); ++p) {
      make_slices(lines, parts.terms[p], e.exponents.data(), first, length, d.rule, d.count, is_reversed, 1,
                  digits.data() + static_cast<std::int64_t>(p) * strides.part, strides.row, strides.slice);
    }
    for (const Digit x : digits) e.digits.push_back(static_cast<int>(static_cast<double>(x)));
  };
  if (d.format == SliceFormat::kInt8) {
    make(std::int8_t{});
  } else {
    make(Fp16{});  // holds all digits of all formats
  }
  return e;
}

/// Numbers of a format in memory.
[[nodiscard]] std::vector<double> numbers_of(SliceFormat format, const std::vector<std::int8_t>& bytes) {
  std::vector<double> numbers;
  const auto read = [&](auto of_type, auto value) {
    using Bits = decltype(of_type);
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(Bits)) {
      Bits bits;
      std::memcpy(&bits, bytes.data() + at, sizeof bits);
      numbers.push_back(static_cast<double>(value(bits)));
    }
  };
  switch (format) {
    case SliceFormat::kInt8:
      read(std::int8_t{}, [](std::int8_t x) { return x; });
      break;
    case SliceFormat::kFp16:
      read(std::uint16_t{}, Fp16::from_bits);
      break;
    case SliceFormat::kBf16:
      read(std::uint16_t{}, Bf16::from_bits);
      break;
    case SliceFormat::kE4m3:
      read(std::uint8_t{}, Fp8E4m3::from_bits);
      break;
    case SliceFormat::kE5m2:
      read(std::uint8_t{}, Fp8E5m2::from_bits);
      break;
  }
  return numbers;
}

/// One operand in device memory, poisoned where nothing is written yet.
template <class T>
struct Side {
  DeviceArray<T> data;
  DeviceArray<num::LineStats> stats;
  DeviceArray<std::int32_t> exponents;
  DeviceArray<std::int8_t> slices;
  DeviceArray<std::uint64_t> nonfinite;
  DeviceSliceOperand<T> operand;

  Side(const HostLines<T>& host, const Digits& d, const Parts& parts, bool is_reversed, std::int64_t length)
      : Side(host, d, parts, is_reversed, strides_of<T>(d, parts, host.lines.num_lines, length)) {}

  void expect(const Expected& want, const std::string& where) const {
    const std::vector<num::LineStats> found = stats.download();
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].exponent, want.stats[i].exponent) << where << ", line " << i;
      EXPECT_EQ(found[i].lsb, want.stats[i].lsb) << where << ", line " << i;
      EXPECT_EQ(found[i].is_finite, want.stats[i].is_finite) << where << ", line " << i;
    }
    EXPECT_EQ(exponents.download(), want.exponents) << where;
    EXPECT_EQ(nonfinite.download()[0], want.nonfinite) << where;
    const std::vector<double> numbers = numbers_of(operand.planes.format, slices.download());
    ASSERT_EQ(numbers.size(), want.digits.size()) << where;
    for (std::size_t t = 0; t < numbers.size(); ++t) {
      ASSERT_EQ(numbers[t], want.digits[t])
          << where << ": line " << t / static_cast<std::size_t>(operand.planes.row_stride) << ", number "
          << t % static_cast<std::size_t>(operand.planes.row_stride);
    }
    EXPECT_TRUE(stats.guards_are_intact() && exponents.guards_are_intact() && slices.guards_are_intact()) << where;
  }

 private:
  Side(const HostLines<T>& host, const Digits& d, const Parts& parts, bool is_reversed, const Strides& strides)
      : data(host.data),
        stats(static_cast<std::size_t>(host.lines.num_lines)),
        exponents(static_cast<std::size_t>(host.lines.num_lines)),
        slices(parts.terms.size() * static_cast<std::size_t>(strides.part * product::element_bytes(d.format))),
        nonfinite(std::vector<std::uint64_t>{0}) {
    operand.lines = host.lines;
    operand.lines.data = data.data();
    operand.stats = stats.data();
    operand.exponents = exponents.data();
    operand.nonfinite = nonfinite.data();
    DeviceSlicePlanes& planes = operand.planes;
    planes.data = slices.data();
    planes.format = d.format;
    planes.row_stride = strides.row;
    planes.slice_stride = strides.slice;
    planes.part_stride = strides.part;
    planes.num_parts = static_cast<int>(parts.terms.size());
    std::copy(parts.terms.begin(), parts.terms.end(), planes.parts);
    planes.is_reversed = is_reversed;
  }
};

template <class T>
class DeviceSlices : public gpu_test::DeviceTest {
 protected:
  /// FP8 is of devices that engine hopper has.
  static bool is_without(SliceFormat format) {
    const bool is_fp8 = format == SliceFormat::kE4m3 || format == SliceFormat::kE5m2;
    return is_fp8 && !gpu_test::why_no_wgmma().empty();
  }
  static DeviceArray<device::DeviceState> state() {
    return DeviceArray<device::DeviceState>(std::vector<device::DeviceState>(1));
  }
};
using Scalars = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(DeviceSlices, Scalars);

TYPED_TEST(DeviceSlices, OfOnePassAreThoseOfTheHost) {
  if (const std::string why = gpu_test::why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  using T = TypeParam;
  std::uint64_t seed = 1;
  for (const Digits& d : kAllDigits) {
    for (const Parts& parts : all_parts<T>()) {
      for (const std::int64_t k : {1, 129, 1030, 2500}) {
        const Memory memory = kMemories[++seed % kMemories.size()];
        const HostLines<T> a(19, k, memory, seed % 3 == 0, seed);
        const HostLines<T> b(9, k, memory == Memory::kAlong ? Memory::kAcross : Memory::kAlong, false, seed + 1000);
        const Side<T> x(a, d, parts, false, k);
        const Side<T> y(b, d, parts, true, k);
        const auto state = this->state();
        const Status status =
            device_slices_in_one_pass<T>(x.operand, y.operand, {d.rule, d.count}, state.data(), nullptr);
        ASSERT_TRUE(status.ok()) << status.reason();
        const std::string where = d.text() + ", k = " + std::to_string(k) + ", layout " +
                                  std::to_string(static_cast<int>(memory)) + ", part 0 is " +
                                  std::to_string(static_cast<int>(parts.terms[0]));
        x.expect(on_host(a.lines, d, parts, false, 0, k), where + ", A");
        y.expect(on_host(b.lines, d, parts, true, 0, k), where + ", B");
      }
    }
  }
}

TYPED_TEST(DeviceSlices, OfBlocksAreThoseOfTheHost) {
  using T = TypeParam;
  std::uint64_t seed = 2000;
  constexpr std::int64_t kLength = 3000;
  for (const Digits& d : kAllDigits) {
    if (this->is_without(d.format)) continue;
    for (const Parts& parts : all_parts<T>()) {
      const Memory memory = kMemories[++seed % kMemories.size()];
      const HostLines<T> host(17, kLength, memory, seed % 3 == 0, seed);
      const auto state = this->state();
      for (const auto& [first, length] : {std::pair{0, 1280}, std::pair{1280, 1280}, std::pair{2560, 440}}) {
        const Side<T> x(host, d, parts, seed % 2 == 0, length);
        Status status = certify::device_statistics<T>(x.operand.lines, x.operand.stats, {}, x.operand.nonfinite,
                                                      state.data(), kNumSms, nullptr);
        ASSERT_TRUE(status.ok()) << status.reason();
        const std::array operands = {x.operand};
        status = device_slices<T>(std::span<const DeviceSliceOperand<T>>(operands), first, length, {d.rule, d.count},
                                  state.data(), kNumSms, nullptr);
        ASSERT_TRUE(status.ok()) << status.reason();
        x.expect(on_host(host.lines, d, parts, seed % 2 == 0, first, length),
                 d.text() + ", block at " + std::to_string(first) + ", layout " +
                     std::to_string(static_cast<int>(memory)) + ", part 0 is " +
                     std::to_string(static_cast<int>(parts.terms[0])));
      }
    }
  }
}

// One exponent for all lines, as the survey finds it; and what else the survey finds.
TYPED_TEST(DeviceSlices, OfSurveyedLinesAreThoseOfTheHost) {
  using T = TypeParam;
  std::uint64_t seed = 3000;
  for (const Digits& d : kAllDigits) {
    if (this->is_without(d.format)) continue;
    for (const Parts& parts : all_parts<T>()) {
      constexpr std::int64_t kLength = 300;
      ++seed;
      const HostLines<T> a(1500, kLength, kMemories[seed % kMemories.size()], false, seed);
      const HostLines<T> b(21, kLength, Memory::kAlong, true, seed + 1000);
      const Side<T> x(a, d, parts, false, kLength);
      Side<T> y(b, d, parts, true, kLength);
      const auto state = this->state();
      for (const Side<T>* side : {&x, &std::as_const(y)}) {
        ASSERT_TRUE(certify::device_statistics<T>(side->operand.lines, side->operand.stats, {}, side->operand.nonfinite,
                                                  state.data(), kNumSms, nullptr)
                        .ok());
      }
      const bool has_sums = parts.terms.back() == SliceTerms::kSum;
      const bool has_one_scale = seed % 3 != 0;
      Status status = device_slice_survey(x.operand.stats, 1500, y.operand.stats, 21, d.rule, has_sums, has_one_scale,
                                          state.data(), nullptr);
      ASSERT_TRUE(status.ok()) << status.reason();
      Expected want = on_host(b.lines, d, parts, true, 0, kLength);
      device::SliceSurvey survey;
      const std::vector<num::LineStats> of_a = x.stats.download();
      for (const auto& [lines, exponent] :
           {std::pair(&of_a, &survey.exponents[0]), {&want.stats, &survey.exponents[1]}}) {
        for (const num::LineStats& line : *lines) *exponent = std::max(*exponent, line.exponent);
        for (const num::LineStats& line : *lines) {
          if (line.is_zero()) continue;
          const int e = has_one_scale ? *exponent : line.exponent;
          survey.spread = std::max(survey.spread, e - line.exponent);
          survey.num_digits = std::max(survey.num_digits, num::num_exact_digits(d.rule, line, e + (has_sums ? 1 : 0)));
        }
      }
      const device::SliceSurvey found = state.download()[0].slices;
      EXPECT_EQ(found.exponents[0], survey.exponents[0]) << d.text();
      EXPECT_EQ(found.exponents[1], survey.exponents[1]) << d.text();
      EXPECT_EQ(found.spread, survey.spread) << d.text();
      EXPECT_EQ(found.num_digits, survey.num_digits) << d.text();

      y.operand.one_exponent = &state.data()->slices.exponents[1];
      const std::array operands = {y.operand};
      status = device_slices<T>(std::span<const DeviceSliceOperand<T>>(operands), 0, kLength, {d.rule, d.count},
                                state.data(), kNumSms, nullptr);
      ASSERT_TRUE(status.ok()) << status.reason();
      y.expect(on_host(b.lines, d, parts, true, 0, kLength, survey.exponents[1]), d.text() + ", one scale");
    }
  }
}

}  // namespace
}  // namespace kizami::ozaki1
