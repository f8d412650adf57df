// SPDX-License-Identifier: MIT
// The optional interface of an engine that can leave one triangle of C out: half of the tiles are then multiplied. An
// engine without it multiplies all of C, or the call is made of other products.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "kizami/status.hpp"
#include "product/launch.hpp"
#include "product/product.hpp"

namespace kizami::product {

/// Elements (i, j) with i >= j of every plane of C, or those with i <= j. What lies beyond the diagonal is written in
/// tiles that the diagonal crosses, and nowhere else; kCompare counts such pairs, too.
/// @range m and n are the same but for padding: m = round_up(n, a multiple of 16). num_swapped: even; both operands then
///        have the same strides
struct TriangleDesc {
  ProductDesc product;
  bool is_lower = true;
  /// Where so many planes or fewer are made, B_l is plane l ^ 1 of A, and B is not read. So the planes of conjugates are
  /// those of the numbers, modulo primes that have a square root of -1.
  int num_swapped = 0;
};

class TriangleEngine {
 public:
  virtual ~TriangleEngine() = default;
  /// As Engine::query() and Engine::run(). No workspace is needed.
  [[nodiscard]] virtual std::variant<Offer, Refusal> query(const TriangleDesc& desc,
                                                           const DeviceFacts& facts) const = 0;
  [[nodiscard]] virtual Status run(const TriangleDesc& desc, const Pointers& pointers, Queue queue) const = 0;
};

/// The interface of an engine that has it; null of one that has not.
[[nodiscard]] inline const TriangleEngine* triangles_of(const Engine* engine) {
  return dynamic_cast<const TriangleEngine*>(engine);
}

/// product::launch() of a triangle. @range triangles_of(&engine) is not null
[[nodiscard]] inline Status launch_triangle(const Engine& engine, const DeviceFacts& facts, const TriangleDesc& desc,
                                            const Pointers& pointers, Queue queue) {
  const base::PhaseRange phase(base::Phase::kProduct);
  const TriangleEngine& triangles = *triangles_of(&engine);
  const auto answer = triangles.query(desc, facts);
  if (const auto* const refusal = std::get_if<Refusal>(&answer)) {
    return {StatusCode::kInternal,
            "engine " + std::string(engine.name()) + " refused a planned triangle: " + refusal->reason};
  }
  return triangles.run(desc, pointers, queue);
}

}  // namespace kizami::product
