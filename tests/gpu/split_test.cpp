// SPDX-License-Identifier: MIT
// The split on the device, in two passes and in one, against the bodies of the host: equal statistics, digits, planes
// and scales for every type, layout and length, zero padding, and lines that are zero, not finite or near the ends of
// the range.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/device_limits.hpp"
#include "base/int_math.hpp"
#include "certify/block_digit.hpp"
#include "certify/digits.hpp"
#include "certify/second_look_buffers.hpp"
#include "certify/statistics.hpp"
#include "exec/environment.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/host_lines.hpp"
#include "gpu/sm90_test.hpp"
#include "plan/plan.hpp"
#include "schemes/ozaki2/device_buffers.hpp"
#include "schemes/ozaki2/device_split.hpp"
#include "schemes/ozaki2/residues.hpp"

namespace kizami::ozaki2 {
namespace {

using base::round_up;
using gpu_test::DeviceArray;
using num::LineStats;
using problem::kTerms;
using problem::Lines;

using gpu_test::HostLines;
using gpu_test::kMemories;
using gpu_test::Memory;

/// What a split makes of one operand.
struct Result {
  std::vector<LineStats> stats;
  std::vector<std::int32_t> scales;
  std::vector<std::int8_t> digits;
  std::vector<std::int8_t> swapped;
  std::vector<std::int8_t> planes;
  std::uint64_t nonfinite = 0;
};

constexpr int kLogStride = 2;
/// A length of lines, and what of them is sampled: every 2^log_stride-th element, up to every 16th as of a ladder.
struct Sampled {
  std::int64_t k;
  int log_stride;
};

/// Sizes of the arrays.
struct Layout {
  std::int64_t rows;       ///< of digits and planes, with padding
  int log_stride;          ///< of the sampled elements
  std::int64_t digit_row;  ///< bytes
  std::int64_t plane_row;  ///< bytes
  std::int64_t num_planes;

  template <class T>
  Layout(const Lines<T>& lines, const num::Rung& rung, int sampled)
      : rows(round_up(lines.num_lines, device::kReadRows)),
        log_stride(sampled),
        digit_row(round_up(num::num_sampled_terms(lines.length, kTerms<T>, stride()), device::kDeviceInnerPad)),
        plane_row(round_up(lines.length, device::kDeviceInnerPad)),
        num_planes(num::num_planes(plan::ring_of(kScalarOf<T>), rung.num_moduli)) {}
  [[nodiscard]] std::int64_t stride() const { return std::int64_t{1} << log_stride; }
  [[nodiscard]] std::size_t digit_bytes() const { return static_cast<std::size_t>(rows * digit_row); }
  [[nodiscard]] std::size_t plane_bytes() const { return static_cast<std::size_t>(num_planes * rows * plane_row); }
};

/// @param has_unsigned_planes  residues from 0 to p - 1, in the place of symmetric ones
template <class T>
Result split_on_host(const Lines<T>& lines, const num::Rung& rung, int log_stride = kLogStride,
                     bool has_unsigned_planes = false) {
  const Layout layout(lines, rung, log_stride);
  Result r;
  r.stats.resize(static_cast<std::size_t>(lines.num_lines));
  certify::gather_statistics(lines, nullptr, 1, r.stats.data());
  for (const LineStats& s : r.stats) {
    r.scales.push_back(s.is_finite ? line_scale(rung, s) : num::kSkipLine);
    r.nonfinite += s.is_finite ? 0 : 1;
  }
  r.digits.assign(layout.digit_bytes(), 0);
  certify::make_sampled_digits(lines, r.stats.data(), layout.stride(), 1, r.digits.data(), layout.digit_row);
  if (kIsComplex<T>) {
    r.swapped.assign(layout.digit_bytes(), 0);
    certify::swap_parts(r.digits.data(), lines.num_lines, layout.digit_row, 1, r.swapped.data());
  }
  r.planes.assign(layout.plane_bytes(), 0);
  make_residue_planes(lines, r.stats.data(), nullptr, 0, lines.length, rung, 1, r.planes.data(), layout.plane_row,
                      layout.rows * layout.plane_row);
  if (!has_unsigned_planes) return r;
  const num::Ring ring = plan::ring_of(kScalarOf<T>);
  const auto plane_bytes = static_cast<std::size_t>(layout.rows * layout.plane_row);
  for (std::size_t i = 0; i < r.planes.size(); ++i) {
    const int p = num::modulus(ring, num::modulus_number(ring, static_cast<int>(i / plane_bytes)));
    r.planes[i] = static_cast<std::int8_t>((r.planes[i] + p) % p);
  }
  return r;
}

/// One operand in device memory, poisoned where nothing is written yet.
template <class T>
struct DeviceSide {
  Lines<T> lines;
  Layout layout;
  DeviceArray<T> data;
  DeviceArray<LineStats> stats;
  DeviceArray<std::int32_t> scales;
  DeviceArray<std::int8_t> digits;
  DeviceArray<std::int8_t> swapped;
  DeviceArray<std::int8_t> planes;
  DeviceArray<std::uint64_t> nonfinite;
  bool has_unsigned_planes;

  DeviceSide(const HostLines<T>& host, const num::Rung& rung, int log_stride = kLogStride,
             bool has_unsigned_residues = false)
      : lines(host.lines),
        layout(host.lines, rung, log_stride),
        data(host.data),
        stats(static_cast<std::size_t>(lines.num_lines)),
        scales(static_cast<std::size_t>(lines.num_lines)),
        digits(layout.digit_bytes()),
        swapped(layout.digit_bytes()),
        planes(layout.plane_bytes()),
        nonfinite(std::vector<std::uint64_t>{0}),
        has_unsigned_planes(has_unsigned_residues) {
    lines.data = data.data();
  }
  [[nodiscard]] DeviceOperand<T> operand() const {
    device::DeviceLineBuffers buffers;
    buffers.stats = stats.data();
    buffers.scales = scales.data();
    return {lines, buffers, {planes.data(), layout.plane_row, layout.rows * layout.plane_row, has_unsigned_planes}};
  }
  [[nodiscard]] certify::DeviceDigits digit_rows() const {
    return {digits.data(), kIsComplex<T> ? swapped.data() : nullptr, layout.log_stride, layout.digit_row};
  }
  void expect(const Result& expected, bool has_digit_padding, const std::string& where) const {
    const std::vector<LineStats> found = stats.download();
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i], expected.stats[i])
          << where << ", line " << i << ": exponents " << found[i].exponent << ' ' << expected.stats[i].exponent
          << ", sums " << found[i].sum_abs << ' ' << expected.stats[i].sum_abs;
    }
    EXPECT_EQ(scales.download(), expected.scales) << where;
    EXPECT_EQ(nonfinite.download()[0], expected.nonfinite) << where;
    const std::size_t checked =
        has_digit_padding ? layout.digit_bytes() : static_cast<std::size_t>(lines.num_lines * layout.digit_row);
    const auto expect_bytes = [&](const DeviceArray<std::int8_t>& array, const std::vector<std::int8_t>& bytes,
                                  std::size_t count, std::int64_t row, const char* what) {
      const std::vector<std::int8_t> there = array.download();
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(there[i], bytes[i]) << where << ", " << what << ": row " << i / static_cast<std::size_t>(row)
                                      << ", byte " << i % static_cast<std::size_t>(row);
      }
    };
    expect_bytes(digits, expected.digits, checked, layout.digit_row, "digits");
    if (kIsComplex<T>) expect_bytes(swapped, expected.swapped, checked, layout.digit_row, "digits of swapped parts");
    expect_bytes(planes, expected.planes, layout.plane_bytes(), layout.plane_row, "planes");
    for (const bool is_intact : {stats.guards_are_intact(), scales.guards_are_intact(), digits.guards_are_intact(),
                                 planes.guards_are_intact(), swapped.guards_are_intact()})
      EXPECT_TRUE(is_intact) << where;
  }
};

template <class T>
class DeviceSplit : public gpu_test::DeviceTest {
 protected:
  static num::Ladder ladder(std::int64_t k, const Policy& policy) {
    return ozaki2_of(plan::make({kScalarOf<T>, 64, 64, k}, policy, exec::environment()).value()).ladder;
  }
  static DeviceArray<device::DeviceState> state_at(int rung, bool is_scaling_only = false,
                                                   device::Look look = device::Look::kSample, int first_rung = 0) {
    device::DeviceState state;
    state.look = look;
    state.first_rung = first_rung;
    state.selection.rung = rung;
    state.is_scaling_only = is_scaling_only ? 1 : 0;
    return DeviceArray<device::DeviceState>(std::vector<device::DeviceState>{state});
  }
};
using Scalars = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(DeviceSplit, Scalars);

constexpr int kNumSms = 132;

TYPED_TEST(DeviceSplit, OnePassEqualsTheHost) {
  using T = TypeParam;
  base::DeviceLimits limits;
  ASSERT_TRUE(base::find_device_limits(limits).ok());
  std::uint64_t seed = 1;
  int num_unsigned = 0;
  for (const auto& [k, log_stride] :
       {Sampled{1, 0}, Sampled{30, 1}, Sampled{127, 2}, Sampled{130, 3}, Sampled{511, 4}, Sampled{1000, 0},
        Sampled{1030, 3}, Sampled{2176, 4}, Sampled{2500, 2}, Sampled{4000, 3}, Sampled{4096, 4}, Sampled{4100, 4},
        Sampled{8192, 3}, Sampled{8200, 4}, Sampled{16100, 4}}) {
    for (const Memory memory : kMemories) {
      for (const int bits : {0, k <= 1030 ? significand_bits(kScalarOf<T>) - 1 : 0}) {
        Policy policy;
        if (bits > 0) policy.accuracy = Accuracy::at_bits(bits);
        const num::Ladder ladder = this->ladder(k, policy);
        const num::Rung& rung = ladder.rungs[0];
        ASSERT_LT(rung.norm_limit, device::kMaxSinglePassNorm);
        const bool is_too_long = k > device::longest_single_pass(limits);
        if (!is_too_long && !one_pass_takes(limits, kScalarOf<T>, k, rung)) continue;
        // Neighbours of whole panels, which come in chunks, and others.
        const HostLines<T> a(memory == Memory::kAcross ? 24 : 19, k, memory, memory == Memory::kAcross, ++seed);
        const HostLines<T> b(k < 2000 ? 33 : 5, k, memory == Memory::kAlong ? Memory::kAcross : Memory::kAlong, false,
                             ++seed);
        const bool is_unsigned = seed % 4 == 1;
        const DeviceSide<T> x(a, rung, log_stride, is_unsigned);
        const DeviceSide<T> y(b, rung, log_stride, is_unsigned);
        num_unsigned += is_unsigned ? 1 : 0;
        const auto state = this->state_at(0);
        const Status status = device_single_pass<T>({x.operand(), x.digit_rows(), x.nonfinite.data()},
                                                    {y.operand(), y.digit_rows(), y.nonfinite.data()}, ladder, 0, {},
                                                    false, state.data(), nullptr);
        if (is_too_long) {
          EXPECT_EQ(status.reason().find("the split in one pass asks for clusters"), 0U) << status.reason();
          continue;
        }
        ASSERT_TRUE(status.ok()) << status.reason();
        const std::string where = "k = " + std::to_string(k) + ", layout " + std::to_string(static_cast<int>(memory)) +
                                  ", " + std::to_string(bits) + " bits, stride 2^" + std::to_string(log_stride);
        x.expect(split_on_host(a.lines, rung, log_stride, is_unsigned), true, where + ", A");
        y.expect(split_on_host(b.lines, rung, log_stride, is_unsigned), true, where + ", B");
      }
    }
  }
  EXPECT_GT(num_unsigned, 10);
}

/// Block digits of a line on a device: [part][64] bytes of each block, its scale and the words of its non-zero terms.
template <class T>
struct BlockSide {
  explicit BlockSide(const HostLines<T>& host)
      : num_blocks((kTerms == 2 ? 1 : 2) * certify::second_look_steps(host.lines.length, kTerms)),
        padded(certify::second_look_lines(host.lines.num_lines)),
        words(base::round_up(num_blocks * kTerms, 2)),
        digits(static_cast<std::size_t>(num_blocks * kTerms * 64 * padded)),
        scales(static_cast<std::size_t>(num_blocks * padded)),
        nonzero(static_cast<std::size_t>(host.lines.num_lines * words)),
        weights(static_cast<std::size_t>(host.lines.num_lines)) {}

  /// certify::make_block_digits() and make_indicators() in that layout.
  void expect(const HostLines<T>& host, const std::vector<LineStats>& stats, const num::Ladder& ladder, int shift,
              const std::string& where) const {
    const std::int64_t lines = host.lines.num_lines;
    const std::int64_t of_host = base::ceil_div(host.lines.length, num::kDigitBlock);
    const std::int64_t row = of_host * certify::kBlockTerms<T>;
    std::vector<std::int8_t> bytes(static_cast<std::size_t>(lines * row));
    std::vector<std::int8_t> indicators(bytes.size());
    std::vector<float> of_blocks(static_cast<std::size_t>(lines * of_host));
    certify::make_block_digits(host.lines, stats.data(), nullptr, 1, bytes.data(), row, of_blocks.data(), lines);
    certify::make_indicators(host.lines, stats.data(), 1, indicators.data(), row);
    const std::vector<std::int8_t> found = digits.download();
    const std::vector<float> found_scales = scales.download();
    const std::vector<std::uint64_t> found_bits = nonzero.download();
    const std::vector<num::LineWeight> found_weights = weights.download();
    for (std::int64_t i = 0; i < lines; ++i) {
      const num::LineWeight weight = num::line_weight(ladder, stats[static_cast<std::size_t>(i)]);
      const num::LineWeight& there = found_weights[static_cast<std::size_t>(i)];
      EXPECT_EQ(there.norm1, weight.norm1) << where << ", line " << i;
      EXPECT_EQ(there.norm2, weight.norm2) << where << ", line " << i;
      EXPECT_EQ(there.exact_rung, weight.exact_rung) << where << ", line " << i;
      for (std::int64_t block = 0; block < num_blocks; ++block) {
        const std::string at = where + ", line " + std::to_string(i) + ", block " + std::to_string(block);
        if (block < of_host) {
          ASSERT_EQ(found_scales[static_cast<std::size_t>(block * padded + certify::scale_place(i))],
                    std::ldexp(of_blocks[static_cast<std::size_t>(block * lines + i)], shift))
              << at;
        }
        for (std::int64_t h = 0; h < 64; ++h) {
          std::array<int, 2> term{};
          std::array<std::uint64_t, 2> is_nonzero{};
          for (int part = 0; part < kTerms && block < of_host; ++part) {
            const auto t = static_cast<std::size_t>(i * row + (block * 64 + h) * kTerms + part);
            term[static_cast<std::size_t>(part)] = bytes[t];
            is_nonzero[static_cast<std::size_t>(part)] = indicators[t] != 0 ? 1 : 0;
          }
          for (int part = 0; part < kTerms; ++part) {
            const int byte = kTerms == 1 ? term[0] : part == 0 ? term[0] + term[1] : term[0] - term[1];
            const std::int64_t step = kTerms == 2 ? block : block / 2;
            const std::int64_t piece = (kTerms == 2 ? part : block % 2) * 4 + h / 16;
            const std::int64_t place = (step * padded + i) * 128 + 16 * (piece ^ i % 8) + h % 16;
            ASSERT_EQ(found[static_cast<std::size_t>(place)], static_cast<std::int8_t>(byte))
                << at << ", element " << h;
            const std::uint64_t word = found_bits[static_cast<std::size_t>(i * words + block * kTerms + part)];
            ASSERT_EQ(word >> bit_of(h) & 1, is_nonzero[static_cast<std::size_t>(part)]) << at << ", element " << h;
          }
        }
      }
    }
    for (const bool is_intact : {digits.guards_are_intact(), scales.guards_are_intact(), nonzero.guards_are_intact(),
                                 weights.guards_are_intact()})
      EXPECT_TRUE(is_intact) << where;
  }

  /// Where the bit of element h of a block is: those of a lane's elements are neighbours, in the order of its turns of
  /// 16 bytes.
  [[nodiscard]] static std::int64_t bit_of(std::int64_t h) {
    constexpr std::int64_t kOfLane = 8 / kTerms;
    constexpr std::int64_t kOfChunk = 16 / static_cast<std::int64_t>(sizeof(T));
    constexpr std::int64_t kChunks = kOfLane / kOfChunk;
    const std::int64_t turn = h / kOfLane / (8 / kChunks) % kChunks;
    return h / kOfLane * kOfLane + (h % kOfLane ^ turn * kOfChunk);
  }

  static constexpr int kTerms = static_cast<int>(problem::kTerms<T>);
  std::int64_t num_blocks;
  std::int64_t padded;
  std::int64_t words;
  DeviceArray<std::int8_t> digits;
  DeviceArray<float> scales;
  DeviceArray<std::uint64_t> nonzero;
  DeviceArray<num::LineWeight> weights;
};

TYPED_TEST(DeviceSplit, OnePassMakesBlockDigits) {
  using T = TypeParam;
  base::DeviceLimits limits;
  ASSERT_TRUE(base::find_device_limits(limits).ok());
  std::uint64_t seed = 2000;
  for (const std::int64_t k : {1, 30, 64, 65, 127, 130, 511, 1030, 2176, 2500, 4096, 8200}) {
    for (const Memory memory : kMemories) {
      for (const auto& [look, first_rung] : {std::pair{device::Look::kBlocks, 0}, std::pair{device::Look::kBlocks, 2},
                                             std::pair{device::Look::kBlocksFirst, 0}}) {
        const num::Ladder ladder = this->ladder(k, {});
        ASSERT_GT(ladder.num_rungs, first_rung);
        const num::Rung& rung = ladder.rungs[static_cast<std::size_t>(first_rung)];
        if (!one_pass_takes(limits, kScalarOf<T>, k, rung)) continue;
        const HostLines<T> a(memory == Memory::kAcross ? 24 : 19, k, memory, memory == Memory::kAcross, ++seed);
        const HostLines<T> b(k < 2000 ? 33 : 5, k, memory == Memory::kAlong ? Memory::kAcross : Memory::kAlong, false,
                             ++seed);
        const DeviceSide<T> x(a, rung);
        const DeviceSide<T> y(b, rung);
        const BlockSide<T> p(a);
        const BlockSide<T> q(b);
        const certify::SecondLookBuffers blocks{p.digits.data(),  q.digits.data(),  p.scales.data(),  q.scales.data(),
                                                p.nonzero.data(), q.nonzero.data(), p.weights.data(), q.weights.data(),
                                                nullptr,          nullptr};
        const std::vector<std::int8_t> no_planes = x.planes.download();
        const std::vector<std::int8_t> no_digits = x.digits.download();
        const std::vector<std::int32_t> no_scales = x.scales.download();
        const auto state = this->state_at(0, false, look);
        const Status status = device_single_pass<T>({x.operand(), x.digit_rows(), x.nonfinite.data()},
                                                    {y.operand(), y.digit_rows(), y.nonfinite.data()}, ladder,
                                                    first_rung, blocks, false, state.data(), nullptr);
        ASSERT_TRUE(status.ok()) << status.reason();
        const std::string where = "k = " + std::to_string(k) + ", layout " + std::to_string(static_cast<int>(memory)) +
                                  ", look " + std::to_string(static_cast<int>(look)) + ", rung " +
                                  std::to_string(first_rung);
        const Result of_a = split_on_host(a.lines, rung);
        const Result of_b = split_on_host(b.lines, rung);
        p.expect(a, of_a.stats, ladder, certify::kScaleShiftA, where + ", A");
        q.expect(b, of_b.stats, ladder, certify::kScaleShiftB<BlockSide<T>::kTerms>, where + ", B");
        EXPECT_EQ(x.digits.download(), no_digits) << where;
        const bool has_planes = look == device::Look::kBlocks;
        if (has_planes) {
          const std::vector<std::int8_t> planes = x.planes.download();
          EXPECT_TRUE(std::equal(planes.begin(), planes.begin() + static_cast<std::ptrdiff_t>(x.layout.plane_bytes()),
                                 of_a.planes.begin()))
              << where;
          EXPECT_EQ(x.scales.download(), of_a.scales) << where;
        } else {
          EXPECT_EQ(x.planes.download(), no_planes) << where;
          EXPECT_EQ(x.scales.download(), no_scales) << where;
        }
      }
    }
  }
}

/// The lowest rung's planes are made by device_residue_planes() where the pass has left them out.
TYPED_TEST(DeviceSplit, PlanesThatThePassLeftOutAreMade) {
  using T = TypeParam;
  const std::int64_t k = 200;
  const num::Ladder ladder = this->ladder(k, {});
  const HostLines<T> host(20, k, Memory::kAlong, false, 7);
  DeviceSide<T> x(host, ladder.rungs[0]);
  const Result expected = split_on_host(host.lines, ladder.rungs[0]);
  x.stats.upload(expected.stats);
  const std::array operands = {x.operand()};
  const auto state = this->state_at(0, false, device::Look::kBlocksFirst);
  const Status status = device_residue_planes<T>(operands, 0, k, ladder, state.data(), true, kNumSms, nullptr);
  ASSERT_TRUE(status.ok()) << status.reason();
  const std::vector<std::int8_t> planes = x.planes.download();
  EXPECT_TRUE(std::equal(planes.begin(), planes.begin() + static_cast<std::ptrdiff_t>(x.layout.plane_bytes()),
                         expected.planes.begin()));
}

TYPED_TEST(DeviceSplit, TwoPassesEqualTheHost) {
  using T = TypeParam;
  std::uint64_t seed = 1000;
  for (const auto& [k, log_stride] : {Sampled{1, 0}, Sampled{127, 3}, Sampled{1000, 4}, Sampled{2500, 1},
                                      Sampled{5000, 4}, Sampled{9000, 3}, Sampled{17000, 2}}) {
    for (const Memory memory : kMemories) {
      const num::Ladder ladder = this->ladder(k, {});
      const int r = ladder.num_rungs - 1;
      const num::Rung& rung = ladder.rungs[static_cast<std::size_t>(r)];
      const HostLines<T> host(k < 2000 ? 37 : 9, k, memory, memory == Memory::kAlong, ++seed);
      const bool is_unsigned = seed % 2 == 0;
      const DeviceSide<T> x(host, rung, log_stride, is_unsigned);
      const auto state = this->state_at(r);
      Status status = certify::device_statistics<T>(x.lines, x.stats.data(), x.digit_rows(), x.nonfinite.data(),
                                                    state.data(), kNumSms, nullptr);
      ASSERT_TRUE(status.ok()) << status.reason();
      const std::array operands = {x.operand()};
      status = device_residue_planes<T>(operands, 0, k, ladder, state.data(), true, kNumSms, nullptr);
      ASSERT_TRUE(status.ok()) << status.reason();
      x.expect(split_on_host(host.lines, rung, log_stride, is_unsigned), false,
               "k = " + std::to_string(k) + ", layout " + std::to_string(static_cast<int>(memory)));
    }
  }
}

TYPED_TEST(DeviceSplit, PlanesOfTheLowestRungAreMadeOnce) {
  using T = TypeParam;
  const std::int64_t k = 200;
  const num::Ladder ladder = this->ladder(k, {});
  const HostLines<T> host(20, k, Memory::kAlong, false, 7);
  const DeviceSide<T> x(host, ladder.rungs[0]);
  const std::array operands = {x.operand(), x.operand()};
  const std::vector<std::int8_t> untouched = x.planes.download();
  for (const auto& [rung, is_scaling_only, first_rung] :
       {std::tuple{0, false, 0}, std::tuple{2, false, 2}, std::tuple{-1, false, 0}, std::tuple{0, true, 0}}) {
    const auto state = this->state_at(rung, is_scaling_only, device::Look::kBlocks, first_rung);
    const Status status = device_residue_planes<T>(operands, 0, k, ladder, state.data(), true, kNumSms, nullptr);
    ASSERT_TRUE(status.ok()) << status.reason();
    EXPECT_EQ(x.planes.download(), untouched) << rung;
  }
  const auto state = this->state_at(0, true);
  const SinglePassOperand<T> operand{x.operand(), x.digit_rows(), x.nonfinite.data()};
  ASSERT_TRUE(device_single_pass<T>(operand, operand, ladder, 0, {}, false, state.data(), nullptr).ok());
  EXPECT_EQ(x.planes.download(), untouched);
}

/// What a launch asks of a kernel for its shared memory is not taken back by another thread's launch for shorter lines.
TYPED_TEST(DeviceSplit, OnePassOfSeveralThreadsAndLengths) {
  using T = TypeParam;
  constexpr int kThreads = 8;
  constexpr int kLaunches = 400;
  std::vector<std::string> refused(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const std::int64_t k = t % 4 == 0 ? 4096 : t % 2 == 0 ? 100 : 1024;
      const num::Ladder ladder = this->ladder(k, {});
      const num::Rung& rung = ladder.rungs[0];
      const HostLines<T> host(8, k, Memory::kAlong, false, static_cast<std::uint64_t>(t));
      const DeviceSide<T> x(host, rung);
      const DeviceSide<T> y(host, rung);
      const auto state = this->state_at(0);
      cudaStream_t stream = nullptr;
      gpu_test::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
      for (int l = 0; l < kLaunches && refused[static_cast<std::size_t>(t)].empty(); ++l) {
        const Status status = device_single_pass<T>({x.operand(), x.digit_rows(), x.nonfinite.data()},
                                                    {y.operand(), y.digit_rows(), y.nonfinite.data()}, ladder, 0, {},
                                                    false, state.data(), stream);
        if (!status.ok()) refused[static_cast<std::size_t>(t)] = status.reason();
      }
      gpu_test::check(cudaStreamSynchronize(stream), "synchronise");
      gpu_test::check(cudaStreamDestroy(stream), "stream");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, std::vector<std::string>(kThreads));
}

TYPED_TEST(DeviceSplit, LinesTooLongForOnePassAreRefused) {
  using T = TypeParam;
  const SinglePassOperand<T> operand{{{nullptr, 1, device::kMaxSinglePassLength + 1, 1, 1, false},
                                      {},
                                      {nullptr, device::kMaxSinglePassLength + 128, 0}},
                                     {},
                                     nullptr};
  const Status status = device_single_pass<T>(operand, operand, this->ladder(64, {}), 0, {}, false, nullptr, nullptr);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
}

}  // namespace
}  // namespace kizami::ozaki2
