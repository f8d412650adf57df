// SPDX-License-Identifier: MIT
// What the products of this engine share of their kernel parameters: the tensor maps of both operands and the order in
// which clusters take tiles of C. Plain data, passed by value.
#pragma once

#include <cstdint>

#include "engines/tile_order.hpp"

namespace kizami::engines::hopper {

/// The 128 bytes of a CUtensorMap, so that this header needs no CUDA.
struct alignas(128) TensorMapBits {
  std::uint64_t words[16];
};
struct TensorMaps {
  TensorMapBits a_map;  ///< {bytes of k, line, plane}, or as tensor_maps.hpp says for permuted lines
  TensorMapBits b_map;  ///< {bytes of k, line, plane}
};

/// Lines of a permuted box where a CTA copies so many lines (tensor_maps.hpp).
[[nodiscard]] constexpr int permuted_box_lines(int lines) { return lines % 64 == 0 ? 64 : 32; }

/// Threads of every form: a producer warpgroup and two consumer warpgroups.
inline constexpr int kNumThreads = 384;

/// num_k_blocks: of 128 bytes.
struct TileWalk : TensorMaps, TileOrder {};

}  // namespace kizami::engines::hopper
