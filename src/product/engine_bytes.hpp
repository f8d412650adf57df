// SPDX-License-Identifier: MIT
// The scratch that an engine wants for a family of products.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "product/product.hpp"

namespace kizami::product {

/// The extents that occur when `total` is done in parts of `part`: the part, and the rest if there is one.
struct Extents {
  std::array<std::int64_t, 2> values{};
  std::size_t count = 1;

  Extents(std::int64_t total, std::int64_t part) : values{std::min(total, part), 0} {
    if (values[0] > 0 && total % values[0] != 0) values[count++] = total % values[0];
  }
  [[nodiscard]] const std::int64_t* begin() const { return values.data(); }
  [[nodiscard]] const std::int64_t* end() const { return values.data() + count; }
};

/// The most scratch that an engine asks for, over all combinations of the extents. A smaller product may need
/// more than a larger one: engines block what is large, and work on several small planes side by side.
[[nodiscard]] std::size_t engine_bytes(const Engine& engine, const DeviceFacts& facts, ProductDesc desc,
                                       const Extents& ms, const Extents& ns, const Extents& ks);

}  // namespace kizami::product
