// SPDX-License-Identifier: MIT
// What the host hands to the product kernel of split FP32 operands: one struct, passed by value.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#include "engines/hopper/ec_forms.hpp"
#include "engines/hopper/tile_walk.hpp"
#include "engines/triangle_bands.hpp"
#include "problem/part.hpp"

namespace kizami::engines::hopper {

/// What differs between the splits that planes may hold.
struct EcSplitParams {
  TensorMapBits a_map;  ///< {bytes of k, line, product}
  TensorMapBits b_map;
  std::int32_t num_k_blocks;      ///< of one plane; a multiple of the stages of one promotion
  std::int32_t block_promotions;  ///< block_promotions(), read where has_block_sums()
  std::int32_t is_tf32;
};

struct EcParams : TileWalk {  // maps and num_k_blocks are in `splits`
  static constexpr bool kIsBatch = false;
  static constexpr bool kIsTriangle = false;
  static constexpr auto kNumTiles = &TileOrder::tiles_per_plane;
  EcSplitParams splits[2];
  const std::int32_t* decision;  ///< null, or where the index into `splits` is
  std::int32_t num_splits;
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
  std::int32_t is_complex;
  std::int32_t has_aligned_c;  ///< columns of C are contiguous, and begin on 16 bytes
};

/// One triangle of a real, square C. tiles_per_plane: of the triangle.
struct EcTriangleParams : EcParams {  // no elements of A or B
  static constexpr bool kIsTriangle = true;
  TriangleBands bands;  ///< of tiles of clusters
  problem::Part part;
};
static_assert(sizeof(EcTriangleParams) <= 4096, "the limit of kernel parameters");

/// The products of a batch: a plane of the walk is a product, and what EcParams points at is the first one's. Its
/// has_aligned_c: columns of a C begin on 16 bytes where the C does.
struct EcBatchParams : EcParams {
  std::int32_t num_products;
  std::uint32_t num_tiles;  ///< of clusters, of all products
  std::int64_t decision_stride;
  std::int64_t c_product_stride;
  float* const* c_array;  ///< of each product, or null
  std::int64_t a_scales_stride;
  std::int64_t b_scales_stride;
  const std::int32_t* second_a_scales;  ///< of splits[1]
  const std::int32_t* second_b_scales;
};
static_assert(sizeof(EcBatchParams) <= 4096, "the limit of kernel parameters");

/// A compiled kernel, as cudaLaunchKernelExC takes it.
struct EcKernel {
  const void* kernel;
  std::size_t shared_bytes;
};

/// Each in a unit of its own, for the time that they take to compile.
template <EcForm form, product::EcPromotion promotion>
[[nodiscard]] EcKernel ec_kernel();
/// Of a batch. @range product::takes_ec_batches(promotion)
template <EcForm form, product::EcPromotion promotion>
[[nodiscard]] EcKernel ec_batch_kernel();

/// Of a triangle, by kEcTriangleForm.
template <product::EcPromotion promotion>
[[nodiscard]] EcKernel ec_triangle_kernel();

/// Stages of 128 bytes of k that are summed inside the tensor core.
[[nodiscard]] constexpr int stages_of(product::EcPromotion promotion) { return product::ec_promoted_blocks(promotion); }

/// Whether a thread of a form has registers to sum blocks of promotions before it adds the sums of blocks. Where it
/// promotes seldom, cooperative_128x128 does without, which is faster.
[[nodiscard]] constexpr bool has_block_sums(EcForm form, int promoted_stages) {
  return form == EcForm::kSplitInner128x64 ||
         (form == EcForm::kCooperative128x128 && promoted_stages <= stages_of(product::EcPromotion::kShort));
}

/// Whether the consumers of a form hand one product's parts to the tensor cores by turns (ConsumerTurns): where it was
/// measured to be quicker. With 192 x 128 it is slower; consumers that split k have the tensor cores by stages of their own
/// (docs/perf/h200_ec.md).
[[nodiscard]] constexpr bool takes_turns(EcForm form, product::EcFormat format, int promoted_stages) {
  return form == EcForm::kCooperative128x128 && format == product::EcFormat::kF16 &&
         promoted_stages >= stages_of(product::EcPromotion::kShort);
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
