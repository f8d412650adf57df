// SPDX-License-Identifier: MIT
// The largest and the smallest magnitude of a run of numbers, vectorised (Highway, chosen at run time): what is not
// finite counts as zero, and zero as infinitely large for the smallest.
#include "schemes/native/exponent_range.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <mutex>

#include "base/int_math.hpp"
#include "base/parallel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "schemes/native/exponent_range.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "base/instantiate.hpp"

#ifndef KIZAMI_SPLIT_EXPONENT_RANGE_ONCE
#define KIZAMI_SPLIT_EXPONENT_RANGE_ONCE
namespace kizami::native {

/// Numbers that are fetched ahead: the look takes no longer than memory does.
inline constexpr std::int64_t kAhead = 512;

/// Magnitudes of a run: 0 and Inf if it has no finite non-zero number.
template <class R>
struct Magnitudes {
  R most = 0;
  R least = std::numeric_limits<R>::infinity();

  void add(R x) {
    const R magnitude = std::fabs(x);
    if (magnitude <= std::numeric_limits<R>::max()) most = std::max(most, magnitude);
    if (magnitude > R{0}) least = std::min(least, magnitude);  // not NaN; Inf changes nothing
  }
};

}  // namespace kizami::native
#endif

HWY_BEFORE_NAMESPACE();
namespace kizami::native::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class R>
Magnitudes<R> OfRun(const R* x, std::int64_t count) {
  Magnitudes<R> out;
  std::int64_t i = 0;
#if HWY_HAVE_FLOAT64
  const hn::ScalableTag<R> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto inf = hn::Set(d, std::numeric_limits<R>::infinity());
  const auto zero = hn::Zero(d);
  auto most0 = zero, most1 = zero, most2 = zero, most3 = zero;
  auto least0 = inf, least1 = inf, least2 = inf, least3 = inf;
  const auto add = [&](const R* at, auto& most, auto& least) HWY_ATTR {
    const auto y = hn::Abs(hn::LoadU(d, at));
    most = hn::Max(most, hn::IfThenElseZero(hn::Lt(y, inf), y));
    least = hn::Min(least, hn::IfThenElse(hn::Gt(y, zero), y, inf));
  };
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    __builtin_prefetch(x + i + kAhead);
    __builtin_prefetch(x + i + kAhead + 2 * lanes);
    add(x + i, most0, least0);
    add(x + i + lanes, most1, least1);
    add(x + i + 2 * lanes, most2, least2);
    add(x + i + 3 * lanes, most3, least3);
  }
  out.most = hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(most0, most1), hn::Max(most2, most3))));
  out.least = hn::GetLane(hn::MinOfLanes(d, hn::Min(hn::Min(least0, least1), hn::Min(least2, least3))));
#endif
  for (; i < count; ++i) out.add(x[i]);
  return out;
}

Magnitudes<double> OfRun64(const double* x, std::int64_t count) { return OfRun(x, count); }
Magnitudes<float> OfRun32(const float* x, std::int64_t count) { return OfRun(x, count); }

}  // namespace kizami::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kizami::native {
namespace {

HWY_EXPORT(OfRun64);
HWY_EXPORT(OfRun32);

Magnitudes<double> of_run(const double* x, std::int64_t count) { return HWY_DYNAMIC_DISPATCH(OfRun64)(x, count); }
Magnitudes<float> of_run(const float* x, std::int64_t count) { return HWY_DYNAMIC_DISPATCH(OfRun32)(x, count); }

/// Elements that are worth a task of their own.
constexpr std::int64_t kTaskElements = std::int64_t{1} << 15;

/// Lines [first, last) of a view whose elements of a line are row_stride apart.
template <class T>
[[nodiscard]] num::ExponentRange of_lines(const MatrixView<const T>& x, std::int64_t first, std::int64_t last) {
  using R = RealOf<T>;
  constexpr std::int64_t kParts = kIsComplex<T> ? 2 : 1;
  Magnitudes<R> all;
  for (std::int64_t j = first; j < last; ++j) {
    const auto* const line = reinterpret_cast<const R*>(x.data + j * x.col_stride);
    if (x.row_stride == 1) {
      const Magnitudes<R> run = of_run(line, kParts * x.rows);
      all.most = std::max(all.most, run.most);
      all.least = std::min(all.least, run.least);
      continue;
    }
    for (std::int64_t i = 0; i < x.rows; ++i) {
      for (std::int64_t part = 0; part < kParts; ++part) all.add(line[kParts * i * x.row_stride + part]);
    }
  }
  if (all.most == R{0}) return {};
  return {num::floor_log2(all.least), num::floor_log2(all.most)};
}

}  // namespace

template <class T>
num::ExponentRange exponent_range(const MatrixView<const T>& x, int threads) {
  if (x.rows == 0 || x.cols == 0) return {};
  const bool is_along_rows = x.rows == 1 || (x.cols > 1 && x.col_stride < x.row_stride);
  const MatrixView<const T> lines = is_along_rows ? x.transposed() : x;
  const std::int64_t lines_of_task = std::max<std::int64_t>(1, kTaskElements / lines.rows);
  const std::int64_t num_tasks = base::ceil_div(lines.cols, lines_of_task);
  if (num_tasks == 1) return of_lines(lines, 0, lines.cols);
  std::mutex mutex;
  num::ExponentRange all;
  base::parallel_for(num_tasks, threads, [&](std::int64_t task, int) {
    const std::int64_t first = task * lines_of_task;
    const num::ExponentRange part = of_lines(lines, first, std::min(lines.cols, first + lines_of_task));
    const std::lock_guard lock(mutex);
    all.add(part);
  });
  return all;
}

#define KIZAMI_INSTANTIATE(T) template num::ExponentRange exponent_range<T>(const MatrixView<const T>&, int)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::native
#endif
