// SPDX-License-Identifier: MIT
// A second look on the device beside the phases of the host, for its tests: operands in both memories, what the host finds of
// them, and the fixture that compares.
#pragma once

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

namespace kizami::certify::look_case {

using base::ceil_div;
using base::round_up;
using gpu_test::DeviceArray;
using num::LineStats;
using problem::kTerms;
using problem::Lines;

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

[[nodiscard]] inline int num_sms_of_device() {
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

[[nodiscard]] inline device::DeviceState state_of_a_failed_sample() {
  device::DeviceState state{};
  state.sampled_failures = 1;
  return state;
}
/// Nobody has looked at a sample: the split makes the digits of blocks.
[[nodiscard]] inline device::DeviceState state_of_blocks_first() {
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

[[nodiscard]] inline problem::Shape shape_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {Scalar::kF64, m, n, k};
}

}  // namespace kizami::certify::look_case
