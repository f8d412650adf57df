// SPDX-License-Identifier: MIT
#include "schemes/ozaki2/device_part.hpp"

#include <variant>

#include "base/int_math.hpp"
#include "device/padding.hpp"
#include "product/triangle.hpp"
#include "schemes/ozaki2/device_buffers.hpp"

namespace kizami::ozaki2 {

std::optional<std::string> why_no_part(const plan::Plan& plan) {
  if (plan.first().scheme != Scheme::kOzaki2)
    return "scheme " + std::string(to_string(plan.first().scheme)) +
           " makes all of C, must be ozaki2 or ec for a triangle";
  const Ozaki2Stage& stage = ozaki2_of(plan);
  if (stage.ladder.num_rungs == 0 || plan::is_empty(plan.shape)) return std::nullopt;  // no product
  const std::string engine(stage.engine->name());
  const product::TriangleEngine* const triangles = product::triangles_of(stage.engine);
  if (triangles == nullptr) return "engine " + engine + " makes all of C, must be hopper for a triangle";
  const plan::Chunk& chunk = stage.chunk;
  if (chunk.mc < plan.shape.m || chunk.nc < plan.shape.n || chunk.kc < plan.shape.k)
    return "the workspace holds a part of C and its operands at a time, must hold all for a triangle";
  product::ProductDesc desc = device_main_product(plan, chunk, stage.ladder.rungs[0].num_moduli);
  desc.m = base::round_up(plan.shape.m, device::kReadRows);
  const auto answer = triangles->query({desc, true}, plan.schedule.facts);
  if (const auto* const refusal = std::get_if<product::Refusal>(&answer))
    return "engine " + engine + ": " + refusal->reason;
  return std::nullopt;
}

}  // namespace kizami::ozaki2
