// SPDX-License-Identifier: MIT
// The host's part of a convolution: checks, tensor maps, one launch. Nothing is allocated and nothing waits, so a call
// can be captured.
#include "engines/hopper/ec_convolution.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "base/fork_safe.hpp"
#include "base/overlapped_launch.hpp"
#include "engines/desc_check.hpp"
#include "engines/hopper/convolution_params.hpp"
#include "engines/hopper/current_device.hpp"
#include "engines/hopper/tensor_maps.hpp"
#include "engines/shared_memory.hpp"

namespace kizami::engines {
namespace {

using hopper::ConvolutionKernel;
using hopper::ConvolutionParams;
using product::EcConvolution;
using product::EcConvolutionForm;
using product::EcConvolutionFormTraits;
using product::kNumEcConvolutionForms;

const ConvolutionKernel& kernel_of(EcConvolutionForm form) {
  using Kernels = std::array<ConvolutionKernel, kNumEcConvolutionForms>;
  static constinit base::MadeOnce<Kernels> kernels;
  const Kernels& made = kernels.get([] {
    return Kernels{hopper::convolution_kernel<EcConvolutionForm::kOneColumn64x128>(),
                   hopper::convolution_kernel<EcConvolutionForm::kOneColumn128x128>(),
                   hopper::convolution_kernel<EcConvolutionForm::kThreeColumns64x128>(),
                   hopper::convolution_kernel<EcConvolutionForm::kThreeColumns128x128>(),
                   hopper::convolution_kernel<EcConvolutionForm::kThreeColumns64x256>(),
                   hopper::convolution_kernel<EcConvolutionForm::kThreeColumns64x224>(),
                   hopper::convolution_kernel<EcConvolutionForm::kThreeColumns64x208>(),
                   hopper::convolution_kernel<EcConvolutionForm::kThreeColumns128x112>(),
                   hopper::convolution_kernel<EcConvolutionForm::kThreeColumns128x104>(),
                   hopper::convolution_kernel<EcConvolutionForm::kOneColumn128x112>(),
                   hopper::convolution_kernel<EcConvolutionForm::kOneColumn128x104>()};
  });
  return made[static_cast<std::size_t>(form)];
}

constexpr std::int64_t kSizeLimit = std::int64_t{1} << 30;  // coordinates of a tensor map are INT32

std::optional<std::string> why_refused(const EcConvolution& c, EcConvolutionForm form) {
  const auto wrong_size = [](const char* name, std::int64_t size) -> std::optional<std::string> {
    if (size < 1 || size >= kSizeLimit) return detail::wrong(name, size, "at least 1 and below 2^30");
    return std::nullopt;
  };
  if (auto reason = wrong_size("images", c.images)) return reason;
  if (auto reason = wrong_size("groups", c.groups)) return reason;
  if (auto reason = wrong_size("filters of a group", c.filters)) return reason;
  if (auto reason = wrong_size("blocks of a pixel", c.blocks)) return reason;
  if (auto reason = wrong_size("bytes of a pixel", c.pixel_bytes())) return reason;
  if (auto reason = wrong_size("bytes of a filter", c.filter_bytes())) return reason;
  if (auto reason = wrong_size("cells of all images", c.images * c.cells())) return reason;
  if (product::traits_of(form).columns == 3 && !product::takes_three_columns(c.w)) {
    return "the form " + std::string(product::traits_of(form).name) +
           " takes filters of 3 columns with stride_w = 1 and dilation_w up to 4, not filter_width = " +
           std::to_string(c.w.filter) + ", stride_w = " + std::to_string(c.w.stride) +
           ", dilation_w = " + std::to_string(c.w.dilation);
  }
  if (c.pixel_planes == nullptr || c.filter_planes == nullptr || c.image_scales == nullptr ||
      c.filter_scales == nullptr || c.direct.y == nullptr)
    return "planes, scales or y are null";
  return std::nullopt;
}

}  // namespace

Status run_ec_convolution(const EcConvolution& c, EcConvolutionForm form, product::Queue queue) {
  if (auto reason = why_refused(c, form)) return {StatusCode::kInvalidArgument, *std::move(reason)};
  hopper::CurrentDevice device;
  KIZAMI_RETURN_IF_ERROR(hopper::find_current_device(device));
  const EcConvolutionFormTraits& traits = product::traits_of(form);
  const ConvolutionKernel& kernel = kernel_of(form);
  static std::array<SharedMemoryGrant, kNumEcConvolutionForms> grants;
  KIZAMI_RETURN_IF_ERROR(
      grants[static_cast<std::size_t>(form)].ask(kernel.kernel, kernel.shared_bytes, device.ordinal));

  const product::EcConvolutionSums sums =
      product::ec_convolution_sums(c.format, c.filter_bytes() / product::kEcBlockBytes, form);
  ConvolutionParams params{};
  params.m = c.filters;
  params.n = static_cast<std::int32_t>(c.images * c.cells());
  params.num_k_blocks = static_cast<std::int32_t>(sums.num_stages);
  for (int tap = 0; tap < hopper::kTabledTaps; ++tap) {
    if (tap < c.h.filter)
      params.h_taps[tap] = hopper::tap_of_height(c.h, c.w, static_cast<std::int32_t>(c.w.cells()), tap);
    if (tap < c.w.filter) params.w_taps[tap] = hopper::tap_of_width(c.w, tap);
  }
  params.blocks = c.blocks;
  params.is_tf32 = c.format == product::EcFormat::kTf32 ? 1 : 0;
  params.block_promotions = static_cast<std::int32_t>(sums.promotions_of_block);
  params.by_image = make_divider(static_cast<std::uint32_t>(c.cells()));
  params.by_row = make_divider(static_cast<std::uint32_t>(c.w.cells()));
  params.image_scales = c.image_scales;
  params.has_nonfinite = c.has_nonfinite;
  params.filter_scales = c.filter_scales;
  params.direct = c.direct;
  params.factors = hopper::convolution_factors(c.direct.alpha, c.direct.beta);
  const product::TensorStrides& y = c.direct.y_strides;
  params.has_pairs = y.channel == 1 && reinterpret_cast<std::uintptr_t>(c.direct.y) % 8 == 0 && y.image % 2 == 0 &&
                     y.row % 2 == 0 && y.column % 2 == 0 && c.filters % 2 == 0;
  const std::int64_t filter_bytes = c.filter_bytes();
  const hopper::MapLines filters{"the filters", c.filter_planes,          c.filters, filter_bytes,
                                 filter_bytes,  c.filters * filter_bytes, c.groups};
  const int copied_filters = traits.tile_i / hopper::kConvolutionCluster;
  const bool in_pairs = kernel.has_filter_rows && params.has_pairs != 0 && c.filters % 16 == 0;
  params.filter_step = in_pairs ? 1 : 8;
  KIZAMI_RETURN_IF_ERROR(in_pairs ? hopper::encode_in_pairs(filters, copied_filters, params.a_map)
                                  : hopper::encode_in_order(filters, copied_filters, params.a_map));
  const std::int64_t pixel_bytes = c.pixel_bytes();
  const int extra = traits.columns > 1 ? product::kEcConvolutionMostShift : 0;
  KIZAMI_RETURN_IF_ERROR(
      hopper::encode_in_order({"the pixels", c.pixel_planes, params.n, pixel_bytes, pixel_bytes, params.n * pixel_bytes,
                               std::int64_t{c.h.num_planes()} * c.w.num_planes()},
                              hopper::cells_of_copy(traits.tile_i, traits.tile_j) + extra, params.b_map));
  set_order(params, traits.tile_i, traits.tile_j * hopper::kConvolutionCluster, 0);
  const std::int64_t tiles = std::int64_t{params.tiles_per_plane} * c.groups;
  if (tiles >= kSizeLimit) {
    return {StatusCode::kInvalidArgument,
            "the convolution has " + std::to_string(tiles) + " tiles, must be below 2^30"};
  }
  params.num_tiles = static_cast<std::uint32_t>(tiles);

  const auto clusters =
      std::min(params.num_tiles, static_cast<std::uint32_t>(std::max(1, device.num_sms / hopper::kConvolutionCluster)));
  return base::launch_overlapped_clusters(
      "the launch of a convolution", kernel.kernel, clusters * static_cast<unsigned>(hopper::kConvolutionCluster),
      hopper::kNumThreads, hopper::kConvolutionCluster, kernel.shared_bytes, queue, &params);
}

}  // namespace kizami::engines
