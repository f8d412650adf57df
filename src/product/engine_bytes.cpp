// SPDX-License-Identifier: MIT
#include "product/engine_bytes.hpp"

#include <variant>

namespace kizami::product {

std::size_t engine_bytes(const Engine& engine, const DeviceFacts& facts, ProductDesc desc, const Extents& ms,
                         const Extents& ns, const Extents& ks) {
  std::size_t most = 0;
  if (!engine.needs_workspace()) return most;
  for (const std::int64_t m : ms) {
    for (const std::int64_t n : ns) {
      for (const std::int64_t k : ks) {
        desc.m = m;
        desc.n = n;
        desc.k = k;
        const auto answer = engine.query(desc, facts);
        const auto* const offer = std::get_if<Offer>(&answer);
        if (offer != nullptr) most = std::max(most, offer->workspace_bytes);
      }
    }
  }
  return most;
}

}  // namespace kizami::product
