// SPDX-License-Identifier: MIT
#include "certify/certificate_plan.hpp"

#include <algorithm>

#include "base/int_math.hpp"
#include "num/rung.hpp"
#include "product/engine_bytes.hpp"

namespace kizami::certify {
namespace {

using base::ceil_div;
using base::round_up;

/// Real terms of a block of digits.
[[nodiscard]] std::int64_t block_terms(const problem::Shape& shape) {
  return num::kDigitBlock * (is_complex(shape.scalar) ? 2 : 1);
}

/// engine_bytes() of the products of the certificate: chunks of lines, in tiles of `side` of them.
[[nodiscard]] std::size_t tile_bytes(const CertificatePlan& plan, const product::ProductDesc& desc, std::int64_t side,
                                     const product::Extents& ks) {
  const plan::Chunk& chunk = plan.chunk;
  std::size_t most = 0;
  for (const std::int64_t rows : product::Extents(plan.shape.m, chunk.mc)) {
    for (const std::int64_t cols : product::Extents(plan.shape.n, chunk.nc)) {
      most = std::max(most, product::engine_bytes(*plan.engine, plan.facts, desc, {rows, side}, {cols, side}, ks));
    }
  }
  return most;
}

/// Digits of every element or of a sample of them, and blocks of 64 elements, some at a time.
[[nodiscard]] std::size_t certificate_bytes(const CertificatePlan& plan) {
  const std::int64_t parts = is_complex(plan.shape.scalar) ? 2 : 1;
  std::size_t most = 0;
  for (const std::int64_t stride : {1, 2, 4}) {
    const std::int64_t length = ceil_div(plan.shape.k, stride) * parts;
    const product::ProductDesc desc = sampled_product(plan.shape, 0, 0, 0);
    const product::Extents ks(length, product::kBlockMaxI8);
    most = std::max({most, tile_bytes(plan, desc, kSampledTile, ks), tile_bytes(plan, desc, kBlockTile, ks)});
  }
  const std::int64_t length = block_terms(plan.shape);
  for (const std::int64_t count : product::Extents(digit_row(plan.shape) / length, kBlocksPerLaunch)) {
    most = std::max(most, tile_bytes(plan, block_product(plan.shape, 0, 0, count), kBlockTile, {length, length}));
  }
  return most;
}

}  // namespace

CertificateBuffers carve_certificate(base::Carver& carver, const CertificatePlan& plan,
                                     std::optional<std::size_t> engine_bytes) {
  CertificateBuffers buffers;
  const plan::Chunk& chunk = plan.chunk;
  const std::int64_t row = digit_row(plan.shape);
  const std::int64_t blocks = row / block_terms(plan.shape);
  buffers.a_digits = carver.take<std::int8_t>(chunk.mc, row);
  buffers.b_digits = carver.take<std::int8_t>(chunk.nc, row);
  if (is_complex(plan.shape.scalar)) buffers.b_swapped = carver.take<std::int8_t>(chunk.nc, row);
  buffers.a_scales = carver.take<float>(blocks, chunk.mc);
  buffers.b_scales = carver.take<float>(blocks, chunk.nc);
  constexpr std::int64_t kSampledElems = kSampledTile * kSampledTile;
  buffers.acc = carver.take<std::int32_t>(std::max(kSampledElems, kBlockTile * kBlockTile * kBlocksPerLaunch));
  const std::size_t mark = carver.mark();
  buffers.block_sums = carver.take<float>(2, kBlockTile, kBlockTile);
  carver.rewind(mark);
  static_assert(sizeof(float) * 2 * kBlockTile * kBlockTile <= sizeof(std::uint64_t) * kSampledElems);
  buffers.sums = carver.take<std::uint64_t>(kSampledElems);
  buffers.part_rungs = carver.take<std::uint8_t>(kSampledElems);
  buffers.rungs = carver.take<std::uint8_t>(kSampledElems);
  buffers.engine_bytes = engine_bytes ? *engine_bytes : certificate_bytes(plan);
  buffers.engine = carver.take<std::byte>(buffers.engine_bytes);
  return buffers;
}

std::int64_t digit_row(const problem::Shape& shape) { return round_up(plan::num_terms(shape), block_terms(shape)); }

product::ProductDesc sampled_product(const problem::Shape& shape, std::int64_t m, std::int64_t n, std::int64_t length) {
  product::ProductDesc desc;
  desc.m = m;
  desc.n = n;
  desc.k = length;
  desc.num_products = 1;
  desc.epilogue = product::Epilogue::kStoreAcc;
  desc.a_row_stride = desc.b_row_stride = digit_row(shape);
  desc.c_col_stride = kSampledTile;
  desc.c_plane_stride = kSampledTile * kSampledTile;
  return desc;
}

product::ProductDesc block_product(const problem::Shape& shape, std::int64_t m, std::int64_t n,
                                   std::int64_t num_blocks) {
  product::ProductDesc desc = sampled_product(shape, m, n, block_terms(shape));
  desc.num_products = static_cast<int>(num_blocks);
  desc.a_plane_stride = desc.b_plane_stride = block_terms(shape);  // a block of k is a plane
  desc.c_col_stride = kBlockTile;
  desc.c_plane_stride = kBlockTile * kBlockTile;
  return desc;
}

}  // namespace kizami::certify
