// SPDX-License-Identifier: MIT
#include "schemes/ozaki1/device_rungs_plan.hpp"

#include <algorithm>
#include <utility>

#include "base/int_math.hpp"
#include "device/batch_buffers.hpp"
#include "plan/chunks.hpp"
#include "schemes/ozaki1/stage.hpp"
#include "schemes/ozaki2/stage.hpp"

namespace kizami::ozaki1 {
namespace {

[[nodiscard]] std::size_t certificate_bytes(const plan::Plan& plan) {
  base::Carver counter;
  static_cast<void>(carve_device_slice_certificate(counter, plan));
  return counter.bytes();
}

}  // namespace

bool has_slice_rungs(const plan::Plan& plan) { return ozaki1_of(plan).numerics.ladder.num_rungs > 0; }

plan::Plan plan_at_slice_rung(const plan::Plan& plan, int rung) {
  plan::Plan one;
  one.shape = plan.shape;
  one.policy = plan.policy;
  one.stages = plan.stages;
  one.schedule = plan.schedule;
  SliceNumerics& slices = plan::edit_stage<Ozaki1Stage>(one).numerics;
  slices.rungs[0] = slices.rungs[static_cast<std::size_t>(rung)];
  slices.num_rungs = 1;
  slices.ladder = {};
  return one;
}

DeviceSliceCertificateBuffers carve_device_slice_certificate(base::Carver& carver, const plan::Plan& plan) {
  DeviceSliceCertificateBuffers buffers;
  buffers.state = carver.take<device::DeviceState>(1);
  if (plan::is_empty(plan.shape)) return buffers;
  const auto carve_lines = [&](std::int64_t lines) {
    device::DeviceLineBuffers of_lines;
    of_lines.stats = carver.take<num::LineStats>(lines);
    of_lines.weights = carver.take<num::RungWeight>(base::round_up(lines, device::kReadRows));
    of_lines.line_weights = carver.take<num::LineWeight>(lines);
    return of_lines;
  };
  buffers.a = carve_lines(plan.shape.m);
  buffers.b = carve_lines(plan.shape.n);
  const plan::Chunk& chunk = ozaki2::ozaki2_of(plan).certificate;
  const bool is_whole = chunk.mc >= plan.shape.m && chunk.nc >= plan.shape.n;
  const std::size_t mark = carver.mark();
  buffers.sampled =
      certify::carve_sampled(carver, ozaki2::certificate_plan(plan), ozaki1_of(plan).numerics.ladder, is_whole);
  carver.rewind(mark);
  buffers.second_look =
      certify::carve_second_look(carver, {chunk.mc, chunk.nc}, plan.shape.k, is_complex(plan.shape.scalar) ? 2 : 1);
  return buffers;
}

ozaki2::EngineAnswer plan_behind_slices(plan::Plan& plan) {
  ozaki2::EngineAnswer answer = ozaki2::plan_ozaki2_on_engine(plan);
  if (!std::holds_alternative<double>(answer) || !ozaki2::ozaki2_of(plan).has_certificate) return answer;
  const std::size_t limit = device::workspace_limit(plan.policy.workspace_limit_bytes, plan.schedule.facts);
  const std::size_t granted = std::max(limit, plan.schedule.workspace_bytes);
  plan::Chunk& chunk = plan::edit_stage<ozaki2::Ozaki2Stage>(plan).certificate;
  while (certificate_bytes(plan) > granted && plan::halve(chunk.mc >= chunk.nc ? chunk.mc : chunk.nc, 1, 1)) {
  }
  return answer;
}

std::size_t certified_slices_bytes(const plan::Plan& plan) {
  return std::max(ozaki2::ozaki2_of(plan).has_certificate ? certificate_bytes(plan) : 0, ozaki2::product_bytes(plan));
}

}  // namespace kizami::ozaki1
