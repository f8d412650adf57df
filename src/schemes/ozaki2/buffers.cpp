// SPDX-License-Identifier: MIT
#include "schemes/ozaki2/buffers.hpp"

#include <algorithm>
#include <optional>

#include "base/int_math.hpp"
#include "num/moduli.hpp"
#include "product/engine_bytes.hpp"

namespace kizami::ozaki2 {
namespace {

using base::round_up;
using product::kPadBytes;

/// Chunks at every rung.
[[nodiscard]] std::size_t main_bytes(const plan::Plan& plan) {
  const Ozaki2Stage& stage = ozaki2_of(plan);
  const plan::Chunk& chunk = stage.chunk;
  const num::Ladder& ladder = stage.ladder;
  std::size_t most = 0;
  for (int r = 0; r < ladder.num_rungs; ++r) {
    const int num_moduli = ladder.rungs[static_cast<std::size_t>(r)].num_moduli;
    most = std::max(
        most, product::engine_bytes(*stage.engine, plan.schedule.facts, main_product(plan, chunk, num_moduli),
                                    {plan.shape.m, chunk.mc}, {plan.shape.n, chunk.nc}, {plan.shape.k, chunk.kc}));
  }
  return most;
}

LineBuffers carve_lines(base::Carver& carver, std::int64_t lines, const plan::Plan& plan) {
  LineBuffers buffers;
  buffers.stats = carver.take<num::LineStats>(lines);
  buffers.scales = carver.take<std::int32_t>(lines);
  if (ozaki2_of(plan).is_correct) buffers.errors = carver.take<num::LineError>(lines);
  if (ozaki2_of(plan).has_certificate) buffers.weights = carver.take<num::LineWeight>(lines);
  if (ozaki2_of(plan).ladder.may_equilibrate) {
    buffers.equilibrated = carver.take<num::LineStats>(lines);
    buffers.inner_shift = carver.take<std::int32_t>(plan.shape.k);
  }
  return buffers;
}

MainBuffers carve_main(base::Carver& carver, const plan::Plan& plan) {
  MainBuffers buffers;
  const Ozaki2Stage& stage = ozaki2_of(plan);
  const plan::Chunk& chunk = stage.chunk;
  const num::Ladder& ladder = stage.ladder;
  const int planes = num::num_planes(plan::ring_of(plan.shape.scalar),
                                     ladder.rungs[static_cast<std::size_t>(ladder.num_rungs - 1)].num_moduli);
  buffers.a_planes = carver.take<std::int8_t>(planes, chunk.mc, chunk.kc);
  buffers.b_planes = carver.take<std::int8_t>(planes, chunk.nc, chunk.kc);
  buffers.residues = carver.take<std::int8_t>(planes, chunk.nc, round_up(chunk.mc, kPadBytes));
  if (has_own_phases(plan)) buffers.factors = carver.take<double>(2, chunk.mc + chunk.nc);
  buffers.engine_bytes = stage.engine_bytes ? stage.engine_bytes->main : main_bytes(plan);
  buffers.engine = carver.take<std::byte>(buffers.engine_bytes);
  return buffers;
}

}  // namespace

Buffers carve(base::Carver& carver, const plan::Plan& plan) {
  const Ozaki2Stage& stage = ozaki2_of(plan);
  Buffers buffers;
  buffers.a = carve_lines(carver, plan.shape.m, plan);
  buffers.b = carve_lines(carver, plan.shape.n, plan);
  if (stage.has_certificate)
    buffers.repairs = carver.take<Repair>((plan.shape.m * plan.shape.n) >> num::kMostRepairShift);
  buffers.shared_mark = carver.mark();
  if (stage.has_certificate) {
    std::optional<std::size_t> booked;
    if (stage.engine_bytes) booked = stage.engine_bytes->certificate;
    buffers.certificate = certify::carve_certificate(carver, certificate_plan(plan), booked);
    carver.rewind(buffers.shared_mark);
  }
  if (stage.ladder.num_rungs > 0) buffers.main = carve_main(carver, plan);
  return buffers;
}

product::ProductDesc main_product(const plan::Plan& plan, const plan::Chunk& chunk, int num_moduli) {
  product::ProductDesc desc;
  desc.m = chunk.mc;
  desc.n = chunk.nc;
  desc.k = std::min(chunk.kc, plan.shape.k);
  const num::Ring ring = plan::ring_of(plan.shape.scalar);
  desc.num_products = num::num_planes(ring, num_moduli);
  desc.epilogue = product::Epilogue::kReduce;
  for (int q = 0; q < desc.num_products; ++q)
    desc.moduli[static_cast<std::size_t>(q)] = num::modulus(ring, num::modulus_number(ring, q));
  desc.a_row_stride = chunk.kc;
  desc.a_plane_stride = chunk.mc * chunk.kc;
  desc.b_row_stride = chunk.kc;
  desc.b_plane_stride = chunk.nc * chunk.kc;
  desc.c_col_stride = round_up(chunk.mc, kPadBytes);
  desc.c_plane_stride = chunk.nc * desc.c_col_stride;
  return desc;
}

}  // namespace kizami::ozaki2
