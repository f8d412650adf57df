// SPDX-License-Identifier: MIT
// What the host hands to the product kernel of split FP32 operands: one struct, passed by value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engines/hopper/ec_forms.hpp"
#include "engines/hopper/tile_walk.hpp"

namespace kizami::engines::hopper {

struct EcParams : TileWalk {  // num_k_blocks is a multiple of the stages of one promotion; of one plane
  float* c;
  std::int64_t c_col_stride;
  Factor<float> alpha;
  Factor<float> beta;
  const std::int32_t* a_scales;
  const std::int32_t* b_scales;
  problem::Lines<float> a_lines;
  problem::Lines<float> b_lines;
  std::int32_t has_aligned_c;  ///< every column of C begins on 16 bytes
};
static_assert(sizeof(EcParams) <= 4096, "the limit of kernel parameters");

/// The kernels of a form, as cudaLaunchKernelExC takes them, by format and promotion.
struct EcFormKernels {
  std::array<std::array<const void*, product::kNumEcPromotions>, 2> kernel;
  std::size_t shared_bytes;
};

// One per EcForm, each in a unit of its own.
[[nodiscard]] EcFormKernels ec_cooperative_192x128_kernels();
[[nodiscard]] EcFormKernels ec_cooperative_128x128_kernels();
[[nodiscard]] EcFormKernels ec_split_inner_128x64_kernels();

/// Promotions of a warpgroup that are summed before their sum is added to another (EcForm::kSplitInner128x64).
inline constexpr int kBlockPromotions = 32;

/// Stages of 128 bytes of k that are summed inside the tensor core.
[[nodiscard]] constexpr int stages_of(product::EcPromotion promotion) { return product::ec_promoted_blocks(promotion); }

}  // namespace kizami::engines::hopper
