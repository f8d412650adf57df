// SPDX-License-Identifier: MIT
// How images lie in memory so that each tap of a filter is a shift.
//
// Along each axis an input is dealt out to planes, plane a holding rows a_first + a a_step + y stride, y = 0, 1, ...: one
// plane for each remainder modulo the stride, or, where filters are shorter than that, one for each of their rows. Row r
// of a filter then meets, for output p, cell p + offset(r) of plane(r): a shift that does not depend on p. A plane of
// an image is a grid of cells_h x cells_w pixels, with so many cells of zeros behind the input that a shift which leaves
// a row meets zeros, those of the row before or its own, and one that leaves the image likewise. So all images are one
// chain of lines, the lines of output cell j are lines j + shift(r, s) of plane(r, s), and a tile of 128 outputs needs
// for each (r, s) one box of 128 neighbouring lines. Outputs in cells that are no pixel are made and not stored.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/int_math.hpp"
#include "kizami/host_device.hpp"

namespace kizami::product {

/// One axis of a convolution.
/// @range  extent, pad >= 0; filter, stride, dilation >= 1; outputs >= 1
struct ConvolutionAxis {
  std::int32_t extent = 0;
  std::int32_t filter = 1;
  std::int32_t stride = 1;
  std::int32_t pad = 0;
  std::int32_t dilation = 1;
  std::int32_t outputs = 1;

  /// Rows of a filter have planes of their own.
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool has_plane_a_tap() const { return filter < stride; }
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::int32_t num_planes() const {
    return has_plane_a_tap() ? filter : stride;
  }
  /// The input that cell y of plane a holds; outside [0, extent): a zero.
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::int32_t input_of(std::int32_t a, std::int32_t y) const {
    return (has_plane_a_tap() ? a * dilation - pad : a) + y * stride;
  }
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::int32_t plane_of(std::int32_t tap) const {
    return has_plane_a_tap() ? tap : (tap * dilation - pad) - offset_of(tap) * stride;
  }
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::int32_t offset_of(std::int32_t tap) const {
    if (has_plane_a_tap()) return 0;
    const std::int32_t first = tap * dilation - pad;
    return first >= 0 ? first / stride : -((-first + stride - 1) / stride);
  }
  /// Cells of a plane, see above: inputs that a shift to the left must step over, and outputs that a shift to the right
  /// must not leave.
  [[nodiscard]] constexpr std::int64_t cells() const {
    if (has_plane_a_tap()) return outputs;
    const std::int64_t inputs = base::ceil_div(std::int64_t{extent}, std::int64_t{stride});
    return std::max<std::int64_t>(
        {inputs - offset_of(0), std::int64_t{outputs} + std::max(offset_of(filter - 1), 0), 1});
  }
};

/// (outputs of an axis; 0 where the dilated filter is larger than the padded input).
[[nodiscard]] constexpr std::int64_t convolution_outputs(std::int64_t extent, std::int64_t filter, std::int64_t stride,
                                                         std::int64_t pad, std::int64_t dilation) {
  const std::int64_t room = extent + 2 * pad - (filter - 1) * dilation - 1;
  return room < 0 ? 0 : room / stride + 1;
}

}  // namespace kizami::product
