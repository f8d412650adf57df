// SPDX-License-Identifier: MIT
#include "schemes/ozaki2/strassen.hpp"

#include <algorithm>
#include <variant>

#include "base/int_math.hpp"
#include "device/padding.hpp"
#include "schemes/ozaki2/device_buffers.hpp"
#include "schemes/ozaki2/device_crt.hpp"
#include "schemes/ozaki2/residues.hpp"
#include "schemes/ozaki2/stage.hpp"

namespace kizami::ozaki2 {
namespace {

/// Of the integers of a rung, at most, so that they take one word or two, in the place of the number; a bit or two more would do.
[[nodiscard]] int most_integer_bits(Scalar scalar) { return scalar == Scalar::kC64 ? 30 : 61; }

[[nodiscard]] int num_planes(const plan::Plan& plan) {
  return num::num_planes(plan::ring_of(plan.shape.scalar), ozaki2_of(plan).ladder.rungs[0].num_moduli);
}

/// Of a chunk, which may be larger than the product.
[[nodiscard]] problem::Shape shape_of_chunk(const plan::Plan& plan) {
  const plan::Chunk& chunk = ozaki2_of(plan).chunk;
  problem::Shape shape = plan.shape;
  shape.m = std::min(shape.m, chunk.mc);
  shape.n = std::min(shape.n, chunk.nc);
  return shape;
}

[[nodiscard]] double offered_seconds(const plan::Plan& plan, const product::ProductDesc& desc) {
  const auto answer = ozaki2_of(plan).engine->query(desc, plan.schedule.facts);
  const auto* const offer = std::get_if<product::Offer>(&answer);
  return offer == nullptr ? -1.0 : offer->seconds;
}

// docs/perf/strassen.md, of an H200: 7/4 of the planes, and a little more work for each. Z has been split at twice this rate since
// rows of bytes; but long products are held by power more than their model knows, and so whole calls are predicted as found.
[[nodiscard]] double more_planes(const plan::Plan& plan) { return (kStrassenProducts / 4.0 - 1.0) * num_planes(plan); }
[[nodiscard]] double split_bytes_per_second(const plan::Plan& plan) {
  return (plan.shape.scalar == Scalar::kC128 ? 1.8e12 : 2.5e12) * plan.schedule.facts.rates.memory;
}

}  // namespace

StrassenHalves strassen_halves(const problem::Shape& shape) {
  const auto half = [](std::int64_t extent, std::int64_t pad) {
    return base::round_up(base::ceil_div(extent, std::int64_t{2}), pad);
  };
  return {half(shape.m, device::kReadRows), half(shape.n, device::kReadRows), half(shape.k, device::kDeviceInnerPad)};
}

QuadrantLines quadrant_lines(std::int64_t extent, int i, int count) {
  const std::int64_t half = strassen_halves({Scalar::kF64, extent, extent, 1}).m;
  const auto begin = [&](std::int64_t part) {
    return part == count ? half : half / device::kReadRows * part / count * device::kReadRows;
  };
  QuadrantLines lines;
  lines.first = begin(i);
  lines.count = begin(i + 1) - lines.first;
  for (const int x : {0, 1}) {
    lines.begin[x] = std::min(lines.first + x * half, extent);
    lines.end[x] = std::min(lines.first + lines.count + x * half, extent);
  }
  lines.end[0] = std::min(lines.end[0], half);
  return lines;
}

product::ProductDesc strassen_product(const plan::Plan& plan, int num_moduli) {
  const StrassenHalves halves = strassen_halves(shape_of_chunk(plan));
  product::ProductDesc desc = device_main_product(plan, {halves.m, halves.n, halves.k}, num_moduli);
  desc.num_products *= kStrassenProducts;
  desc.planes_of_modulus = kStrassenProducts;
  return desc;
}

bool may_take_strassen(const plan::Plan& plan) {
  const Ozaki2Stage& stage = ozaki2_of(plan);
  const Scalar scalar = plan.shape.scalar;
  if (scalar != Scalar::kF64 && scalar != Scalar::kC64 && scalar != Scalar::kC128) return false;
  if (stage.ladder.num_rungs == 0 || plan::is_empty(plan.shape)) return false;
  if (!stage.engine->reads_num_products() || has_device_phases(plan) || stage.chunk.kc < plan.shape.k) return false;
  const num::Rung& rung = stage.ladder.rungs[0];
  if (integer_bits(rung) > most_integer_bits(scalar)) return false;
  if (rung.num_moduli > most_piece_moduli(is_complex(scalar), kMostStrassenPieces)) return false;
  return offered_seconds(plan, strassen_product(plan, rung.num_moduli)) >= 0.0;
}

bool is_one_strassen_chunk(const plan::Plan& plan) {
  const Ozaki2Stage& stage = ozaki2_of(plan);
  return stage.takes_strassen && stage.chunk.mc >= plan.shape.m && stage.chunk.nc >= plan.shape.n;
}

double strassen_gain_seconds(const plan::Plan& plan) {
  // Beyond those of whole products. D at 8192: 860 us of quadrants (lab/results/h200/certificate.jsonl, 60549214), for 530 of
  // the whole product: 491 on end, 580 in calls. Z 1.57 ms for 1.32, C 0.85 for 0.73 (a9234b9f).
  const double residues_per_second =
      (is_complex(plan.shape.scalar) ? 4.5e12 : 2.1e12) * plan.schedule.facts.rates.memory;
  constexpr double kLaunchSeconds = 40e-6;  // of kernels that are not taken
  constexpr double kShareSaved = 0.8;       // of what products alone save, in calls that are held by power
  const problem::Shape& shape = plan.shape;
  const int moduli = ozaki2_of(plan).ladder.rungs[0].num_moduli;
  const plan::Chunk& chunk = ozaki2_of(plan).chunk;
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  const auto rows_of_chunks = static_cast<double>(base::ceil_div(shape.m, chunk.mc));
  const auto cols_of_chunks = static_cast<double>(base::ceil_div(shape.n, chunk.nc));
  const double chunks = rows_of_chunks * cols_of_chunks;
  const double saved = chunks * (offered_seconds(plan, device_main_product(plan, chunk, moduli)) -
                                 offered_seconds(plan, strassen_product(plan, moduli)));
  // A is split again for every further chunk of columns, unless it is one chunk.
  const double lines_again = rows_of_chunks > 1 ? (cols_of_chunks - 1) * m : 0.0;
  const double bytes_again = lines_again * k * (num_planes(plan) + size_bytes(shape.scalar));
  return kShareSaved * saved -
         ((m + n + lines_again) * k * more_planes(plan) + bytes_again) / split_bytes_per_second(plan) -
         m * n * more_planes(plan) / residues_per_second - chunks * kLaunchSeconds;
}

double strassen_gain_of_block_seconds(const plan::Plan& plan, int parts) {
  const problem::Shape& shape = plan.shape;
  const auto k = static_cast<double>(shape.k);
  const double of_both = static_cast<double>(shape.m + shape.n) * k * more_planes(plan);
  const double last = static_cast<double>(std::max(shape.m, shape.n)) * k;
  const double whole = last * (size_bytes(shape.scalar) + num_planes(plan));
  const double of_quadrants = (whole + last * more_planes(plan)) / parts;
  return strassen_gain_seconds(plan) + (of_both + whole - of_quadrants) / split_bytes_per_second(plan);
}

}  // namespace kizami::ozaki2
