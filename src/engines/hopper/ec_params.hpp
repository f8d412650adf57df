// SPDX-License-Identifier: MIT
// What the host hands to the product kernel of split FP32 operands: one struct, passed by value.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#include "engines/hopper/ec_forms.hpp"
#include "engines/hopper/tile_walk.hpp"

namespace kizami::engines::hopper {

struct EcParams : TileWalk {  // num_k_blocks is a multiple of the stages of one promotion; of one plane
  float* c;
  std::int64_t c_row_stride;  ///< of lines of A, or of pairs of them where C is complex
  std::int64_t c_col_stride;
  Factor<float> alpha;
  Factor<float> beta;
  Factor<std::complex<float>> complex_alpha;
  Factor<std::complex<float>> complex_beta;
  const std::int32_t* a_scales;
  const std::int32_t* b_scales;
  problem::Lines<float> a_lines;
  problem::Lines<float> b_lines;
  const std::int32_t*
      decision;  ///< null, or where a kernel before this one has written `wanted_decision` or another number
  std::int32_t wanted_decision;
  std::int32_t is_complex;
  std::int32_t has_aligned_c;  ///< columns of C are contiguous, and begin on 16 bytes
};
static_assert(sizeof(EcParams) <= 4096, "the limit of kernel parameters");

/// The kernels of a form, as cudaLaunchKernelExC takes them, by format and promotion.
struct EcFormKernels {
  const void* kernel[2][2];
  std::size_t shared_bytes;
};

// One per EcForm, each in a unit of its own.
[[nodiscard]] EcFormKernels ec_cooperative_192x128_kernels();
[[nodiscard]] EcFormKernels ec_cooperative_128x128_kernels();
[[nodiscard]] EcFormKernels ec_split_inner_128x64_kernels();

/// Stages of 128 bytes of k that are summed inside the tensor core.
[[nodiscard]] constexpr int stages_of(product::EcPromotion promotion) {
  return promotion == product::EcPromotion::kShort ? 2 : 4;
}

}  // namespace kizami::engines::hopper
