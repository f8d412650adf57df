// SPDX-License-Identifier: MIT
#include "device_room.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <limits>

#include "failure.hpp"

namespace kizami::cli {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

/// The product, or kMost.
std::uint64_t saturated(std::initializer_list<std::uint64_t> factors) {
  std::uint64_t out = 1;
  for (const std::uint64_t factor : factors) {
    if (factor == 0) return 0;
    out = out > kMost / factor ? kMost : out * factor;
  }
  return out;
}

}  // namespace

std::uint64_t ProductBytes::sum() const {
  std::uint64_t out = 0;
  for (const std::uint64_t bytes : {a, b, c, workspace}) out = out > kMost - bytes ? kMost : out + bytes;
  return out;
}

ProductBytes product_bytes(Scalar scalar, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t num_products,
                           std::uint64_t workspace) {
  const auto bytes = [&](std::int64_t rows, std::int64_t cols) {
    return saturated({static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(cols),
                      static_cast<std::uint64_t>(num_products), static_cast<std::uint64_t>(size_bytes(scalar))});
  };
  return {bytes(m, k), bytes(k, n), bytes(m, n), workspace};
}

void require_room(const ProductBytes& bytes, const DeviceRoom& room, bool is_only_planned) {
  if (bytes.sum() <= (is_only_planned ? room.total_bytes : room.free_bytes)) return;
  throw Failure(
      ExitCode::kOutOfMemory,
      fmt::format("--device: the product takes {} of device memory (A {}, B {}, C {}, workspace {}), the {} "
                  "has {}, of which {} are free",
                  in_bytes(bytes.sum()), in_bytes(bytes.a), in_bytes(bytes.b), in_bytes(bytes.c),
                  in_bytes(bytes.workspace), room.device, in_bytes(room.total_bytes), in_bytes(room.free_bytes)));
}

}  // namespace kizami::cli
