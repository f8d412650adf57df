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
  std::int32_t block_promotions;  ///< block_promotions(), read where has_block_sums()
  std::int32_t has_aligned_c;     ///< every column of C begins on 16 bytes
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

/// Stages of 128 bytes of k that are summed inside the tensor core.
[[nodiscard]] constexpr int stages_of(product::EcPromotion promotion) { return product::ec_promoted_blocks(promotion); }

/// Whether a thread of a form has registers to sum blocks of promotions before it adds the sums of blocks. Where it promotes
/// seldom, cooperative_128x128 does without, which is faster.
[[nodiscard]] constexpr bool has_block_sums(EcForm form, int promoted_stages) {
  return form == EcForm::kSplitInner128x64 ||
         (form == EcForm::kCooperative128x128 && promoted_stages <= stages_of(product::EcPromotion::kShort));
}

/// Promotions of a block, of `count` along k: about the square root of those that one warpgroup adds up, for the fewest
/// roundings. At least 8: 768^3 on uniform data, where native SGEMM errs by 2.7e-7, has 2.1e-7 so, and 2.9e-7 with 16.
[[nodiscard]] constexpr std::int32_t block_promotions(EcForm form, std::int32_t count) {
  const std::int32_t of_one = form == EcForm::kSplitInner128x64 ? (count + 1) / 2 : count;
  std::int32_t block = 8;
  while (block < 4096 && block * block < of_one) block *= 2;
  return block;
}

}  // namespace kizami::engines::hopper
