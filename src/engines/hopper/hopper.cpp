// SPDX-License-Identifier: MIT
// The host's part: checks, tensor maps, one launch. Nothing is allocated and nothing waits, so a call can be captured
// in a graph: what the kernel reads on the host's behalf travels in its parameters.
#include "engines/hopper/hopper.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/cuda_status.hpp"
#include "base/fork_safe.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "engines/desc_check.hpp"
#include "engines/hopper/current_device.hpp"
#include "engines/hopper/float_product.hpp"
#include "engines/hopper/forms.hpp"
#include "engines/hopper/fused_slices.hpp"
#include "engines/hopper/product_params.hpp"
#include "engines/hopper/tensor_maps.hpp"
#include "engines/hopper/triangle_params.hpp"
#include "engines/shared_memory.hpp"
#include "product/triangle.hpp"

namespace kizami::engines {
namespace {

using base::ceil_div;
using hopper::ProductParams;
using product::DeviceFacts;
using product::Epilogue;
using product::FusedSliceDesc;
using product::Offer;
using product::Pointers;
using product::ProductDesc;
using product::Refusal;
using product::TriangleDesc;

// ---- limits of this engine beyond those of desc_check.hpp ----

constexpr std::int64_t kLineLimit = std::int64_t{1} << 30;       // coordinates of a tensor map are INT32
constexpr std::int64_t kMapStrideLimit = std::int64_t{1} << 40;  // of a tensor map, in bytes
constexpr std::int64_t kRowStrideLimit = kMapStrideLimit / 16;   // a permuted map strides by 16 lines
constexpr std::int64_t kRowLimit = std::int64_t{1} << 31;        // of rows with windows, in bytes
constexpr std::int64_t kPlaneLimit = 32767;                      // likewise: INT16 in the parameters
constexpr std::int64_t kTileLimit = std::int64_t{1} << 31;       // tiles are counted in 31 bits

constexpr Abilities kAbilities{.compares = true,
                               .takes_windows = true,
                               .takes_floats = true,
                               .promotes_sums = true,
                               .repeats_moduli = true,
                               .takes_unsigned = true,
                               .needs_odd_moduli = true};

std::optional<std::string> why_refused_here(const ProductDesc& d) {
  using detail::wrong;
  if (d.m > kLineLimit) return wrong("m", d.m, "at most 2^30");
  if (d.n > kLineLimit) return wrong("n", d.n, "at most 2^30");
  const std::int64_t bytes = product::element_bytes(d.format);
  constexpr const char* below_16th = "below 2^36: a tensor map's strides are below 2^40 bytes";
  if (d.a_row_stride >= kRowStrideLimit) return wrong("a_row_stride", d.a_row_stride, below_16th);
  if (d.b_row_stride >= kRowStrideLimit) return wrong("b_row_stride", d.b_row_stride, below_16th);
  if (d.num_products > 1) {
    constexpr const char* below = "below 2^40 bytes, as a tensor map's strides";
    if (d.a_plane_stride >= kMapStrideLimit / bytes) return wrong("a_plane_stride", d.a_plane_stride, below);
    if (d.b_plane_stride >= kMapStrideLimit / bytes) return wrong("b_plane_stride", d.b_plane_stride, below);
  }
  if (d.num_windows > 0) {
    constexpr const char* below = "below 2^31 bytes with windows: coordinates of a tensor map are INT32";
    if (d.a_row_stride >= kRowLimit / bytes) return wrong("a_row_stride", d.a_row_stride, below);
    if (d.b_row_stride >= kRowLimit / bytes) return wrong("b_row_stride", d.b_row_stride, below);
    const NumPlanes planes = num_planes_read(d);
    if (std::max(planes.a, planes.b) > kPlaneLimit)
      return wrong("planes", std::max(planes.a, planes.b), "at most 32767 with windows");
  }
  if (d.format == SliceFormat::kE5m2 && d.exact_k < 128)
    return wrong("exact_k", d.exact_k, "at least 128 for e5m2, which the kernel sums at a time");
  const std::int64_t tile_limit = kTileLimit / (product::kMaxProducts * d.planes_of_modulus);
  if (ceil_div(d.m, 128) * ceil_div(d.n, 128) >= tile_limit) {
    return "m = " + std::to_string(d.m) + " and n = " + std::to_string(d.n) + " make too many tiles, must be below " +
           std::to_string(tile_limit) + " of 128 x 128";
  }
  return std::nullopt;
}

/// Of a triangle, beyond what is refused of all of C.
std::optional<std::string> why_triangle_refused(const TriangleDesc& triangle) {
  using detail::wrong;
  const ProductDesc& d = triangle.product;
  if (triangle.num_swapped < 0 || triangle.num_swapped % 2 != 0 || triangle.num_swapped > product::kMaxProducts)
    return wrong("num_swapped", triangle.num_swapped, "even and in 0..64");
  if (triangle.num_swapped > 0 && d.a_plane_stride == 0)
    return wrong("a_plane_stride", 0, "positive where planes swap");
  if (d.format != SliceFormat::kInt8)
    return "format = " + std::string(to_string(d.format)) + ", must be int8 for a triangle";
  if (d.num_windows > 0) return wrong("num_windows", d.num_windows, "0 for a triangle");
  if (d.k < 1) return wrong("k", d.k, "at least 1 for a triangle");
  if (ceil_div(d.m, hopper::kTriangleTile) != ceil_div(d.n, hopper::kTriangleTile))
    return wrong("m", d.m, "n = " + std::to_string(d.n) + " but for padding, for a triangle");
  if (d.epilogue == Epilogue::kCompare) return std::nullopt;
  if (d.epilogue != Epilogue::kReduce)
    return wrong("epilogue", static_cast<int>(d.epilogue), "kReduce or kCompare for a triangle");
  if (d.m % 16 != 0) return wrong("m", d.m, "a multiple of 16 for a triangle");
  return std::nullopt;
}

// ---- the launch ----

const FormKernels& kernels_of(HopperForm form) {
  using Kernels = std::array<FormKernels, kNumHopperForms>;
  static constinit base::MadeOnce<Kernels> kernels;
  const Kernels& made = kernels.get([] {
    return Kernels{hopper::ping_pong_128x128_kernels(),       hopper::ping_pong_128x128_permuted_kernels(),
                   hopper::ping_pong_128x128_alone_kernels(), hopper::ping_pong_192x128_permuted_kernels(),
                   hopper::cooperative_256x128_kernels(),     hopper::cooperative_256x128_permuted_kernels(),
                   hopper::cooperative_192x256_kernels(),     hopper::cooperative_192x256_permuted_kernels()};
  });
  return made[static_cast<std::size_t>(form)];
}

/// What does not depend on the form.
ProductParams common_params(const ProductDesc& d, const Pointers& pointers) {
  ProductParams params{};
  params.m = static_cast<std::int32_t>(d.m);
  params.n = static_cast<std::int32_t>(d.n);
  params.num_k_blocks = static_cast<std::int32_t>(ceil_div(d.k, hopper::kBlockBytes));
  set_result(d, pointers, params);
  set_windows(d, hopper::kBlockBytes, params);
  return params;
}

Status launch_empty_sum(const ProductDesc& d, ProductParams& params, product::Queue queue) {
  constexpr unsigned kThreads = 256;
  const std::int64_t blocks = ceil_div(d.m * d.n, kThreads) * d.num_products;
  return base::launch_overlapped_clusters("the launch of an empty product", kernel_for(hopper::empty_sum_kernels(), d),
                                          static_cast<unsigned>(std::clamp<std::int64_t>(blocks, 1, 4096)), kThreads, 1,
                                          0, queue, &params);
}

/// The maps of both operands, as a form reads them.
Status encode_maps(const ProductDesc& d, const Pointers& pointers, const HopperFormTraits& traits,
                   ProductParams& params) {
  const NumPlanes planes = num_planes_read(d);
  const auto lines = [&](const char* name, const std::int8_t* data, std::int64_t count, std::int64_t row_stride,
                         std::int64_t plane_stride, std::int64_t num_planes) {
    const std::int64_t length = d.num_windows > 0 ? row_stride : d.k;
    return hopper::MapLines{name, data, count, length, row_stride, plane_stride, plane_stride == 0 ? 1 : num_planes};
  };
  const hopper::MapLines a = lines("a", pointers.a, d.m, d.a_row_stride, d.a_plane_stride, planes.a);
  const hopper::MapLines b = lines("b", pointers.b, d.n, d.b_row_stride, d.b_plane_stride, planes.b);
  if (traits.line_order == LineOrder::kPermuted) {
    KIZAMI_RETURN_IF_ERROR(
        hopper::encode_permuted(a, hopper::permuted_box_lines(traits.tile_i / traits.cluster), params.a_map));
  } else {
    KIZAMI_RETURN_IF_ERROR(hopper::encode_in_order(a, traits.tile_i / traits.cluster, params.a_map));
  }
  params.a_plane_step = a.num_planes > 1 ? 1 : 0;
  params.b_plane_step = b.num_planes > 1 ? 1 : 0;
  return hopper::encode_in_order(b, traits.tile_j, params.b_map);
}

/// @param parameter  ProductParams, or what begins with them
Status launch_clusters(const HopperFormTraits& traits, const void* kernel, std::size_t shared_bytes, std::int64_t tiles,
                       int num_sms, product::Queue queue, void* parameter) {
  const auto clusters = static_cast<unsigned>(std::min<std::int64_t>(tiles, std::max(1, num_sms / traits.cluster)));
  return base::launch_overlapped_clusters("the launch of the product kernel", kernel,
                                          clusters * static_cast<unsigned>(traits.cluster), hopper::kNumThreads,
                                          traits.cluster, shared_bytes, queue, parameter);
}

Status launch_product(const ProductDesc& d, const Pointers& pointers, ProductParams& params,
                      const HopperFormTraits& traits, product::Queue queue, int raster_tiles) {
  hopper::CurrentDevice device;
  KIZAMI_RETURN_IF_ERROR(hopper::find_current_device(device));
  const FormKernels& kernels = kernels_of(traits.form);
  const void* const kernel = kernel_for(kernels, d);
  static FormGrants<kNumHopperForms> grants;
  if (kernel == nullptr) return {StatusCode::kInternal, std::string(traits.name) + " is not compiled for the epilogue"};
  KIZAMI_RETURN_IF_ERROR(
      grants.of(static_cast<std::size_t>(traits.form), d).ask(kernel, kernels.shared_bytes, device.ordinal));

  KIZAMI_RETURN_IF_ERROR(encode_maps(d, pointers, traits, params));
  set_order(params, traits.tile_i, traits.tile_j * traits.cluster, raster_tiles);
  return launch_clusters(traits, kernel, kernels.shared_bytes, std::int64_t{params.tiles_per_plane} * d.num_products,
                         device.num_sms, queue, &params);
}

/// The form whose lines lie on the chip as the kernel of a triangle has them.
const HopperFormTraits& triangle_traits(Epilogue epilogue) {
  return traits_of(epilogue == Epilogue::kReduce ? HopperForm::kCooperative256x128Permuted
                                                 : HopperForm::kCooperative256x128);
}

TriangleOrder triangle_order(const TriangleDesc& d) {
  constexpr std::uint32_t kRasterTiles = 2048 / hopper::kTriangleTile;  // as set_order() takes them
  return {static_cast<std::uint32_t>(ceil_div(d.product.n, hopper::kTriangleTile)), kRasterTiles, d.is_lower ? 1U : 0U};
}

Status launch_triangle_product(const TriangleDesc& triangle, const Pointers& pointers, product::Queue queue) {
  const ProductDesc& d = triangle.product;
  hopper::CurrentDevice device;
  KIZAMI_RETURN_IF_ERROR(hopper::find_current_device(device));
  static constinit base::MadeOnce<hopper::TriangleKernels> made;
  const hopper::TriangleKernels& kernels = made.get(hopper::triangle_kernels);
  const bool compares = d.epilogue == Epilogue::kCompare;
  const std::array all = {kernels.reduce, kernels.reduce_unsigned, kernels.compare};
  const std::size_t which = compares ? 2 : static_cast<std::size_t>(d.has_unsigned_bytes);
  const void* const kernel = all[which];
  static std::array<SharedMemoryGrant, all.size()> grants;
  KIZAMI_RETURN_IF_ERROR(grants[which].ask(kernel, kernels.shared_bytes, device.ordinal));
  const HopperFormTraits& traits = triangle_traits(d.epilogue);
  hopper::TriangleParams params{common_params(d, pointers), {}, 0, triangle_order(triangle)};
  KIZAMI_RETURN_IF_ERROR(encode_maps(d, pointers, traits, params));
  params.tiles_per_plane = params.triangle.num_tiles();
  if (triangle.num_swapped > 0) {
    const hopper::MapLines as_b{"a", pointers.a, d.n, d.k, d.a_row_stride, d.a_plane_stride, d.num_products};
    KIZAMI_RETURN_IF_ERROR(hopper::encode_in_order(as_b, traits.tile_j, params.swapped_map));
    params.swapped_tiles = params.tiles_per_plane * static_cast<std::uint32_t>(triangle.num_swapped);
  }
  params.by_plane = make_divider(params.tiles_per_plane);
  return launch_clusters(traits, kernel, kernels.shared_bytes, std::int64_t{params.tiles_per_plane} * d.num_products,
                         device.num_sms, queue, &params);
}

Status check_call(const ProductDesc& d, const Pointers& pointers) {
  if (auto reason = why_refused(d, kAbilities)) return {StatusCode::kInvalidArgument, *std::move(reason)};
  if (auto reason = why_refused_here(d)) return {StatusCode::kInvalidArgument, *std::move(reason)};
  if (auto reason = why_refused(d, pointers)) return {StatusCode::kInvalidArgument, *std::move(reason)};
  return {};
}

/// Why no kernel of this engine runs there.
std::optional<std::string> why_not_there(const DeviceFacts& facts) {
  if (facts.space != product::MemorySpace::kDevice) return "the operands are not in device memory";
  if (!facts.has_wgmma()) return base::why_no_wgmma(facts);
  return std::nullopt;
}

class Hopper final : public product::Engine, public product::FusedSliceEngine, public product::TriangleEngine {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "hopper"; }
  [[nodiscard]] bool needs_workspace() const noexcept override { return false; }
  [[nodiscard]] product::MemorySpace space() const noexcept override { return product::MemorySpace::kDevice; }
  [[nodiscard]] bool reads_num_products() const noexcept override { return true; }
  [[nodiscard]] bool promotes_sums() const noexcept override { return true; }
  [[nodiscard]] bool prefers_unsigned_bytes() const noexcept override { return true; }

  [[nodiscard]] std::variant<Offer, Refusal> query(const ProductDesc& d, const DeviceFacts& facts) const override {
    if (auto reason = why_not_there(facts)) return Refusal{*std::move(reason)};
    if (auto reason = why_refused(d, kAbilities)) return Refusal{*std::move(reason)};
    if (auto reason = why_refused_here(d)) return Refusal{*std::move(reason)};
    const double seconds = d.format == SliceFormat::kInt8
                               ? predicted_seconds(d, traits_of(tile_for(d, facts.num_sms)), facts.num_sms)
                               : hopper::float_windows_seconds(d, facts.num_sms);
    return Offer{.workspace_bytes = 0, .seconds = seconds, .threads = 1};
  }

  [[nodiscard]] Status run(const ProductDesc& d, const Offer& /*offer*/, const Pointers& pointers,
                           std::byte* /*workspace*/, product::Queue queue) const override {
    KIZAMI_RETURN_IF_ERROR(check_call(d, pointers));
    if (d.m == 0 || d.n == 0 || d.num_products == 0) return {};
    if (d.format != SliceFormat::kInt8) return hopper::launch_float_windows(d, pointers, queue);
    hopper::CurrentDevice device;
    KIZAMI_RETURN_IF_ERROR(hopper::find_current_device(device));
    return run_hopper_product(d, pointers, tile_for(d, device.num_sms), queue);
  }

  [[nodiscard]] std::variant<Offer, Refusal> query(const FusedSliceDesc& d, const DeviceFacts& facts) const override {
    if (auto reason = why_not_there(facts)) return Refusal{*std::move(reason)};
    if (auto reason = hopper::why_refused(d)) return Refusal{*std::move(reason)};
    return Offer{.workspace_bytes = 0, .seconds = hopper::fused_seconds(d, facts.num_sms), .threads = 1};
  }
  [[nodiscard]] Status run(const FusedSliceDesc& d, const product::FusedSlicePointers<float>& pointers,
                           product::Queue queue) const override {
    return run_fused(d, pointers, queue);
  }
  [[nodiscard]] Status run(const FusedSliceDesc& d, const product::FusedSlicePointers<double>& pointers,
                           product::Queue queue) const override {
    return run_fused(d, pointers, queue);
  }

  [[nodiscard]] std::variant<Offer, Refusal> query(const TriangleDesc& d, const DeviceFacts& facts) const override {
    if (auto reason = why_not_there(facts)) return Refusal{*std::move(reason)};
    if (auto reason = why_refused(d.product, kAbilities)) return Refusal{*std::move(reason)};
    if (auto reason = why_refused_here(d.product)) return Refusal{*std::move(reason)};
    if (auto reason = why_triangle_refused(d)) return Refusal{*std::move(reason)};
    // Of all tiles, as many as are walked.
    const TriangleOrder order = triangle_order(d);
    const double share =
        static_cast<double>(order.num_tiles()) / (static_cast<double>(order.tiles_along) * order.tiles_along);
    const double all = predicted_seconds(d.product, triangle_traits(d.product.epilogue), facts.num_sms);
    return Offer{.workspace_bytes = 0, .seconds = share * all, .threads = 1};
  }
  [[nodiscard]] Status run(const TriangleDesc& d, const Pointers& pointers, product::Queue queue) const override {
    KIZAMI_RETURN_IF_ERROR(check_call(d.product, pointers));
    if (auto reason = why_triangle_refused(d)) return {StatusCode::kInvalidArgument, *std::move(reason)};
    if (d.product.n == 0 || d.product.num_products == 0) return {};
    return launch_triangle_product(d, pointers, queue);
  }

 private:
  template <class T>
  [[nodiscard]] static Status run_fused(const FusedSliceDesc& d, const product::FusedSlicePointers<T>& pointers,
                                        product::Queue queue) {
    if (auto reason = hopper::why_refused(d)) return {StatusCode::kInvalidArgument, *std::move(reason)};
    return hopper::launch_fused_slices(d, pointers, queue);
  }
};

}  // namespace

Status run_hopper_product(const ProductDesc& d, const Pointers& pointers, HopperForm form, product::Queue queue,
                          int raster_tiles) {
  KIZAMI_RETURN_IF_ERROR(check_call(d, pointers));
  const HopperFormTraits& traits = traits_of(form);
  if (!form_accepts(traits, d)) {
    return {StatusCode::kUnsupported, std::string(traits.name) + " is not compiled for this description"};
  }
  if (d.m == 0 || d.n == 0 || d.num_products == 0) return {};
  ProductParams params = common_params(d, pointers);
  if (d.k == 0) return launch_empty_sum(d, params, queue);
  return launch_product(d, pointers, params, traits, queue, raster_tiles);
}

const product::Engine& hopper_engine() {
  static constinit base::MadeOnce<Hopper> engine;
  return engine.get();
}

}  // namespace kizami::engines
