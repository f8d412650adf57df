// SPDX-License-Identifier: MIT
// The host's part: checks, tensor maps, one launch. Nothing is allocated and nothing waits, so a call can be captured.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/fork_safe.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "engines/desc_check.hpp"
#include "engines/hopper/current_device.hpp"
#include "engines/hopper/ec_forms.hpp"
#include "engines/hopper/ec_params.hpp"
#include "engines/hopper/tensor_maps.hpp"
#include "engines/shared_memory.hpp"
#include "model/h200.hpp"

namespace kizami::engines {
namespace {

using base::ceil_div;
using hopper::EcBatchParams;
using hopper::EcKernel;
using hopper::EcParams;
using hopper::EcTriangleParams;
using product::EcFormat;
using product::EcPromotion;

constexpr std::array<EcFormTraits, kNumEcForms> kForms = {{
    {"cooperative_192x128", EcForm::kCooperative192x128, 192, 128, 2},
    {"cooperative_128x128", EcForm::kCooperative128x128, 128, 128, 2},
    {"split_inner_128x64", EcForm::kSplitInner128x64, 128, 64, 2},
}};

/// Of one product, or of a batch, which not all promotions take.
template <EcForm form, EcPromotion promotion>
[[nodiscard]] EcKernel kernel_of(bool is_batch) {
  if (!is_batch) return hopper::ec_kernel<form, promotion>();
  if constexpr (product::takes_ec_batches(promotion)) return hopper::ec_batch_kernel<form, promotion>();
  return {};
}
template <EcForm form>
[[nodiscard]] std::array<EcKernel, product::kNumEcPromotions> kernels_of(bool is_batch) {
  return {kernel_of<form, EcPromotion::kShortest>(is_batch), kernel_of<form, EcPromotion::kShort>(is_batch),
          kernel_of<form, EcPromotion::kLong>(is_batch)};
}
const EcKernel& kernel_of(EcForm form, EcPromotion promotion, bool is_batch) {
  using Kernels = std::array<std::array<EcKernel, product::kNumEcPromotions>, kNumEcForms>;
  static constinit base::MadeOnce<std::array<Kernels, 2>> kernels;
  const std::array<Kernels, 2>& made = kernels.get([] {
    const auto of = [](bool of_batch) {
      return Kernels{kernels_of<EcForm::kCooperative192x128>(of_batch),
                     kernels_of<EcForm::kCooperative128x128>(of_batch),
                     kernels_of<EcForm::kSplitInner128x64>(of_batch)};
    };
    return std::array{of(false), of(true)};
  });
  return made[is_batch ? 1 : 0][static_cast<std::size_t>(form)][static_cast<std::size_t>(promotion)];
}

constexpr const EcFormTraits& kOfTriangle = kForms[static_cast<std::size_t>(kEcTriangleForm)];
/// The tiles of clusters of a triangle.
[[nodiscard]] TriangleBands bands_of(std::int64_t n, bool is_lower) {
  return triangle_bands(static_cast<std::uint32_t>(n), kOfTriangle.tile_i, kOfTriangle.tile_j * kOfTriangle.cluster,
                        is_lower);
}

// ---- checks ----

constexpr std::int64_t kSizeLimit = std::int64_t{1} << 30;       // coordinates of a tensor map are INT32
constexpr std::int64_t kMapStrideLimit = std::int64_t{1} << 40;  // of a tensor map, in bytes

std::optional<std::string> why_refused_size(const char* name, std::int64_t size) {
  if (size < 1 || size >= kSizeLimit) return detail::wrong(name, size, "at least 1 and below 2^30");
  return std::nullopt;
}

std::optional<std::string> why_refused_extents(std::int64_t m, std::int64_t n, std::int64_t k) {
  if (auto reason = why_refused_size("m", m)) return reason;
  if (auto reason = why_refused_size("n", n)) return reason;
  if (auto reason = why_refused_size("k", k)) return reason;
  if (ceil_div(m, 128) * ceil_div(n, 64) < kSizeLimit) return std::nullopt;
  return "m = " + std::to_string(m) + " and n = " + std::to_string(n) +
         " make too many tiles, must be below 2^30 of 128 x 64";
}

std::optional<std::string> why_refused(const product::EcPlanes& planes, EcFormat format, std::int64_t length,
                                       std::int64_t num_products, const std::string& name) {
  if (planes.data == nullptr || planes.scales == nullptr) return "the planes or scales of " + name + " are null";
  if (reinterpret_cast<std::uintptr_t>(planes.data) % product::kEcBlockBytes != 0)
    return "the planes of " + name + " do not begin on 128 bytes";
  if (reinterpret_cast<std::uintptr_t>(planes.scales) % 8 != 0)
    return "the scales of " + name + " do not begin on 8 bytes";
  const std::int64_t least = product::ec_line_bytes(format, length);
  if (planes.row_stride < least || planes.row_stride % product::kEcBlockBytes != 0 ||
      planes.row_stride >= kMapStrideLimit) {
    return detail::wrong((name + ".planes.row_stride").c_str(), planes.row_stride,
                         "a multiple of 128, at least " + std::to_string(least) + " and below 2^40");
  }
  if (num_products == 1) return std::nullopt;
  if (planes.product_stride < 0 || planes.product_stride % product::kEcBlockBytes != 0 ||
      planes.product_stride >= kMapStrideLimit) {
    return detail::wrong((name + ".planes.product_stride").c_str(), planes.product_stride,
                         "a multiple of 128, at least 0 and below 2^40");
  }
  if (planes.scales_stride < 0 || planes.scales_stride % 2 != 0)
    return detail::wrong((name + ".planes.scales_stride").c_str(), planes.scales_stride, "even and at least 0");
  return std::nullopt;
}

std::optional<std::string> why_refused_batch(const EcProduct& p, EcPromotion promotion) {
  if (p.num_products < 1 || p.num_products > product::kMostEcProducts) {
    return detail::wrong("num_products", p.num_products,
                         "at least 1 and at most " + std::to_string(product::kMostEcProducts));
  }
  if (!p.is_batch()) return std::nullopt;
  if (!product::takes_ec_batches(promotion)) return "products of the longest promotion are no batch";
  if (p.a.lines.data != nullptr || p.b.lines.data != nullptr) return "a batch has no elements of A or B";
  if (ceil_div(p.a.lines.num_lines, 128) * ceil_div(p.b.lines.num_lines, 64) < kSizeLimit / p.num_products)
    return std::nullopt;
  return "m = " + std::to_string(p.a.lines.num_lines) + " and n = " + std::to_string(p.b.lines.num_lines) + " of " +
         std::to_string(p.num_products) + " products make too many tiles, must be below 2^30 of 128 x 64";
}

std::optional<std::string> why_refused(const EcProduct& p, EcPromotion promotion) {
  if (auto reason = why_refused_extents(p.a.lines.num_lines, p.b.lines.num_lines, p.a.lines.length)) return reason;
  if (p.b.lines.length != p.a.lines.length) {
    return detail::wrong("length of the lines of b", p.b.lines.length,
                         "that of a, " + std::to_string(p.a.lines.length));
  }
  if (auto reason = why_refused_batch(p, promotion)) return reason;
  const auto why_refused_planes = [&](const product::EcPlanes& planes, EcFormat format, const char* name) {
    return why_refused(planes, format, p.a.lines.length, p.num_products, name);
  };
  if (auto reason = why_refused_planes(p.a.planes, p.format, "a")) return reason;
  if (auto reason = why_refused_planes(p.b.planes, p.format, "b")) return reason;
  if (p.second.has_value()) {
    if (auto reason = why_refused_planes(p.second->a, p.second->format, "a")) return reason;
    if (auto reason = why_refused_planes(p.second->b, p.second->format, "b")) return reason;
    if (p.second->a.scales_stride != p.a.planes.scales_stride || p.second->b.scales_stride != p.b.planes.scales_stride)
      return "the scales of both splits are not as far from one product to the next";
    if (!p.is_batch() && (p.second->a.scales != p.a.planes.scales || p.second->b.scales != p.b.planes.scales))
      return "the splits of one product have not the same scales";
  }
  if (p.c == nullptr && p.c_array == nullptr) return "c is null";
  if (p.b.lines.num_lines > 1 && p.c_row_stride == 1 && !p.is_complex && p.c_col_stride < p.a.lines.num_lines) {
    return detail::wrong("c_col_stride", p.c_col_stride, "at least m = " + std::to_string(p.a.lines.num_lines));
  }
  if (p.c_row_stride < (p.is_complex ? 2 : 1)) {
    return detail::wrong("c_row_stride", p.c_row_stride, p.is_complex ? "at least 2" : "at least 1");
  }
  if (p.is_complex && p.a.lines.num_lines % 2 != 0)
    return detail::wrong("m", p.a.lines.num_lines, "even for a complex C");
  if (p.is_complex && (p.a.lines.data != nullptr || p.b.lines.data != nullptr))
    return "a complex C has no elements of A or B";
  return std::nullopt;
}

std::optional<std::string> why_refused_extents_of_triangle(std::int64_t m, std::int64_t n) {
  if (m == n) return std::nullopt;
  return detail::wrong("m", m, "n = " + std::to_string(n) + " for a triangle of C");
}
std::optional<std::string> why_refused_promotion_of_triangle(EcPromotion promotion) {
  if (product::takes_ec_triangles(promotion)) return std::nullopt;
  return "its kernel of a triangle of C promotes every 128 (TF32: 64) of k, as products of more than 15 2^20 elements "
         "of C do that are longer than 1024";
}

/// Of a triangle, beyond what is refused of all of C.
std::optional<std::string> why_triangle_refused(const EcProduct& p, EcPromotion promotion) {
  if (auto reason = why_refused_extents_of_triangle(p.a.lines.num_lines, p.b.lines.num_lines)) return reason;
  if (auto reason = why_refused_promotion_of_triangle(promotion)) return reason;
  if (p.is_complex) return "C is complex, must be real for a triangle";
  if (p.is_batch()) return detail::wrong("num_products", p.num_products, "1, without an array, for a triangle");
  if (p.a.lines.data != nullptr || p.b.lines.data != nullptr) return "a triangle has no elements of A or B";
  return std::nullopt;
}

// ---- the launch ----

/// Products are the planes of a map, of which there is one where they share the operand.
hopper::MapLines lines_of(const char* name, const EcOperand& operand, const product::EcPlanes& planes, EcFormat format,
                          std::int64_t num_products) {
  return {name,
          planes.data,
          operand.lines.num_lines,
          product::ec_line_bytes(format, operand.lines.length),
          planes.row_stride,
          planes.product_stride,
          planes.product_stride == 0 ? 1 : num_products};
}

}  // namespace

std::span<const EcFormTraits, kNumEcForms> ec_forms() { return kForms; }

double ec_predicted_seconds(std::int64_t m, std::int64_t n, std::int64_t k, EcFormat format, const EcFormTraits& traits,
                            int num_sms, std::int64_t num_products) {
  // Measured: docs/perf/h200_ec.md.
  constexpr std::array<double, kNumEcForms> kShareReached = {0.79, 0.77, 0.69};
  constexpr double kStoreCycles = 3000;  // of a tile, that no multiplication covers
  constexpr double kCyclesPerSecond = 1.9e9;
  constexpr double kStartSeconds = 4.5e-6;
  const double macs_per_cycle = format == EcFormat::kF16 ? 2048 : 1024;  // of one multiprocessor
  const double tile_cycles = 3.0 * traits.tile_i * traits.tile_j * static_cast<double>(k) / macs_per_cycle /
                                 kShareReached[static_cast<std::size_t>(traits.form)] +
                             kStoreCycles;
  const std::int64_t clusters = ceil_div(m, traits.tile_i) * ceil_div(n, std::int64_t{traits.tile_j} * traits.cluster);
  const std::int64_t rounds =
      ceil_div(num_products * clusters, std::max(1, model::h200::sms_or_own(num_sms) / traits.cluster));
  return kStartSeconds + static_cast<double>(rounds) * tile_cycles / kCyclesPerSecond;
}

double ec_triangle_seconds(std::int64_t n, std::int64_t k, EcFormat format, int num_sms) {
  // As many products of one tile each.
  return ec_predicted_seconds(kOfTriangle.tile_i, std::int64_t{kOfTriangle.tile_j} * kOfTriangle.cluster, k, format,
                              kOfTriangle, num_sms, bands_of(n, true).num_tiles());
}

EcForm ec_form_for(std::int64_t m, std::int64_t n, std::int64_t k, EcFormat format, int num_sms) {
  // One chain of FP32 sums errs more than native SGEMM where that sums k in pieces: 1536^3 in order TT on uniform data
  // 4.9e-7 with 192 x 128, 3.4e-7 with 128 x 64, which takes 9 % longer, native 3.5e-7 (docs/perf/h200_ec.md).
  constexpr std::int64_t kSmallestC = std::int64_t{1} << 22;
  const bool needs_block_sums = k > (m <= kSmallestC / n ? 1024 : 4096) && m <= product::kEcSmallC / n;
  const EcPromotion promotion = product::ec_promotion_for(m, n, k);
  const EcFormTraits* best = nullptr;
  double least = 0;
  for (const EcFormTraits& traits : kForms) {
    if (needs_block_sums && !hopper::has_block_sums(traits.form, hopper::stages_of(promotion))) continue;
    const double seconds = ec_predicted_seconds(m, n, k, format, traits, num_sms);
    if (best != nullptr && seconds >= least) continue;
    best = &traits;
    least = seconds;
  }
  return best->form;
}

namespace {

class HopperEc final : public product::EcEngine, public product::EcTriangleEngine {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "hopper"; }

  [[nodiscard]] std::variant<product::Offer, product::Refusal> query(const product::FloatProductDesc& d,
                                                                     const product::DeviceFacts& facts) const override {
    return offer(d, facts, [&](EcFormat format, EcPromotion /*promotion*/) -> std::variant<double, product::Refusal> {
      const EcForm form = ec_form_for(d.m, d.n, d.k, format, facts.num_sms);
      const EcFormTraits& traits = kForms[static_cast<std::size_t>(form)];
      return ec_predicted_seconds(d.m, d.n, d.k, format, traits, facts.num_sms, d.num_products);
    });
  }
  [[nodiscard]] std::variant<product::Offer, product::Refusal> query_triangle(
      const product::FloatProductDesc& d, const product::DeviceFacts& facts) const override {
    return offer(d, facts, [&](EcFormat format, EcPromotion promotion) -> std::variant<double, product::Refusal> {
      if (auto reason = why_refused_extents_of_triangle(d.m, d.n)) return product::Refusal{*std::move(reason)};
      if (auto reason = why_refused_promotion_of_triangle(promotion)) return product::Refusal{*std::move(reason)};
      return ec_triangle_seconds(d.n, d.k, format, facts.num_sms);
    });
  }

  Status run(const EcProduct& p, EcPromotion promotion, const product::DeviceFacts& facts,
             product::Queue queue) const override {
    const problem::Lines<float>& a = p.a.lines;
    return run_ec_product(p, ec_form_for(a.num_lines, p.b.lines.num_lines, a.length, p.format, facts.num_sms),
                          promotion, queue);
  }
  Status run_triangle(const EcProduct& p, bool is_lower, EcPromotion promotion, product::Queue queue) const override;

 private:
  /// @param seconds_of  seconds of a format and promotion within the engine's extents, or a refusal
  template <class SecondsOf>
  [[nodiscard]] static std::variant<product::Offer, product::Refusal> offer(const product::FloatProductDesc& d,
                                                                            const product::DeviceFacts& facts,
                                                                            const SecondsOf& seconds_of) {
    using product::Refusal;
    if (facts.space != product::MemorySpace::kDevice) return Refusal{"the operands are not in device memory"};
    if (!facts.has_wgmma()) return Refusal{base::why_no_wgmma(facts)};
    for (const EcFormat format : {EcFormat::kF16, EcFormat::kTf32}) {
      for (const EcPromotion promotion : product::kEcPromotions) {
        if (!has_equal_arithmetic(d, product::ec_arithmetic(format, promotion))) continue;
        if (auto reason = why_refused_extents(d.m, d.n, d.k)) return Refusal{*std::move(reason)};
        auto seconds = seconds_of(format, promotion);
        if (auto* const refusal = std::get_if<Refusal>(&seconds)) return *std::move(refusal);
        return product::Offer{.workspace_bytes = 0, .seconds = std::get<double>(seconds), .threads = 1};
      }
    }
    return Refusal{
        "its kernels take two parts of FP16 or TF32, of scaled lines, in one sum without lo lo, promoted every 32, 64 "
        "or 128 "
        "(TF32: 16, 32 or 64) of k on a tensor core of Hopper"};
  }
};

/// What all kernels are told of a product. @param params zeros, but for what is of a batch or triangle alone
Status fill_params(const EcProduct& p, const EcFormTraits& traits, EcPromotion promotion, EcParams& params) {
  params.m = static_cast<std::int32_t>(p.a.lines.num_lines);
  params.n = static_cast<std::int32_t>(p.b.lines.num_lines);
  params.c = p.c;
  params.c_row_stride = p.c_row_stride;
  params.c_col_stride = p.c_col_stride;
  params.alpha = p.alpha;
  params.beta = p.beta;
  params.complex_alpha = p.complex_alpha;
  params.complex_beta = p.complex_beta;
  params.is_complex = p.is_complex ? 1 : 0;
  params.decision = p.decision;
  params.a_scales = p.a.planes.scales;
  params.b_scales = p.b.planes.scales;
  params.a_lines = p.a.lines;
  params.b_lines = p.b.lines;
  const bool has_aligned_columns = p.c_row_stride == (p.is_complex ? 2 : 1) && p.c_col_stride % 4 == 0;
  params.has_aligned_c = has_aligned_columns && (p.is_batch() || reinterpret_cast<std::uintptr_t>(p.c) % 16 == 0);
  const auto set_split = [&](EcFormat format, const product::EcPlanes& a, const product::EcPlanes& b,
                             hopper::EcSplitParams& split) -> Status {
    const std::int64_t blocks = ceil_div(p.a.lines.length, product::ec_block_length(format));
    split.num_k_blocks = static_cast<std::int32_t>(base::round_up(blocks, hopper::stages_of(promotion)));
    split.block_promotions = hopper::block_promotions(traits.form, split.num_k_blocks / hopper::stages_of(promotion));
    split.is_tf32 = format == EcFormat::kTf32 ? 1 : 0;
    KIZAMI_RETURN_IF_ERROR(hopper::encode_in_order(lines_of("a", p.a, a, format, p.num_products),
                                                   traits.tile_i / traits.cluster, split.a_map));
    return hopper::encode_in_order(lines_of("b", p.b, b, format, p.num_products), traits.tile_j, split.b_map);
  };
  KIZAMI_RETURN_IF_ERROR(set_split(p.format, p.a.planes, p.b.planes, params.splits[params.num_splits++]));
  if (p.second.has_value())
    KIZAMI_RETURN_IF_ERROR(set_split(p.second->format, p.second->a, p.second->b, params.splits[params.num_splits++]));
  set_order(params, traits.tile_i, traits.tile_j * traits.cluster, 0);
  return {};
}

/// @param params  of the kernel, which reads no more of it than it is of  @param num_tiles of clusters
Status launch(const EcKernel& kernel, const EcFormTraits& traits, std::uint32_t num_tiles, int num_sms, void* params,
              product::Queue queue) {
  const auto clusters = std::min(num_tiles, static_cast<std::uint32_t>(std::max(1, num_sms / traits.cluster)));
  return base::launch_overlapped_clusters("the launch of the product of split operands", kernel.kernel,
                                          clusters * static_cast<unsigned>(traits.cluster), hopper::kNumThreads,
                                          traits.cluster, kernel.shared_bytes, queue, params);
}

Status HopperEc::run_triangle(const EcProduct& p, bool is_lower, EcPromotion promotion, product::Queue queue) const {
  if (auto reason = why_refused(p, promotion)) return {StatusCode::kInvalidArgument, *std::move(reason)};
  if (auto reason = why_triangle_refused(p, promotion)) return {StatusCode::kInvalidArgument, *std::move(reason)};
  hopper::CurrentDevice device;
  KIZAMI_RETURN_IF_ERROR(hopper::find_current_device(device));
  static_assert(product::takes_ec_triangles(EcPromotion::kLong));
  static constinit base::MadeOnce<EcKernel> made;
  const EcKernel& kernel = made.get(hopper::ec_triangle_kernel<EcPromotion::kLong>);
  static SharedMemoryGrant grant;
  KIZAMI_RETURN_IF_ERROR(grant.ask(kernel.kernel, kernel.shared_bytes, device.ordinal));

  EcTriangleParams params{};
  KIZAMI_RETURN_IF_ERROR(fill_params(p, kOfTriangle, promotion, params));
  params.bands = bands_of(p.a.lines.num_lines, is_lower);
  params.tiles_per_plane = params.bands.num_tiles();
  params.part.kind = is_lower ? problem::PartKind::kLower : problem::PartKind::kUpper;
  return launch(kernel, kOfTriangle, params.tiles_per_plane, device.num_sms, &params, queue);
}

}  // namespace

const product::EcEngine& hopper_ec_engine() {
  static constinit base::MadeOnce<HopperEc> engine;
  return engine.get();
}

Status run_ec_product(const EcProduct& p, EcForm form, EcPromotion promotion, product::Queue queue) {
  if (auto reason = why_refused(p, promotion)) return {StatusCode::kInvalidArgument, *std::move(reason)};
  hopper::CurrentDevice device;
  KIZAMI_RETURN_IF_ERROR(hopper::find_current_device(device));
  const EcFormTraits& traits = kForms[static_cast<std::size_t>(form)];
  const EcKernel& kernel = kernel_of(form, promotion, p.is_batch());
  constexpr std::size_t kNumKernels = std::size_t{kNumEcForms} * product::kNumEcPromotions;
  const std::size_t index = (p.is_batch() ? kNumKernels : 0) +
                            static_cast<std::size_t>(form) * product::kNumEcPromotions +
                            static_cast<std::size_t>(promotion);
  static std::array<SharedMemoryGrant, 2 * kNumKernels> grants;
  KIZAMI_RETURN_IF_ERROR(grants[index].ask(kernel.kernel, kernel.shared_bytes, device.ordinal));

  EcBatchParams params{};
  KIZAMI_RETURN_IF_ERROR(fill_params(p, traits, promotion, params));
  params.num_products = p.num_products;
  params.num_tiles = params.tiles_per_plane * static_cast<std::uint32_t>(p.num_products);
  if (p.is_batch()) {
    params.a_plane_step = p.a.planes.product_stride != 0 ? 1 : 0;
    params.b_plane_step = p.b.planes.product_stride != 0 ? 1 : 0;
    params.decision_stride = p.decision_stride;
    params.c_product_stride = p.c_product_stride;
    params.c_array = p.c_array;
    params.a_scales_stride = p.a.planes.scales_stride;
    params.b_scales_stride = p.b.planes.scales_stride;
    if (p.second.has_value()) {
      params.second_a_scales = p.second->a.scales;
      params.second_b_scales = p.second->b.scales;
    }
  }

  EcParams* const of_one = &params;  // all that the kernel of one product takes
  return launch(kernel, traits, params.num_tiles, device.num_sms,
                p.is_batch() ? static_cast<void*>(&params) : static_cast<void*>(of_one), queue);
}

}  // namespace kizami::engines
