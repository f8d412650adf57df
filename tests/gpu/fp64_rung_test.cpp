// SPDX-License-Identifier: MIT
// The FP64 rung of the device against that of the host: bit by bit, in all of C's memory.
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
#include "check/matrix_classes.hpp"
#include "fp64/device.hpp"
#include "fp64/fp64.hpp"
#include "fp64/repair_place.hpp"
#include "gpu/device_memory.hpp"
#include "num/scaled.hpp"
#include "tests/certify/stored_lines.hpp"
#include "tests/num/exact_numbers.hpp"

namespace kizami::gpu_test {
namespace {

using num::Fp64Summation;
using tests::random_int;
using tests::Rng;

using Fp64Rung = DeviceTest;

constexpr Fp64Summation kSummations[] = {Fp64Summation::kPairwise, Fp64Summation::kCompensated};
/// One multiprocessor: large tiles wherever k lets them. Many: small ones.
constexpr int kSmCounts[] = {1, 132};

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
constexpr CLayout kCLayouts[] = {CLayout::kColMajor, CLayout::kColPadded, CLayout::kRowMajor, CLayout::kRowPadded,
                                 CLayout::kBothStrided};
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

// ---- everything in FP64 ---------------------------------------------------------------------------------------------

template <class T>
void expect_shapes(std::uint64_t seed) {
  Rng rng(seed);
  const std::int64_t lengths[] = {1, 2, 7, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300, 384, 385, 1000};
  for (int i = 0; i < 60; ++i) {
    const std::int64_t m = random_int(rng, 1, 130);
    const std::int64_t n = random_int(rng, 1, 130);
    const std::int64_t k = i < static_cast<int>(std::size(lengths)) ? lengths[i] : random_int(rng, 1, 300);
    const auto a = random_operand<T>(rng, Kind::kOrdinary, m, k, i % 3 == 1);
    const auto b = random_operand<T>(rng, Kind::kOrdinary, n, k, i % 4 == 1);
    for (const Fp64Summation summation : kSummations) {
      for (const int num_sms : kSmCounts) {
        Setting<T> setting;
        setting.summation = summation;
        setting.num_sms = num_sms;
        setting.layout = kCLayouts[rng() % std::size(kCLayouts)];
        setting.beta = rng() % 2 == 0 ? T{0} : make<T>(0.5, 0.25);
        expect_host_bits(rng, a, b, setting);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}
TEST_F(Fp64Rung, Shapes32) { expect_shapes<float>(1); }
TEST_F(Fp64Rung, Shapes64) { expect_shapes<double>(2); }
TEST_F(Fp64Rung, ShapesComplex32) { expect_shapes<std::complex<float>>(3); }
TEST_F(Fp64Rung, ShapesComplex64) { expect_shapes<std::complex<double>>(4); }

/// Every storage of both operands, conjugated and not.
template <class T>
void expect_views(std::uint64_t seed) {
  Rng rng(seed);
  for (const tests::Storage storage_a : tests::kStorages) {
    for (const tests::Storage storage_b : tests::kStorages) {
      for (int conjugation = 0; conjugation < (kIsComplex<T> ? 4 : 1); ++conjugation) {
        const Operand<T> a(make_lines<T>(rng, Kind::kOrdinary, 70, 45), 45, storage_a, (conjugation & 1) != 0);
        const Operand<T> b(make_lines<T>(rng, Kind::kOrdinary, 67, 45), 45, storage_b, (conjugation & 2) != 0);
        Setting<T> setting;
        setting.num_sms = kSmCounts[rng() % 2];
        setting.summation = kSummations[rng() % 2];
        expect_host_bits(rng, a, b, setting);
        setting.rung = 2;
        setting.repairs = random_pairs<T>(rng, 70, 67, 3);
        expect_host_bits(rng, a, b, setting);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}
TEST_F(Fp64Rung, Views32) { expect_views<float>(5); }
TEST_F(Fp64Rung, Views64) { expect_views<double>(6); }
TEST_F(Fp64Rung, ViewsComplex32) { expect_views<std::complex<float>>(7); }
TEST_F(Fp64Rung, ViewsComplex64) { expect_views<std::complex<double>>(8); }

/// Many levels of the binary counter: below and above what the large tile holds.
template <class T>
void expect_long_sums(std::uint64_t seed) {
  Rng rng(seed);
  for (const std::int64_t k : {2047, 2048, 2049, 4096, 4097, 5000, 8191, 8192, 8193, 16384, 16385, 20000, 70001}) {
    const auto a = random_operand<T>(rng, Kind::kOrdinary, 5, k, false);
    const auto b = random_operand<T>(rng, Kind::kOrdinary, 4, k, false);
    for (const Fp64Summation summation : kSummations) {
      for (const int num_sms : kSmCounts) {
        Setting<T> setting;
        setting.summation = summation;
        setting.num_sms = num_sms;
        expect_host_bits(rng, a, b, setting);
        setting.rung = 0;
        setting.repairs = random_pairs<T>(rng, 5, 4, 60);
        expect_host_bits(rng, a, b, setting);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}
TEST_F(Fp64Rung, LongSums32) { expect_long_sums<float>(9); }
TEST_F(Fp64Rung, LongSums64) { expect_long_sums<double>(10); }
TEST_F(Fp64Rung, LongSumsComplex32) { expect_long_sums<std::complex<float>>(11); }
TEST_F(Fp64Rung, LongSumsComplex64) { expect_long_sums<std::complex<double>>(12); }

/// Lines of all kinds: those that may underflow, subnormal ones and zeros among ordinary ones; some are not finite.
template <class T>
Operand<T> mixed_operand(Rng& rng, std::int64_t num_lines, std::int64_t length, tests::Storage storage) {
  auto lines = make_lines<T>(rng, Kind::kOrdinary, num_lines, length);
  for (auto& line : lines) {
    const auto of_all = rng() % 30;
    if (of_all < 3) line = make_lines<T>(rng, static_cast<Kind>(of_all), 1, length).front();
    if (of_all == 4) line.back() = nan_of<T>();
  }
  return Operand<T>(lines, length, storage, rng() % 2 == 0);
}

/// Lists that reach every way of dealing pairs to blocks, and of a block's pairs to warps.
template <class T>
void expect_dealt_repairs(std::uint64_t seed) {
  Rng rng(seed);
  for (const tests::Storage storage : {tests::Storage::kLineContiguous, tests::Storage::kInnerContiguous,
                                       tests::Storage::kInnerPadded, tests::Storage::kBothStrided}) {
    const std::int64_t m = 40;
    const std::int64_t n = 2000;
    const std::int64_t k = rng() % 2 == 0 ? 600 : 4500;  // the counter has one level in a warp, or more
    const auto a = mixed_operand<T>(rng, m, k, storage);
    const auto b = mixed_operand<T>(rng, n, k, tests::kStorages[rng() % std::size(tests::kStorages)]);
    const auto expect = [&](int num_sms, std::vector<device::Pair> repairs) {
      for (const Fp64Summation summation : kSummations) {
        Setting<T> setting;
        setting.rung = 0;
        setting.num_sms = num_sms;
        setting.summation = summation;
        setting.beta = rng() % 2 == 0 ? T{0} : make<T>(0.5, 0.25);
        setting.repairs = repairs;
        std::shuffle(setting.repairs.begin(), setting.repairs.end(), rng);
        expect_host_bits(rng, a, b, setting);
        for (device::Pair& pair : setting.repairs) std::swap(pair.row, pair.col);
        expect_host_bits(rng, b, a, setting);
      }
    };
    std::vector<device::Pair> row, col, band, one_block;
    for (std::int64_t j = 0; j < n; ++j) row.push_back({17, j});
    for (std::int64_t i = 0; i < m; ++i) col.push_back({i, 1999});
    for (std::int64_t i = 16; i < 32; ++i) {
      for (std::int64_t j = 0; j < n; j += 89) band.push_back({i, j});
    }
    for (std::int64_t j = 0; one_block.size() < 320;
         ++j) {  // the second third of the places of one band, to three blocks
      ASSERT_LT(j, n);
      for (std::int64_t i = 16; i < 32 && one_block.size() < 320; ++i) {
        if (fp64::place_of_hash(fp64::pair_hash(i, j), 3) == 1) one_block.push_back({i, j});
      }
    }
    expect(132, {{39, 0}});
    expect(132, {{39, 0}, {0, 1999}, {20, 1000}});
    expect(1, {{39, 0}, {0, 1999}, {20, 1000}});
    expect(3, row);  // several walks
    expect(132, row);
    expect(2, col);
    expect(132, col);
    expect(2, band);       // more than are summed at once
    expect(3, one_block);  // more than a block holds
    expect(7, random_pairs<T>(rng, m, n, 1));
    if (testing::Test::HasFatalFailure()) return;
  }
}
TEST_F(Fp64Rung, DealtRepairs32) { expect_dealt_repairs<float>(30); }
TEST_F(Fp64Rung, DealtRepairs64) { expect_dealt_repairs<double>(31); }
TEST_F(Fp64Rung, DealtRepairsComplex32) { expect_dealt_repairs<std::complex<float>>(32); }
TEST_F(Fp64Rung, DealtRepairsComplex64) { expect_dealt_repairs<std::complex<double>>(33); }

/// Lines that are aligned, so that 16 bytes are copied at once: bands of lines across memory that lanes share, of which
/// the last one is not whole, and more bands than they share; lines along memory.
template <class T>
void expect_aligned_lines(std::uint64_t seed) {
  Rng rng(seed);
  for (const tests::Storage storage_a : {tests::Storage::kInnerContiguous, tests::Storage::kLineContiguous}) {
    for (const tests::Storage storage_b : {tests::Storage::kLineContiguous, tests::Storage::kInnerContiguous}) {
      for (const std::int64_t k : {40, 132, 1000, 2304}) {
        const std::int64_t m = 92;  // a multiple of what 16 bytes hold, not of a band
        const std::int64_t n = 300;
        const Operand<T> a(make_lines<T>(rng, Kind::kOrdinary, m, k), k, storage_a, rng() % 2 == 0, 0);
        const Operand<T> b(make_lines<T>(rng, Kind::kOrdinary, n, k), k, storage_b, rng() % 2 == 0, 0);
        std::vector<device::Pair> last_band;
        for (std::int64_t i = 80; i < m; ++i) {
          for (std::int64_t j = static_cast<std::int64_t>(rng() % 11); j < n; j += 37) last_band.push_back({i, j});
        }
        for (const Fp64Summation summation : kSummations) {
          Setting<T> setting;
          setting.rung = 0;
          setting.summation = summation;
          setting.num_sms = kSmCounts[rng() % 2];
          setting.repairs = last_band;
          expect_host_bits(rng, a, b, setting);
          setting.repairs = random_pairs<T>(rng, m, n, 1);
          setting.num_sms = 5;
          expect_host_bits(rng, a, b, setting);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}
TEST_F(Fp64Rung, AlignedLines32) { expect_aligned_lines<float>(35); }
TEST_F(Fp64Rung, AlignedLines64) { expect_aligned_lines<double>(36); }
TEST_F(Fp64Rung, AlignedLinesComplex32) { expect_aligned_lines<std::complex<float>>(37); }
TEST_F(Fp64Rung, AlignedLinesComplex64) { expect_aligned_lines<std::complex<double>>(38); }

/// More lines than there are bands of 16: a few pairs, so many that a walk through the list does not pay, and some
/// between.
TEST_F(Fp64Rung, RepairsOfManyLines) {
  Rng rng(34);
  const auto tall = random_operand<double>(rng, Kind::kOrdinary, 66000, 9, false);
  const auto thin = random_operand<double>(rng, Kind::kOrdinary, 3, 9, false);
  Setting<double> setting;
  setting.rung = 0;
  for (const int num_sms : {3, 132}) {
    setting.num_sms = num_sms;
    setting.repairs = {{0, 0}, {65999, 2}, {40000, 1}, {40001, 1}};
    expect_host_bits(rng, tall, thin, setting);
    setting.repairs = random_pairs<double>(rng, 66000, 3, 2);
    expect_host_bits(rng, tall, thin, setting);
  }
}

/// Sums that cancel: what is left shows the order in which rounding errors are added.
template <class T>
void expect_cancelling_sums(std::uint64_t seed) {
  Rng rng(seed);
  for (const std::int64_t k : {2, 34, 130, 256, 600, 2000}) {
    auto a_lines = make_lines<T>(rng, Kind::kOrdinary, 70, k);
    auto b_lines = make_lines<T>(rng, Kind::kOrdinary, 37, k);
    const auto half = static_cast<std::size_t>(k / 2);
    for (auto& line : a_lines) {
      for (std::size_t h = 0; h < half; ++h) line[half + h] = -line[h];
    }
    for (auto& line : b_lines) std::copy_n(line.begin(), half, line.begin() + k / 2);
    const Operand<T> a(a_lines, k, tests::kStorages[rng() % 5], rng() % 2 == 0);
    const Operand<T> b(b_lines, k, tests::kStorages[rng() % 5], rng() % 2 == 0);
    for (const Fp64Summation summation : kSummations) {
      Setting<T> setting;
      setting.summation = summation;
      setting.num_sms = kSmCounts[rng() % 2];
      expect_host_bits(rng, a, b, setting);
      setting.rung = 0;
      setting.repairs = random_pairs<T>(rng, 70, 37, 20);
      expect_host_bits(rng, a, b, setting);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}
TEST_F(Fp64Rung, CancellingSums32) { expect_cancelling_sums<float>(27); }
TEST_F(Fp64Rung, CancellingSums64) { expect_cancelling_sums<double>(28); }
TEST_F(Fp64Rung, CancellingSumsComplex64) { expect_cancelling_sums<std::complex<double>>(29); }

/// More tiles than blocks, several bands of tiles.
TEST_F(Fp64Rung, ManyTiles) {
  Rng rng(13);
  const auto a = random_operand<double>(rng, Kind::kOrdinary, 1100, 150, false);
  const auto b = random_operand<double>(rng, Kind::kOrdinary, 330, 150, true);
  for (const int num_sms : {1, 7, 132, 1000}) {
    for (const Fp64Summation summation : kSummations) {
      Setting<double> setting;
      setting.summation = summation;
      setting.num_sms = num_sms;
      expect_host_bits(rng, a, b, setting);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(Fp64Rung, EmptyProducts) {
  Rng rng(14);
  const std::int64_t shapes[][3] = {{3, 4, 0}, {0, 4, 5}, {3, 0, 5}};
  for (const auto& [m, n, k] : shapes) {
    const auto a = random_operand<double>(rng, Kind::kOrdinary, m, k, false);
    const auto b = random_operand<double>(rng, Kind::kOrdinary, n, k, false);
    for (const double beta : {0.0, 0.5}) {
      Setting<double> setting;
      setting.beta = beta;
      expect_host_bits(rng, a, b, setting);
      if (HasFatalFailure()) return;
    }
  }
}

// ---- ranges, epilogues, repairs, NaN and Inf ------------------------------------------------------------------------

/// Lines of the whole range, whose terms may underflow, subnormal ones, zeros; every pair of factors; with and without
/// lines that are not finite; the whole product and lists of pairs.
template <class T>
void expect_ranges_and_factors(std::uint64_t seed) {
  Rng rng(seed);
  for (const T alpha : factors<T>()) {
    for (const T beta : factors<T>()) {
      const std::int64_t m = random_int(rng, 1, 40);
      const std::int64_t n = random_int(rng, 1, 40);
      const std::int64_t k = random_int(rng, 1, rng() % 4 == 0 ? 5000 : 200);
      const Kind kind_a = static_cast<Kind>(rng() % 3);
      const Kind kind_b = static_cast<Kind>(rng() % 3);
      const auto a = random_operand<T>(rng, kind_a, m, k, rng() % 2 == 0);
      const auto b = random_operand<T>(rng, kind_b, n, k, rng() % 2 == 0);
      Setting<T> setting;
      setting.alpha = alpha;
      setting.beta = beta;
      for (const int rung : {-1, 1}) {
        setting.rung = rung;
        setting.factors_on_device = rng() % 2 == 0;
        setting.summation = kSummations[rng() % 2];
        setting.num_sms = kSmCounts[rng() % 2];
        setting.layout = kCLayouts[rng() % std::size(kCLayouts)];
        setting.repairs = rung < 0 ? std::vector<device::Pair>{} : random_pairs<T>(rng, m, n, random_int(rng, 0, 30));
        expect_host_bits(rng, a, b, setting);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}
TEST_F(Fp64Rung, RangesAndFactors32) { expect_ranges_and_factors<float>(15); }
TEST_F(Fp64Rung, RangesAndFactors64) { expect_ranges_and_factors<double>(16); }
TEST_F(Fp64Rung, RangesAndFactorsComplex32) { expect_ranges_and_factors<std::complex<float>>(17); }
TEST_F(Fp64Rung, RangesAndFactorsComplex64) { expect_ranges_and_factors<std::complex<double>>(18); }

/// Pairs that may underflow in all tiles: both sums and both summations over several chains.
template <class T>
void expect_wide_products(std::uint64_t seed) {
  Rng rng(seed);
  for (const std::int64_t k : {1, 31, 33, 128, 129, 400, 5000}) {
    const auto a = random_operand<T>(rng, Kind::kWholeRange, 70, k, false);
    const auto b = random_operand<T>(rng, Kind::kWholeRange, 9, k, false);
    for (const Fp64Summation summation : kSummations) {
      Setting<T> setting;
      setting.summation = summation;
      setting.num_sms = kSmCounts[rng() % 2];
      expect_host_bits(rng, a, b, setting);
      setting.rung = 3;
      setting.repairs = random_pairs<T>(rng, 70, 9, 50);
      expect_host_bits(rng, a, b, setting);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}
TEST_F(Fp64Rung, WideProducts64) { expect_wide_products<double>(19); }
TEST_F(Fp64Rung, WideProductsComplex64) { expect_wide_products<std::complex<double>>(20); }

/// Whole rows and columns, all of them, and elements of either side only.
template <class T>
void expect_nonfinite(std::uint64_t seed) {
  Rng rng(seed);
  for (int i = 0; i < 24; ++i) {
    const std::int64_t m = random_int(rng, 1, 100);
    const std::int64_t n = random_int(rng, 1, 100);
    const std::int64_t k = random_int(rng, 1, 150);
    auto a_lines = make_lines<T>(rng, Kind::kOrdinary, m, k);
    auto b_lines = make_lines<T>(rng, Kind::kOrdinary, n, k);
    if (i % 4 != 0) plant_nonfinite(rng, a_lines);
    if (i % 4 != 1) plant_nonfinite(rng, b_lines);
    if (i % 8 == 7) {  // every row and every column
      for (auto& line : a_lines) line[rng() % line.size()] = nan_of<T>();
      for (auto& line : b_lines) line[rng() % line.size()] = make<T>(std::numeric_limits<double>::infinity(), 0.0);
    }
    const Operand<T> a(a_lines, k, tests::kStorages[rng() % 5], rng() % 2 == 0);
    const Operand<T> b(b_lines, k, tests::kStorages[rng() % 5], rng() % 2 == 0);
    for (const int rung : {-1, 0}) {
      Setting<T> setting;
      setting.rung = rung;
      setting.num_sms = kSmCounts[i % 2];
      setting.beta = i % 3 == 0 ? T{0} : make<T>(-1.25, 0.5);
      setting.alpha = i % 3 == 1 ? T{1} : make<T>(0.5, -3);
      if (rung >= 0 && i % 2 == 0) setting.repairs = random_pairs<T>(rng, m, n, 10);
      expect_host_bits(rng, a, b, setting);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}
TEST_F(Fp64Rung, Nonfinite32) { expect_nonfinite<float>(21); }
TEST_F(Fp64Rung, Nonfinite64) { expect_nonfinite<double>(22); }
TEST_F(Fp64Rung, NonfiniteComplex32) { expect_nonfinite<std::complex<float>>(23); }
TEST_F(Fp64Rung, NonfiniteComplex64) { expect_nonfinite<std::complex<double>>(24); }

/// Every class of the check kit.
template <class T>
void expect_matrix_classes() {
  Rng rng(25);
  for (const check::ClassInfo& info : check::class_inventory()) {
    const std::int64_t m = 66;
    const std::int64_t n = 37;
    const std::int64_t k = 300;
    const check::MatrixSpec spec = check::default_spec(info.id);
    std::vector<T> a_values(static_cast<std::size_t>(m * k)), b_values(static_cast<std::size_t>(k * n));
    const MatrixView<T> a_view{a_values.data(), m, k, 1, m};  // column-major
    const MatrixView<T> b_view{b_values.data(), k, n, n, 1};  // row-major
    check::fill(spec, 5, check::Which::kA, a_view);
    check::fill(spec, 5, check::Which::kB, b_view);
    const Operand<T> a(a_values, Side::kA, a_view);
    const Operand<T> b(b_values, Side::kB, b_view);
    for (const Fp64Summation summation : kSummations) {
      Setting<T> setting;
      setting.summation = summation;
      setting.num_sms = kSmCounts[rng() % 2];
      expect_host_bits(rng, a, b, setting);
      setting.rung = 4;
      setting.repairs = random_pairs<T>(rng, m, n, 2);
      expect_host_bits(rng, a, b, setting);
      if (testing::Test::HasFatalFailure()) {
        ADD_FAILURE() << "class " << info.name;
        return;
      }
    }
  }
}
TEST_F(Fp64Rung, MatrixClasses32) { expect_matrix_classes<float>(); }
TEST_F(Fp64Rung, MatrixClasses64) { expect_matrix_classes<double>(); }
TEST_F(Fp64Rung, MatrixClassesComplex32) { expect_matrix_classes<std::complex<float>>(); }
TEST_F(Fp64Rung, MatrixClassesComplex64) { expect_matrix_classes<std::complex<double>>(); }

/// Nothing to answer: C keeps its bits, whatever the operands and the factors are.
TEST_F(Fp64Rung, NothingToDo) {
  Rng rng(26);
  const auto a = random_operand<double>(rng, Kind::kOrdinary, 50, 70, false);
  const auto b = random_operand<double>(rng, Kind::kOrdinary, 60, 70, false);
  const auto nonfinite = random_operand<double>(rng, Kind::kOrdinary, 50, 70, true);
  for (const Fp64Summation summation : kSummations) {
    for (const double beta : {0.0, 2.0}) {
      Setting<double> setting;
      setting.summation = summation;
      setting.beta = beta;
      setting.rung = 0;
      expect_host_bits(rng, a, b, setting);
      setting.is_scaling_only = true;
      for (const int rung : {-1, 0}) {
        setting.rung = rung;
        setting.repairs = {{1, 1}};
        expect_host_bits(rng, nonfinite, b, setting);
      }
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace kizami::gpu_test
