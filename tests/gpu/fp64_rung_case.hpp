// SPDX-License-Identifier: MIT
// Operands of the FP64 rung, and its results on the device beside those of the host, for its tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/device_limits.hpp"
#include "certify/statistics.hpp"
#include "fp64/device.hpp"
#include "fp64/fp64.hpp"
#include "gpu/device_memory.hpp"
#include "num/scaled.hpp"
#include "tests/certify/stored_lines.hpp"
#include "tests/num/exact_numbers.hpp"

namespace kizami::gpu_test::fp64_case {

using num::Fp64Summation;
using tests::random_int;
using tests::Rng;

using Fp64Rung = DeviceTest;

inline constexpr Fp64Summation kSummations[] = {Fp64Summation::kPairwise, Fp64Summation::kCompensated};
/// One multiprocessor: large tiles wherever k lets them. Many: small ones.
inline constexpr int kSmCounts[] = {1, 132};

template <class T>
T make(double re, double im) {
  if constexpr (kIsComplex<T>) {
    return T(static_cast<RealOf<T>>(re), static_cast<RealOf<T>>(im));
  } else {
    return static_cast<T>(re + 0.0 * im);
  }
}
template <class T>
T nan_of() {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  return make<T>(kNaN, kNaN);
}

/// Equal bits, or NaN and NaN, part by part.
template <class T>
bool is_same(const T& x, const T& y) {
  using R = RealOf<T>;
  constexpr std::size_t kParts = sizeof(T) / sizeof(R);
  R a[kParts], b[kParts];
  std::memcpy(a, &x, sizeof x);
  std::memcpy(b, &y, sizeof y);
  for (std::size_t p = 0; p < kParts; ++p) {
    if (std::memcmp(&a[p], &b[p], sizeof(R)) != 0 && !(num::is_nan(a[p]) && num::is_nan(b[p]))) return false;
  }
  return true;
}
template <class T>
std::string bits_of(const T& x) {
  char text[64];
  if constexpr (kIsComplex<T>) {
    std::snprintf(text, sizeof text, "%a %ai", static_cast<double>(x.real()), static_cast<double>(x.imag()));
  } else {
    std::snprintf(text, sizeof text, "%a", static_cast<double>(x));
  }
  return text;
}

/// Lines in host and device memory, with NaN in the gaps, and their statistics.
template <class T>
struct Operand {
  std::vector<T> buffer;
  problem::Lines<T> lines;
  std::vector<num::LineStats> stats;
  std::unique_ptr<DeviceArray<T>> memory;
  std::unique_ptr<DeviceArray<num::LineStats>> device_stats;

  /// values[line][h] @param offset  elements before the first one: with 0 it is aligned
  Operand(const std::vector<std::vector<T>>& values, std::int64_t length, tests::Storage storage, bool is_conjugated,
          std::int64_t offset = 1) {
    const auto num_lines = static_cast<std::int64_t>(values.size());
    std::int64_t line_stride = 1;
    std::int64_t inner_stride = 1;
    switch (storage) {
      case tests::Storage::kLineContiguous:
        line_stride = length;
        break;
      case tests::Storage::kLinePadded:
        line_stride = length + 3;
        break;
      case tests::Storage::kInnerContiguous:
        inner_stride = num_lines;
        break;
      case tests::Storage::kInnerPadded:
        inner_stride = num_lines + 5;
        break;
      case tests::Storage::kBothStrided:
        inner_stride = 2, line_stride = 2 * length + 1;
        break;
    }
    buffer.assign(static_cast<std::size_t>(offset + num_lines * line_stride + length * inner_stride), nan_of<T>());
    for (std::int64_t i = 0; i < num_lines; ++i) {
      for (std::int64_t h = 0; h < length; ++h) {
        buffer[static_cast<std::size_t>(offset + i * line_stride + h * inner_stride)] =
            values[static_cast<std::size_t>(i)][static_cast<std::size_t>(h)];
      }
    }
    lines = {buffer.data() + offset, num_lines, length, line_stride, inner_stride, is_conjugated};
    upload();
  }
  /// A whole matrix: op views `values`.
  Operand(std::vector<T> values, Side side, MatrixView<const T> op) : buffer(std::move(values)) {
    op.data = buffer.data();
    lines = problem::lines_of(side, op);
    upload();
  }

  void upload() {
    stats.resize(static_cast<std::size_t>(lines.num_lines));
    certify::gather_statistics(lines, nullptr, 1, stats.data());
    memory = std::make_unique<DeviceArray<T>>(buffer);
    device_stats = std::make_unique<DeviceArray<num::LineStats>>(stats);
  }
  [[nodiscard]] problem::Lines<T> on_device() const {
    problem::Lines<T> moved = lines;
    moved.data = memory->data() + (lines.data - buffer.data());
    return moved;
  }
  [[nodiscard]] const num::LineStats& stat(std::int64_t i) const { return stats[static_cast<std::size_t>(i)]; }
  [[nodiscard]] std::uint64_t num_nonfinite() const {
    return static_cast<std::uint64_t>(
        std::count_if(stats.begin(), stats.end(), [](const num::LineStats& line) { return !line.is_finite; }));
  }
  [[nodiscard]] bool guards_are_intact() const {
    return memory->guards_are_intact() && device_stats->guards_are_intact();
  }
};

enum class Kind : std::uint8_t { kOrdinary, kWholeRange, kSubnormal };

/// Real terms in pairs make complex elements.
template <class T>
std::vector<std::vector<T>> make_lines(Rng& rng, Kind kind, std::int64_t num_lines, std::int64_t length) {
  using R = RealOf<T>;
  const auto kTerms = static_cast<std::size_t>(problem::kTerms<T>);
  const auto num_terms = static_cast<std::size_t>(length) * kTerms;
  std::vector<std::vector<R>> terms;
  if (kind == Kind::kWholeRange) {
    terms = tests::random_lines<R>(rng, num_lines, static_cast<std::int64_t>(num_terms));
  } else {
    const int lowest = std::numeric_limits<R>::min_exponent - std::numeric_limits<R>::digits;
    for (std::int64_t i = 0; i < num_lines; ++i) {
      const int base = kind == Kind::kSubnormal ? lowest + 20 : random_int(rng, -50, 50);
      std::vector<R> line(num_terms);
      if (rng() % 20 != 0) {  // else a zero line
        for (R& x : line)
          x = rng() % 9 == 0 ? R{0} : tests::random_value<R>(rng, std::max(lowest, base - random_int(rng, 0, 30)));
      }
      terms.push_back(std::move(line));
    }
  }
  std::vector<std::vector<T>> lines;
  for (const std::vector<R>& line : terms) {
    std::vector<T> elements(static_cast<std::size_t>(length));
    for (std::size_t h = 0; h < elements.size(); ++h) {
      if constexpr (kIsComplex<T>) {
        elements[h] = T(line[2 * h], line[2 * h + 1]);
      } else {
        elements[h] = line[h];
      }
    }
    lines.push_back(std::move(elements));
  }
  return lines;
}

template <class T>
void plant_nonfinite(Rng& rng, std::vector<std::vector<T>>& lines) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const double values[] = {kInf, -kInf, kNaN};
  for (auto& line : lines) {
    if (line.empty() || rng() % 4 != 0) continue;
    for (int i = random_int(rng, 1, 3); i > 0; --i) {
      const double x = values[rng() % 3];
      line[rng() % line.size()] = rng() % 2 == 0 ? make<T>(x, 1.0) : make<T>(x, values[rng() % 3]);
    }
  }
}

enum class CLayout : std::uint8_t { kColMajor, kColPadded, kRowMajor, kRowPadded, kBothStrided };
inline constexpr CLayout kCLayouts[] = {CLayout::kColMajor, CLayout::kColPadded, CLayout::kRowMajor,
                                        CLayout::kRowPadded, CLayout::kBothStrided};
template <class T>
MatrixView<T> view_c(CLayout layout, std::int64_t m, std::int64_t n) {
  switch (layout) {
    case CLayout::kColMajor:
      return {nullptr, m, n, 1, m};
    case CLayout::kColPadded:
      return {nullptr, m, n, 1, m + 3};
    case CLayout::kRowMajor:
      return {nullptr, m, n, n, 1};
    case CLayout::kRowPadded:
      return {nullptr, m, n, n + 7, 1};
    case CLayout::kBothStrided:
      return {nullptr, m, n, 3, 3 * m + 2};
  }
  return {};
}

/// What a call is besides its operands.
template <class T>
struct Setting {
  Fp64Summation summation = Fp64Summation::kPairwise;
  T alpha = T{1};
  T beta = T{0};
  bool factors_on_device = false;
  CLayout layout = CLayout::kColMajor;
  int rung = -1;
  bool is_scaling_only = false;
  std::vector<device::Pair> repairs;
  int num_sms = 1;
};

template <class T>
std::string describe(const Operand<T>& a, const Operand<T>& b, const Setting<T>& setting) {
  return std::to_string(a.lines.num_lines) + " x " + std::to_string(b.lines.num_lines) + " x " +
         std::to_string(a.lines.length) + ", strides of A " + std::to_string(a.lines.line_stride) + " " +
         std::to_string(a.lines.inner_stride) + ", of B " + std::to_string(b.lines.line_stride) + " " +
         std::to_string(b.lines.inner_stride) + ", summation " + std::to_string(static_cast<int>(setting.summation)) +
         ", rung " + std::to_string(setting.rung) + ", repairs " + std::to_string(setting.repairs.size()) +
         ", multiprocessors " + std::to_string(setting.num_sms) + ", alpha " + bits_of(setting.alpha) + ", beta " +
         bits_of(setting.beta);
}

template <class T>
void expect_host_bits(Rng& rng, const Operand<T>& a, const Operand<T>& b, const Setting<T>& setting) {
  SCOPED_TRACE(describe(a, b, setting));
  const std::int64_t m = a.lines.num_lines;
  const std::int64_t n = b.lines.num_lines;
  MatrixView<T> view = view_c<T>(setting.layout, m, n);
  const auto c_size = static_cast<std::size_t>(m * view.row_stride + n * view.col_stride + 1);
  std::vector<T> before(c_size);
  for (T& x : before)
    x = setting.beta == T{0} ? nan_of<T>() : make<T>(random_int(rng, -9, 9) * 0.37, random_int(rng, -9, 9) * 0.61);

  // The host's answers.
  std::vector<T> want = before;
  std::vector<bool> is_answered(c_size);
  MatrixView<T> host = view;
  host.data = want.data();
  const auto old_of = [&](std::int64_t i, std::int64_t j) { return setting.beta == T{0} ? T{0} : host(i, j); };
  const auto mark = [&](std::int64_t i, std::int64_t j) {
    is_answered[static_cast<std::size_t>(i * view.row_stride + j * view.col_stride)] = true;
  };
  if (!setting.is_scaling_only) {
    if (setting.rung < 0) {
      fp64::gemm_fp64(a.lines, a.stats.data(), b.lines, b.stats.data(), setting.summation, setting.alpha, setting.beta,
                      2, host);
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i < m; ++i) {
          if (a.stat(i).is_finite && b.stat(j).is_finite) mark(i, j);
        }
      }
    } else {
      for (const device::Pair& pair : setting.repairs) {
        if (!a.stat(pair.row).is_finite || !b.stat(pair.col).is_finite) continue;
        host(pair.row, pair.col) = num::finish(fp64::line_product(a.lines, a.stat(pair.row), pair.row, b.lines,
                                                                  b.stat(pair.col), pair.col, setting.summation),
                                               setting.alpha, setting.beta, old_of(pair.row, pair.col));
        mark(pair.row, pair.col);
      }
    }
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < m; ++i) {
        if (a.stat(i).is_finite && b.stat(j).is_finite) continue;
        host(i, j) = num::finish_nonfinite(fp64::nonfinite_product(a.lines, i, b.lines, j), setting.alpha, setting.beta,
                                           old_of(i, j));
        mark(i, j);
      }
    }
  }

  // The device's, the pairs of the list in answer_exceptions() and before it.
  device::DeviceState state;
  state.selection.rung = setting.rung;
  state.is_scaling_only = setting.is_scaling_only ? 1 : 0;
  state.num_repairs = setting.repairs.size();
  state.nonfinite_rows = a.num_nonfinite();
  state.nonfinite_cols = b.num_nonfinite();
  const DeviceArray<device::DeviceState> device_state(std::vector<device::DeviceState>{state});
  const DeviceArray<device::Pair> repairs(setting.repairs);
  const DeviceArray<T> factors(std::vector<T>{setting.alpha, setting.beta});
  fp64::DeviceCall<T> call;
  call.a = a.on_device();
  call.b = b.on_device();
  call.a_stats = a.device_stats->data();
  call.b_stats = b.device_stats->data();
  call.summation = setting.summation;
  call.alpha = setting.factors_on_device ? Factor<T>::at(factors.data()) : Factor<T>(setting.alpha);
  call.beta = setting.factors_on_device ? Factor<T>::at(factors.data() + 1) : Factor<T>(setting.beta);
  call.state = device_state.data();
  call.repairs = repairs.data();
  base::DeviceLimits limits;
  ASSERT_TRUE(base::find_device_limits(limits).ok());
  const bool has_room = limits.shared_bytes >= fp64::kRepairSharedBytes;
  for (const bool has_own_kernel : {false, true}) {
    if (has_own_kernel && (setting.repairs.empty() || !has_room)) continue;
    SCOPED_TRACE(has_own_kernel ? "repairs in a kernel of their own" : "one kernel");
    const DeviceArray<T> c(before);
    call.c = view;
    call.c.data = c.data();
    call.has_answered_repairs = has_own_kernel;
    if (has_own_kernel) {
      const Status status = fp64::answer_repairs(call, setting.num_sms, nullptr);
      ASSERT_TRUE(status.ok()) << status.reason();
    }
    const Status status = fp64::answer_exceptions(call, setting.num_sms, nullptr);
    ASSERT_TRUE(status.ok()) << status.reason();

    const std::vector<T> got = c.download();
    for (std::size_t x = 0; x < c_size; ++x) {
      const bool is_equal = is_answered[x] ? is_same(got[x], want[x]) : std::memcmp(&got[x], &want[x], sizeof(T)) == 0;
      ASSERT_TRUE(is_equal) << "word " << x << (is_answered[x] ? "" : " (not to be written)") << ": " << bits_of(got[x])
                            << ", host " << bits_of(want[x]) << ", before " << bits_of(before[x]);
    }
    EXPECT_TRUE(c.guards_are_intact());
  }
  EXPECT_TRUE(factors.guards_are_intact());
  EXPECT_TRUE(device_state.guards_are_intact());
  EXPECT_TRUE(repairs.guards_are_intact());
  EXPECT_TRUE(a.guards_are_intact());
  EXPECT_TRUE(b.guards_are_intact());
}

template <class T>
Operand<T> random_operand(Rng& rng, Kind kind, std::int64_t num_lines, std::int64_t length, bool has_nonfinite) {
  auto lines = make_lines<T>(rng, kind, num_lines, length);
  if (has_nonfinite) plant_nonfinite(rng, lines);
  return Operand<T>(lines, length, tests::kStorages[rng() % std::size(tests::kStorages)], rng() % 2 == 0);
}

template <class T>
std::vector<device::Pair> random_pairs(Rng& rng, std::int64_t m, std::int64_t n, int percent) {
  std::vector<device::Pair> pairs;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < m; ++i) {
      if (static_cast<int>(rng() % 100) < percent) pairs.push_back({i, j});
    }
  }
  std::shuffle(pairs.begin(), pairs.end(), rng);
  return pairs;
}

/// Factors that take every path of the epilogue.
template <class T>
std::vector<T> factors() {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const double large = static_cast<double>(std::numeric_limits<RealOf<T>>::max());
  return {make<T>(1, 0),      make<T>(-1, 0),        make<T>(0, 0),         make<T>(0.7, 0),
          make<T>(-2.5, 1.5), make<T>(0, 1),         make<T>(large, 0),     make<T>(1 / large, -1 / large),
          make<T>(kInf, 0),   make<T>(0.25, -large), make<T>(1.0 / 3, 0.1), nan_of<T>()};
}

}  // namespace kizami::gpu_test::fp64_case
