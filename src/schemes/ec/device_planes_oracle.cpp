// SPDX-License-Identifier: MIT
#include "schemes/ec/device_planes_oracle.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "kizami/formats.hpp"
#include "num/line_stats.hpp"
#include "schemes/ec/judged_parts.hpp"

namespace kizami::ec {
namespace {

using product::EcFormat;

constexpr std::uint32_t kInfinityBits = 0x7F800000U;

}  // namespace

EcNarrow ec_narrow(float y, EcFormat format) {
  if (format == EcFormat::kF16) {
    const auto half = Fp16::from(y);
    return {half.bits(), half.to_float()};
  }
  const auto wide = Tf32::from(y, RoundingMode::kNearestAway);
  return {wide.bits(), wide.to_float()};
}

std::int32_t ec_scale(std::uint32_t max_bits, EcFormat format) {
  if (max_bits >= kInfinityBits) return num::kSkipLine;
  if (max_bits == 0) return 0;
  const int exponent = max_bits >> 23 != 0 ? static_cast<int>(max_bits >> 23) - 127 : std::bit_width(max_bits) - 150;
  return product::ec_top_exponent(format) - exponent;
}

num::EcLineSight ec_split_line(const problem::Lines<float>& lines, std::int64_t i, EcFormat format,
                               const num::EcRangeLimits& limits, std::int8_t* row, std::int32_t& scale) {
  const auto element = [&](std::int64_t h) { return lines.data[i * lines.line_stride + h * lines.inner_stride]; };
  std::uint32_t max_bits = 0;
  std::uint32_t min_bits = kInfinityBits;  // of elements that are not zero
  for (std::int64_t h = 0; h < lines.length; ++h) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(element(h)) & 0x7FFFFFFFU;
    max_bits = std::max(max_bits, bits);
    if (bits != 0) min_bits = std::min(min_bits, bits);
  }
  scale = ec_scale(max_bits, format);
  std::memset(row, 0, static_cast<std::size_t>(product::ec_line_bytes(format, lines.length)));
  num::EcLineSight sight;
  if (scale == num::kSkipLine) return sight;
  if (max_bits != 0) sight.smallest = std::max(std::ldexp(std::bit_cast<float>(min_bits), scale), 0x1p-149F);
  const std::int64_t block = product::ec_block_length(format);
  const std::size_t size = format == EcFormat::kF16 ? 2 : 4;
  for (std::int64_t h = 0; h < lines.length; ++h) {
    const float y = std::ldexp(element(h), scale);
    const float magnitude = std::fabs(y);
    if (magnitude >= limits.full) ++sight.num_full;
    const EcNarrow hi = ec_narrow(y, format);
    if (std::fabs(hi.value) >= limits.dense) ++sight.num_dense;
    const EcNarrow lo = ec_narrow(y - hi.value, format);
    std::int8_t* const to = row + h / block * product::kEcBlockBytes + h % block * static_cast<std::int64_t>(size);
    std::memcpy(to, &hi.bits, size);
    std::memcpy(to + product::kEcBlockBytes / 2, &lo.bits, size);
  }
  return sight;
}

std::uint32_t ec_judged_flags(const problem::Lines<float>& lines, std::int64_t i, EcFormat format,
                              const num::EcRangeLimits& limits, std::int32_t scale, num::EcLineSight sight) {
  std::array<std::int64_t, kJudgedParts> missing{};
  for (std::int64_t h = 0; h < lines.length; ++h) {
    const float y = std::ldexp(lines.data[i * lines.line_stride + h * lines.inner_stride], scale);
    if (std::fabs(ec_narrow(y, format).value) < limits.dense) ++missing[static_cast<std::size_t>(judged_part(h))];
  }
  const std::int64_t most = *std::max_element(missing.begin(), missing.end());
  sight.num_dense = most * num_judged_parts(lines.length) * 4 <= lines.length ? lines.length : 0;
  return num::ec_line_flags(limits, sight, lines.length);
}

}  // namespace kizami::ec
