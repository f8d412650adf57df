// SPDX-License-Identifier: MIT
#include "plan/device_slice_rungs.hpp"

#include <algorithm>
#include <utility>

#include "base/int_math.hpp"
#include "plan/chunks.hpp"

namespace kizami::plan {
namespace {

[[nodiscard]] std::size_t certificate_bytes(const Plan& plan) {
  base::Carver counter;
  static_cast<void>(carve_device_slice_certificate(counter, plan));
  return counter.bytes();
}

}  // namespace

bool has_slice_rungs(const Plan& plan) { return plan.numerics.slices.ladder.num_rungs > 0; }

Plan plan_at_slice_rung(const Plan& plan, int rung) {
  Plan one;
  one.shape = plan.shape;
  one.policy = plan.policy;
  one.numerics = plan.numerics;
  one.schedule = plan.schedule;
  SliceNumerics& slices = one.numerics.slices;
  slices.rungs[0] = plan.numerics.slices.rungs[static_cast<std::size_t>(rung)];
  slices.num_rungs = 1;
  slices.ladder = {};
  return one;
}

DeviceSliceCertificateBuffers carve_device_slice_certificate(base::Carver& carver, const Plan& plan) {
  DeviceSliceCertificateBuffers buffers;
  buffers.state = carver.take<DeviceState>(1);
  if (is_empty(plan.shape)) return buffers;
  const auto carve_lines = [&](std::int64_t lines) {
    DeviceLineBuffers of_lines;
    of_lines.stats = carver.take<num::LineStats>(lines);
    of_lines.weights = carver.take<num::RungWeight>(base::round_up(lines, kReadRows));
    of_lines.line_weights = carver.take<num::LineWeight>(lines);
    return of_lines;
  };
  buffers.a = carve_lines(plan.shape.m);
  buffers.b = carve_lines(plan.shape.n);
  const Chunk& chunk = plan.schedule.certificate;
  const bool is_whole = chunk.mc >= plan.shape.m && chunk.nc >= plan.shape.n;
  const std::size_t mark = carver.mark();
  buffers.sampled = carve_sampled(carver, plan, plan.numerics.slices.ladder, is_whole);
  carver.rewind(mark);
  buffers.second_look =
      carve_second_look(carver, {chunk.mc, chunk.nc}, plan.shape.k, is_complex(plan.shape.scalar) ? 2 : 1);
  return buffers;
}

EngineAnswer plan_behind_slices(Plan& plan) {
  EngineAnswer answer = plan_ozaki2_on_engine(plan);
  if (!std::holds_alternative<double>(answer) || !plan.numerics.has_certificate) return answer;
  const std::size_t limit =
      plan.policy.workspace_limit_bytes != 0 ? plan.policy.workspace_limit_bytes : plan.schedule.facts.memory_bytes / 4;
  const std::size_t granted = std::max(limit, plan.schedule.workspace_bytes);
  Chunk& chunk = plan.schedule.certificate;
  while (certificate_bytes(plan) > granted && halve(chunk.mc >= chunk.nc ? chunk.mc : chunk.nc, 1, 1)) {
  }
  return answer;
}

std::size_t certified_slices_bytes(const Plan& plan) {
  return std::max(plan.numerics.has_certificate ? certificate_bytes(plan) : 0, product_bytes(plan));
}

}  // namespace kizami::plan
