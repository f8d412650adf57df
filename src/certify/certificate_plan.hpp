// SPDX-License-Identifier: MIT
// The certificate of a call on the host as its plan knows it: lines at a time, workspace, products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/carver.hpp"
#include "plan/plan.hpp"
#include "product/product.hpp"

namespace kizami::certify {

/// What is decided of a certificate before its call.
struct CertificatePlan {
  problem::Shape shape;
  const product::Engine* engine = nullptr;
  product::DeviceFacts facts;
  plan::Chunk chunk;  ///< lines of one pass; kc = k
  int threads = 1;    ///< on the host, of all but the products
};

/// Side of the tiles whose products the certificate looks at in one go.
inline constexpr std::int64_t kSampledTile = 512;
inline constexpr std::int64_t kBlockTile = 256;
/// Blocks of 64 elements whose products are made in one launch.
inline constexpr std::int64_t kBlocksPerLaunch = 8;

struct CertificateBuffers {
  std::int8_t* a_digits = nullptr;   ///< [mc][digit_row()]
  std::int8_t* b_digits = nullptr;   ///< [nc][digit_row()]
  std::int8_t* b_swapped = nullptr;  ///< [nc][digit_row()], parts exchanged; complex types only
  float* a_scales = nullptr;         ///< [ceil(k / 64)][mc], of the blocks of digits
  float* b_scales = nullptr;         ///< [ceil(k / 64)][nc]
  std::int32_t* acc = nullptr;       ///< one tile of products, kBlocksPerLaunch planes of kBlockTile^2
  std::uint64_t* sums = nullptr;     ///< [kSampledTile^2], of sampled digits
  /// [2][kBlockTile^2], of all segments so far and of the present one; in the memory of sums
  float* block_sums = nullptr;
  std::uint8_t* part_rungs = nullptr;  ///< [kSampledTile^2], of one part
  std::uint8_t* rungs = nullptr;       ///< [kSampledTile^2], the larger one of both parts
  std::byte* engine = nullptr;
  std::size_t engine_bytes = 0;  ///< the most that the engine asks for
};
/// @param engine_bytes what the engine asks for, if it was asked before
[[nodiscard]] CertificateBuffers carve_certificate(base::Carver& carver, const CertificatePlan& certificate,
                                                   std::optional<std::size_t> engine_bytes);

/// Digits of a line: its real terms, up to whole blocks of 64 elements.
[[nodiscard]] std::int64_t digit_row(const problem::Shape& shape);
/// Products of the certificate: one tile of sampled digits, or kBlocksPerLaunch blocks of block digits as planes.
[[nodiscard]] product::ProductDesc sampled_product(const problem::Shape& shape, std::int64_t m, std::int64_t n,
                                                   std::int64_t length);
[[nodiscard]] product::ProductDesc block_product(const problem::Shape& shape, std::int64_t m, std::int64_t n,
                                                 std::int64_t num_blocks);

}  // namespace kizami::certify
