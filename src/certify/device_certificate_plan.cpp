// SPDX-License-Identifier: MIT
#include "certify/device_certificate_plan.hpp"

#include <algorithm>
#include <bit>
#include <variant>

#include "base/int_math.hpp"
#include "device/padding.hpp"
#include "device/state.hpp"
#include "num/digit_blocks.hpp"
#include "num/rung.hpp"
#include "product/engine_bytes.hpp"

namespace kizami::certify {
namespace {

using base::ceil_div;
using base::round_up;

/// Bytes of INT32 products of the sampled certificate that are held at a time.
constexpr std::int64_t kMostAccBytes = std::int64_t{512} << 20;

/// Blocks of columns of chunks of lines, pieces of k as planes. Here and below lines of A are padded as exec passes
/// them.
[[nodiscard]] std::size_t sampled_bytes(const CertificatePlan& plan, const SampledBuffers& buffers) {
  const plan::Chunk& chunk = plan.chunk;
  product::ProductDesc desc = device_sampled_product(plan, buffers, chunk.mc, buffers.cols_at_once);
  const product::Extents ms(round_up(plan.shape.m, device::kReadRows), round_up(chunk.mc, device::kReadRows));
  std::size_t most = 0;
  for (const std::int64_t planes : product::Extents(buffers.num_pieces, product::kMaxProducts)) {
    if (!buffers.is_compared) desc.num_products = static_cast<int>(planes);
    for (const std::int64_t cols : product::Extents(plan.shape.n, chunk.nc)) {
      most = std::max(most, product::engine_bytes(*plan.engine, plan.facts, desc, ms, {cols, buffers.cols_at_once},
                                                  {desc.k, desc.k}));
    }
  }
  return most;
}

}  // namespace

SampledBuffers sampled_rows(const CertificatePlan& plan, const num::Ladder& ladder) {
  SampledBuffers buffers;
  const float allowance = ladder.rungs[0].allowance;
  const std::int64_t num_terms = plan::num_terms(plan.shape);
  buffers.allowance = num::sampled_allowance(allowance, num_terms) * 0x1p-12F;  // exact
  const std::int64_t stride = num::sample_stride(allowance, num_terms);
  buffers.log_stride = std::countr_zero(static_cast<std::uint64_t>(stride));
  const std::int64_t length = num::num_sampled_terms(plan.shape.k, is_complex(plan.shape.scalar) ? 2 : 1, stride);
  buffers.num_pieces = ceil_div(length, product::kBlockMaxI8);
  buffers.row_stride =
      buffers.num_pieces > 1 ? buffers.num_pieces * product::kBlockMaxI8 : round_up(length, device::kDeviceInnerPad);
  return buffers;
}

bool may_compare_sampled(const CertificatePlan& plan, SampledBuffers buffers) {
  buffers.is_compared = true;
  if (buffers.num_pieces > 1) return false;
  const plan::Chunk& chunk = plan.chunk;
  const product::ProductDesc desc = device_sampled_product(plan, buffers, chunk.mc, chunk.nc);
  return std::holds_alternative<product::Offer>(plan.engine->query(desc, plan.facts));
}

SampledBuffers carve_sampled(base::Carver& carver, const CertificatePlan& plan, const num::Ladder& ladder,
                             bool has_weights) {
  const plan::Chunk& chunk = plan.chunk;
  const std::int64_t parts = is_complex(plan.shape.scalar) ? 2 : 1;
  SampledBuffers buffers = sampled_rows(plan, ladder);
  const std::int64_t rows = round_up(chunk.mc, device::kDeviceLinePad);
  const std::int64_t cols = round_up(chunk.nc, device::kDeviceLinePad);
  buffers.a_digits = carver.take<std::int8_t>(rows, buffers.row_stride);
  buffers.b_digits = carver.take<std::int8_t>(cols, buffers.row_stride);
  if (parts == 2) buffers.b_swapped = carver.take<std::int8_t>(cols, buffers.row_stride);
  buffers.is_compared = has_weights && may_compare_sampled(plan, buffers);
  if (buffers.is_compared) {
    buffers.cols_at_once = chunk.nc;
    buffers.engine_bytes = sampled_bytes(plan, buffers);
    buffers.engine = carver.take<std::byte>(buffers.engine_bytes);
    return buffers;
  }
  const std::int64_t col_bytes = 4 * parts * buffers.num_pieces * rows;
  buffers.cols_at_once = std::clamp<std::int64_t>(kMostAccBytes / col_bytes, 1, chunk.nc);
  buffers.acc = carver.take<std::int32_t>(parts, buffers.num_pieces, buffers.cols_at_once, rows);
  buffers.engine_bytes = sampled_bytes(plan, buffers);
  buffers.engine = carver.take<std::byte>(buffers.engine_bytes);
  return buffers;
}

product::ProductDesc device_sampled_product(const CertificatePlan& plan, const SampledBuffers& buffers, std::int64_t m,
                                            std::int64_t n) {
  product::ProductDesc desc;
  desc.m = m;
  desc.n = n;
  desc.k = std::min(buffers.row_stride, product::kBlockMaxI8);
  desc.num_products = static_cast<int>(std::min<std::int64_t>(buffers.num_pieces, product::kMaxProducts));
  desc.epilogue = buffers.is_compared ? product::Epilogue::kCompare : product::Epilogue::kStoreAcc;
  desc.a_row_stride = desc.b_row_stride = buffers.row_stride;
  desc.a_plane_stride = desc.b_plane_stride = buffers.num_pieces > 1 ? product::kBlockMaxI8 : 0;
  desc.c_col_stride = round_up(plan.chunk.mc, device::kDeviceLinePad);
  desc.c_plane_stride = buffers.cols_at_once * desc.c_col_stride;
  if (!buffers.is_compared) return desc;
  desc.allowance = buffers.allowance;
  if (!is_complex(plan.shape.scalar)) return desc;
  desc.num_products = device::kMostSampledProducts;
  desc.b_plane_stride = round_up(plan.chunk.nc, device::kDeviceLinePad) * buffers.row_stride;
  return desc;
}

double device_certificate_seconds(const problem::Shape& shape, const num::Ladder& ladder,
                                  const product::RelativeRates& rates, bool is_compared, bool has_clipped_sums) {
  constexpr double kShortInt8OpsPerSecond = 1.3e15;
  constexpr double kShortProductSeconds = 9e-6;
  constexpr double kCompareBytesPerSecond = 2.9e12;
  constexpr double kCompareSeconds = 8e-6;
  // Both parts start in one launch where they are compared. The second start that is counted stands for latencies of other phases, which small
  // complex calls meet and no prediction has.
  const double parts = is_complex(shape.scalar) ? 2.0 : 1.0;
  const double pairs = static_cast<double>(shape.m) * static_cast<double>(shape.n);
  // Lines answer by themselves, and calls that know of one before enqueue nothing. Of real numbers a margin: what wide elements take is not known
  // before a call, which therefore leaves to others what it would do hardly quicker, as FP64 products of 2048: 266 microseconds at phi = 0.5, but
  // 299 at 1 and 357 at 2 (certificate.jsonl, 624b0fbe), cuBLAS 298.
  constexpr double kMarginOfRealNumbers = 35e-6;
  constexpr double kSmallMultiplications = 0x1p33;  // 2048^3: with fewer, wide elements take less
  if (has_clipped_sums) {
    const double share = std::min(1.0, pairs * static_cast<double>(shape.k) / kSmallMultiplications);
    return is_complex(shape.scalar) ? 0.0 : share * kMarginOfRealNumbers;
  }
  const double terms = static_cast<double>(shape.k) * parts /
                       static_cast<double>(num::sample_stride(ladder.rungs[0].allowance, plan::num_terms(shape)));
  const double product = parts * (2.0 * pairs * terms / (kShortInt8OpsPerSecond * rates.int8) + kShortProductSeconds);
  return product +
         (is_compared ? 0.0 : 4.0 * parts * pairs / (kCompareBytesPerSecond * rates.memory) + kCompareSeconds);
}

}  // namespace kizami::certify
