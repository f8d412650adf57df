// SPDX-License-Identifier: MIT
#include "dropin/cusolver/panels.hpp"

#include <algorithm>

#include "dropin/factorizations/panel_kernels.cuh"

namespace kizami::dropin::cusolver {
namespace {

using namespace factorizations;  // NOLINT(google-build-using-namespace): their kernels

constexpr int kThreads = 256;

unsigned blocks_for(std::int64_t count, int threads = kThreads) {
  return static_cast<unsigned>((count + threads - 1) / threads);
}

template <class... Parameters>
cudaError_t launch(void (*kernel)(Parameters...), unsigned blocks, int threads, cudaStream_t stream,
                   std::type_identity_t<Parameters>... parameters) {
  void* addresses[] = {static_cast<void*>(&parameters)...};
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(blocks), dim3(static_cast<unsigned>(threads)),
                          addresses, 0, stream);
}

template <class Int>
__global__ void __launch_bounds__(kThreads) write_pivots_smxx(const PanelMoves* moves, std::int64_t n, Int* pivots) {
  const std::int64_t panel = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  const std::int64_t first = panel * kPanelWidth;
  if (first >= n) return;
  const auto rows = static_cast<std::int32_t>(n - first);
  pivots_of(moves[panel], rows, kPanelWidth,
            [&](std::int32_t c, std::int32_t place) { pivots[first + c] = static_cast<Int>(first + place + 1); });
}

/// One block of threads.
__global__ void __launch_bounds__(kThreads)
    write_first_zero_smxx(const double* a, std::int64_t lda, std::int64_t n, int* info) {
  __shared__ int first;
  if (threadIdx.x == 0) first = 0x7fffffff;
  __syncthreads();
  for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) {
    if (a[i * (lda + 1)] == 0) {
      atomicMin(&first, static_cast<int>(i + 1));
      break;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) *info = first == 0x7fffffff ? 0 : first;
}

__global__ void write_first_failure_smxx(const int* infos, std::int64_t count, std::int64_t block, int* info) {
  int found = 0;
  for (std::int64_t b = 0; b < count && found == 0; ++b) {
    if (infos[b] != 0) found = infos[b] > 0 ? static_cast<int>(b * block) + infos[b] : infos[b];
  }
  *info = found;
}

}  // namespace

std::int64_t most_panel_rows() {
  int device = 0;
  int multiprocessors = 0;
  int blocks = 0;
  int is_cooperative = 0;
  const bool is_known =
      cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device) == cudaSuccess &&
      cudaDeviceGetAttribute(&is_cooperative, cudaDevAttrCooperativeLaunch, device) == cudaSuccess &&
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &factor_panel_kernel<kPanelWidth>, kPanelThreads, 0) ==
          cudaSuccess;
  if (!is_known) static_cast<void>(cudaGetLastError());
  if (!is_known || is_cooperative == 0) return 0;
  return std::int64_t{std::min(multiprocessors * blocks, kMostPanelBlocks)} * kPanelThreads;
}

cudaError_t factor_panel(const PanelCall<kPanelWidth>& call, cudaStream_t stream) {
  PanelCall<kPanelWidth> parameter = call;
  void* parameters[] = {&parameter};
  return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(&factor_panel_kernel<kPanelWidth>),
                                     dim3(static_cast<unsigned>(call.num_blocks)), dim3(kPanelThreads), parameters, 0,
                                     stream);
}

cudaError_t number_rows(std::int32_t* row_at, std::int64_t rows, cudaStream_t stream) {
  return launch(&set_row_numbers, blocks_for(rows), kThreads, stream, row_at, rows);
}

cudaError_t compose_moves(const ComposeCall<kPanelWidth>& call, cudaStream_t stream) {
  return launch(&factorizations::compose_moves<kPanelWidth>, 1, kThreads, stream, call);
}

cudaError_t move_rows(double* c, std::int64_t ld, std::int64_t cols, const MovedRows& moved, cudaStream_t stream) {
  const int columns = kMoveThreads * kMovedByThread / moved.count;
  return launch(&factorizations::move_rows, blocks_for(cols, columns), kMoveThreads, stream, c, ld, cols, moved);
}

template <class Int>
cudaError_t write_pivots(const PanelMoves* moves, std::int64_t n, Int* pivots, cudaStream_t stream) {
  const std::int64_t panels = (n + kPanelWidth - 1) / kPanelWidth;
  return launch(&write_pivots_smxx<Int>, blocks_for(panels), kThreads, stream, moves, n, pivots);
}
template cudaError_t write_pivots<int>(const PanelMoves*, std::int64_t, int*, cudaStream_t);
template cudaError_t write_pivots<std::int64_t>(const PanelMoves*, std::int64_t, std::int64_t*, cudaStream_t);

cudaError_t write_first_zero(const double* a, std::int64_t lda, std::int64_t n, int* info, cudaStream_t stream) {
  return launch(&write_first_zero_smxx, 1, kThreads, stream, a, lda, n, info);
}

cudaError_t write_first_failure(const int* infos, std::int64_t count, std::int64_t block, int* info,
                                cudaStream_t stream) {
  return launch(&write_first_failure_smxx, 1, 1, stream, infos, count, block, info);
}

}  // namespace kizami::dropin::cusolver
