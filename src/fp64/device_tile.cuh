// SPDX-License-Identifier: MIT
// The whole product in the FP64 rung, a block per tile of C. A complex product is the real product of rows of 2k terms
// with twice as many columns: column 2j holds the terms of the real part of column j, column 2j + 1 those of the
// imaginary part (problem::RealForm).
//
//   global memory -> registers -> (scaled) panels of A and B in shared memory -> sums in registers
//
// While panel p is multiplied, element by element panel p + 1 goes to the other buffer and panel p + 2 to registers.
// Missing lines and terms are zeros: a zero term changes no sum, because sums of scaled terms are never -0 (they do not
// underflow, and begin with +0).
//
// The levels of the binary counter lie in shared memory, one slot a sum. (Not in local memory: the driver would reserve
// it for every thread that the device can hold, gigabytes.)
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/int_math.hpp"
#include "fp64/device_pair.cuh"

namespace kizami::fp64 {

inline constexpr int kThreads = 128;

/// How the threads of a block share a tile: kRows x kCols sums each. A warp is 4 x 8 threads, kWarpRows warps lie below
/// each other.
template <int kThreadRows, int kThreadCols, int kWarpRows, int kTermsOfPanel>
struct TileShape {
  static constexpr int kRows = kThreadRows;
  static constexpr int kCols = kThreadCols;
  static constexpr int kSums = kRows * kCols;
  static constexpr int kRowThreads = 4 * kWarpRows;
  static constexpr int kColThreads = kThreads / kRowThreads;
  static constexpr int kTileRows = kRows * kRowThreads;
  static constexpr int kTileCols = kCols * kColThreads;
  static constexpr int kPanelTerms = kTermsOfPanel;
  static constexpr int kPanelsPerChain = static_cast<int>(num::kFp64ChainLength) / kPanelTerms;
  // A row of a panel holds one term of all lines; the padding spreads columns over the banks.
  static constexpr int kAStride = kTileRows + 4;
  static constexpr int kBStride = kTileCols + 4;
  static constexpr int kAPanel = kPanelTerms * kAStride;
  static constexpr int kBPanel = kPanelTerms * kBStride;
  static_assert(kRows % 2 == 0 && kCols % 2 == 0 && num::kFp64ChainLength % kPanelTerms == 0);

  /// Shared memory of a block.
  [[nodiscard]] static constexpr int bytes(int num_levels) {
    return (num_levels * kSums * kThreads + 2 * kAPanel + 2 * kBPanel) * 8;
  }
  /// Row and column of sum (r, c) of this thread: pairs of neighbours, so that a warp reads 16 bytes a lane.
  [[nodiscard]] static __device__ int thread_row() {
    const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
    return warp % kWarpRows * 4 + lane_index() % 4;
  }
  [[nodiscard]] static __device__ int thread_col() {
    const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
    return warp / kWarpRows * 8 + lane_index() / 4;
  }
  [[nodiscard]] static __device__ int row(int r) { return r / 2 * 2 * kRowThreads + 2 * thread_row() + r % 2; }
  [[nodiscard]] static __device__ int col(int c) { return c / 2 * 2 * kColThreads + 2 * thread_col() + c % 2; }
};

/// The shared memory of a block.
template <class Shape>
struct TileMemory {
  double* levels;   ///< [level][sum][thread]
  double* a_panel;  ///< [2][term][kAStride]
  double* b_panel;  ///< [2][term][kBStride]

  __device__ TileMemory(double* memory, int num_levels)
      : levels(memory), a_panel(levels + num_levels * Shape::kSums * kThreads), b_panel(a_panel + 2 * Shape::kAPanel) {}
  /// Slot of sum s of this thread.
  [[nodiscard]] __device__ double& level(int l, int s) const {
    return levels[(l * Shape::kSums + s) * kThreads + static_cast<int>(threadIdx.x)];
  }
};

/// Brings the panels of one operand from global to shared memory, kElements elements a thread. Neighbouring threads
/// take neighbours in memory, whichever of the two strides is the smaller one.
template <class T, Side kSide, class Shape>
class PanelLoader {
 public:
  static constexpr int kTerms = static_cast<int>(problem::kTerms<T>);
  /// Lines and elements of a line in a panel; columns of complex type have two lines of terms each.
  static constexpr int kLines = kSide == Side::kA ? Shape::kTileRows : Shape::kTileCols / kTerms;
  static constexpr int kLength = Shape::kPanelTerms / kTerms;
  static constexpr int kElements = (kLines * kLength + kThreads - 1) / kThreads;

  __device__ PanelLoader(const problem::Lines<T>& lines, const num::LineStats* stats, std::int64_t first_line,
                         double* panel)
      : panel_(panel), length_left_(lines.length), is_conjugated_(lines.is_conjugated) {
    const int thread = static_cast<int>(threadIdx.x);
    const bool walks_lines = lines.inner_stride <= lines.line_stride;  // neighbours in memory are of one line
    line_ = walks_lines ? thread / kRun % kLines : thread % kLines;
    h_ = walks_lines ? thread % kRun + thread / kRun / kLines * kRun : thread / kLines;
    line_step_ = walks_lines ? kThreads / kRun : 0;
    h_step_ = walks_lines ? 0 : kRun / kGroups;
    source_ = lines.data + (first_line + line_) * lines.line_stride + h_ * lines.inner_stride;
    group_step_ = line_step_ * lines.line_stride + h_step_ * lines.inner_stride;
    run_step_ = kRun * lines.inner_stride;
    panel_step_ = kLength * lines.inner_stride;
    panel_length_ = static_cast<int>(std::min<std::int64_t>(length_left_, kLength));
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      const std::int64_t i = first_line + line(group);
      is_used_[group] = i < lines.num_lines && !stats[i].is_zero();  // lines with NaN or Inf look like zero lines
      const num::ScaleFactors f = is_used_[group] ? headroom_factors(line_shift(stats[i])) : num::ScaleFactors{};
      first_factor_[group] = __double2hiint(f.first);
      second_factor_[group] = __double2hiint(f.second);
    }
  }

  /// Loads element e of the next panel of this thread.
  __device__ void load(int e) {
    const bool is_there = is_used_[e % kGroups] && h(e) < panel_length_;
    elements_[e] = is_there ? source_[e % kGroups * group_step_ + e / kGroups * run_step_] : T{};
  }
  /// After all elements: goes on to the panel after.
  __device__ void advance() {
    source_ += panel_step_;
    length_left_ -= kLength;
    panel_length_ = static_cast<int>(std::clamp<std::int64_t>(length_left_, 0, kLength));
  }
  /// Stores what load(e) has brought to a buffer.
  __device__ void store(int e, int buffer) const {
    if (!is_of_panel(e)) return;
    constexpr int kStride = kSide == Side::kA ? Shape::kAStride : Shape::kBStride;
    double* const to = panel_ + (buffer * Shape::kPanelTerms + h(e) * kTerms) * kStride;
    if constexpr (kIsComplex<T>) {
      const double re = scaled(elements_[e].real(), e);
      const double im = scaled(is_conjugated_ ? -elements_[e].imag() : elements_[e].imag(), e);
      if constexpr (kSide == Side::kA) {
        to[line(e)] = re;
        to[kStride + line(e)] = im;
      } else {
        *reinterpret_cast<double2*>(to + 2 * line(e)) = make_double2(re, im);
        *reinterpret_cast<double2*>(to + kStride + 2 * line(e)) = make_double2(-im, re);
      }
    } else {
      to[line(e)] = scaled(elements_[e], e);
    }
  }

 private:
  /// Neighbours of a line that neighbouring threads take: a sector of FP64.
  static constexpr int kRun = 4;
  /// Lines of a thread, if neighbours in memory are of one line: element e is of group e % kGroups.
  static constexpr int kGroups = kLines * kRun > kThreads ? kLines* kRun / kThreads : 1;
  static_assert(kThreads % kLines == 0 && kLength % kRun == 0 && kRun % kGroups == 0);
  static_assert(kLines * kRun >= kThreads || kElements == 1);

  [[nodiscard]] __device__ int line(int e) const { return line_ + e % kGroups * line_step_; }
  [[nodiscard]] __device__ int h(int e) const { return h_ + e % kGroups * h_step_ + e / kGroups * kRun; }
  /// False for threads that are too many.
  [[nodiscard]] __device__ bool is_of_panel(int e) const { return kLines * kLength % kThreads == 0 || h(e) < kLength; }
  /// A part of element e times the factors of its line. Powers of two are kept as their upper halves.
  [[nodiscard]] __device__ double scaled(RealOf<T> x, int e) const {
    return static_cast<double>(x) * __hiloint2double(first_factor_[e % kGroups], 0) *
           __hiloint2double(second_factor_[e % kGroups], 0);
  }

  T elements_[kElements];
  double* panel_;
  const T* source_;
  std::int64_t group_step_;
  std::int64_t run_step_;
  std::int64_t panel_step_;
  std::int64_t length_left_;
  int panel_length_;  ///< elements of the next panel that are there
  bool is_used_[kGroups];
  int first_factor_[kGroups];
  int second_factor_[kGroups];
  int line_;
  int h_;
  int line_step_;
  int h_step_;
  bool is_conjugated_;
};

/// One term of the lines of a thread.
template <class Shape>
struct TermsOfThread {
  double a[Shape::kRows];
  double b[Shape::kCols];

  __device__ void read(const double* a_terms, const double* b_terms) {
#pragma unroll
    for (int r = 0; r < Shape::kRows; r += 2) {
      const double2 pair = *reinterpret_cast<const double2*>(a_terms + r * Shape::kRowThreads);
      a[r] = pair.x;
      a[r + 1] = pair.y;
    }
#pragma unroll
    for (int c = 0; c < Shape::kCols; c += 2) {
      const double2 pair = *reinterpret_cast<const double2*>(b_terms + c * Shape::kColThreads);
      b[c] = pair.x;
      b[c + 1] = pair.y;
    }
  }
};

/// The running sums of a thread.
template <num::Fp64Summation kSummation, class Shape>
struct SumsOfThread {
  double high[Shape::kSums] = {};

  __device__ void add(const TermsOfThread<Shape>& terms) {
#pragma unroll
    for (int s = 0; s < Shape::kSums; ++s) high[s] = fma(terms.a[s / Shape::kCols], terms.b[s % Shape::kCols], high[s]);
  }
  /// Pushes chain number `count` into the binary counter. The last one is added to all levels that hold a sum.
  __device__ void end_chain(const TileMemory<Shape>& memory, int count, bool is_last) {
    int level = 0;
    for (; (count >> level) != 0; ++level) {
      const bool is_held = ((count >> level) & 1) != 0;
      if (!is_held && !is_last) break;
      if (!is_held) continue;
#pragma unroll
      for (int s = 0; s < Shape::kSums; ++s) high[s] = memory.level(level, s) + high[s];
    }
    if (is_last) return;
#pragma unroll
    for (int s = 0; s < Shape::kSums; ++s) {
      memory.level(level, s) = high[s];
      high[s] = 0;
    }
  }
  [[nodiscard]] __device__ double value(int s) const { return high[s]; }
};

template <class Shape>
struct SumsOfThread<num::Fp64Summation::kCompensated, Shape> {
  double high[Shape::kSums] = {};
  double low[Shape::kSums] = {};

  __device__ void add(const TermsOfThread<Shape>& terms) {
#pragma unroll
    for (int s = 0; s < Shape::kSums; ++s) {
      const double x = terms.a[s / Shape::kCols];
      const double y = terms.b[s % Shape::kCols];
      const double p = x * y;
      const double p_error = fma(x, y, -p);
      const double t = high[s] + p;
      const double z = t - high[s];
      const double s_error = (high[s] - (t - z)) + (p - z);
      low[s] = low[s] + (s_error + p_error);
      high[s] = t;
    }
  }
  __device__ void end_chain(const TileMemory<Shape>&, int, bool) {}
  [[nodiscard]] __device__ double value(int s) const { return high[s] + low[s]; }
};

/// Answers the pairs of a tile whose terms may underflow, a warp each.
template <class T>
__device__ __noinline__ void answer_wide_pairs(const DeviceCall<T>& call, std::int64_t first_row, int num_rows,
                                               std::int64_t first_col, int num_cols) {
  const int num_pairs = num_rows * num_cols;
  for (int first = static_cast<int>(threadIdx.x) - lane_index(); first < num_pairs; first += kThreads) {
    const int pair = first + lane_index();
    bool is_wide = false;
    if (pair < num_pairs) {
      const num::LineStats& row = call.a_stats[first_row + pair % num_rows];
      const num::LineStats& col = call.b_stats[first_col + pair / num_rows];
      is_wide = row.is_finite && col.is_finite && may_underflow(row, col);
    }
    for (unsigned found = __ballot_sync(kAllLanes, is_wide); found != 0; found &= found - 1) {
      const int wide = first + __ffs(static_cast<int>(found)) - 1;
      answer_pair(call, first_row + wide % num_rows, first_col + wide / num_rows);
    }
  }
}

/// Answers the pairs of finite lines of one tile.
template <class T, num::Fp64Summation kSummation, class Shape>
__device__ void answer_tile(const DeviceCall<T>& call, std::int64_t first_row, std::int64_t first_col,
                            const TileMemory<Shape>& memory) {
  using ALoader = PanelLoader<T, Side::kA, Shape>;
  using BLoader = PanelLoader<T, Side::kB, Shape>;
  constexpr int kTerms = ALoader::kTerms;
  static_assert(ALoader::kElements + BLoader::kElements <= Shape::kPanelTerms);
  const auto num_rows = static_cast<int>(std::min<std::int64_t>(call.c.rows - first_row, ALoader::kLines));
  const auto num_cols = static_cast<int>(std::min<std::int64_t>(call.c.cols - first_col, BLoader::kLines));

  ALoader a(call.a, call.a_stats, first_row, memory.a_panel);
  BLoader b(call.b, call.b_stats, first_col, memory.b_panel);
#pragma unroll
  for (int e = 0; e < ALoader::kElements; ++e) a.load(e);
#pragma unroll
  for (int e = 0; e < BLoader::kElements; ++e) b.load(e);
  a.advance();
  b.advance();
  // Panel 0 to buffer 0, panel 1 to registers.
#pragma unroll
  for (int e = 0; e < ALoader::kElements; ++e) {
    a.store(e, 0);
    a.load(e);
  }
#pragma unroll
  for (int e = 0; e < BLoader::kElements; ++e) {
    b.store(e, 0);
    b.load(e);
  }
  a.advance();
  b.advance();
  __syncthreads();

  SumsOfThread<kSummation, Shape> sums;
  const std::int64_t num_panels = base::ceil_div(call.a.num_terms(), Shape::kPanelTerms);
  for (std::int64_t panel = 0; panel < num_panels; ++panel) {
    const int buffer = static_cast<int>(panel & 1);
    const double* const a_terms = memory.a_panel + buffer * Shape::kAPanel + 2 * Shape::thread_row();
    const double* const b_terms = memory.b_panel + buffer * Shape::kBPanel + 2 * Shape::thread_col();
    TermsOfThread<Shape> terms[2];
    terms[0].read(a_terms, b_terms);
#pragma unroll
    for (int t = 0; t < Shape::kPanelTerms; ++t) {
      if (t + 1 < Shape::kPanelTerms)
        terms[(t + 1) % 2].read(a_terms + (t + 1) * Shape::kAStride, b_terms + (t + 1) * Shape::kBStride);
      if (t < ALoader::kElements) {
        a.store(t, buffer ^ 1);
        a.load(t);
      } else if (t - ALoader::kElements < BLoader::kElements) {
        b.store(t - ALoader::kElements, buffer ^ 1);
        b.load(t - ALoader::kElements);
      }
      sums.add(terms[t % 2]);
    }
    a.advance();
    b.advance();
    const bool is_last = panel + 1 == num_panels;
    if (is_last || (panel + 1) % Shape::kPanelsPerChain == 0)
      sums.end_chain(memory, static_cast<int>(panel / Shape::kPanelsPerChain), is_last);
    __syncthreads();
  }

  // Through this thread's slots, so that the epilogue is a loop over sums and not as many copies of it.
#pragma unroll
  for (int s = 0; s < Shape::kSums; ++s) memory.level(0, s) = sums.value(s);
  bool is_any_wide = false;
#pragma unroll 1
  for (int s = 0; s < Shape::kSums; s += kTerms) {
    const int i = Shape::row(s / Shape::kCols);
    const int j = Shape::col(s % Shape::kCols) / kTerms;
    if (i >= num_rows || j >= num_cols) continue;
    const num::LineStats& row = call.a_stats[first_row + i];
    const num::LineStats& col = call.b_stats[first_col + j];
    if (!row.is_finite || !col.is_finite) continue;
    if (may_underflow(row, col)) {
      is_any_wide = true;
      continue;
    }
    const int exponent = -(line_shift(row) + line_shift(col));
    write_element(call, first_row + i, first_col + j, [&](T alpha, T beta, T old) {
      if constexpr (kIsComplex<T>) {
        const num::Scaled re = num::make_scaled(memory.level(0, s), exponent);
        const num::Scaled im = num::make_scaled(memory.level(0, s + 1), exponent);
        return num::finish(num::ScaledComplex{re, im}, alpha, beta, old);
      } else {
        return num::finish(num::make_scaled(memory.level(0, s), exponent), alpha, beta, old);
      }
    });
  }
  if (__syncthreads_or(is_any_wide)) answer_wide_pairs(call, first_row, num_rows, first_col, num_cols);
}

/// Answers all pairs of finite lines, tiles over the blocks of the grid. Tiles that run at a time share lines: they are
/// walked in bands of kBandTiles tiles of rows.
template <class T, num::Fp64Summation kSummation, class Shape>
__device__ void answer_all_pairs(const DeviceCall<T>& call, const TileMemory<Shape>& memory) {
  constexpr std::int64_t kBandTiles = 8;
  constexpr std::int64_t kRows = PanelLoader<T, Side::kA, Shape>::kLines;
  constexpr std::int64_t kCols = PanelLoader<T, Side::kB, Shape>::kLines;
  const std::int64_t row_tiles = base::ceil_div(call.c.rows, kRows);
  const std::int64_t col_tiles = base::ceil_div(call.c.cols, kCols);
  for (std::int64_t tile = blockIdx.x; tile < row_tiles * col_tiles; tile += gridDim.x) {
    const std::int64_t band = tile / (kBandTiles * col_tiles);
    const std::int64_t in_band = tile - band * kBandTiles * col_tiles;
    const std::int64_t band_rows = std::min(kBandTiles, row_tiles - band * kBandTiles);
    const std::int64_t row_tile = band * kBandTiles + in_band % band_rows;
    const std::int64_t col_tile = in_band / band_rows;
    if (!call.part.meets(row_tile * kRows, kRows, col_tile * kCols, kCols)) continue;
    answer_tile<T, kSummation, Shape>(call, row_tile * kRows, col_tile * kCols, memory);
  }
}

}  // namespace kizami::fp64
