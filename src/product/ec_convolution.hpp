// SPDX-License-Identifier: MIT
// A convolution as a product of split operands (ec_planes.hpp) whose second one is never written out.
//
// What planes, cells and shifts are: convolution_axis.hpp.
//
// k runs over rows of filters, blocks of channels (32 of FP16, 16 of TF32; a group begins a block), columns of filters.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/int_math.hpp"
#include "kizami/host_device.hpp"
#include "product/convolution_axis.hpp"
#include "product/direct_convolution.hpp"
#include "product/ec_planes.hpp"

namespace kizami::product {

/// d 2^-scale, as the epilogue of a product makes it: rounded once, or twice where it is subnormal. |d| < 2^123, so
/// beyond 378 the result is 0. @range scale >= -378
[[nodiscard]] KIZAMI_HOST_DEVICE inline float ec_unscaled(float d, std::int32_t scale) {
  const auto clamp = [](std::int32_t e) { return e < -126 ? -126 : e > 126 ? 126 : e; };
  const auto power = [](std::int32_t e) { return kizami::bit_cast<float>((e + 127) << 23); };
  if (scale >= -126 && scale <= 126) return d * power(-scale);  // what follows, but for factors of 1
  scale = scale < 378 ? scale : 378;
  const std::int32_t first = clamp(scale);
  const std::int32_t second = clamp(scale - first);
  return d * power(-first) * power(-second) * power(first + second - scale);
}

/// The compiled forms: filters and output cells of a tile, and how many columns of a filter come in one stage. Three share
/// the pixels of their stage, so these are read once instead of three times. Bits depend on the columns alone.
enum class EcConvolutionForm : std::uint8_t {
  kOneColumn64x128,
  kOneColumn128x128,
  kThreeColumns64x128,
  kThreeColumns128x128,
  kThreeColumns64x256,
  kThreeColumns64x224,
  kThreeColumns64x208,
  kThreeColumns128x112,
  kThreeColumns128x104,
  kOneColumn128x112,
  kOneColumn128x104,
};
inline constexpr int kNumEcConvolutionForms = 11;
struct EcConvolutionFormTraits {
  std::string_view name;
  EcConvolutionForm form;
  int tile_i;    ///< filters of a tile
  int tile_j;    ///< output cells of a tile
  int columns;   ///< of a filter in one stage
  double share;  ///< that the multiplications of a tile reach of the tensor cores' speed
  double store;  ///< clocks of an output that no multiplication covers, where filters are neighbours in memory (NHWC)
  double store_apart;  ///< likewise, where they are not
};
inline constexpr std::array<EcConvolutionFormTraits, kNumEcConvolutionForms> kEcConvolutionForms = {{
    {"one_column_64x128", EcConvolutionForm::kOneColumn64x128, 64, 128, 1, 0.6, 0.85, 0.92},
    {"one_column_128x128", EcConvolutionForm::kOneColumn128x128, 128, 128, 1, 0.73, 0.8, 0.9},
    {"three_columns_64x128", EcConvolutionForm::kThreeColumns64x128, 64, 128, 3, 0.77, 0.85, 0.92},
    {"three_columns_128x128", EcConvolutionForm::kThreeColumns128x128, 128, 128, 3, 0.76, 0.8, 0.9},
    {"three_columns_64x256", EcConvolutionForm::kThreeColumns64x256, 64, 256, 3, 0.76, 0.3, 1.25},
    {"three_columns_64x224", EcConvolutionForm::kThreeColumns64x224, 64, 224, 3, 0.76, 0.36, 1.25},
    {"three_columns_64x208", EcConvolutionForm::kThreeColumns64x208, 64, 208, 3, 0.76, 0.36, 1.25},
    {"three_columns_128x112", EcConvolutionForm::kThreeColumns128x112, 128, 112, 3, 0.76, 0.34, 1.25},
    {"three_columns_128x104", EcConvolutionForm::kThreeColumns128x104, 128, 104, 3, 0.76, 0.34, 1.25},
    {"one_column_128x112", EcConvolutionForm::kOneColumn128x112, 128, 112, 1, 0.73, 0.5, 1.25},
    {"one_column_128x104", EcConvolutionForm::kOneColumn128x104, 128, 104, 1, 0.73, 0.5, 1.25},
}};
[[nodiscard]] constexpr const EcConvolutionFormTraits& traits_of(EcConvolutionForm form) {
  return kEcConvolutionForms[static_cast<std::size_t>(form)];
}
inline constexpr int kEcConvolutionMostShift = 8;  ///< lines between the first and the last of three columns

/// Three columns lie in one stage if they are of one plane, and the last begins soon enough.
[[nodiscard]] constexpr bool takes_three_columns(const ConvolutionAxis& w) {
  return w.filter == 3 && w.stride == 1 && 2 * w.dilation <= kEcConvolutionMostShift;
}
/// Stages of one promotion: what is summed inside the tensor core, small products first, before FP32 sums take over.
[[nodiscard]] constexpr int ec_convolution_promoted_stages(EcConvolutionForm form) {
  return traits_of(form).columns == 1 ? 2 : 1;
}
/// How sums are made: the form, and of one filter its stages.
struct EcConvolutionSums {
  std::int64_t num_stages = 0;           ///< with stages of zeros that fill the last promotion
  std::int64_t interval = 0;             ///< elements of k of a promotion
  std::int64_t promotions_of_block = 0;  ///< that are added up before their sum is added to those of blocks before
};

/// @range  images, groups, filters, blocks >= 1; below 2^30: cells of all images, filters, bytes of a pixel and of a filter
struct EcConvolution {
  EcFormat format = EcFormat::kF16;
  ConvolutionAxis h;
  ConvolutionAxis w;
  std::int32_t images = 0;
  std::int32_t groups = 1;
  std::int32_t filters = 0;  ///< of a group
  std::int32_t blocks = 0;   ///< of 128 bytes, a pixel's of a group
  /// [plane of h][plane of w][image][cell of h][cell of w][group][block]
  const std::int8_t* pixel_planes = nullptr;
  const std::int32_t* image_scales = nullptr;   ///< [images]
  const std::int32_t* has_nonfinite = nullptr;  ///< [images]: whether windows must be looked at; null: none has
  /// [group][filter][row][block][column]
  const std::int8_t* filter_planes = nullptr;
  const std::int32_t* filter_scales = nullptr;  ///< [groups][filters]; num::kSkipLine with NaN or Inf
  DirectConvolution direct;                     ///< y, alpha (not zero), beta; x and w are read for NaN and Inf alone

  [[nodiscard]] std::int64_t cells() const { return h.cells() * w.cells(); }  ///< of one image in one plane
  [[nodiscard]] std::int64_t pixel_bytes() const { return std::int64_t{groups} * blocks * kEcBlockBytes; }
  [[nodiscard]] std::int64_t filter_bytes() const { return std::int64_t{h.filter} * blocks * w.filter * kEcBlockBytes; }
};

/// About the square root of all promotions make a block, for the fewest roundings, and at least 8.
[[nodiscard]] inline EcConvolutionSums ec_convolution_sums(EcFormat format, std::int64_t blocks_of_filter,
                                                           EcConvolutionForm form) {
  const int columns = traits_of(form).columns;
  const int promoted = ec_convolution_promoted_stages(form);
  const std::int64_t stages = base::round_up(base::ceil_div(blocks_of_filter, std::int64_t{columns}), promoted);
  std::int64_t block = 8;
  while (block < 4096 && block * block < stages / promoted) block *= 2;
  return {stages, std::int64_t{promoted} * columns * ec_block_length(format), block};
}

/// Predicted clocks of a form on the 132 multiprocessors of an H100 or H200: rounds of tiles (docs/perf/convolution.md).
[[nodiscard]] inline double ec_convolution_clocks(const EcConvolution& c, bool has_filters_together,
                                                  const EcConvolutionFormTraits& traits) {
  constexpr double kMultipliedPerClock = 2048;  // FP16, of a block of 32 elements; TF32 half, of 16
  constexpr std::int64_t kClusters = 66;        // of two CTAs
  const auto blocks = static_cast<double>(c.filter_bytes() / kEcBlockBytes);
  const double tile = traits.tile_i * traits.tile_j *
                      (3.0 * 32 * blocks / kMultipliedPerClock / traits.share +
                       (has_filters_together ? traits.store : traits.store_apart));
  const std::int64_t clusters = base::ceil_div(c.images * c.cells(), std::int64_t{2} * traits.tile_j) *
                                base::ceil_div(std::int64_t{c.filters}, std::int64_t{traits.tile_i}) * c.groups;
  return static_cast<double>(base::ceil_div(clusters, kClusters)) * tile;
}

/// The form that is predicted to be fastest; of three columns where it can be, so that bits do not depend on the number of
/// images. @range fewer than 2^62 tiles
[[nodiscard]] inline EcConvolutionForm ec_convolution_form_for(const EcConvolution& c, bool has_filters_together) {
  const int columns = takes_three_columns(c.w) ? 3 : 1;
  const EcConvolutionFormTraits* best = nullptr;
  for (const EcConvolutionFormTraits& traits : kEcConvolutionForms) {
    if (traits.columns != columns) continue;
    if (best == nullptr ||
        ec_convolution_clocks(c, has_filters_together, traits) < ec_convolution_clocks(c, has_filters_together, *best))
      best = &traits;
  }
  return best->form;
}

}  // namespace kizami::product
