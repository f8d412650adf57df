// SPDX-License-Identifier: MIT
#include "model/program.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace kizami::model {
namespace {

/// INT8 products of cuBLAS inside GEMMul8 3 on a GH200, n = 2048 to 16384: the share of 1979 TOPS, launches included.
constexpr std::array<std::pair<double, double>, 4> kLibraryShares = {
    {{2048, 0.44}, {4096, 0.78}, {8192, 0.74}, {16384, 0.80}}};

/// Fitted on one H200 to products of types D and Z, n = 1024, 4096 and 8192 (lab/results/h200/certificate.jsonl,
/// product.jsonl): 31 us at n = 1024 and 1.15 ms at 4096 give share and uncovered cycles; 2.58, 9.98 and 22.7 ms, beside
/// what these would take at the highest clock, give the slope.
constexpr ProductModel kTiles{.tile_i = 256,
                              .tile_j = 128,
                              .share = 0.953,
                              .uncovered_cycles = 4070,
                              .cool_seconds = 1e-3,
                              .slope = 0.059,
                              .least = 0.78,
                              .share_by_size = {}};

/// Fitted likewise to native D at 1024 (43.7 us) and 4096 (2.26 ms), slope to D at 8192 (20.0 ms), Z at 4096 (10.3 ms)
/// and 8192 (87 ms), which lie up to 9 % off it (lab/results/h200/gemm.jsonl).
constexpr ProductModel kNative{.tile_i = 64,
                               .tile_j = 128,
                               .share = 0.981,
                               .uncovered_cycles = 12000,
                               .cool_seconds = 2e-3,
                               .slope = 0.05,
                               .least = 0.76,
                               .share_by_size = {}};

constexpr ProductModel kCalls{.share_by_size = kLibraryShares};

constexpr double kLaunchSeconds = 4e-6;
constexpr double kMeasuredSize = 8192;  // n of what Rates::measured_products are of

/// D at 4096 and 8192: split 257 and 1130 us, CRT 137 and 580 us; Z: 685 and 3080, 405 and 1750 us. Sampled products
/// 42 us, 250 us, 120 us, 880 us.
constexpr ResidueModel kOwnResidues{.reduces_in_product = true,
                                    .split_cycles = 0.15,
                                    .split_cycles_complex = 0.187,
                                    .split_fp64 = 5,
                                    .split_fp64_weak = 5,
                                    .reduce_cycles = 0.30,
                                    .crt_cycles = 0.157,
                                    .crt_cycles_complex = 0.217,
                                    .crt_fp64 = 66.0 / 14,
                                    .crt_fp64_weak = 0,
                                    .crt_int32_weak = 6.4,  // unmeasured: 90 for 14 planes
                                    .complex_products = 0,
                                    .certificate_share = 0.72,
                                    .split_launches = 1,
                                    .extra_launches = 2};

[[nodiscard]] constexpr ResidueModel portable_residues() {
  ResidueModel out = kOwnResidues;
  out.reduces_in_product = false;
  return out;
}

/// GH200: split 3.4 cycles, CRT 157 FP64 instructions an element of 14 moduli; RTX 5080: 17 and 55 instructions.
constexpr ResidueModel kGemmul8Residues{.reduces_in_product = false,
                                        .split_cycles = 3.4 / 14,
                                        .split_cycles_complex = 3.4 / 14,
                                        .split_fp64 = 0,
                                        .split_fp64_weak = 17,
                                        .reduce_cycles = 0.30,
                                        .crt_cycles = 0,
                                        .crt_cycles_complex = 0,
                                        .crt_fp64 = 157.0 / 14,
                                        .crt_fp64_weak = 55.0 / 14,
                                        .crt_int32_weak = 0,
                                        .complex_products = 3,
                                        .certificate_share = 0,
                                        .split_launches = 2,
                                        .extra_launches = 0};

/// D at 8192, 7 slices: split 1.08 ms, sums of 7 accumulators 0.78 ms in one pass, of 28 products 17.0 ms with C in
/// memory (lab/results/h200/slice_sums.jsonl).
constexpr SliceModel kOwnSlices{.split_cycles = 0.30,
                                .sum_cycles = 0.44,
                                .sum_in_memory_cycles = 2.36,
                                .has_fused_sums = true,
                                .is_one_launch = true,
                                .scaling_bytes = 0};

[[nodiscard]] constexpr SliceModel portable_slices() {
  SliceModel out = kOwnSlices;
  out.is_one_launch = false;
  return out;
}

/// Memory alone holds what the documents do beside products: C in FP64 is read and written for each sum.
constexpr SliceModel kDocumentSlices{.split_cycles = 0,
                                     .sum_cycles = 0,
                                     .sum_in_memory_cycles = 0,
                                     .has_fused_sums = false,
                                     .is_one_launch = false,
                                     .scaling_bytes = 16};

constexpr Program kPrograms[] = {
    {0.896, kLaunchSeconds, kTiles, kOwnResidues, kOwnSlices, true, true},
    {0.896, kLaunchSeconds, kCalls, portable_residues(), portable_slices(), true, true},
    {0.885, kLaunchSeconds, kCalls, kGemmul8Residues, {}, true, false},
    {0.885, kLaunchSeconds, kCalls, {}, kDocumentSlices, false, true},
};

[[nodiscard]] double share_of_tiles(const ProductModel& model, const Products& p, const Rates& rates,
                                    bool is_sustained) {
  const double tiles = std::ceil(p.m / model.tile_i) * std::ceil(p.n / model.tile_j) * p.num_results;
  const double rounds = std::ceil(tiles / rates.sms);
  const double of_tile = 2.0 * model.tile_i * model.tile_j * p.k * p.num_products / p.num_results;
  const double peak = rates.of(p.format);
  const double seconds =
      rounds * (of_tile / (peak / rates.sms * model.share) + model.uncovered_cycles / rates.clock_hz);
  const double hot = 1 - model.slope * std::log(std::max(seconds / model.cool_seconds, 1.0));
  const double clock = is_sustained ? model.least : std::max(hot, model.least);
  return 2.0 * p.m * p.n * p.k * p.num_products / peak / seconds * clock;
}

}  // namespace

const Program& program_of(ProgramName name) { return kPrograms[static_cast<std::size_t>(name)]; }
const ProductModel& native_products() { return kNative; }

double by_size(std::span<const std::pair<double, double>> points, double n) {
  if (n <= points.front().first) return points.front().second * n / points.front().first;
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (n > points[i].first) continue;
    const double at = std::log(n / points[i - 1].first) / std::log(points[i].first / points[i - 1].first);
    return points[i - 1].second + at * (points[i].second - points[i - 1].second);
  }
  return points.back().second;
}

double share_reached(const ProductModel& model, const Products& products, const Rates& rates, bool is_sustained) {
  if (rates.of(products.format) <= 0) return 1;  // no roof to share
  if (model.share_by_size.empty()) return share_of_tiles(model, products, rates, is_sustained);
  const double size = std::cbrt(products.m * products.n * products.k);
  const double peak = rates.of(products.format);
  if (products.format == Format::kInt8 && !rates.int8_by_size.empty()) return by_size(rates.int8_by_size, size) / peak;
  const double share = by_size(model.share_by_size, size);
  const double measured = rates.measured_products[static_cast<std::size_t>(products.format)];
  return measured > 0 ? measured / peak * share / by_size(model.share_by_size, kMeasuredSize) : share;
}

}  // namespace kizami::model
