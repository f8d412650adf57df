// SPDX-License-Identifier: MIT
#include "schemes/ec/device_part.hpp"

#include <variant>

#include "schemes/ec/device_plan.hpp"
#include "schemes/ec/device_planes_plan.hpp"
#include "schemes/ec/stage.hpp"

namespace kizami::ec {

std::optional<std::string> why_no_part(const plan::Plan& plan) {
  if (plan::is_empty(plan.shape)) return std::nullopt;  // no product
  // Of complex numbers one split cannot be of both sides, and scheme ozaki2 is quicker (docs/perf/h200_call.md).
  if (is_complex(plan.shape.scalar)) return "scheme ec makes all of a complex C, must be ozaki2 for a triangle";
  if (has_device_planes(plan)) return "scheme ec by planes makes all of C, must be by kernels for a triangle";
  const product::EcEngine& engine = *ec_of(plan).device_engine;
  const product::EcTriangleEngine* const triangles = product::triangles_of(&engine);
  const std::string name(engine.name());
  if (triangles == nullptr) return "engine " + name + " makes all of C, must be hopper for a triangle";
  const auto answer =
      triangles->query_triangle(device_ec_product(plan, ec_of(plan).numerics.rungs[0], false), plan.schedule.facts);
  if (const auto* const refusal = std::get_if<product::Refusal>(&answer))
    return "engine " + name + ": " + refusal->reason;
  return std::nullopt;
}

}  // namespace kizami::ec
