// SPDX-License-Identifier: MIT
// Whether products fit in the memory of one device. Larger ones are refused before anything is copied.
#pragma once

#include <cstdint>
#include <string>

#include "kizami/types.hpp"

namespace kizami::cli {

struct DeviceRoom {
  std::string device;
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
};

/// What a product takes of the memory of a device; 2^64 - 1 where that does not hold it.
struct ProductBytes {
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t c = 0;
  std::uint64_t workspace = 0;

  [[nodiscard]] std::uint64_t sum() const;
};
/// @range sizes below kDimLimit and num_products >= 0
[[nodiscard]] ProductBytes product_bytes(Scalar scalar, std::int64_t m, std::int64_t n, std::int64_t k,
                                         std::int64_t num_products, std::uint64_t workspace);

/// Throws Failure kOutOfMemory that names all sizes and the limit, which is what is free, or all that the device has.
void require_room(const ProductBytes& bytes, const DeviceRoom& room, bool is_only_planned = false);

}  // namespace kizami::cli
