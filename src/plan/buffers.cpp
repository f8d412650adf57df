// SPDX-License-Identifier: MIT
#include "plan/buffers.hpp"

#include <algorithm>
#include <variant>

#include "base/int_math.hpp"
#include "num/moduli.hpp"
#include "plan/engine_bytes.hpp"

namespace kizami::plan {
namespace {

using base::ceil_div;
using base::round_up;
using product::kPadBytes;

/// Real terms of a block of digits.
[[nodiscard]] std::int64_t block_terms(const Plan& plan) {
  return num::kDigitBlock * (is_complex(plan.shape.scalar) ? 2 : 1);
}

/// engine_bytes() of the products of the certificate: chunks of lines, in tiles of `side` of them.
[[nodiscard]] std::size_t tile_bytes(const Plan& plan, const product::ProductDesc& desc, std::int64_t side,
                                     const Extents& ks) {
  const Chunk& chunk = plan.schedule.certificate;
  std::size_t most = 0;
  for (const std::int64_t rows : Extents(plan.shape.m, chunk.mc)) {
    for (const std::int64_t cols : Extents(plan.shape.n, chunk.nc)) {
      most = std::max(most, engine_bytes(plan, desc, {rows, side}, {cols, side}, ks));
    }
  }
  return most;
}

/// Digits of every element or of a sample of them, and blocks of 64 elements, some at a time.
[[nodiscard]] std::size_t certificate_bytes(const Plan& plan) {
  const std::int64_t parts = is_complex(plan.shape.scalar) ? 2 : 1;
  std::size_t most = 0;
  for (const std::int64_t stride : {1, 2, 4}) {
    const std::int64_t length = ceil_div(plan.shape.k, stride) * parts;
    const product::ProductDesc desc = sampled_product(plan, 0, 0, 0);
    const Extents ks(length, product::kBlockMaxI8);
    most = std::max({most, tile_bytes(plan, desc, kSampledTile, ks), tile_bytes(plan, desc, kBlockTile, ks)});
  }
  const std::int64_t length = block_terms(plan);
  for (const std::int64_t count : Extents(digit_row(plan) / length, kBlocksPerLaunch)) {
    most = std::max(most, tile_bytes(plan, block_product(plan, 0, 0, count), kBlockTile, {length, length}));
  }
  return most;
}

/// Chunks at every rung.
[[nodiscard]] std::size_t main_bytes(const Plan& plan) {
  const Chunk& chunk = plan.schedule.chunk;
  const num::Ladder& ladder = plan.numerics.ladder;
  std::size_t most = 0;
  for (int r = 0; r < ladder.num_rungs; ++r) {
    const int num_moduli = ladder.rungs[static_cast<std::size_t>(r)].num_moduli;
    most = std::max(most, engine_bytes(plan, main_product(plan, chunk, num_moduli), {plan.shape.m, chunk.mc},
                                       {plan.shape.n, chunk.nc}, {plan.shape.k, chunk.kc}));
  }
  return most;
}

LineBuffers carve_lines(base::Carver& carver, std::int64_t lines, const Plan& plan) {
  LineBuffers buffers;
  buffers.stats = carver.take<num::LineStats>(lines);
  buffers.scales = carver.take<std::int32_t>(lines);
  if (plan.numerics.is_correct) buffers.errors = carver.take<num::LineError>(lines);
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
  const std::int64_t row = digit_row(plan);
  const std::int64_t blocks = row / block_terms(plan);
  buffers.a_digits = carver.take<std::int8_t>(chunk.mc, row);
  buffers.b_digits = carver.take<std::int8_t>(chunk.nc, row);
  if (is_complex(plan.shape.scalar)) buffers.b_swapped = carver.take<std::int8_t>(chunk.nc, row);
  buffers.a_scales = carver.take<float>(blocks, chunk.mc);
  buffers.b_scales = carver.take<float>(blocks, chunk.nc);
  constexpr std::int64_t kSampledElems = kSampledTile * kSampledTile;
  buffers.acc = carver.take<std::int32_t>(std::max(kSampledElems, kBlockTile * kBlockTile * kBlocksPerLaunch));
  const std::size_t mark = carver.mark();
  buffers.block_sums = carver.take<float>(2, kBlockTile, kBlockTile);
  carver.rewind(mark);
  static_assert(sizeof(float) * 2 * kBlockTile * kBlockTile <= sizeof(std::uint64_t) * kSampledElems);
  buffers.sums = carver.take<std::uint64_t>(kSampledElems);
  buffers.part_rungs = carver.take<std::uint8_t>(kSampledElems);
  buffers.rungs = carver.take<std::uint8_t>(kSampledElems);
  buffers.engine_bytes = plan.schedule.engine_bytes ? plan.schedule.engine_bytes->certificate : certificate_bytes(plan);
  buffers.engine = carver.take<std::byte>(buffers.engine_bytes);
  return buffers;
}

MainBuffers carve_main(base::Carver& carver, const Plan& plan) {
  MainBuffers buffers;
  const Chunk& chunk = plan.schedule.chunk;
  const num::Ladder& ladder = plan.numerics.ladder;
  const int planes = num::num_planes(ring_of(plan.shape.scalar),
                                     ladder.rungs[static_cast<std::size_t>(ladder.num_rungs - 1)].num_moduli);
  buffers.a_planes = carver.take<std::int8_t>(planes, chunk.mc, chunk.kc);
  buffers.b_planes = carver.take<std::int8_t>(planes, chunk.nc, chunk.kc);
  buffers.residues = carver.take<std::int8_t>(planes, chunk.nc, round_up(chunk.mc, kPadBytes));
  if (has_own_phases(plan)) buffers.factors = carver.take<double>(2, chunk.mc + chunk.nc);
  buffers.engine_bytes = plan.schedule.engine_bytes ? plan.schedule.engine_bytes->main : main_bytes(plan);
  buffers.engine = carver.take<std::byte>(buffers.engine_bytes);
  return buffers;
}

EcBuffers carve_ec(base::Carver& carver, const Plan& plan) {
  EcBuffers buffers;
  const Chunk& chunk = plan.schedule.ec_chunk;
  std::int64_t row_bytes = 0;  // of all parts of a line, at the stage that needs most
  for (int s = 0; s < plan.numerics.ec.num_stages; ++s) {
    const EcRecipe& recipe = plan.numerics.ec.stages[static_cast<std::size_t>(s)].recipe;
    row_bytes =
        std::max(row_bytes, recipe.split.num_parts * ec_row_elems(plan, recipe.type) * num::element_bytes(recipe.type));
    if (plan.schedule.engine_bytes) continue;
    const auto answer = plan.schedule.float_engine->query(ec_product(plan, s), plan.schedule.facts);
    if (const auto* const offer = std::get_if<product::Offer>(&answer))
      buffers.engine_bytes = std::max(buffers.engine_bytes, offer->workspace_bytes);
  }
  if (plan.schedule.engine_bytes) buffers.engine_bytes = plan.schedule.engine_bytes->ec;
  buffers.a_planes = carver.take<std::byte>(chunk.mc, row_bytes);
  buffers.b_planes = carver.take<std::byte>(chunk.nc, row_bytes);
  buffers.sums = carver.take<float>(ec_products(plan), chunk.nc, chunk.mc);
  buffers.engine = carver.take<std::byte>(buffers.engine_bytes);
  return buffers;
}

}  // namespace

Buffers carve(base::Carver& carver, const Plan& plan) {
  Buffers buffers;
  buffers.a = carve_lines(carver, plan.shape.m, plan);
  buffers.b = carve_lines(carver, plan.shape.n, plan);
  if (plan.numerics.has_certificate) {
    buffers.repairs = carver.take<Repair>((plan.shape.m * plan.shape.n) >> num::kMostRepairShift);
    const std::size_t mark = carver.mark();
    buffers.certificate = carve_certificate(carver, plan);
    carver.rewind(mark);
  }
  const std::size_t mark = carver.mark();
  if (plan.numerics.ladder.num_rungs > 0) buffers.main = carve_main(carver, plan);
  if (plan.numerics.ec.num_stages > 0 && plan.schedule.float_engine != nullptr) {
    carver.rewind(mark);
    buffers.ec = carve_ec(carver, plan);
  }
  if (plan.numerics.slices.num_rungs > 0) {
    carver.rewind(mark);
    buffers.slices = carve_slices(carver, plan);
  }
  return buffers;
}

void book_engine_bytes(Plan& plan) {
  if (is_on_device(plan)) return;
  plan.schedule.engine_bytes.reset();
  base::Carver counter;
  const Buffers buffers = carve(counter, plan);
  plan.schedule.engine_bytes = EngineBytes{buffers.certificate.engine_bytes, buffers.main.engine_bytes,
                                           buffers.ec.engine_bytes, buffers.slices.engine_bytes};
}

product::ProductDesc main_product(const Plan& plan, const Chunk& chunk, int num_moduli) {
  product::ProductDesc desc;
  desc.m = chunk.mc;
  desc.n = chunk.nc;
  desc.k = std::min(chunk.kc, plan.shape.k);
  const num::Ring ring = ring_of(plan.shape.scalar);
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

std::int64_t ec_row_elems(const Plan& plan, num::FloatType type) {
  return round_up(ec_terms(plan), kPadBytes / num::element_bytes(type));
}

product::FloatProductDesc ec_product(const Plan& plan, int stage) {
  const EcStage& s = plan.numerics.ec.stages[static_cast<std::size_t>(stage)];
  const Chunk& chunk = plan.schedule.ec_chunk;
  product::FloatProductDesc desc = ec_arithmetic(s.recipe, s.core);
  desc.m = chunk.mc;
  desc.n = chunk.nc;
  desc.k = ec_terms(plan);
  desc.a_row_stride = desc.b_row_stride = ec_row_elems(plan, s.recipe.type);
  desc.a_plane_stride = chunk.mc * desc.a_row_stride;
  desc.b_plane_stride = chunk.nc * desc.b_row_stride;
  desc.c_col_stride = chunk.mc;
  return desc;
}

std::int64_t digit_row(const Plan& plan) { return round_up(num_terms(plan.shape), block_terms(plan)); }

product::ProductDesc sampled_product(const Plan& plan, std::int64_t m, std::int64_t n, std::int64_t length) {
  product::ProductDesc desc;
  desc.m = m;
  desc.n = n;
  desc.k = length;
  desc.num_products = 1;
  desc.epilogue = product::Epilogue::kStoreAcc;
  desc.a_row_stride = desc.b_row_stride = digit_row(plan);
  desc.c_col_stride = kSampledTile;
  desc.c_plane_stride = kSampledTile * kSampledTile;
  return desc;
}

product::ProductDesc block_product(const Plan& plan, std::int64_t m, std::int64_t n, std::int64_t num_blocks) {
  product::ProductDesc desc = sampled_product(plan, m, n, block_terms(plan));
  desc.num_products = static_cast<int>(num_blocks);
  desc.a_plane_stride = desc.b_plane_stride = block_terms(plan);  // a block of k is a plane
  desc.c_col_stride = kBlockTile;
  desc.c_plane_stride = kBlockTile * kBlockTile;
  return desc;
}

}  // namespace kizami::plan
