// SPDX-License-Identifier: MIT
#include "convolution/host_planes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>

#include "num/line_stats.hpp"
#include "product/ec_planes.hpp"
#include "schemes/ec/device_planes_oracle.hpp"

namespace kizami::convolution {
namespace {

using product::EcFormat;

struct Sight {
  std::uint32_t largest = 0;  ///< bits of the largest finite magnitude
  bool has_nonfinite = false;
};
void see(float element, Sight& sight) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(element) & 0x7FFFFFFFU;
  if (bits >= 0x7F800000U) {
    sight.has_nonfinite = true;
  } else {
    sight.largest = std::max(sight.largest, bits);
  }
}
Sight look_at(std::span<const float> x) {
  Sight sight;
  for (const float element : x) see(element, sight);
  return sight;
}
Sight look_at_sample(const Plan& plan, const float* image) {
  const TensorStrides at = plan.x_strides();
  const std::int64_t count = sample_pixels(plan);
  Sight sight;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t pixel = sampled_pixel(i, count, plan.shape.height * plan.shape.width);
    for (std::int64_t c = 0; c < plan.shape.channels; ++c)
      see(image[pixel / plan.shape.width * at.row + pixel % plan.shape.width * at.column + c * at.channel], sight);
  }
  return sight;
}

/// Element c of a group's channels, to the blocks that begin at `to`, `apart` bytes from one to the next.
void store(float x, std::int32_t scale, EcFormat format, std::int64_t c, std::int8_t* to, std::int64_t apart) {
  if (!std::isfinite(x) || scale == num::kSkipLine) return;
  const std::int64_t block = product::ec_block_length(format);
  const std::size_t size = format == EcFormat::kF16 ? 2 : 4;
  const float y = std::ldexp(x, scale);
  const ec::EcNarrow hi = ec::ec_narrow(y, format);
  const ec::EcNarrow lo = ec::ec_narrow(y - hi.value, format);
  to += c / block * apart + c % block * static_cast<std::int64_t>(size);
  std::memcpy(to, &hi.bits, size);
  std::memcpy(to + product::kEcBlockBytes / 2, &lo.bits, size);
}

}  // namespace

HostPlanes split_images_on_host(const Plan& plan, const float* x) {
  const product::EcConvolution& p = plan.product;
  const TensorStrides at = plan.x_strides();
  const std::int64_t elements = plan.shape.channels * plan.shape.height * plan.shape.width;
  const std::int64_t planes_w = p.w.num_planes();
  const std::int64_t planes = p.h.num_planes() * planes_w;
  HostPlanes made;
  made.planes.resize(static_cast<std::size_t>(planes * p.images * p.cells() * p.pixel_bytes()));
  for (std::int64_t image = 0; image < p.images; ++image) {
    const float* const from = x + image * elements;
    const Sight sight = look_at({from, static_cast<std::size_t>(elements)});
    const Sight sample = look_at_sample(plan, from);
    made.scales.push_back(image_scale(ec::ec_scale(sight.largest, p.format), sample.largest != 0,
                                      ec::ec_scale(sample.largest, p.format)));
    made.has_nonfinite.push_back(sight.has_nonfinite ? 1 : 0);
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      for (std::int64_t cell = 0; cell < p.cells(); ++cell) {
        const std::int32_t row =
            p.h.input_of(static_cast<std::int32_t>(plane / planes_w), static_cast<std::int32_t>(cell / p.w.cells()));
        const std::int32_t column =
            p.w.input_of(static_cast<std::int32_t>(plane % planes_w), static_cast<std::int32_t>(cell % p.w.cells()));
        if (row < 0 || row >= p.h.extent || column < 0 || column >= p.w.extent) continue;
        std::int8_t* const pixel =
            made.planes.data() + ((plane * p.images + image) * p.cells() + cell) * p.pixel_bytes();
        for (std::int64_t c = 0; c < plan.shape.channels; ++c) {
          const std::int64_t group = c / plan.group_channels();
          store(from[row * at.row + column * at.column + c * at.channel], made.scales.back(), p.format,
                c - group * plan.group_channels(), pixel + group * p.blocks * product::kEcBlockBytes,
                product::kEcBlockBytes);
        }
      }
    }
  }
  return made;
}

HostPlanes split_filters_on_host(const Plan& plan, const float* w) {
  const product::EcConvolution& p = plan.product;
  const TensorStrides at = plan.w_strides();
  const std::int64_t elements = plan.group_channels() * p.h.filter * p.w.filter;
  HostPlanes made;
  made.planes.resize(static_cast<std::size_t>(plan.shape.filters * p.filter_bytes()));
  for (std::int64_t filter = 0; filter < plan.shape.filters; ++filter) {
    const float* const from = w + filter * elements;
    const Sight sight = look_at({from, static_cast<std::size_t>(elements)});
    made.scales.push_back(sight.has_nonfinite ? num::kSkipLine : ec::ec_scale(sight.largest, p.format));
    for (std::int64_t r = 0; r < p.h.filter; ++r) {
      for (std::int64_t s = 0; s < p.w.filter; ++s) {
        std::int8_t* const first =
            made.planes.data() + filter * p.filter_bytes() + (r * p.blocks * p.w.filter + s) * product::kEcBlockBytes;
        for (std::int64_t c = 0; c < plan.group_channels(); ++c) {
          store(from[r * at.row + s * at.column + c * at.channel], made.scales.back(), p.format, c, first,
                p.w.filter * product::kEcBlockBytes);
        }
      }
    }
  }
  return made;
}

}  // namespace kizami::convolution
