// SPDX-License-Identifier: MIT
// The split of images and filters on a CUDA device into what product/ec_convolution.hpp describes.
#pragma once

#include "convolution/plan.hpp"
#include "kizami/status.hpp"
#include "product/product.hpp"

namespace kizami::convolution {

/// Splits images, filters, or both in one launch; images without planes, or a null w, are left out. An image has one scale, by the largest of
/// its finite elements, and zeros for others; a filter has one scale, num::kSkipLine and zeros with NaN or Inf.
/// @exact  to the bit what host_planes.hpp writes
/// @range  plan.is_split(); all bytes of the planes are written
/// @status kInvalidArgument: too many images and filters for one launch; kInternal with CUDA's words
/// @queue  asynchronous, one kernel whose start overlaps the end of the one before, capturable
[[nodiscard]] Status device_split(const Plan& plan, const float* x, const ImageBuffers& images, const float* w,
                                  const FilterBuffers& filters, product::Queue queue);

}  // namespace kizami::convolution
