// SPDX-License-Identifier: MIT
// The kernels of dropin/cusolver/panels.hpp, in host memory: all blocks of a panel at once, each in a thread of its own,
// for they wait for each other; all else thread by thread.
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "dropin/cusolver/panels.hpp"
#include "dropin_cublas/fake_kizami.hpp"

namespace kizami::dropin::cusolver {
namespace {

using namespace factorizations;  // NOLINT(google-build-using-namespace): their steps

constexpr int kThreads = 64;  // of the kernel that composes moves

class Block {
 public:
  Block(const PanelCall<kPanelWidth>& call, int block) {
    for (int i = 0; i < kPanelThreads; ++i) threads_.emplace_back(call, shared_, i, block);
  }
  template <class Step>
  void each(const Step& step) {
    for (PanelSteps<kPanelWidth>& thread : threads_) step(thread);
  }
  template <class Make, class Take>
  void compare(const Make& make, const Take& take) {
    for (std::size_t first = 0; first < threads_.size(); first += 32) {
      Offer best = make(threads_[first]);
      for (std::size_t i = first + 1; i < first + 32; ++i) {
        const Offer offer = make(threads_[i]);
        if (is_before(offer, best)) best = offer;
      }
      for (std::size_t i = first; i < first + 32; ++i) take(threads_[i], best);
    }
  }
  void sync() {}
  void sync_warp() {}
  template <class IsThere>
  void wait(const IsThere& is_there) {
    while (!is_there()) std::this_thread::yield();
  }

 private:
  PanelShared<kPanelWidth> shared_{};
  std::vector<PanelSteps<kPanelWidth>> threads_;
};

}  // namespace

std::int64_t most_panel_rows() { return dropin_test::runtime().most_panel_rows; }

cudaError_t factor_panel(const PanelCall<kPanelWidth>& call, cudaStream_t) {
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<std::thread> threads;
  for (int b = 0; b < call.num_blocks; ++b) blocks.push_back(std::make_unique<Block>(call, b));
  for (const std::unique_ptr<Block>& block : blocks)
    threads.emplace_back([&call, &block] { factorizations::factor_panel<kPanelWidth>(call, *block); });
  for (std::thread& thread : threads) thread.join();
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
