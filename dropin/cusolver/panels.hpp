// SPDX-License-Identifier: MIT
// The kernels of LU beside its products: panels, the order of rows, pivots as LAPACK has them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "dropin/factorizations/moves.hpp"
#include "dropin/factorizations/panel_steps.hpp"

namespace kizami::dropin::cusolver {

using factorizations::kMovedPanels;
using factorizations::kPanelWidth;
using PanelMoves = factorizations::Moves<kPanelWidth>;

/// The rows of the largest panel that the current device factors: its blocks of threads wait for each other. 0: none
[[nodiscard]] std::int64_t most_panel_rows();

/// Each enqueues one kernel, or two.
/// @status CUDA's
[[nodiscard]] cudaError_t factor_panel(const factorizations::PanelCall<kPanelWidth>& call, cudaStream_t stream);
/// row_at[i] = i
[[nodiscard]] cudaError_t number_rows(std::int32_t* row_at, std::int64_t rows, cudaStream_t stream);
[[nodiscard]] cudaError_t compose_moves(const factorizations::ComposeCall<kPanelWidth>& call, cudaStream_t stream);
/// Of `cols` columns of a matrix. @range moved.count <= kMovedPanels * kPanelWidth
[[nodiscard]] cudaError_t move_rows(double* c, std::int64_t ld, std::int64_t cols,
                                    const factorizations::MovedRows& moved, cudaStream_t stream);
/// Of an n x n matrix whose panels have those moves: row i was exchanged with row pivots[i] - 1. Int: int or int64_t
template <class Int>
[[nodiscard]] cudaError_t write_pivots(const PanelMoves* moves, std::int64_t n, Int* pivots, cudaStream_t stream);
/// The first i with A(i - 1, i - 1) == 0, or 0.
[[nodiscard]] cudaError_t write_first_zero(const double* a, std::int64_t lda, std::int64_t n, int* info,
                                           cudaStream_t stream);
/// infos[b] of blocks of `block` columns of a Cholesky factorization, of the first that is not 0: of all columns.
[[nodiscard]] cudaError_t write_first_failure(const int* infos, std::int64_t count, std::int64_t block, int* info,
                                              cudaStream_t stream);

}  // namespace kizami::dropin::cusolver
