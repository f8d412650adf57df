// SPDX-License-Identifier: MIT
// What the kernel of mma_kernel.cu is given, the tile that it makes, and its launch.
#pragma once

#include <cstdint>

#include "kizami/status.hpp"
#include "product/float_product.hpp"

namespace kizami::engines::mma {

inline constexpr int kTileI = 128;  ///< lines of A in a tile
inline constexpr int kTileJ = 128;  ///< lines of B
/// Bytes of k of a stage: two instructions. Rows of planes are zero up to a multiple of them.
inline constexpr std::int64_t kStageBytes = product::kPadBytes;
inline constexpr std::int64_t kInstructionBytes = 32;
inline constexpr int kStages = 4;
/// Below it the numbers of stages of a sum fit in 32 bits.
inline constexpr std::int64_t kMostInner = std::int64_t{1} << 30;

struct Params {
  product::FloatProductDesc desc;
  product::FloatPointers pointers;
  std::int32_t num_a_planes = 1;  ///< planes 0.. of A that have a place in shared memory
  std::int32_t num_b_planes = 1;
  std::int32_t tiles_i = 1;
  std::int32_t tiles_j = 1;
};

/// @range a description in range, m and n at least 1
/// @queue enqueues one kernel
Status launch(const Params& params, product::Queue queue);

}  // namespace kizami::engines::mma
