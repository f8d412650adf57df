// SPDX-License-Identifier: MIT
#include "model/program.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace kizami::model {
namespace {

/// INT8 products of cuBLAS inside GEMMul8 3 on a GH200, n = 2048 to 16384: the share of 1979 TOPS, launches included.
constexpr std::array<std::pair<double, double>, 4> kLibraryShares = {
    {{2048, 0.44}, {4096, 0.78}, {8192, 0.74}, {16384, 0.80}}};

/// Fitted on one H200 to products of types D and Z, n = 1024, 4096 and 8192 (lab/results/h200/certificate.jsonl, 624b0fbe and e088074e): 29.9 and
/// 50.9 us at n = 1024 and 1.13 ms at 4096 give share and uncovered cycles; the slope is of products of before, 2.58, 9.98 and 22.7 ms, and holds for 2.4,
/// 8.6 and 18.5 ms. Larger tiles than two warpgroups by turns have, which are taken from 4096 on, end as soon. That of a triangle is fitted to dsyrk of 8192
/// as it was, 6.32 ms in all (lab/results/h200/level3.jsonl, e1cd4d78): 6 % more than the 5.68 of today.
constexpr TileForm kOwnForms[] = {{192, 128, 0.953}};
constexpr ProductModel kTiles{.forms = kOwnForms,
                              .uncovered_cycles = 1450,
                              .triangle_share = 0.914,
                              .cool_seconds = 1e-3,
                              .slope = 0.059,
                              .least = 0.78};

/// Of operands: so few are multiplied in squares of 128, as windows are (engines/hopper/forms.cpp), where the form that ends first is not asked for.
constexpr double kFewBytes = 4e6;

/// Sampled products of engine hopper, whose tiles are compared and not stored: the smaller form by 9.0 and 10.8 us for D and Z at 1024, one round of
/// tiles and two; the larger by D and Z at 4096 and 8192, 36.5, 229 to 253, 73 and 463 us (certificate.jsonl).
constexpr TileForm kSampledForms[] = {{256, 128, 0.70, 4600}, {128, 128, 0.92, 2270}};
constexpr ProductModel kSampledTiles{.forms = kSampledForms,
                                     .few_bytes = kFewBytes,
                                     .triangle_share = kTiles.triangle_share,
                                     .cool_seconds = kTiles.cool_seconds,
                                     .slope = kTiles.slope,
                                     .least = kTiles.least};

/// INT8 products of cuBLASLt. By ncu (lab/results/h200/library_tiles.jsonl) its tiles are 128 x 128 from n = 4096 on and where k is long, 128 x 64 at
/// n = 2048, and 64 x 64 below, but for 64 x 128 by parts of k at 1024 where k is 7168. The first are fitted to slices of D by engine cublaslt
/// (slice_sums.jsonl): 351 us for each of the seven calls at n = 4096, k = 16384 on average, 3.2 ms at 8192; the last, for both that are taken there, to
/// those of D and Z at 1024 in nine ways. No size that may be fitted has the second: it is of single products at 2048, 24, 36 and 60 us for k = 2048,
/// 4096 and 8192, so that the study counts calls at 2048 as calibrated.
constexpr TileForm kLibraryForms[] = {{128, 128, 0.905, 0}, {64, 128, 0.75, 3600}, {64, 64, 0.47, 0}};
constexpr ProductModel kLibraryTiles{.forms = kLibraryForms,
                                     .least_rounds = 2,
                                     .long_k = 8192,
                                     .is_library = true,
                                     .result_bytes = 4,
                                     .cool_seconds = 1e-3,
                                     .slope = 0.059,
                                     .least = 0.78};

/// Fitted likewise to native D at 1024 (44.0 us), Z at 1024 (158 us: four times the work, so that share and uncovered cycles
/// of the form that fits 1024 part), D at 4096 (2.26 ms: share of the largest form); slope to D at 8192 (19.5 ms), Z at 4096
/// (10.3 ms) and 8192 (87 to 91 ms). The smallest form has as much less of the second as that has of the first: no call
/// that may be fitted takes it. FP32 runs outside of tensor cores, and is fitted on another card, an H100 (lab/results/h100,
/// ec.jsonl and gemm.jsonl), by S at 4096 (2.66 ms: share) and 8192 (21.5 ms: slope, for such products take less power and the
/// clock stays). Parts of k meet there in a launch of their own.
constexpr TileForm kNativeForms[] = {{128, 128, 0.945}, {64, 128, 0.871}, {64, 64, 0.803}};
constexpr ProductModel kNative{.forms = kNativeForms,
                               .uncovered_cycles = 3900,
                               .cuts_k = true,
                               .fp32_share = 0.85,
                               .fp32_slope = 0.0067,
                               .fp32_parts_launch = true,
                               .cool_seconds = 2e-3,
                               .slope = 0.05,
                               .least = 0.80};

/// Scheme ec: shares and store of its kernels as engines/hopper/ec_product.cpp has them, and its split as docs/perf/h200_ec.md
/// has it (80 us at n = 4096), both measured alone; 5.3 us of a decision and a rung that find nothing to do.
/// There shares are of 4096 operations a cycle at 1.9 GHz, here of the sheet's rate at the highest clock: 4 % more. The slope
/// is by the product alone: 0.55, 4.78 and 39.4 ms at n = 4096, 8192 and 16384.
constexpr TileForm kEcForms[] = {{192, 128, 0.82}, {128, 128, 0.80}, {128, 64, 0.717}};
constexpr EcModel kEc{
    .products = {.forms = kEcForms, .uncovered_cycles = 3000, .cool_seconds = 1e-3, .slope = 0.05, .least = 0.78},
    .split_cycles = 0.62,
    .extra_seconds = 5.3e-6};

constexpr ProductModel kCalls{.share_by_size = kLibraryShares};

constexpr double kLaunchSeconds = 4e-6;
constexpr double kMeasuredSize = 8192;  // n of what Rates::measured_products are of

/// Blocks of an H200 in clusters of 4, 8 and 16, three blocks to a multiprocessor where they fit: of 396 without clusters
/// (split_forms.jsonl). By the driver's load balancing, and by its default.
constexpr ClusterShares kBalancedClusters = {1, 1, 384.0 / 396, 360.0 / 396, 352.0 / 396};
constexpr ClusterShares kClusters = {1, 1, 368.0 / 396, 360.0 / 396, 336.0 / 396};

/// D at 4096 (certificate.jsonl, 624b0fbe and e088074e): split 247 us, CRT 117 to 124; Z: 578, 288 to 295. At 1024, where a split is one wave of
/// blocks and a thread of the CRT makes 4 elements four times, D took 24.9 and 17.4 us, Z 49.5 and 40.6: what is left there beside launch and work are
/// waits, of a split for what a block does with its piece of a line, of a CRT for its planes, which are other kernels for complex numbers.
/// Of quadrants, at 8192 (e088074e): split 1510 us, CRT 770, of Z 3260 and 1400, by which C is taken, too. FP32 elements are other
/// kernels, fitted on another card, an H100, at 4096 (lab/results/h100/certificate.jsonl): S split 202 us, CRT 92 us; C split
/// 424 us, in integers of two words; those of one word lie where the numbers were, as those of complex FP64 do
/// (docs/perf/h200_call.md). Three kernels that find nothing to do take 4.2 us behind one another (there).
constexpr ResidueModel kOwnResidues{
    .reduces_in_product = true,
    .split_cycles = 0.134,
    .split_cycles_complex = 0.144,
    .split_cycles_fp32 = 0.207,
    .split_cycles_fp32_complex = 0.224,
    .one_word_moduli = 8,
    .clusters = kBalancedClusters,
    .longest_pass = 16384,
    .split_fp64 = 5,
    .split_fp64_weak = 5,
    .reduce_cycles = 0.30,
    .crt_cycles = 0.126,
    .crt_cycles_complex = 0.155,
    .crt_cycles_fp32 = 0.188,
    .crt_fp64 = 54.0 / 14,
    .crt_fp64_weak = 0,
    .crt_int32_weak = 17.1,  // 240 for 14 planes, by the code of reconstruct_by_limbs_kernel
    .complex_products = 0,
    .has_certificate = true,
    .judges_lines = true,
    .sampled = kSampledTiles,
    .split_launches = 1,
    .rest_launches = 1,
    .waits_of_split = 23.5,
    .waits_of_crt = 1.3,
    .waits_of_crt_complex = 2.17,
    .waits_of_certificate = 12.8,
    .quadrants = {.split_cycles = 0.1185, .crt_cycles = 0.122, .moduli = 14},
    .quadrants_complex = {.split_cycles = 0.121, .crt_cycles = 0.104, .moduli = 15},
    .quadrants_fp32_complex = {.split_cycles = 0.121, .crt_cycles = 0.104, .moduli = 7},
    .quadrant_seconds = 27e-6};

/// Of D at 8192 by ncu (phases.jsonl, 0ec6fbc): 121 us for the residues of one product, 96 us for the comparison.
[[nodiscard]] constexpr ResidueModel portable_residues() {
  ResidueModel out = kOwnResidues;
  out.reduces_in_product = false;
  out.reduce_cycles = 0.46;
  out.compare_cycles = 0.36;
  out.judges_lines = false;
  out.most_batched_elements = 3072.0 * 3072;
  out.quadrants = out.quadrants_complex = out.quadrants_fp32_complex = {};
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
                                        .has_certificate = false,
                                        .split_launches = 2,
                                        .rest_launches = 0};

/// Products whose sums are stored: the forms, and what nothing covers of a tile, are those of all INT8 products until residues were taken by bytes.
constexpr TileForm kStoredForms[] = {{256, 128, 0.953}, {128, 128, 0.92}};
/// As engines/hopper/fused_slices.cpp has them, 0.52 (4 slices: 0.42) of 4096 multiply-adds a cycle at 1.7 GHz, whose operations
/// here are of the sheet's rate at the highest clock.
constexpr TileForm kFusedForms[] = {{64, 128, 0.483}};
/// D at 8192 (lab/results/h200/slice_sums.jsonl): split of 7, 4 and 3 slices of bytes 623, 605 and 593 us, of 7 truncated ones
/// 1.01 to 1.27 ms; sums of 7, 4 and 3 accumulators 782, 480 and 502 us in one pass, of 28 products 17.0 ms with C in memory.
/// Of Z at 1024 numbers take 1.4 times as long to split, by two forms. Digits of sums of two parts: Z by Karatsuba at 1024, 4096
/// and 8192 takes 0.15, 4.7 and 19.5 ms more than without them.
constexpr SliceModel kOwnSlices{.clusters = kClusters,
                                .longest_pass = 16384,
                                .split_base_cycles = 1.0,
                                .split_cycles = 0.136,
                                .split_byte_cycles = 0.0136,
                                .split_complex = 1.4,
                                .sum_base_cycles = 0.95,
                                .sum_cycles = 0.28,
                                .stored_bytes = 4,
                                .sum_in_memory_cycles = 2.36,
                                .waits_of_sum = 1,
                                .has_fused_sums = true,
                                .is_one_launch = true,
                                .products = {.forms = kStoredForms,
                                             .few_bytes = kFewBytes,
                                             .uncovered_cycles = 4070,
                                             .cool_seconds = kTiles.cool_seconds,
                                             .slope = kTiles.slope,
                                             .least = kTiles.least},
                                .fused = {.forms = kFusedForms, .uncovered_cycles = 2900},
                                .most_fused_slices = 4,
                                .fused_share_of_most = 0.42 / 0.52,
                                .part_sum_cycles = 3.8,
                                .hidden_launch = 1.5e-6,
                                .block_lines = 2048,
                                .stacks_parts = true,
                                .scaling_bytes = 0};

[[nodiscard]] constexpr SliceModel portable_slices() {
  SliceModel out = kOwnSlices;
  out.is_one_launch = false;
  out.products = {};
  out.most_fused_slices = 0;
  out.stored_bytes = 0;  // the library's model has them
  return out;
}

/// Memory alone holds what the documents do beside products: C in FP64 is read and written for each sum.
constexpr SliceModel kDocumentSlices{.scaling_bytes = 16};

constexpr Program kPrograms[] = {
    {0.896, kLaunchSeconds, kTiles, kEc, kOwnResidues, kOwnSlices, true, true},
    {0.896, kLaunchSeconds, kLibraryTiles, kEc, portable_residues(), portable_slices(), true, true},
    {0.885, kLaunchSeconds, kCalls, {}, kGemmul8Residues, {}, true, false},
    {0.885, kLaunchSeconds, kCalls, {}, {}, kDocumentSlices, false, true},
};

[[nodiscard]] constexpr Program portable_elsewhere() {
  Program out = kPrograms[static_cast<std::size_t>(ProgramName::kPortable)];
  out.products = kCalls;
  out.residues.most_batched_elements = 0;
  return out;
}
constexpr Program kPortableElsewhere = portable_elsewhere();

/// Tiles of one product, in whole numbers of them.
[[nodiscard]] double tiles_of(const TileForm& form, const Products& p) {
  if (!p.is_triangle) return std::ceil(p.m / form.i) * std::ceil(p.n / form.j);
  const double side = std::max(form.i, form.j);
  const double along = std::ceil(p.n / side);
  return along * (along + 1) / 2 * (side / form.i) * (side / form.j);
}

/// Seconds of products in one form, k in so many parts.
[[nodiscard]] double seconds_in_form(const ProductModel& model, const TileForm& form, double k_parts, const Products& p,
                                     const Rates& rates) {
  const double tiles = tiles_of(form, p) * p.num_results * k_parts;
  const double share =
      form.share * (p.format == Format::kFp32 ? model.fp32_share : 1.0) * (p.is_triangle ? model.triangle_share : 1.0);
  // Cycles of an element of k of a tile.
  const double operations_per_cycle = rates.of(p.format) / rates.sms / rates.clock_hz * share;
  const double cycles = 2.0 * form.i * form.j / operations_per_cycle;
  const double of_plane = p.k / k_parts * cycles;  // of one product
  const double uncovered = model.uncovered_cycles + form.uncovered_cycles;
  const double mean = of_plane * p.num_products / p.num_results + uncovered;
  const double longest = of_plane * p.longest + uncovered;
  const double busy = p.longest > 0 ? std::max(longest, tiles / rates.sms * mean) : std::ceil(tiles / rates.sms) * mean;
  const double elements = p.m * p.n * p.num_results;
  const double parts_bytes = k_parts > 1 ? k_parts * p.element_bytes * elements : 0;  // added where they meet
  const bool launches_again = k_parts > 1 && p.format == Format::kFp32 && model.fp32_parts_launch;
  const double held = std::max(model.result_bytes, p.stored_bytes) * elements;
  const double stored = held * (p.is_added ? 2 : 1);
  return busy / rates.clock_hz + (launches_again ? rates.launch_seconds : 0.0) + parts_bytes / rates.l2 +
         stored / (held > rates.l2_bytes ? rates.memory : rates.l2);
}

/// The form of the program's rule, or the one that ends first, k cut where that helps.
[[nodiscard]] double seconds_in_tiles(const ProductModel& model, const Products& p, const Rates& rates) {
  if (model.few_bytes > 0) {
    constexpr double kFewLines = 128;
    const double bytes = (p.m + p.n) * p.k * std::max(p.longest, 1.0);
    // The kernel of a triangle has one form.
    const bool is_small = !p.is_triangle && (bytes < model.few_bytes || std::min(p.m, p.n) <= kFewLines);
    return seconds_in_form(model, model.forms[is_small ? 1 : 0], 1, p, rates);
  }
  if (model.least_rounds > 0) {
    const double rounds = p.k > model.long_k ? 1 : model.least_rounds;
    for (const TileForm& form : model.forms) {
      if (&form == &model.forms.back() || tiles_of(form, p) >= rounds * rates.sms)
        return seconds_in_form(model, form, 1, p, rates);
    }
  }
  constexpr double kLeastPart = 32;  // elements of k
  double least = std::numeric_limits<double>::infinity();
  for (const TileForm& form : model.forms) {
    const double tiles = tiles_of(form, p) * p.num_results;
    for (double parts = 1; parts == 1 || (model.cuts_k && tiles * parts <= rates.sms && p.k / parts >= kLeastPart);
         parts *= 2) {
      least = std::min(least, seconds_in_form(model, form, parts, p, rates));
    }
  }
  return least;
}

[[nodiscard]] double share_of_tiles(const ProductModel& model, const Products& p, const Rates& rates,
                                    bool is_sustained);

/// How many times as long as by its tiles a library's product of many lines of either operand takes, by those that were
/// measured on the card by themselves: by the bytes of both operands, from the fewest of these on.
[[nodiscard]] double excess_of_wide(const ProductModel& model, const Products& p, const Rates& rates) {
  constexpr double kManyLines = 8192;
  constexpr double kMeasuredCalls = 4;  // behind one another
  const auto& measured = rates.int8_wide_by_bytes;
  const double bytes = (p.m + p.n) * p.k;
  if (!model.is_library || p.format != Format::kInt8 || measured.empty()) return 1;
  if (std::min(p.m, p.n) <= kManyLines || bytes < measured.front().first) return 1;
  Rates by_tiles = rates;
  by_tiles.int8_wide_by_bytes.clear();
  const Products alone{.format = p.format, .m = p.m, .n = p.n, .k = p.k, .num_calls = kMeasuredCalls};
  const double rate = rates.of(p.format) * share_of_tiles(model, alone, by_tiles, false);
  return std::max(rate / by_size(measured, bytes), 1.0);
}

[[nodiscard]] double share_of_tiles(const ProductModel& model, const Products& p, const Rates& rates,
                                    bool is_sustained) {
  double seconds = seconds_in_tiles(model, p, rates) * excess_of_wide(model, p, rates);
  if (const double measured = rates.measured_products[static_cast<std::size_t>(p.format)];
      measured > 0 && model.is_library) {  // a library's rate on this card
    constexpr double n = kMeasuredSize;
    const Products square{.format = p.format, .m = n, .n = n, .k = n, .element_bytes = p.element_bytes};
    seconds *= 2 * n * n * n / seconds_in_tiles(model, square, rates) / measured;
  }
  // Where FP64 is weak no product in it meets the limit of power.
  const bool is_cool = p.format == Format::kFp64 && has_weak_fp64(rates);
  const double slope = p.format == Format::kFp32 ? model.fp32_slope : model.slope;
  const double hot = is_cool ? 1 : 1 - slope * std::log(std::max(seconds * p.num_calls / model.cool_seconds, 1.0));
  const double least = model.is_library && rates.sustained_share > 0 ? rates.sustained_share : model.least;
  const double clock = is_sustained && !is_cool ? least : std::max(hot, least);
  return p.operations() / rates.of(p.format) / seconds * clock;
}

}  // namespace

const Program& program_of(ProgramName name, int compute_capability) {
  constexpr int kHopper = 90;
  if (name == ProgramName::kPortable && compute_capability != kHopper) return kPortableElsewhere;
  return kPrograms[static_cast<std::size_t>(name)];
}
const ProductModel& native_products() { return kNative; }

namespace {
/// 0 to 4: of clusters of 1, 2, 4, 8 and 16 blocks the one that lines of k elements take.
[[nodiscard]] std::size_t cluster_size(double k) {
  std::size_t size = 0;
  for (double held = kMostOfLine; held < k && size + 1 < ClusterShares{}.size(); held *= 2) ++size;
  return size;
}
}  // namespace

double cluster_share(const ClusterShares& shares, double k) { return shares[cluster_size(k)]; }
double piece_of_line(double k) { return std::min(k / static_cast<double>(1 << cluster_size(k)), kMostOfLine); }

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
