// SPDX-License-Identifier: MIT
#include "engines/hopper/product_launch.hpp"

#include <algorithm>

#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "engines/desc_check.hpp"
#include "engines/hopper/tensor_maps.hpp"
#include "engines/result_params.hpp"

namespace kizami::engines::hopper {

ProductParams common_params(const product::ProductDesc& d, const product::Pointers& pointers) {
  ProductParams params{};
  params.m = static_cast<std::int32_t>(d.m);
  params.n = static_cast<std::int32_t>(d.n);
  params.num_k_blocks = static_cast<std::int32_t>(base::ceil_div(d.k, kBlockBytes));
  set_result(d, pointers, params);
  set_windows(d, kBlockBytes, params);
  return params;
}

Status encode_maps(const product::ProductDesc& d, const product::Pointers& pointers, const HopperFormTraits& traits,
                   ProductParams& params) {
  const NumPlanes planes = num_planes_read(d);
  const auto lines = [&](const char* name, const std::int8_t* data, std::int64_t count, std::int64_t row_stride,
                         std::int64_t plane_stride, std::int64_t num_planes) {
    const std::int64_t length = d.num_windows > 0 ? row_stride : d.k;
    return MapLines{name, data, count, length, row_stride, plane_stride, plane_stride == 0 ? 1 : num_planes};
  };
  const MapLines a = lines("a", pointers.a, d.m, d.a_row_stride, d.a_plane_stride, planes.a);
  const MapLines b = lines("b", pointers.b, d.n, d.b_row_stride, d.b_plane_stride, planes.b);
  if (traits.line_order == LineOrder::kPermuted) {
    KIZAMI_RETURN_IF_ERROR(encode_permuted(a, params.a_map));
  } else {
    KIZAMI_RETURN_IF_ERROR(encode_in_order(a, traits.tile_i / traits.cluster, params.a_map));
  }
  params.a_plane_step = a.num_planes > 1 ? 1 : 0;
  params.b_plane_step = b.num_planes > 1 ? 1 : 0;
  return encode_in_order(b, traits.tile_j, params.b_map);
}

Status launch_clusters(const HopperFormTraits& traits, const void* kernel, std::size_t shared_bytes, std::int64_t tiles,
                       int num_sms, product::Queue queue, void* parameter) {
  const auto clusters = static_cast<unsigned>(std::min<std::int64_t>(tiles, std::max(1, num_sms / traits.cluster)));
  return base::launch_overlapped_clusters("the launch of the product kernel", kernel,
                                          clusters * static_cast<unsigned>(traits.cluster), kNumThreads, traits.cluster,
                                          shared_bytes, queue, parameter);
}

}  // namespace kizami::engines::hopper
