// SPDX-License-Identifier: MIT
// The second look on the device against the phases of the host: equal histograms, selection, pairs, shifts and
// statistics, for every shape, layout, chunking and grid.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "base/device_limits.hpp"
#include "base/int_math.hpp"
#include "certify/block_sum.hpp"
#include "certify/certificate.hpp"
#include "certify/device_second_look.hpp"
#include "certify/digits.hpp"
#include "certify/equilibration_gain.hpp"
#include "certify/statistics.hpp"
#include "certify/terms.hpp"
#include "check/matrix_classes.hpp"
#include "exec/environment.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/sm90_test.hpp"
#include "plan/plan.hpp"
#include "schemes/ozaki2/buffers.hpp"
#include "schemes/ozaki2/device_buffers.hpp"
#include "schemes/ozaki2/device_split.hpp"

namespace kizami::certify {
namespace {

using base::ceil_div;
using base::round_up;
using gpu_test::DeviceArray;
using num::LineStats;
using problem::kTerms;
using problem::Lines;

// ---- pieces, on the host --------------------------------------------------------------------------------------------

/// Theorem 3 of docs/accuracy/certificate.md: bits of an accumulator times the factors of the device are a term of the
/// host.
TEST(SecondLookTerms, AccumulatorsAreTermsOfTheSum) {
  for (const std::int32_t acc : {0, 1, 3, 4095, 64 * 127 * 127, 128 * 127 * 127, (1 << 22) - 1}) {
    for (int a = 0; a <= kMaxDeficit; ++a) {
      for (int b = 0; b <= kMaxDeficit; ++b) {
        const float factor = shifted_block_scale(a, kScaleShiftA) * shifted_block_scale(b, kScaleShiftB<1>);
        ASSERT_EQ(std::ldexp(factor, a + b), 0x1p127F);
        const double term = static_cast<double>(bit_cast<float>(acc)) * static_cast<double>(factor);
        const float of_host = static_cast<float>(acc) * (block_scale(a) * block_scale(b));
        ASSERT_EQ(std::ldexp(term, kSumShift), static_cast<double>(of_host));
        ASSERT_TRUE(acc == 0 || term >= 0x1p-126) << "a step of the device's sum underflows";
        ASSERT_EQ(shifted_block_scale(b, kScaleShiftB<2>), shifted_block_scale(b, kScaleShiftB<1>) / 2);
      }
    }
  }
}

TEST(SecondLookTerms, DigitsFromPackedTerms) {
  std::mt19937_64 rng(5);
  for (int round = 0; round < 100000; ++round) {
    auto bits = rng();
    if (round % 4 == 0) bits &= 0x800FFFFFFFFFFFFFu >> rng() % 52;  // subnormal, or zero
    const auto x = bit_cast<double>(bits);
    if (!num::is_finite(x)) continue;
    const auto shift = static_cast<std::int32_t>(rng() % 2001) - 1000;
    const std::uint32_t packed = packed_term(x, shift);
    ASSERT_EQ(packed == 0, x == 0.0);
    if (packed == 0) continue;
    ASSERT_EQ(exponent_of_term(packed), shifted_exponent(x, shift)) << x;
    for (const int above : {0, 1, 5, 6, 7, 60}) {
      const std::int32_t exponent = shifted_exponent(x, shift) + above;
      ASSERT_EQ(static_cast<std::int32_t>(digit_of_term(packed, exponent)), block_digit(x, shift, exponent)) << x;
    }
  }
}

TEST(SecondLookTerms, TilesAreWalkedOnceEach) {
  for (const std::int64_t rows : {1, 2, 15, 16, 17, 40}) {
    for (const std::int64_t cols : {1, 3, 20}) {
      std::vector<int> visits(static_cast<std::size_t>(rows * cols));
      for (std::int64_t index = 0; index < rows * cols; ++index) {
        const TilePlace place = tile_place(index, rows, cols);
        ASSERT_TRUE(place.row >= 0 && place.row < rows && place.col >= 0 && place.col < cols);
        ++visits[static_cast<std::size_t>(place.row * cols + place.col)];
      }
      EXPECT_EQ(visits, std::vector<int>(visits.size(), 1));
    }
  }
}

TEST(SecondLookTerms, CarvesWhatTheHeaderSays) {
  for (const int parts : {1, 2}) {
    base::Carver counter;
    static_cast<void>(carve_second_look(counter, {100, 30}, 130, parts));
    base::AlignedBuffer memory(counter.bytes());
    base::Carver carver(memory.data());
    const SecondLookBuffers b = carve_second_look(carver, {100, 30}, 130, parts);
    const auto distance = [](const void* from, const void* to) {
      return static_cast<const std::byte*>(to) - static_cast<const std::byte*>(from);
    };
    const std::int64_t steps = parts == 2 ? 3 : 2;  // of three blocks
    const std::int64_t blocks = parts == 2 ? 3 : 4;
    EXPECT_GE(distance(b.a_digits, b.b_digits), steps * (100 + kSecondLookLines) * 128);
    EXPECT_GE(distance(b.b_digits, b.a_scales), steps * (30 + kSecondLookLines) * 128);
    EXPECT_GE(distance(b.a_scales, b.b_scales), blocks * (100 + kSecondLookLines) * 4);
    EXPECT_GE(distance(b.b_scales, b.a_nonzero), blocks * (30 + kSecondLookLines) * 4);
    EXPECT_GE(distance(b.a_nonzero, b.b_nonzero), 100 * round_up(3 * parts, 2) * 8);
    EXPECT_GE(distance(b.b_nonzero, b.a_weights), 30 * round_up(3 * parts, 2) * 8);
    EXPECT_GE(distance(b.rungs, b.gains), 30 * 112);
    EXPECT_GE(static_cast<std::ptrdiff_t>(counter.bytes()), distance(memory.data(), b.gains + kNumGains));
  }
}

// ---- the whole, on the device ---------------------------------------------------------------------------------------

enum class Storage { kLines, kInner, kPaddedLines, kBothStrided };

/// What a test wants beside its matrices.
struct Setting {
  Storage a_storage = Storage::kLines;
  Storage b_storage = Storage::kInner;
  bool a_conjugated = false;
  bool b_conjugated = false;
  SecondLookChunk chunk = {std::int64_t{1} << 40, std::int64_t{1} << 40};  ///< cut to m and n
  int num_sms = 0;                                                         ///< 0: those of the device
  Accuracy accuracy;
  int num_odd_rows = 0;  ///< with num_odd_cols: pairs whose norms say nothing of their product
  int num_odd_cols = 0;
  int num_launches = 1;
  double share_of_zeros = 0;  ///< of elements, at random; the others are made smaller than 2^-20
  int num_supports = 0;       ///< lines of so many kinds without a common term; a few hold tiny terms elsewhere
};

/// Lines in host memory with NaN in the gaps, and their copy on the device.
template <class T>
struct StoredLines {
  StoredLines(std::int64_t num_lines, std::int64_t length, Storage storage, bool is_conjugated) {
    std::int64_t line_stride = length;
    std::int64_t inner_stride = 1;
    if (storage == Storage::kInner) line_stride = 1, inner_stride = num_lines + 3;
    if (storage == Storage::kPaddedLines) line_stride = length + 5;
    if (storage == Storage::kBothStrided) line_stride = 2, inner_stride = 2 * num_lines + 1;
    constexpr std::int64_t kOffset = 1;
    const std::int64_t size = kOffset + (num_lines - 1) * line_stride + (length - 1) * inner_stride + 1;
    values.assign(static_cast<std::size_t>(size), T(std::numeric_limits<RealOf<T>>::quiet_NaN()));
    lines = {values.data() + kOffset, num_lines, length, line_stride, inner_stride, is_conjugated};
  }
  [[nodiscard]] T& at(std::int64_t i, std::int64_t h) {
    return values[static_cast<std::size_t>(lines.data - values.data() + i * lines.line_stride +
                                           h * lines.inner_stride)];
  }
  [[nodiscard]] Lines<T> on(const DeviceArray<T>& copy) const {
    Lines<T> device = lines;
    device.data = copy.data() + (lines.data - values.data());
    return device;
  }

  std::vector<T> values;
  Lines<T> lines;
};

/// What the phases of the host find for one operand.
struct HostOperand {
  std::vector<LineStats> stats;
  std::vector<LineStats> equilibrated;
  std::vector<std::int32_t> inner_shift;
  std::vector<num::LineWeight> weights;
};

struct HostLook {
  bool gains = false;  ///< equilibration was looked at for its gain, although there was a rung
  num::Statistics statistics;
  num::Selection selection;
  std::vector<std::pair<std::int64_t, std::int64_t>> repairs;
};

template <class T>
CertifiedLines<T> certified(const plan::Plan& plan, const Lines<T>& lines, HostOperand& operand, bool equilibrated) {
  const std::vector<LineStats>& stats = equilibrated ? operand.equilibrated : operand.stats;
  operand.weights.clear();
  for (const LineStats& line : stats) operand.weights.push_back(num::line_weight(ozaki2::ozaki2_of(plan).ladder, line));
  return {lines, stats.data(), operand.weights.data(), equilibrated ? operand.inner_shift.data() : nullptr, nullptr};
}

/// The phases of ozaki2.cpp after a sampled certificate that fails.
template <class T>
HostLook look_on_host(const plan::Plan& plan, const Lines<T>& a_lines, HostOperand& a, const Lines<T>& b_lines,
                      HostOperand& b) {
  base::AlignedBuffer workspace(plan.schedule.workspace_bytes);
  base::Carver carver(workspace.data());
  const CertificateBuffers buffers = ozaki2::carve(carver, plan).certificate;
  const num::Ladder& ladder = ozaki2::ozaki2_of(plan).ladder;
  HostLook look;
  look.statistics.num_pairs = plan.shape.m * plan.shape.n;
  const auto find = [&](bool equilibrated, num::RungHistogram& histogram) {
    const CertifiedLines<T> ca = certified(plan, a_lines, a, equilibrated);
    const CertifiedLines<T> cb = certified(plan, b_lines, b, equilibrated);
    const Status status =
        block_histogram(ozaki2::certificate_plan(plan), ozaki2::ozaki2_of(plan).ladder, buffers, ca, cb, histogram);
    EXPECT_TRUE(status.ok()) << status.reason();
  };
  find(false, look.statistics.plain);
  const auto length = static_cast<std::size_t>(plan.shape.k);
  a.inner_shift.resize(length);
  b.inner_shift.resize(length);
  const num::Selection plain = num::select(ladder, look.statistics);
  const std::int32_t gain = plain.rung < 0 ? 0
                                           : equilibration_gain(a_lines, a.stats.data(), b_lines, b.stats.data(), 1,
                                                                a.inner_shift.data(), b.inner_shift.data());
  if (num::wants_equilibration(ladder, plain, gain)) {
    gather_inner_exponents(a_lines, 1, a.inner_shift.data());
    gather_inner_exponents(b_lines, 1, b.inner_shift.data());
    equilibration_shifts(plan.shape.k, a.inner_shift.data(), b.inner_shift.data());
    a.equilibrated.resize(a.stats.size());
    b.equilibrated.resize(b.stats.size());
    gather_statistics(a_lines, a.inner_shift.data(), 1, a.equilibrated.data());
    gather_statistics(b_lines, b.inner_shift.data(), 1, b.equilibrated.data());
    look.statistics.has_equilibrated = true;
    look.gains = plain.rung >= 0;
    find(true, look.statistics.equilibrated);
  }
  look.selection = num::select(ladder, look.statistics);
  if (look.selection.rung < 0 || look.selection.num_repaired == 0) return look;
  const CertifiedLines<T> ca = certified(plan, a_lines, a, look.selection.equilibrated);
  const CertifiedLines<T> cb = certified(plan, b_lines, b, look.selection.equilibrated);
  const Status status =
      visit_block_rungs<T>(ozaki2::certificate_plan(plan), ozaki2::ozaki2_of(plan).ladder, buffers, ca, cb,
                           [&](std::int64_t i, std::int64_t num_i, std::int64_t j, std::int64_t num_j,
                               const std::uint8_t* rungs, std::int64_t ld) {
                             for (std::int64_t y = 0; y < num_j; ++y) {
                               for (std::int64_t x = 0; x < num_i; ++x) {
                                 if (rungs[y * ld + x] > look.selection.rung) look.repairs.emplace_back(i + x, j + y);
                               }
                             }
                           });
  EXPECT_TRUE(status.ok()) << status.reason();
  return look;
}

int num_sms_of_device() {
  int device = 0;
  int count = 0;
  gpu_test::check(cudaGetDevice(&device), "device");
  gpu_test::check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "multiprocessors");
  return count;
}

/// One operand on the device. Nobody writes digits and scales of lines beyond the last, but tiles read them: their sums
/// are negative here.
template <class T>
struct DeviceOperand {
  static constexpr std::int8_t kUnwrittenDigit = 64;
  static constexpr float kUnwrittenScale = -3.0F;

  DeviceOperand(const StoredLines<T>& stored, const HostOperand& host, std::int64_t num_chunk_lines)
      : values(stored.values),
        lines(stored.on(values)),
        stats(host.stats),
        equilibrated(host.stats.size()),
        inner_shift(static_cast<std::size_t>(lines.length)),
        digits(std::vector<std::int8_t>(
            static_cast<std::size_t>(num_steps() * second_look_lines(num_chunk_lines) * 128), kUnwrittenDigit)),
        scales(std::vector<float>(
            static_cast<std::size_t>(num_steps() * (kTerms<T> == 2 ? 1 : 2) * second_look_lines(num_chunk_lines)),
            kUnwrittenScale)),
        nonzero(static_cast<std::size_t>(num_chunk_lines * round_up(num_blocks() * kTerms<T>, 2))),
        weights(static_cast<std::size_t>(num_chunk_lines)) {}

  [[nodiscard]] std::int64_t num_blocks() const { return ceil_div(lines.length, kDigitBlock); }
  [[nodiscard]] std::int64_t num_steps() const { return second_look_steps(lines.length, static_cast<int>(kTerms<T>)); }
  [[nodiscard]] device::DeviceLineBuffers line_buffers() const {
    return {stats.data(), equilibrated.data(), inner_shift.data(), nullptr};
  }
  [[nodiscard]] bool guards_are_intact() const {
    return values.guards_are_intact() && stats.guards_are_intact() && equilibrated.guards_are_intact() &&
           inner_shift.guards_are_intact() && digits.guards_are_intact() && scales.guards_are_intact() &&
           nonzero.guards_are_intact() && weights.guards_are_intact();
  }

  DeviceArray<T> values;
  Lines<T> lines;
  DeviceArray<LineStats> stats;
  DeviceArray<LineStats> equilibrated;
  DeviceArray<std::int32_t> inner_shift;
  DeviceArray<std::int8_t> digits;
  DeviceArray<float> scales;
  DeviceArray<std::uint64_t> nonzero;
  DeviceArray<num::LineWeight> weights;
};

template <class T>
struct DeviceLook {
  DeviceLook(const plan::Plan& plan, const StoredLines<T>& a_stored, const HostOperand& a_host,
             const StoredLines<T>& b_stored, const HostOperand& b_host, const Setting& setting)
      : chunk{std::min(setting.chunk.mc, plan.shape.m), std::min(setting.chunk.nc, plan.shape.n)},
        a(a_stored, a_host, chunk.mc),
        b(b_stored, b_host, chunk.nc),
        state(1),
        repairs(static_cast<std::size_t>(plan.shape.m * plan.shape.n >> num::kMostRepairShift)),
        bits(static_cast<std::size_t>(plan.shape.n * ceil_div(plan.shape.m, 32))),
        rungs(static_cast<std::size_t>(chunk.nc * round_up(chunk.mc, kSecondLookPad))),
        gains(kNumGains) {
    look.ladder = ozaki2::ozaki2_of(plan).ladder;
    look.a = a.lines;
    look.b = b.lines;
    look.a_lines = a.line_buffers();
    look.b_lines = b.line_buffers();
    look.chunk = chunk;
    look.buffers = {a.digits.data(),  b.digits.data(),  a.scales.data(),  b.scales.data(), a.nonzero.data(),
                    b.nonzero.data(), a.weights.data(), b.weights.data(), rungs.data(),    gains.data()};
    look.state = state.data();
    look.repairs = repairs.data();
    look.repair_capacity = static_cast<std::int64_t>(repairs.size());
    look.repair_bits = bits.data();
    for (int r = 0; r < num::kMaxRungs; ++r) look.planes_of_rung[r] = 100 + r;
  }

  [[nodiscard]] bool guards_are_intact() const {
    return a.guards_are_intact() && b.guards_are_intact() && state.guards_are_intact() && repairs.guards_are_intact() &&
           bits.guards_are_intact() && rungs.guards_are_intact() && gains.guards_are_intact();
  }

  SecondLookChunk chunk;
  DeviceOperand<T> a;
  DeviceOperand<T> b;
  DeviceArray<device::DeviceState> state;
  DeviceArray<device::Pair> repairs;
  DeviceArray<std::uint32_t> bits;
  DeviceArray<std::uint8_t> rungs;
  DeviceArray<std::int32_t> gains;
  SecondLook<T> look;
};

enum class Way { kAlone, kOfDevice, kMmaSync, kAfterSplit };

device::DeviceState state_of_a_failed_sample() {
  device::DeviceState state{};
  state.sampled_failures = 1;
  return state;
}
/// Nobody has looked at a sample: the split makes the digits of blocks.
device::DeviceState state_of_blocks_first() {
  device::DeviceState state{};
  state.look = device::Look::kBlocksFirst;
  return state;
}

/// ozaki2::device_single_pass() with nothing but statistics and blocks.
template <class T>
Status make_blocks(const SecondLook<T>& look) {
  const ozaki2::DevicePlanes planes{nullptr, base::round_up(look.a.length, std::int64_t{128}), 0};
  return ozaki2::device_single_pass<T>({{look.a, look.a_lines, planes}, {}, &look.state->nonfinite_rows},
                                       {{look.b, look.b_lines, planes}, {}, &look.state->nonfinite_cols}, look.ladder,
                                       0, look.buffers, false, look.state, nullptr);
}

template <class T>
Status launch(const SecondLook<T>& look, int num_sms, product::Queue queue, Way way) {
  if (way != Way::kAlone) {
    KIZAMI_RETURN_IF_ERROR(
        launch_block_rungs(look, num_sms, queue, way == Way::kMmaSync ? DigitCore::kMmaSync : DigitCore::kOfDevice));
  }
  return launch_second_look(look, num_sms, queue);
}

/// What a run went through, so that a test can say that it met what it is about.
struct Met {
  bool equilibration = false;
  bool gain = false;
  bool equilibrated = false;
  bool fp64 = false;
  std::int64_t repairs = 0;
  std::uint64_t unread_steps = 0;
};

class SecondLookTest : public gpu_test::DeviceTest {
 protected:
  template <class T>
  void expect_equal(const problem::Shape& given, const std::string& a_spec, const std::string& b_spec,
                    const Setting& setting = {}) {
    problem::Shape shape = given;
    shape.scalar = kScalarOf<T>;
    SCOPED_TRACE(std::string(to_string(shape.scalar)) + ' ' + std::to_string(shape.m) + 'x' + std::to_string(shape.n) +
                 'x' + std::to_string(shape.k) + " A=" + a_spec + " B=" + b_spec);
    Policy policy;
    policy.scheme = Scheme::kOzaki2;
    policy.accuracy = setting.accuracy;
    policy.threads = 1;
    const Result<plan::Plan> planned = plan::make(shape, policy, exec::environment());
    ASSERT_TRUE(planned.ok()) << planned.status().reason();
    const plan::Plan& plan = planned.value();
    ASSERT_TRUE(ozaki2::ozaki2_of(plan).has_certificate);

    StoredLines<T> a(shape.m, shape.k, setting.a_storage, setting.a_conjugated);
    StoredLines<T> b(shape.n, shape.k, setting.b_storage, setting.b_conjugated);
    fill(a, a_spec, check::Which::kA);
    fill(b, b_spec, check::Which::kB);
    // An odd row has almost all its weight where an odd column has a zero: their norms promise far more than they give.
    for (int r = 0; r < setting.num_odd_rows; ++r) a.at(shape.m - 1 - 2 * r, 0) = T(0x1p60);
    for (int c = 0; c < setting.num_odd_cols; ++c) b.at(shape.n - 1 - 3 * c, 0) = T(0);

    if (setting.share_of_zeros > 0) {
      thin_at_random(a, setting.share_of_zeros);
      thin_at_random(b, setting.share_of_zeros);
    }
    if (setting.num_supports > 0) {
      thin_out(a, setting.num_supports);
      thin_out(b, setting.num_supports);
    }

    HostOperand a_host;
    HostOperand b_host;
    a_host.stats.resize(static_cast<std::size_t>(shape.m));
    b_host.stats.resize(static_cast<std::size_t>(shape.n));
    gather_statistics(a.lines, nullptr, 1, a_host.stats.data());
    gather_statistics(b.lines, nullptr, 1, b_host.stats.data());
    const HostLook host = look_on_host(plan, a.lines, a_host, b.lines, b_host);

    // All in one kernel, or the pairs as given by others before it.
    base::DeviceLimits limits;
    ASSERT_TRUE(base::find_device_limits(limits).ok());
    for (const Way way : {Way::kAlone, Way::kOfDevice, Way::kMmaSync, Way::kAfterSplit}) {
      DeviceLook<T> device(plan, a, a_host, b, b_host, setting);
      const bool is_whole = device.chunk.mc == shape.m && device.chunk.nc == shape.n;
      if (way == Way::kAfterSplit && (!is_whole || shape.k > device::longest_single_pass(limits))) continue;
      for (int round = 0; round < setting.num_launches; ++round) {
        device.state.upload({way == Way::kAfterSplit ? state_of_blocks_first() : state_of_a_failed_sample()});
        if (way == Way::kAfterSplit) {
          const Status made = make_blocks(device.look);
          ASSERT_TRUE(made.ok()) << made.reason();
        }
        const int num_sms = setting.num_sms > 0 ? setting.num_sms : num_sms_of_device();
        const Status status = launch(device.look, num_sms, nullptr, way);
        ASSERT_TRUE(status.ok()) << status.reason();
      }
      compare(plan, host, a_host, b_host, device);
      const std::uint64_t unread = device.state.download()[0].num_unread_steps;
      if (way != Way::kOfDevice) {
        EXPECT_EQ(unread, 0U) << "only tensor cores of Hopper are asked, and not for a rung above";
      }
      met.unread_steps += unread;
    }
    met.equilibration |= host.statistics.has_equilibrated;
    met.gain |= host.gains;
    met.equilibrated |= host.selection.equilibrated;
    met.fp64 |= host.selection.rung < 0;
    met.repairs += host.selection.rung < 0 ? 0 : host.selection.num_repaired;
  }

  template <class T>
  static void compare(const plan::Plan& plan, const HostLook& host, const HostOperand& a_host,
                      const HostOperand& b_host, const DeviceLook<T>& device) {
    const device::DeviceState state = device.state.download()[0];
    EXPECT_EQ(state.statistics.plain.pairs, host.statistics.plain.pairs);
    EXPECT_EQ(state.statistics.equilibrated.pairs, host.statistics.equilibrated.pairs);
    EXPECT_EQ(state.statistics.has_equilibrated, host.statistics.has_equilibrated);
    EXPECT_EQ(state.statistics.num_pairs, host.statistics.num_pairs);
    EXPECT_EQ(state.selection.rung, host.selection.rung);
    EXPECT_EQ(state.selection.equilibrated, host.selection.equilibrated);
    EXPECT_EQ(state.selection.num_repaired, host.selection.num_repaired);
    EXPECT_EQ(state.num_products, host.selection.rung < 0 ? 0 : 100 + host.selection.rung);
    EXPECT_EQ(state.barrier_count, 0U);

    EXPECT_TRUE(device.a.stats.download() == a_host.stats) << "statistics as given were overwritten";
    EXPECT_TRUE(device.b.stats.download() == b_host.stats) << "statistics as given were overwritten";
    if (host.statistics.has_equilibrated) {
      EXPECT_EQ(device.a.inner_shift.download(), a_host.inner_shift);
      EXPECT_EQ(device.b.inner_shift.download(), b_host.inner_shift);
      EXPECT_TRUE(device.a.equilibrated.download() == a_host.equilibrated) << "statistics of shifted A";
      EXPECT_TRUE(device.b.equilibrated.download() == b_host.equilibrated) << "statistics of shifted B";
    }

    EXPECT_EQ(state.num_repairs, host.repairs.size());
    if (!host.repairs.empty() && state.num_repairs == host.repairs.size()) {
      const std::vector<device::Pair> listed = device.repairs.download();
      std::vector<std::pair<std::int64_t, std::int64_t>> found;
      for (std::size_t r = 0; r < host.repairs.size(); ++r) found.emplace_back(listed[r].row, listed[r].col);
      std::vector<std::pair<std::int64_t, std::int64_t>> expected = host.repairs;
      std::sort(found.begin(), found.end());
      std::sort(expected.begin(), expected.end());
      EXPECT_EQ(found, expected);
      const std::int64_t words = ceil_div(plan.shape.m, 32);
      std::vector<std::uint32_t> bits(static_cast<std::size_t>(plan.shape.n * words));
      for (const auto& [row, col] : expected)
        bits[static_cast<std::size_t>(col * words + row / 32)] |= std::uint32_t{1} << row % 32;
      EXPECT_EQ(device.bits.download(), bits);
    }
    EXPECT_TRUE(device.guards_are_intact());
  }

  template <class T>
  static void fill(StoredLines<T>& stored, const std::string& text, check::Which which) {
    const Result<check::MatrixSpec> spec = check::parse_matrix_spec(text);
    ASSERT_TRUE(spec.ok()) << spec.status().reason();
    const Lines<T>& lines = stored.lines;
    MatrixView<T> view{&stored.at(0, 0), lines.num_lines, lines.length, lines.line_stride, lines.inner_stride};
    if (which == check::Which::kB) view = view.transposed();
    check::fill(spec.value(), 7, which, view);
  }

  template <class T>
  static void thin_at_random(StoredLines<T>& stored, double share_of_zeros) {
    std::mt19937_64 rng(11);
    std::bernoulli_distribution is_zero(share_of_zeros);
    for (std::int64_t i = 0; i < stored.lines.num_lines; ++i) {
      for (std::int64_t h = 0; h < stored.lines.length; ++h)
        stored.at(i, h) *= static_cast<RealOf<T>>(is_zero(rng) ? 0.0 : 0x1p-60);
    }
  }

  /// Leaves line i the real terms t with t % num_supports == i % num_supports, and every eighth line 2^-40 of the rest.
  template <class T>
  static void thin_out(StoredLines<T>& stored, int num_supports) {
    for (std::int64_t i = 0; i < stored.lines.num_lines; ++i) {
      for (std::int64_t h = 0; h < stored.lines.length; ++h) {
        auto* const parts = reinterpret_cast<RealOf<T>*>(&stored.at(i, h));
        for (std::int64_t part = 0; part < kTerms<T>; ++part) {
          if ((h * kTerms<T> + part) % num_supports == i % num_supports) continue;
          parts[part] = i % 8 == 7 ? static_cast<RealOf<T>>(std::ldexp(parts[part], -40)) : RealOf<T>{0};
        }
      }
    }
  }

  /// The same for all types.
  void expect_equal_for_all(const problem::Shape& shape, const std::string& a, const std::string& b,
                            const Setting& setting = {}) {
    expect_equal<float>(shape, a, b, setting);
    expect_equal<double>(shape, a, b, setting);
    expect_equal<std::complex<float>>(shape, a, b, setting);
    expect_equal<std::complex<double>>(shape, a, b, setting);
  }

  Met met;
};

problem::Shape shape_of(std::int64_t m, std::int64_t n, std::int64_t k) { return {Scalar::kF64, m, n, k}; }

TEST_F(SecondLookTest, Shapes) {
  for (const std::int64_t k : {1, 31, 63, 64, 65, 128, 129, 1000}) {
    expect_equal_for_all(shape_of(1, 1, k), "randn", "randn");
    expect_equal_for_all(shape_of(7, 100, k), "exprand:phi=2", "randn");
    expect_equal_for_all(shape_of(129, 97, k), "randn", "exprand:phi=2");
  }
  for (const std::int64_t n : {1, 15, 16, 17, 95, 96, 97, 300}) {
    expect_equal_for_all(shape_of(n, 5, 200), "exprand:phi=1", "randn");
    expect_equal_for_all(shape_of(3, n, 200), "exprand:phi=1", "randn");
  }
  expect_equal<double>(shape_of(300, 290, 5000), "exprand:phi=2", "exprand:phi=2");
  expect_equal<std::complex<float>>(shape_of(130, 200, 5000), "exprand:phi=2", "exprand:phi=2");
  expect_equal<float>(shape_of(2300, 500, 70), "exprand:phi=1", "randn");  // two bands of tiles
}

/// Two blocks of real lines from 4096 elements on share a scale: in every storage, with a last block that is alone.
TEST_F(SecondLookTest, LongLinesHaveCoarserScales) {
  for (const std::int64_t k : {4095, 4096, 4100, 4170, 6001}) {
    for (const Storage storage : {Storage::kLines, Storage::kInner, Storage::kPaddedLines, Storage::kBothStrided}) {
      Setting setting;
      setting.a_storage = storage;
      setting.b_storage = k % 2 == 0 ? Storage::kInner : Storage::kLines;
      expect_equal<double>(shape_of(150, 140, k), "exprand:phi=3", "exprand:phi=2", setting);
      expect_equal<float>(shape_of(60, 70, k), "exprand:phi=2", "exprand:phi=3", setting);
    }
    Setting setting;
    setting.chunk = {77, 130};
    expect_equal<double>(shape_of(150, 140, k), "exprand:phi=4", "exprand:phi=4", setting);
    expect_equal<double>(shape_of(70, 80, k), "grade:inner", "grade:inner");
  }
}

/// Blocks of threads go on from tile to tile, and the warpgroups of long lines with their turns.
TEST_F(SecondLookTest, LongLinesInManyTiles) {
  for (const int num_sms : {1, 2, 5}) {
    Setting setting;
    setting.num_sms = num_sms;
    setting.num_launches = 2;
    expect_equal<double>(shape_of(300, 290, 4100), "exprand:phi=4", "exprand:phi=3", setting);
    expect_equal<float>(shape_of(290, 300, 4225), "exprand:phi=3", "exprand:phi=4", setting);
  }
  // 196 tiles, more than an H200 has multiprocessors: some of them have two.
  expect_equal<double>(shape_of(1700, 1700, 4100), "exprand:phi=3", "exprand:phi=2");
  expect_equal<float>(shape_of(1700, 1690, 4225), "exprand:phi=4", "exprand:phi=4");
  EXPECT_GT(met.repairs, 0);
}

/// Tiles that the lowest rung certifies before all blocks are added end there, others beside them do not: the same
/// histograms.
TEST_F(SecondLookTest, TilesEndWhereTheLowestRungIsCertain) {
  if (const std::string why = gpu_test::why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  const auto expect_of = [&](std::int64_t m, std::int64_t n, std::int64_t k, int num_sms) {
    Setting setting;
    setting.num_sms = num_sms;
    const std::uint64_t before = met.unread_steps;
    expect_equal_for_all(shape_of(m, n, k), "randn", "exprand:phi=0.5", setting);
    EXPECT_GT(met.unread_steps, before);
    expect_equal_for_all(shape_of(m, n, k), "exprand:phi=1", "exprand:phi=1.1", setting);
    setting.num_odd_rows = 1;  // tiles of its columns are added to their ends
    setting.num_odd_cols = 2;
    expect_equal_for_all(shape_of(m, n, k), "randn", "exprand:phi=0.5", setting);
  };
  for (const std::int64_t k : {900, 1200, 2048}) {  // some steps more than are under way, and more than that
    expect_of(128, 128, k, 1);
    expect_of(300, 290, k, 1);
  }
  expect_of(300, 290, 1200, 2);
  expect_of(1, 700, 1200, 1);
  expect_of(130, 140, 4100, 1);
  Setting many;  // 196 tiles, more than an H200 has multiprocessors
  expect_equal<double>(shape_of(1700, 1690, 1200), "exprand:phi=1", "exprand:phi=1.1", many);
  const std::uint64_t before = met.unread_steps;
  expect_equal<double>(shape_of(300, 290, 700), "randn", "randn");  // all is under way before anybody could be asked
  EXPECT_EQ(met.unread_steps, before);
}

TEST_F(SecondLookTest, Classes) {
  const char* const kClasses[] = {"randn",
                                  "rand",
                                  "exprand:phi=1",
                                  "exprand:phi=4",
                                  "exp_rand",
                                  "grade:rows",
                                  "grade:cols",
                                  "grade:inner",
                                  "grade:shift",
                                  "evil",
                                  "huge",
                                  "cancel",
                                  "test2",
                                  "int:bits=8",
                                  "pow2",
                                  "zeros",
                                  "ones",
                                  "hilbert",
                                  "zerorows:every=3",
                                  "zerocols:every=2",
                                  "identity",
                                  "permutation",
                                  "onehot",
                                  "diagonal",
                                  "lower",
                                  "upper",
                                  "banded:w=3",
                                  "underflow",
                                  "tiny",
                                  "big",
                                  "subnormal",
                                  "negzero"};
  for (const char* const cls : kClasses) {
    for (const std::int64_t k : {100, 300}) {
      expect_equal_for_all(shape_of(100, 110, k), cls, "randn");
      expect_equal_for_all(shape_of(100, 110, k), "exprand:phi=1", cls);
      expect_equal_for_all(shape_of(100, 110, k), cls, cls);
    }
  }
  EXPECT_TRUE(met.equilibration);
  EXPECT_TRUE(met.equilibrated);
  EXPECT_TRUE(met.fp64);
}

TEST_F(SecondLookTest, FewBitsAndMany) {
  for (const int bits : {8, 20, 23, 40, 52}) {
    Setting setting;
    setting.accuracy = Accuracy::at_bits(bits);
    for (const char* const cls : {"randn", "exprand:phi=3", "lower", "int:bits=8"}) {
      if (bits <= 23) expect_equal<float>(shape_of(70, 140, 400), cls, "exprand:phi=1", setting);
      expect_equal<double>(shape_of(70, 140, 400), cls, "exprand:phi=1", setting);
      expect_equal<std::complex<double>>(shape_of(70, 140, 400), cls, "exprand:phi=1", setting);
    }
  }
}

TEST_F(SecondLookTest, Equilibration) {
  for (const std::int64_t k : {1, 64, 300, 1000}) {
    for (const char* const cls : {"grade:inner", "evil"}) {
      for (const Storage a_storage : {Storage::kLines, Storage::kInner}) {
        Setting setting;
        setting.a_storage = a_storage;
        setting.b_storage = a_storage;
        expect_equal_for_all(shape_of(140, 130, k), cls, cls, setting);
        expect_equal_for_all(shape_of(140, 130, k), std::string(cls) + ",nan@middle", cls, setting);
      }
    }
  }
  expect_equal<double>(shape_of(40, 50, 9000), "grade:inner", "grade:inner");
  EXPECT_TRUE(met.equilibrated);
}

/// Columns that are zero in all lines that a gain is sampled from, of lines far below 1: one in 30 where nine elements
/// of ten are zero.
TEST_F(SecondLookTest, GainOfColumnsThatTheSamplesMiss) {
  for (const double share : {0.8, 0.9, 0.95}) {
    for (const char* const cls : {"grade:inner", "grade:inner,span=20", "exprand:phi=3"}) {
      Setting setting;
      setting.share_of_zeros = share;
      expect_equal<double>(shape_of(150, 140, 700), cls, cls, setting);
      expect_equal<std::complex<double>>(shape_of(150, 140, 300), cls, cls, setting);
    }
  }
  EXPECT_TRUE(met.gain) << "no case whose gain decides";
}

TEST_F(SecondLookTest, OddPairsAreListed) {
  for (const auto& [rows, cols] : {std::pair{1, 1}, std::pair{1, 3}, std::pair{3, 4}}) {
    Setting setting;
    setting.num_odd_rows = rows;
    setting.num_odd_cols = cols;
    expect_equal_for_all(shape_of(300, 290, 300), "randn", "randn", setting);
    setting.chunk = {77, 130};
    expect_equal_for_all(shape_of(300, 290, 300), "randn", "randn", setting);
  }
  EXPECT_GT(met.repairs, 50);
  Setting setting;
  setting.num_odd_rows = 1;
  setting.num_odd_cols = 1;
  const std::int64_t before = met.repairs;
  expect_equal_for_all(shape_of(200, 190, 300), "grade:inner", "grade:inner", setting);
  expect_equal_for_all(shape_of(1100, 700, 130), "randn", "lower", setting);
  EXPECT_GT(met.repairs, before);
}

/// Sums that are zero, in tiles whose last rows are not there: of purely real lines all imaginary ones.
TEST_F(SecondLookTest, ZerosBesideRowsThatAreNotThere) {
  for (const std::int64_t m : {1, 2, 3, 5, 6, 7, 130}) {
    for (const std::int64_t k : {11, 130, 600}) {
      expect_equal<std::complex<float>>(shape_of(m, 12, k), "exprand:phi=1.25,re", "exprand:phi=0.25,re");
      expect_equal<std::complex<double>>(shape_of(m, 12, k), "exprand:phi=1.125,re", "exprand:phi=2,re");
      expect_equal<std::complex<double>>(shape_of(m, 5, k), "diagonal", "zerorows:every=3");
      expect_equal<double>(shape_of(m, 5, k), "diagonal", "zerorows:every=3");
    }
  }
}

TEST_F(SecondLookTest, PairsWithoutACommonTerm) {
  for (const int num_supports : {2, 3, 4, 70}) {
    Setting setting;
    setting.num_supports = num_supports;
    expect_equal_for_all(shape_of(140, 130, 64), "randn", "randn", setting);
    expect_equal_for_all(shape_of(40, 130, 300), "randn", "exprand:phi=1", setting);
    expect_equal_for_all(shape_of(50, 60, 2500), "randn", "randn", setting);  // more than one step of bits
    setting.chunk = {37, 50};
    expect_equal_for_all(shape_of(100, 110, 200), "exprand:phi=3", "randn", setting);
  }
}

/// More blocks than a sum takes: the sums of segments are added.
TEST_F(SecondLookTest, LinesOfSeveralSegments) {
  const std::int64_t k = num::kSegmentBlocks * num::kDigitBlock + 1000;
  expect_equal<float>(shape_of(1, 2, k), "exprand:phi=1", "rand");
  expect_equal<double>(shape_of(2, 2, 2 * k), "exprand:phi=3", "exprand:phi=3");
  expect_equal<std::complex<float>>(shape_of(3, 1, k), "exprand:phi=1", "rand");
}

TEST_F(SecondLookTest, Storages) {
  const Storage kStorages[] = {Storage::kLines, Storage::kInner, Storage::kPaddedLines, Storage::kBothStrided};
  for (const Storage a_storage : kStorages) {
    for (const Storage b_storage : kStorages) {
      Setting setting;
      setting.a_storage = a_storage;
      setting.b_storage = b_storage;
      setting.a_conjugated = a_storage == Storage::kPaddedLines || a_storage == Storage::kInner;
      setting.b_conjugated = b_storage == Storage::kBothStrided;
      expect_equal_for_all(shape_of(100, 41, 333), "exprand:phi=2", "zerocols:every=2", setting);
      expect_equal_for_all(shape_of(33, 140, 130), "grade:inner", "grade:inner", setting);
    }
  }
}

TEST_F(SecondLookTest, Chunks) {
  for (const SecondLookChunk chunk : {SecondLookChunk{1, 1000}, SecondLookChunk{1000, 1}, SecondLookChunk{64, 64},
                                      SecondLookChunk{200, 50}, SecondLookChunk{37, 299}, SecondLookChunk{130, 97}}) {
    Setting setting;
    setting.chunk = chunk;
    const bool is_small = chunk.mc == 1 || chunk.nc == 1;
    const problem::Shape shape = is_small ? shape_of(9, 8, 300) : shape_of(300, 280, 300);
    setting.num_odd_rows = is_small ? 0 : 2;
    setting.num_odd_cols = is_small ? 0 : 3;
    expect_equal_for_all(shape, "randn", "exprand:phi=1", setting);
    expect_equal_for_all(shape, "grade:inner", "grade:inner", setting);
    expect_equal_for_all(shape, "lower", "banded:w=3", setting);
  }
}

TEST_F(SecondLookTest, GridsAndRepetition) {
  for (const int num_sms : {1, 2, 7}) {
    Setting setting;
    setting.num_sms = num_sms;
    setting.num_launches = 3;
    setting.num_odd_rows = 2;
    setting.num_odd_cols = 2;
    expect_equal_for_all(shape_of(300, 280, 300), "randn", "randn", setting);
    expect_equal_for_all(shape_of(300, 280, 200), "grade:inner", "grade:inner", setting);
  }
}

TEST_F(SecondLookTest, LinesThatAreNotFinite) {
  for (const char* const place : {"nan@corner", "inf@middle", "-inf@last", "nan@all", "nan@edge,inf@middle"}) {
    expect_equal_for_all(shape_of(70, 60, 150), std::string("exprand:phi=2,") + place, "randn");
    expect_equal_for_all(shape_of(70, 60, 150), "randn", std::string("grade:inner,") + place);
    expect_equal_for_all(shape_of(70, 60, 150), std::string("lower,") + place, std::string("banded:w=3,") + place);
  }
}

/// A look whose device side is ready, at operands that need a high rung.
template <class T>
struct Prepared {
  Prepared() : a(100, 200, Storage::kLines, false), b(90, 200, Storage::kInner, false) {
    std::mt19937_64 rng(5);
    for (StoredLines<T>* x : {&a, &b}) {
      for (std::int64_t i = 0; i < x->lines.num_lines; ++i) {
        for (std::int64_t h = 0; h < 200; ++h)
          x->at(i, h) =
              static_cast<T>(std::ldexp(1.0 + static_cast<double>(rng() % 1000), static_cast<int>(rng() % 9)));
      }
    }
    a_host.stats.resize(100);
    b_host.stats.resize(90);
    gather_statistics(a.lines, nullptr, 1, a_host.stats.data());
    gather_statistics(b.lines, nullptr, 1, b_host.stats.data());
  }
  [[nodiscard]] plan::Plan plan() const {
    Policy policy;
    policy.scheme = Scheme::kOzaki2;
    return plan::make({kScalarOf<T>, 100, 90, 200}, policy, exec::environment()).value();
  }

  StoredLines<T> a;
  StoredLines<T> b;
  HostOperand a_host;
  HostOperand b_host;
};

std::vector<std::uint8_t> bytes_of(const device::DeviceState& state) {
  const auto* const first = reinterpret_cast<const std::uint8_t*>(&state);
  return {first, first + sizeof state};
}

TEST_F(SecondLookTest, IsNotTakenUnlessTheSampleFails) {
  const Prepared<double> prepared;
  const plan::Plan plan = prepared.plan();
  for (const bool is_scaling_only : {false, true}) {
    DeviceLook<double> device(plan, prepared.a, prepared.a_host, prepared.b, prepared.b_host, {});
    device::DeviceState state{};
    state.sampled_failures = is_scaling_only ? 5 : 0;
    state.is_scaling_only = is_scaling_only ? 1 : 0;
    state.selection.rung = 0;
    state.num_products = 14;
    device.state.upload({state});
    ASSERT_TRUE(launch_second_look(device.look, num_sms_of_device(), nullptr).ok());
    EXPECT_EQ(bytes_of(device.state.download()[0]), bytes_of(state));
    const auto is_all = [](const auto& array, int byte) {
      const auto values = array.download();
      const auto* const first = reinterpret_cast<const std::uint8_t*>(values.data());
      return std::all_of(first, first + values.size() * sizeof values[0], [&](std::uint8_t x) { return x == byte; });
    };
    constexpr int kPoison = 0xA5;
    EXPECT_TRUE(is_all(device.a.digits, device.a.kUnwrittenDigit));
    EXPECT_TRUE(is_all(device.b.digits, device.b.kUnwrittenDigit));
    EXPECT_TRUE(is_all(device.a.inner_shift, kPoison));
    EXPECT_TRUE(is_all(device.bits, kPoison));
    EXPECT_TRUE(device.guards_are_intact());
  }
}

TEST_F(SecondLookTest, IsCapturedInAGraph) {
  const Prepared<double> prepared;
  const plan::Plan plan = prepared.plan();
  DeviceLook<double> device(plan, prepared.a, prepared.a_host, prepared.b, prepared.b_host, {});
  HostOperand a_host = prepared.a_host;
  HostOperand b_host = prepared.b_host;
  const HostLook host = look_on_host(plan, prepared.a.lines, a_host, prepared.b.lines, b_host);
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  gpu_test::check(cudaStreamCreate(&stream), "stream");
  gpu_test::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
  const Status status = launch_second_look(device.look, num_sms_of_device(), stream);
  gpu_test::check(cudaStreamEndCapture(stream, &graph), "capture");
  ASSERT_TRUE(status.ok()) << status.reason();
  gpu_test::check(cudaGraphInstantiate(&executable, graph, 0), "instantiate");
  for (int round = 0; round < 2; ++round) {
    device.state.upload({state_of_a_failed_sample()});
    gpu_test::check(cudaGraphLaunch(executable, stream), "graph");
    gpu_test::check(cudaStreamSynchronize(stream), "graph");
    compare(plan, host, a_host, b_host, device);
  }
  gpu_test::check(cudaGraphExecDestroy(executable), "graph");
  gpu_test::check(cudaGraphDestroy(graph), "graph");
  gpu_test::check(cudaStreamDestroy(stream), "stream");
}

/// Seconds of a launch, the least of some; not a test: --gtest_also_run_disabled_tests --gtest_filter='*DISABLED_Time*'
template <class T>
void time_look(std::int64_t size, double phi, const char* name, Way way) {
  StoredLines<T> a(size, size, Storage::kInner, false);
  StoredLines<T> b(size, size, Storage::kLines, false);
  std::mt19937_64 rng(9);
  std::normal_distribution<double> normal;
  for (StoredLines<T>* x : {&a, &b}) {
    for (T& v : x->values) {
      const double u = static_cast<double>(rng() >> 11) * 0x1p-53;
      const auto next = [&] { return (u - 0.5) * std::exp(phi * normal(rng)); };
      if constexpr (kTerms<T> == 2) {
        const auto re = static_cast<RealOf<T>>(next());
        v = T(re, static_cast<RealOf<T>>(next()));
      } else {
        v = static_cast<T>(next());
      }
    }
  }
  HostOperand a_host;
  HostOperand b_host;
  a_host.stats.resize(static_cast<std::size_t>(size));
  b_host.stats.resize(static_cast<std::size_t>(size));
  gather_statistics(a.lines, nullptr, 2, a_host.stats.data());
  gather_statistics(b.lines, nullptr, 2, b_host.stats.data());
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  const plan::Plan plan = plan::make({kScalarOf<T>, size, size, size}, policy, exec::environment()).value();
  DeviceLook<T> device(plan, a, a_host, b, b_host, {});
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  gpu_test::check(cudaEventCreate(&begin), "event");
  gpu_test::check(cudaEventCreate(&end), "event");
  for (const std::uint64_t failures : {0, 1}) {
    float least = 1e9F;
    device::DeviceState state{};
    for (int round = 0; round < 5; ++round) {
      state = {};
      state.sampled_failures = failures;
      device.state.upload({state});
      gpu_test::check(cudaEventRecord(begin), "event");
      ASSERT_TRUE(launch(device.look, num_sms_of_device(), nullptr, way).ok());
      gpu_test::check(cudaEventRecord(end), "event");
      gpu_test::check(cudaEventSynchronize(end), "event");
      float milliseconds = 0;
      gpu_test::check(cudaEventElapsedTime(&milliseconds, begin, end), "event");
      least = std::min(least, milliseconds);
    }
    state = device.state.download()[0];
    std::printf("[ time     ] %s %s %lld phi %g %s: %.4f ms, rung %d%s, repaired %lld\n",
                way == Way::kAlone     ? "alone"
                : way == Way::kMmaSync ? "mma.sync"
                                       : "of device",
                name, static_cast<long long>(size), phi, failures == 0 ? "not taken" : "taken",
                static_cast<double>(least), state.selection.rung,
                state.statistics.has_equilibrated ? ", looked at equilibrated" : "",
                static_cast<long long>(state.selection.num_repaired));
  }
  gpu_test::check(cudaEventDestroy(begin), "event");
  gpu_test::check(cudaEventDestroy(end), "event");
}

TEST_F(SecondLookTest, DISABLED_Time) {
  for (const Way way : {Way::kAlone, Way::kOfDevice, Way::kMmaSync}) {
    time_look<double>(2048, 1.0, "f64", way);
    for (const double phi : {1.0, 2.0, 4.0}) time_look<double>(4096, phi, "f64", way);
    time_look<float>(4096, 1.0, "f32", way);
    time_look<std::complex<double>>(4096, 2.0, "c128", way);
  }
  time_look<double>(8192, 1.0, "f64", Way::kOfDevice);
}

}  // namespace
}  // namespace kizami::certify
