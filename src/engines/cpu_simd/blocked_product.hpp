// SPDX-License-Identifier: MIT
// The blocked product: which part of the operands is packed when, and who computes which tile of C. Nothing here
// depends on an instruction set, and nothing here changes a bit of the result.
//
//   for chunk of planes, for block of columns, for block of rows, for block of k:
//     pack the rows and columns of the blocks                           parallel over panels of all planes of the chunk
//     acc (+)= A B^T, tile by tile; after the last block of k epilogue  parallel over groups of tiles of all planes
//
// A panel of B (tile_cols x block_k) stays in L1 while panels of A stream from L2; a group's panels of A fit in L2.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engines/cpu_simd/micro_kernel.hpp"
#include "kizami/status.hpp"
#include "product/product.hpp"

namespace kizami::engines {

/// The blocking of one product and the layout of its workspace: what query() books is what run() carves.
struct Blocking {
  std::int64_t block_rows = 0;  ///< multiple of tile_rows
  std::int64_t block_cols = 0;  ///< multiple of tile_cols
  std::int64_t block_k = 0;     ///< multiple of kPackStep, or 0 when k = 0
  std::int64_t num_k_blocks = 1;
  std::int64_t row_panels = 0;  ///< panels of A in a block
  std::int64_t col_panels = 0;  ///< panels of B in a block
  std::int64_t planes = 0;      ///< planes packed and multiplied together

  // One panel of A or B, the corrections of one panel of B, one tile of acc: bytes, multiples of 64.
  std::int64_t a_panel_bytes = 0;
  std::int64_t b_panel_bytes = 0;
  std::int64_t correction_bytes = 0;
  std::int64_t tile_bytes = 0;

  // Offsets in the workspace. Arrays: a [planes][row_panels], b and corrections [planes][col_panels],
  // acc [planes][row_panels][col_panels], absent when there is one block of k.
  std::int64_t a_offset = 0;
  std::int64_t b_offset = 0;
  std::int64_t correction_offset = 0;
  std::int64_t acc_offset = 0;
  std::int64_t total_bytes = 0;
};

/// @range desc in range (desc_check.hpp)
[[nodiscard]] Blocking make_blocking(const product::ProductDesc& desc, const MicroKernel& kernel);

/// Runs the product on at most `threads` threads.
/// @range desc and pointers in range, kernel supported, blocking = make_blocking(desc, kernel), workspace aligned to 64
/// bytes
void run_blocked(const product::ProductDesc& desc, const MicroKernel& kernel, const Blocking& blocking, int threads,
                 const product::Pointers& pointers, std::byte* workspace);

}  // namespace kizami::engines
