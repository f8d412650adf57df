// SPDX-License-Identifier: MIT
// The split of images and filters on the host: planes as product/ec_convolution.hpp describes them.
#pragma once

#include <cstdint>
#include <vector>

#include "convolution/plan.hpp"

namespace kizami::convolution {

struct HostPlanes {
  std::vector<std::int8_t> planes;
  std::vector<std::int32_t> scales;
  std::vector<std::int32_t> has_nonfinite;  ///< of images
};

/// @range plan.is_split(); all images together must fit in memory
[[nodiscard]] HostPlanes split_images_on_host(const Plan& plan, const float* x);
[[nodiscard]] HostPlanes split_filters_on_host(const Plan& plan, const float* w);

}  // namespace kizami::convolution
