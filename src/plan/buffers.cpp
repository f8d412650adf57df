// SPDX-License-Identifier: MIT
#include "plan/buffers.hpp"

#include <algorithm>

#include "base/int_math.hpp"
#include "num/moduli.hpp"

namespace kizami::plan {
namespace {

using base::ceil_div;
using base::round_up;
using product::kPadBytes;

[[nodiscard]] std::size_t engine_bytes(const Plan& plan, const product::ProductDesc& desc) {
  const auto answer = plan.schedule.engine->query(desc, plan.schedule.facts);
  const auto* const offer = std::get_if<product::Offer>(&answer);
  return offer == nullptr ? 0 : offer->workspace_bytes;
}

LineBuffers carve_lines(base::Carver& carver, std::int64_t lines, const Plan& plan) {
  LineBuffers buffers;
  buffers.stats = carver.take<num::LineStats>(lines);
  buffers.scales = carver.take<std::int32_t>(lines);
  if (plan.numerics.has_certificate) buffers.weights = carver.take<num::LineWeight>(lines);
  if (plan.numerics.ladder.may_equilibrate) {
    buffers.equilibrated = carver.take<num::LineStats>(lines);
    buffers.inner_shift = carver.take<std::int32_t>(plan.shape.k);
  }
  return buffers;
}

CertificateBuffers carve_certificate(base::Carver& carver, const Plan& plan) {
  CertificateBuffers buffers;
  const Chunk& chunk = plan.schedule.certificate;
  const std::int64_t row = round_up(plan.shape.k, kPadBytes);
  const std::int64_t blocks = ceil_div(plan.shape.k, kPadBytes);
  buffers.a_digits = carver.take<std::int8_t>(chunk.mc * row);
  buffers.b_digits = carver.take<std::int8_t>(chunk.nc * row);
  buffers.a_deficits = carver.take<std::uint8_t>(chunk.mc * blocks);
  buffers.b_deficits = carver.take<std::uint8_t>(chunk.nc * blocks);
  constexpr std::int64_t kSampledElems = kSampledTile * kSampledTile;
  buffers.acc = carver.take<std::int32_t>(std::max(kSampledElems, kBlockTile * kBlockTile * kBlocksPerLaunch));
  buffers.sums = carver.take<std::uint64_t>(kSampledElems);
  buffers.rungs = carver.take<std::uint8_t>(kSampledElems);
  const std::size_t bytes = std::max(engine_bytes(plan, sampled_product(plan, kSampledTile, kSampledTile,
                                                                        std::min(plan.shape.k, product::kBlockMaxI8))),
                                     engine_bytes(plan, block_product(plan, kBlockTile, kBlockTile, kBlocksPerLaunch)));
  buffers.engine = carver.take<std::byte>(static_cast<std::int64_t>(bytes));
  return buffers;
}

MainBuffers carve_main(base::Carver& carver, const Plan& plan) {
  MainBuffers buffers;
  const Chunk& chunk = plan.schedule.chunk;
  const num::Ladder& ladder = plan.numerics.ladder;
  const int moduli = ladder.rungs[static_cast<std::size_t>(ladder.num_rungs - 1)].num_moduli;
  buffers.a_planes = carver.take<std::int8_t>(moduli * chunk.mc * chunk.kc);
  buffers.b_planes = carver.take<std::int8_t>(moduli * chunk.nc * chunk.kc);
  buffers.residues = carver.take<std::int8_t>(moduli * chunk.nc * round_up(chunk.mc, kPadBytes));
  buffers.engine =
      carver.take<std::byte>(static_cast<std::int64_t>(engine_bytes(plan, main_product(plan, chunk, moduli))));
  return buffers;
}

}  // namespace

Buffers carve(base::Carver& carver, const Plan& plan) {
  Buffers buffers;
  buffers.a = carve_lines(carver, plan.shape.m, plan);
  buffers.b = carve_lines(carver, plan.shape.n, plan);
  if (plan.numerics.has_certificate) {
    buffers.repairs = carver.take<Repair>((plan.shape.m * plan.shape.n) >> num::kRepairShift);
    const std::size_t mark = carver.mark();
    buffers.certificate = carve_certificate(carver, plan);
    carver.rewind(mark);
  }
  if (plan.numerics.ladder.num_rungs > 0) buffers.main = carve_main(carver, plan);
  return buffers;
}

product::ProductDesc main_product(const Plan& plan, const Chunk& chunk, int num_moduli) {
  product::ProductDesc desc;
  desc.m = chunk.mc;
  desc.n = chunk.nc;
  desc.k = std::min(chunk.kc, plan.shape.k);
  desc.num_products = num_moduli;
  desc.epilogue = product::Epilogue::kReduce;
  for (int l = 0; l < num_moduli; ++l)
    desc.moduli[static_cast<std::size_t>(l)] = num::kRealModuli[static_cast<std::size_t>(l)];
  desc.a_row_stride = chunk.kc;
  desc.a_plane_stride = chunk.mc * chunk.kc;
  desc.b_row_stride = chunk.kc;
  desc.b_plane_stride = chunk.nc * chunk.kc;
  desc.c_col_stride = round_up(chunk.mc, kPadBytes);
  desc.c_plane_stride = chunk.nc * desc.c_col_stride;
  return desc;
}

product::ProductDesc sampled_product(const Plan& plan, std::int64_t m, std::int64_t n, std::int64_t length) {
  product::ProductDesc desc;
  desc.m = m;
  desc.n = n;
  desc.k = length;
  desc.num_products = 1;
  desc.epilogue = product::Epilogue::kStoreAcc;
  desc.a_row_stride = desc.b_row_stride = round_up(plan.shape.k, kPadBytes);
  desc.c_col_stride = kSampledTile;
  desc.c_plane_stride = kSampledTile * kSampledTile;
  return desc;
}

product::ProductDesc block_product(const Plan& plan, std::int64_t m, std::int64_t n, std::int64_t num_blocks) {
  product::ProductDesc desc = sampled_product(plan, m, n, kPadBytes);
  desc.num_products = static_cast<int>(num_blocks);
  desc.a_plane_stride = desc.b_plane_stride = kPadBytes;  // a block of k is a plane
  desc.c_col_stride = kBlockTile;
  desc.c_plane_stride = kBlockTile * kBlockTile;
  return desc;
}

}  // namespace kizami::plan
