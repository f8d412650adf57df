// SPDX-License-Identifier: MIT
// Who repairs which pair of a band of lines with many pairs, for the device and its tests. Not part of the module's
// interface.
#pragma once

#include <cstdint>

#include "kizami/host_device.hpp"

namespace kizami::fp64 {

/// Of a pair alone, and even: pairs of one line, one column, or any pattern come to lie everywhere in 0 ... 2^32 - 1.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t pair_hash(std::int64_t row, std::int64_t col) {
  std::uint64_t x = static_cast<std::uint64_t>(row) * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(col);
  x = (x ^ x >> 32) * 0xD6E8FEB86659FD93U;
  x = (x ^ x >> 32) * 0xD6E8FEB86659FD93U;
  return static_cast<std::uint32_t>(x >> 32);
}

/// floor(count hash / 2^32): one of `count` places. @range count < 2^32
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t place_of_hash(std::uint32_t hash, std::uint32_t count) {
  return static_cast<std::uint32_t>(std::uint64_t{hash} * count >> 32);
}

}  // namespace kizami::fp64
