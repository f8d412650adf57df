// SPDX-License-Identifier: MIT
// What the host hands to the product kernel: one struct, passed by value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "product/product.hpp"

namespace kizami::engines::hopper {

/// The 128 bytes of a CUtensorMap, so that this header needs no CUDA.
struct alignas(128) TensorMapBits {
  std::uint64_t words[16];
};

/// What a plane's residues are computed with; modulus_constants.hpp says how.
struct alignas(16) ModulusConstants {
  std::int32_t minus_p;           ///< the modulus, negated
  std::int32_t multiplier;        ///< floor((2^32 - 1) / p)
  std::int32_t short_multiplier;  ///< of sums up to 2^30 in magnitude
  std::int32_t short_shift;       ///< 1 or more; 0 if the modulus has no short form
};

/// Division of numbers below 2^31 by a constant: quotient = high word of (number * multiplier), shifted right.
struct Divider {
  std::uint32_t divisor;
  std::uint32_t multiplier;
  std::uint32_t shift;
};

/// @range 1 <= divisor < 2^31
/// @exact With s = ceil(log2(divisor)) and M = ceil(2^(31 + s) / divisor), M = 2^(31 + s) / divisor + e with 0 <= e < 1, and
///        x e / 2^(31 + s) < 2^-s <= 1 / divisor for x < 2^31: the floor is that of x / divisor. M < 2^32 + 1; it is 2^32 for
///        no divisor but 1 (2^31 for other powers of two), which is kept apart by a multiplier of 0.
[[nodiscard]] constexpr Divider make_divider(std::uint32_t divisor) {
  std::uint32_t s = 0;
  while ((std::uint64_t{1} << s) < divisor) ++s;
  if (s == 0) return {1, 0, 0};
  const std::uint64_t scale = std::uint64_t{1} << (31 + s);
  return {divisor, static_cast<std::uint32_t>((scale + divisor - 1) / divisor), s - 1};
}

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
  std::int32_t has_aligned_c;   ///< every column of C begins on 16 bytes
  std::int32_t has_short_sums;  ///< no sum exceeds 2^30 in magnitude
  // Tiles of a plane are walked in bands of raster_tiles along i, in which i is innermost. The last band may be narrower.
  std::uint32_t tiles_per_plane;
  std::uint32_t raster_tiles;
  Divider by_plane;       ///< tiles_per_plane
  Divider by_band;        ///< tiles of a whole band
  Divider by_raster;      ///< raster_tiles
  Divider by_last_width;  ///< tiles along i of the last band
  std::uint32_t last_band;
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

/// C of a product with k = 0: the epilogue of sums that are all zero. Any grid, any block.
[[nodiscard]] FormKernels empty_sum_kernels();

}  // namespace kizami::engines::hopper
