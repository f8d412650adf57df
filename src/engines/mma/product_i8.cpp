// SPDX-License-Identifier: MIT
// The host's part: checks, and one launch. Nothing is allocated and nothing waits, so a call can be captured in a graph.
#include "engines/mma/product_i8.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/fork_safe.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "engines/desc_check.hpp"
#include "engines/form_kernels.hpp"
#include "engines/mma/forms.hpp"
#include "engines/mma/product_i8_params.hpp"

namespace kizami::engines {
namespace {

using base::ceil_div;
using base::DeviceLimits;
using product::DeviceFacts;
using product::Offer;
using product::Pointers;
using product::ProductDesc;
using product::Refusal;

constexpr std::int64_t kLineLimit = std::int64_t{1} << 30;  // numbers of lines, with a tile's beyond, are INT32
constexpr std::int64_t kRowLimit = std::int64_t{1} << 31;   // of rows with windows, in bytes: places in them likewise
constexpr std::int64_t kPlaneLimit = 32767;                 // of windows: INT16 in the parameters
constexpr std::int64_t kTileLimit = std::int64_t{1} << 31;  // tiles are counted in 31 bits
constexpr Abilities kAbilities{.compares = true, .takes_windows = true, .needs_odd_moduli = true};

std::optional<std::string> why_refused_here(const ProductDesc& d) {
  using detail::wrong;
  if (d.m > kLineLimit) return wrong("m", d.m, "at most 2^30");
  if (d.n > kLineLimit) return wrong("n", d.n, "at most 2^30");
  if (d.num_windows > 0) {
    const std::string below = "below 2^31 with windows";
    if (d.a_row_stride >= kRowLimit) return wrong("a_row_stride", d.a_row_stride, below);
    if (d.b_row_stride >= kRowLimit) return wrong("b_row_stride", d.b_row_stride, below);
    const NumPlanes planes = num_planes_read(d);
    if (std::max(planes.a, planes.b) > kPlaneLimit)
      return wrong("planes", std::max(planes.a, planes.b), "at most 32767 with windows");
  }
  constexpr std::int64_t kMostTiles = kTileLimit / product::kMaxProducts;
  if (ceil_div(d.m, 128) * ceil_div(d.n, 128) >= kMostTiles) {
    return "m = " + std::to_string(d.m) + " and n = " + std::to_string(d.n) + " make too many tiles, must be below " +
           std::to_string(kMostTiles) + " of 128 x 128";
  }
  return std::nullopt;
}

const FormKernels& kernels_of(MmaForm form) {
  using Kernels = std::array<FormKernels, kNumMmaForms>;
  static constinit base::MadeOnce<Kernels> kernels;
  const Kernels& made = kernels.get([] {
    return Kernels{mma::tile_256x128_kernels(), mma::tile_256x128_long_kernels(), mma::tile_128x128_kernels()};
  });
  return made[static_cast<std::size_t>(form)];
}

Status check_call(const ProductDesc& d, const Pointers& pointers) {
  if (auto reason = why_refused(d, kAbilities)) return {StatusCode::kInvalidArgument, *std::move(reason)};
  if (auto reason = why_refused_here(d)) return {StatusCode::kInvalidArgument, *std::move(reason)};
  if (auto reason = why_refused(d, pointers)) return {StatusCode::kInvalidArgument, *std::move(reason)};
  return {};
}

Status launch_product(const ProductDesc& d, const Pointers& pointers, const MmaFormTraits& traits,
                      const DeviceLimits& device, int raster_tiles, product::Queue queue) {
  const FormKernels& kernels = kernels_of(traits.form);
  const void* const kernel = kernel_for(kernels, d);
  static FormGrants<kNumMmaForms> grants;
  KIZAMI_RETURN_IF_ERROR(
      grants.of(static_cast<std::size_t>(traits.form), d).ask(kernel, kernels.shared_bytes, device.device));
  mma::ProductParams params{};
  params.m = static_cast<std::int32_t>(d.m);
  params.n = static_cast<std::int32_t>(d.n);
  params.num_k_blocks = static_cast<std::int32_t>(ceil_div(d.k, traits.block_k));
  params.a_plane_step = params.b_plane_step = 1;
  set_order(params, traits.tile_i, traits.tile_j, raster_tiles);
  set_result(d, pointers, params);
  set_windows(d, traits.block_k, params);
  params.a = pointers.a;
  params.b = pointers.b;
  params.a_row_stride = d.a_row_stride;
  params.a_plane_stride = d.a_plane_stride;
  params.b_row_stride = d.b_row_stride;
  params.b_plane_stride = d.b_plane_stride;
  params.line_bytes = static_cast<std::int32_t>(base::round_up(d.k, product::kPadBytes));
  const std::int64_t tiles = std::int64_t{params.tiles_per_plane} * d.num_products;
  const std::int64_t at_once = std::int64_t{std::max(1, device.num_sms)} * traits.blocks_per_sm;
  return base::launch_overlapped_clusters(
      "the launch of the product by mma.sync", kernel, static_cast<unsigned>(std::min(tiles, at_once)),
      static_cast<unsigned>(traits.threads()), 1, kernels.shared_bytes, queue, &params);
}

class MmaProduct final : public product::Engine {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "mma"; }
  [[nodiscard]] bool needs_workspace() const noexcept override { return false; }
  [[nodiscard]] product::MemorySpace space() const noexcept override { return product::MemorySpace::kDevice; }
  [[nodiscard]] bool reads_num_products() const noexcept override { return true; }

  [[nodiscard]] std::variant<Offer, Refusal> query(const ProductDesc& d, const DeviceFacts& facts) const override {
    if (facts.space != product::MemorySpace::kDevice) return Refusal{"the operands are not in device memory"};
    if (facts.compute_capability < 80) {
      return Refusal{
          detail::wrong("compute_capability", facts.compute_capability, "at least 80, for mma.sync of signed bytes")};
    }
    if (auto reason = why_refused(d, kAbilities)) return Refusal{*std::move(reason)};
    if (auto reason = why_refused_here(d)) return Refusal{*std::move(reason)};
    return Offer{.workspace_bytes = 0,
                 .seconds = predicted_seconds(d, traits_of(mma_form_for(d, facts)), facts) / facts.rates.mma,
                 .threads = 1};
  }

  [[nodiscard]] Status run(const ProductDesc& d, const Offer& /*offer*/, const Pointers& pointers,
                           std::byte* /*workspace*/, product::Queue queue) const override {
    KIZAMI_RETURN_IF_ERROR(check_call(d, pointers));
    if (d.m == 0 || d.n == 0 || d.num_products == 0) return {};
    DeviceLimits device;
    KIZAMI_RETURN_IF_ERROR(base::find_device_limits(device));
    return launch_product(d, pointers, traits_of(mma_form_for(d, device)), device, 0, queue);
  }
};

}  // namespace

Status run_mma_product(const ProductDesc& d, const Pointers& pointers, MmaForm form, product::Queue queue,
                       int raster_tiles) {
  KIZAMI_RETURN_IF_ERROR(check_call(d, pointers));
  if (d.m == 0 || d.n == 0 || d.num_products == 0) return {};
  DeviceLimits device;
  KIZAMI_RETURN_IF_ERROR(base::find_device_limits(device));
  const MmaFormTraits& traits = traits_of(form);
  if (traits.shared_bytes() > device.shared_bytes) {
    return {StatusCode::kUnsupported, std::string(traits.name) + " needs " + std::to_string(traits.shared_bytes()) +
                                          " bytes of shared memory, the device has " +
                                          std::to_string(device.shared_bytes)};
  }
  return launch_product(d, pointers, traits, device, raster_tiles, queue);
}

const product::Engine& mma_product_engine() {
  static constinit base::MadeOnce<MmaProduct> engine;
  return engine.get();
}

}  // namespace kizami::engines
