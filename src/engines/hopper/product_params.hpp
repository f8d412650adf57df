// SPDX-License-Identifier: MIT
// What the host hands to the product kernel: one struct, passed by value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engines/hopper/tile_walk.hpp"
#include "product/product.hpp"

namespace kizami::engines::hopper {

/// What a plane's residues are computed with; modulus_constants.hpp says how.
struct alignas(16) ModulusConstants {
  std::int32_t minus_p;           ///< the modulus, negated
  std::int32_t multiplier;        ///< floor((2^32 - 1) / p)
  std::int32_t short_multiplier;  ///< of sums up to 2^30 in magnitude
  std::int32_t short_shift;       ///< 1 or more; 0 if the modulus has no short form
};

/// A window, see product::Window. @units k: bytes; a box of a tensor map begins at any
struct WindowPlace {
  std::int16_t a_plane;
  std::int16_t b_plane;
  std::int32_t a_first;
  std::int32_t b_first;
  std::int32_t num_k_blocks;
};

struct ProductParams : TileWalk {  // num_k_blocks is at least 1
  void* c;
  const std::int32_t* num_products_at;  ///< null: num_products
  std::int64_t c_col_stride;
  std::int64_t c_plane_stride;
  std::int32_t num_products;
  std::int32_t has_aligned_c;   ///< every column of C begins on 16 bytes
  std::int32_t has_short_sums;  ///< no sum exceeds 2^30 in magnitude
  ModulusConstants moduli[product::kMaxProducts];
  const num::RungWeight* a_weights;  ///< kCompare
  const num::RungWeight* b_weights;
  float allowance;
  // Where the kernel takes windows: those of plane p are windows [first_window[p], first_window[p + 1]), with
  // plane_k_blocks[p] blocks of k together.
  WindowPlace windows[product::kMaxWindows];
  std::int32_t plane_k_blocks[product::kMaxWindows];
  std::int8_t first_window[product::kMaxWindows + 1];
  std::int32_t blocks_per_sum;  ///< floating-point planes: blocks of k that an accumulator sums exactly
};
static_assert(sizeof(ProductParams) <= 4096, "the limit of kernel parameters");

/// A compiled kernel, as cudaLaunchKernelExC takes it; null where a form is not compiled for an epilogue.
struct FormKernels {
  const void* store_acc;
  const void* store_windows;  ///< kStoreAcc of windows
  const void* reduce;
  const void* reduce_add;
  const void* compare;
  std::size_t shared_bytes;
};

/// The windows of a description, and which of them share a plane.
inline void set_windows(const product::ProductDesc& d, ProductParams& params) {
  constexpr std::int64_t kBlockBytes = 128;
  const std::int64_t bytes = product::element_bytes(d.format);
  int plane = -1;
  for (int l = 0; l < d.num_windows; ++l) {
    const product::Window& w = d.windows[static_cast<std::size_t>(l)];
    const auto num_k_blocks = static_cast<std::int32_t>(base::ceil_div(w.k * bytes, kBlockBytes));
    params.windows[l] = {static_cast<std::int16_t>(w.a_plane), static_cast<std::int16_t>(w.b_plane),
                         static_cast<std::int32_t>(w.a_first * bytes), static_cast<std::int32_t>(w.b_first * bytes),
                         num_k_blocks};
    if (!w.is_added) params.first_window[++plane] = static_cast<std::int8_t>(l);
    params.plane_k_blocks[plane] += num_k_blocks;
    params.first_window[plane + 1] = static_cast<std::int8_t>(l + 1);
  }
}

/// Whether columns of INT32 sums begin where a thread stores two at once.
[[nodiscard]] inline bool has_aligned_sums(const product::ProductDesc& d, const void* c) {
  return reinterpret_cast<std::uintptr_t>(c) % 8 == 0 && d.c_col_stride % 2 == 0 &&
         (d.num_products == 1 || d.c_plane_stride % 2 == 0);
}

// One per HopperForm, each in a unit of its own.
[[nodiscard]] FormKernels ping_pong_128x128_kernels();
[[nodiscard]] FormKernels ping_pong_128x128_permuted_kernels();
[[nodiscard]] FormKernels ping_pong_128x128_alone_kernels();
[[nodiscard]] FormKernels cooperative_256x128_kernels();
[[nodiscard]] FormKernels cooperative_256x128_permuted_kernels();
[[nodiscard]] FormKernels cooperative_192x256_kernels();

/// A kernel for windows of floating-point planes.
struct FloatKernel {
  const void* kernel;
  std::size_t shared_bytes;
};
// Each in a unit of its own.
template <SliceFormat kFormat>
[[nodiscard]] FloatKernel float_kernel();

/// C of a product with k = 0: the epilogue of sums that are all zero. Any grid, any block.
[[nodiscard]] FormKernels empty_sum_kernels();

}  // namespace kizami::engines::hopper
