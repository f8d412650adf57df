// SPDX-License-Identifier: MIT
// What the host hands to the product kernel: one struct, passed by value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "product/product.hpp"

namespace kizami::engines::hopper {

/// The 128 bytes of a CUtensorMap, so that this header needs no CUDA.
struct alignas(64) TensorMapBits {
  std::uint64_t words[16];
};

/// A plane's modulus p and floor((2^32 - 1) / p); symmetric_residue.cuh says what for.
struct ModulusConstants {
  std::int32_t p;
  std::int32_t multiplier;
};

struct ProductParams {
  TensorMapBits a_map;  ///< {k, line, plane}, or {k, 2, line / 16, 8, plane} for LineOrder::kPermuted
  TensorMapBits b_map;  ///< {k, line, plane}
  void* c;
  const std::int32_t* num_products_at;  ///< null: num_products
  std::int64_t c_col_stride;
  std::int64_t c_plane_stride;
  std::int32_t m;
  std::int32_t n;
  std::int32_t num_k_blocks;  ///< of 128 bytes, at least 1
  std::int32_t num_products;
  std::int32_t a_plane_step;  ///< 0 if all planes share the lines of A, else 1
  std::int32_t b_plane_step;
  std::int32_t tiles_i;        ///< tiles of a plane along i
  std::int32_t tiles_j;        ///< clusters of tiles of a plane along j
  std::int32_t raster_tiles;   ///< tiles along i that are walked before the next j
  std::int32_t has_aligned_c;  ///< every column of C begins on 16 bytes
  ModulusConstants moduli[product::kMaxProducts];
};
static_assert(sizeof(ProductParams) <= 4096, "the limit of kernel parameters");

/// A compiled kernel, as cudaLaunchKernelExC takes it; null where a form is not compiled for an epilogue.
struct FormKernels {
  const void* store_acc;
  const void* reduce;
  const void* reduce_add;
  std::size_t shared_bytes;
};

// One per HopperForm, each in a unit of its own.
[[nodiscard]] FormKernels ping_pong_128x128_kernels();
[[nodiscard]] FormKernels ping_pong_128x128_permuted_kernels();
[[nodiscard]] FormKernels ping_pong_128x128_alone_kernels();
[[nodiscard]] FormKernels cooperative_256x128_kernels();
[[nodiscard]] FormKernels cooperative_256x128_permuted_kernels();
[[nodiscard]] FormKernels cooperative_192x256_kernels();

/// Threads of every form: a producer warpgroup and two consumer warpgroups.
inline constexpr int kNumThreads = 384;

/// C of a product with k = 0: the epilogue of accumulators that are all zero. Element (i, j) of plane l is taken from a
/// grid {columns, planes}.
[[nodiscard]] FormKernels empty_sum_kernels();

}  // namespace kizami::engines::hopper
