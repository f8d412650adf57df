// SPDX-License-Identifier: MIT
// What the epilogues of product kernels are told, and the windows that such a kernel walks. Plain data, passed by value.
#pragma once

#include <cstdint>

#include "base/int_math.hpp"
#include "engines/modulus_constants.hpp"
#include "product/product.hpp"

namespace kizami::engines {

struct ResultParams {
  void* c;
  const std::int32_t* num_products_at;  ///< null: num_products
  std::int64_t c_col_stride;
  std::int64_t c_plane_stride;
  std::int32_t num_products;
  std::int32_t planes_of_modulus;
  std::int32_t has_aligned_c;  ///< every column of C begins on 16 bytes
  ModulusConstants moduli[product::kMaxProducts];
  const num::RungWeight* a_weights;  ///< kCompare
  const num::RungWeight* b_weights;
  float allowance;
};

/// Whether columns of INT32 sums begin where a thread stores two at once.
[[nodiscard]] inline bool has_aligned_sums(const product::ProductDesc& d, const void* c) {
  return reinterpret_cast<std::uintptr_t>(c) % 8 == 0 && d.c_col_stride % 2 == 0 &&
         (d.num_products == 1 || d.c_plane_stride % 2 == 0);
}

inline void set_result(const product::ProductDesc& d, const product::Pointers& pointers, ResultParams& params) {
  params.c = pointers.c;
  params.num_products_at = pointers.num_products;
  params.c_col_stride = d.c_col_stride;
  params.c_plane_stride = d.c_plane_stride;
  params.num_products = d.num_products;
  params.planes_of_modulus = d.planes_of_modulus;
  if (d.epilogue == product::Epilogue::kCompare) {
    params.a_weights = pointers.a_weights;
    params.b_weights = pointers.b_weights;
    params.allowance = d.allowance;
    return;
  }
  const bool is_wide = d.epilogue == product::Epilogue::kStoreAcc;
  constexpr std::int64_t kStored = 16;  // residues that one store writes
  params.has_aligned_c = is_wide ? has_aligned_sums(d, pointers.c)
                                 : reinterpret_cast<std::uintptr_t>(pointers.c) % kStored == 0 &&
                                       d.c_col_stride % kStored == 0 &&
                                       (d.num_products == 1 || d.c_plane_stride % kStored == 0);
  if (is_wide) return;
  for (int l = 0; l * d.planes_of_modulus < d.num_products; ++l)
    params.moduli[l] = modulus_constants(d.moduli[static_cast<std::size_t>(l)], !d.has_unsigned_bytes);
}

/// A window, see product::Window. @units first: bytes of a line
struct WindowPlace {
  std::int16_t a_plane;
  std::int16_t b_plane;
  std::int32_t a_first;
  std::int32_t b_first;
  std::int32_t num_k_blocks;
};

/// Where a kernel takes windows: those of plane p are windows [first_window[p], first_window[p + 1]), with
/// plane_k_blocks[p] blocks of k together.
struct WindowParams {
  WindowPlace windows[product::kMaxWindows];
  std::int32_t plane_k_blocks[product::kMaxWindows];
  std::int8_t first_window[product::kMaxWindows + 1];
};

/// The windows of a description, and which of them share a plane. A block of k: so many bytes.
inline void set_windows(const product::ProductDesc& d, int block_bytes, WindowParams& params) {
  const std::int64_t bytes = product::element_bytes(d.format);
  int plane = -1;
  for (int l = 0; l < d.num_windows; ++l) {
    const product::Window& w = d.windows[static_cast<std::size_t>(l)];
    const auto num_k_blocks = static_cast<std::int32_t>(base::ceil_div(w.k * bytes, block_bytes));
    params.windows[l] = {static_cast<std::int16_t>(w.a_plane), static_cast<std::int16_t>(w.b_plane),
                         static_cast<std::int32_t>(w.a_first * bytes), static_cast<std::int32_t>(w.b_first * bytes),
                         num_k_blocks};
    if (!w.is_added) params.first_window[++plane] = static_cast<std::int8_t>(l);
    params.plane_k_blocks[plane] += num_k_blocks;
    params.first_window[plane + 1] = static_cast<std::int8_t>(l + 1);
  }
}

}  // namespace kizami::engines
