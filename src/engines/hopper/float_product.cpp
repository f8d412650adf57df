// SPDX-License-Identifier: MIT
#include "engines/hopper/float_product.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/fork_safe.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "engines/desc_check.hpp"
#include "engines/hopper/current_device.hpp"
#include "engines/hopper/product_params.hpp"
#include "engines/hopper/tensor_maps.hpp"
#include "engines/hopper/window_seconds.hpp"
#include "engines/shared_memory.hpp"
#include "model/h200.hpp"

namespace kizami::engines::hopper {
namespace {

using base::ceil_div;
using product::ProductDesc;

[[nodiscard]] std::size_t index_of(SliceFormat format) {
  return static_cast<std::size_t>(format) - static_cast<std::size_t>(SliceFormat::kFp16);
}
[[nodiscard]] const FloatKernel& kernel_of(SliceFormat format) {
  static constinit base::MadeOnce<std::array<FloatKernel, 4>> kernels;
  return kernels.get([] {
    return std::array{float_kernel<SliceFormat::kFp16>(), float_kernel<SliceFormat::kBf16>(),
                      float_kernel<SliceFormat::kE4m3>(), float_kernel<SliceFormat::kE5m2>()};
  })[index_of(format)];
}

}  // namespace

double float_windows_seconds(const ProductDesc& d, int num_sms) {
  WindowRates rates{.tile_i = kFloatTileI, .tile_j = kFloatTileJ, .cluster = kFloatCluster};
  rates.block_elems = static_cast<int>(kBlockBytes / product::element_bytes(d.format));
  rates.block_cycles = kFloatTileI * kFloatTileJ * kBlockBytes /
                       model::h200::kInt8MacsPerSmCycle;  // a byte of k costs the same in every format
  // Measured (docs/perf/h200_slices.md): what it takes to promote sums of few elements of k is not covered.
  const double block = static_cast<double>(d.exact_k) / 64.0;
  rates.share_reached = product::element_bytes(d.format) == 2 ? std::min(0.74, 0.36 * block) : block > 1 ? 0.71 : 0.58;
  // Products that take longer than about 0.1 s meet the power limit.
  constexpr double kLongMacs = 2.5e13;
  double terms = 0;
  for (int l = 0; l < d.num_windows; ++l) terms += static_cast<double>(d.windows[static_cast<std::size_t>(l)].k);
  if (static_cast<double>(d.m) * static_cast<double>(d.n) * terms > kLongMacs) rates.share_reached *= 0.78;
  return windows_seconds(d, rates, num_sms);
}

Status launch_float_windows(const ProductDesc& d, const product::Pointers& pointers, product::Queue queue) {
  CurrentDevice device;
  KIZAMI_RETURN_IF_ERROR(find_current_device(device));
  const FloatKernel& kernel = kernel_of(d.format);
  static std::array<SharedMemoryGrant, 4> grants;
  KIZAMI_RETURN_IF_ERROR(grants[index_of(d.format)].ask(kernel.kernel, kernel.shared_bytes, device.ordinal));

  const std::int64_t bytes = product::element_bytes(d.format);
  ProductParams params{};
  params.c = pointers.c;
  params.num_products_at = pointers.num_products;
  params.c_col_stride = d.c_col_stride;
  params.c_plane_stride = d.c_plane_stride;
  params.m = static_cast<std::int32_t>(d.m);
  params.n = static_cast<std::int32_t>(d.n);
  params.num_products = d.num_products;
  params.has_aligned_c = has_aligned_sums(d, pointers.c) ? 1 : 0;
  params.blocks_per_sum = static_cast<std::int32_t>(std::max<std::int64_t>(1, d.exact_k * bytes / kBlockBytes));
  set_windows(d, kBlockBytes, params);
  const NumPlanes planes = num_planes_read(d);
  const MapLines a{"a",
                   pointers.a,
                   d.m,
                   d.a_row_stride * bytes,
                   d.a_row_stride * bytes,
                   d.a_plane_stride * bytes,
                   d.a_plane_stride == 0 ? 1 : planes.a};
  const MapLines b{"b",
                   pointers.b,
                   d.n,
                   d.b_row_stride * bytes,
                   d.b_row_stride * bytes,
                   d.b_plane_stride * bytes,
                   d.b_plane_stride == 0 ? 1 : planes.b};
  KIZAMI_RETURN_IF_ERROR(encode_in_order(a, kFloatTileI / kFloatCluster, params.a_map));
  KIZAMI_RETURN_IF_ERROR(encode_in_order(b, kFloatTileJ, params.b_map));
  set_order(params, kFloatTileI, kFloatTileJ * kFloatCluster, 0);

  const std::int64_t tiles = std::int64_t{params.tiles_per_plane} * d.num_products;
  const auto clusters =
      static_cast<unsigned>(std::min<std::int64_t>(tiles, std::max(1, device.num_sms / kFloatCluster)));
  return base::launch_overlapped_clusters("the launch of the product of floating-point windows", kernel.kernel,
                                          clusters * kFloatCluster, kNumThreads, kFloatCluster, kernel.shared_bytes,
                                          queue, &params);
}

}  // namespace kizami::engines::hopper
