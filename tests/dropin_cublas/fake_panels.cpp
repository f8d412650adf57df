// SPDX-License-Identifier: MIT
// The kernels of dropin/cusolver/panels.hpp, in host memory.
#include <utility>
#include <vector>

#include "dropin/cusolver/panels.hpp"
#include "dropin_cublas/fake_kizami.hpp"
#include "examples/panel_on_host.hpp"

namespace kizami::dropin::cusolver {
namespace {

using namespace factorizations;  // NOLINT(google-build-using-namespace): their steps

constexpr int kThreads = 64;  // of the kernel that composes moves

}  // namespace

std::int64_t most_panel_rows() { return dropin_test::runtime().most_panel_rows; }

cudaError_t factor_panel(const PanelCall<kPanelWidth>& call, cudaStream_t) {
  factor_panel_on_host(call);
  return cudaSuccess;
}

cudaError_t number_rows(std::int32_t* row_at, std::int64_t rows, cudaStream_t) {
  for (std::int64_t i = 0; i < rows; ++i) row_at[i] = static_cast<std::int32_t>(i);
  return cudaSuccess;
}

cudaError_t compose_moves(const ComposeCall<kPanelWidth>& call, cudaStream_t) {
  std::vector<ComposeSteps<kPanelWidth>> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(call, i, kThreads);
  compose<kPanelWidth>(
      call,
      [&](const auto& step) {
        for (ComposeSteps<kPanelWidth>& thread : threads) step(thread);
      },
      [] {}, [](std::int32_t& x, std::int32_t y) { return std::exchange(x, y); });
  return cudaSuccess;
}

cudaError_t move_rows(double* c, std::int64_t ld, std::int64_t cols, const MovedRows& moved, cudaStream_t) {
  std::vector<double> comes(static_cast<std::size_t>(moved.count));
  for (std::int64_t j = 0; j < cols; ++j) {
    double* const column = c + moved.first_row + j * ld;
    for (std::int32_t i = 0; i < moved.count; ++i) comes[static_cast<std::size_t>(i)] = column[moved.from[i]];
    for (std::int32_t i = 0; i < moved.count; ++i) {
      if (moved.to[i] >= 0) column[moved.to[i]] = column[i];
    }
    for (std::int32_t i = 0; i < moved.count; ++i) column[i] = comes[static_cast<std::size_t>(i)];
  }
  return cudaSuccess;
}

template <class Int>
cudaError_t write_pivots(const PanelMoves* moves, std::int64_t n, Int* pivots, cudaStream_t) {
  for (std::int64_t first = 0; first < n; first += kPanelWidth) {
    pivots_of(moves[first / kPanelWidth], static_cast<std::int32_t>(n - first), kPanelWidth,
              [&](std::int32_t c, std::int32_t place) { pivots[first + c] = static_cast<Int>(first + place + 1); });
  }
  return cudaSuccess;
}
template cudaError_t write_pivots<int>(const PanelMoves*, std::int64_t, int*, cudaStream_t);
template cudaError_t write_pivots<std::int64_t>(const PanelMoves*, std::int64_t, std::int64_t*, cudaStream_t);

cudaError_t write_first_zero(const double* a, std::int64_t lda, std::int64_t n, int* info, cudaStream_t) {
  *info = 0;
  for (std::int64_t i = n; i > 0; --i) {
    if (a[(i - 1) * (lda + 1)] == 0) *info = static_cast<int>(i);
  }
  return cudaSuccess;
}

cudaError_t write_first_failure(const int* infos, std::int64_t count, std::int64_t block, int* info, cudaStream_t) {
  *info = 0;
  for (std::int64_t b = count - 1; b >= 0; --b) {
    if (infos[b] != 0) *info = infos[b] > 0 ? static_cast<int>(b * block) + infos[b] : infos[b];
  }
  return cudaSuccess;
}

}  // namespace kizami::dropin::cusolver
