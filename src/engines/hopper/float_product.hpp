// SPDX-License-Identifier: MIT
// Windows of floating-point planes on the tensor cores of sm_90a: the tile of their kernel, its predicted time, its
// launch.
#pragma once

#include "product/product.hpp"

namespace kizami::engines::hopper {

inline constexpr int kFloatTileI = 192;  ///< lines of A in a tile
inline constexpr int kFloatTileJ = 128;  ///< lines of B in a tile
inline constexpr int kFloatCluster = 2;  ///< CTAs of a cluster: they share the lines of A

/// Predicted seconds on `num_sms` multiprocessors, launch included.
[[nodiscard]] double float_windows_seconds(const product::ProductDesc& desc, int num_sms);

/// @range  a description in range for the engine, of a floating-point format
/// @status kUnsupported: no driver with tensor maps; kInternal
/// @queue  only enqueues
[[nodiscard]] Status launch_float_windows(const product::ProductDesc& desc, const product::Pointers& pointers,
                                          product::Queue queue);

}  // namespace kizami::engines::hopper
