// SPDX-License-Identifier: MIT
#include "engines/hopper/fused_slices.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "base/fork_safe.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "engines/desc_check.hpp"
#include "engines/hopper/current_device.hpp"
#include "engines/hopper/fused_slices_params.hpp"
#include "engines/hopper/tensor_maps.hpp"
#include "engines/shared_memory.hpp"
#include "model/h200.hpp"

namespace kizami::engines::hopper {
namespace {

using base::ceil_div;
using product::FusedSliceDesc;

constexpr std::size_t kNumKernels = 3;
[[nodiscard]] const FusedSliceKernel& kernel_of(int num_slices) {
  static constinit base::MadeOnce<std::array<FusedSliceKernel, kNumKernels>> kernels;
  return kernels.get([] {
    return std::array{fused_slice_kernel<2>(), fused_slice_kernel<3>(), fused_slice_kernel<4>()};
  })[static_cast<std::size_t>(num_slices - 2)];
}

}  // namespace

std::optional<std::string> why_refused(const FusedSliceDesc& d) {
  using detail::wrong;
  constexpr std::int64_t kLines = std::int64_t{1} << 30;
  constexpr std::int64_t kRow = std::int64_t{1} << 31;
  if (d.m < 0 || d.m > kLines) return wrong("m", d.m, "in 0..2^30");
  if (d.n < 0 || d.n > kLines) return wrong("n", d.n, "in 0..2^30");
  if (d.num_slices < 2 || d.num_slices > product::kMaxFusedSlices) return wrong("num_slices", d.num_slices, "in 2..4");
  if (d.step < 1 || d.step > 8) return wrong("step", d.step, "in 1..8");
  const std::int64_t most = (std::int64_t{1} << 17) / d.num_slices - 1;
  if (d.k < 1 || d.k > most)
    return wrong("k", d.k, "in 1.." + std::to_string(most) + ": beyond it a sum of an anti-diagonal leaves INT32");
  const std::int64_t padded = base::round_up(d.k, product::kWindowPad);
  if (d.slice_stride < padded || d.slice_stride % product::kWindowPad != 0)
    return wrong("slice_stride", d.slice_stride, "a multiple of 128 and at least round_up(k, 128)");
  for (const std::int64_t stride : {d.a_row_stride, d.b_row_stride}) {
    if (stride < d.num_slices * d.slice_stride || stride % product::kPadBytes != 0 || stride >= kRow)
      return wrong("row_stride", stride, "a multiple of 64, at least num_slices * slice_stride and below 2^31");
  }
  return std::nullopt;
}

double fused_seconds(const FusedSliceDesc& d, int num_sms) {
  constexpr double kMacsPerCycle = model::h200::kInt8MacsPerSmCycle;
  constexpr double kCyclesPerSecond = model::h200::kLongProductHz;
  constexpr double kStartSeconds = 4e-6;
  constexpr double kStoreCycles = 2500;
  // Measured: docs/perf/h200_slices.md.
  const double share_reached = d.num_slices == product::kMaxFusedSlices ? 0.42 : 0.52;  // two stages, or more
  const double products = d.num_slices * (d.num_slices + 1) / 2;
  const auto blocks = static_cast<double>(ceil_div(d.k, std::int64_t{128}));
  const double tile_cycles =
      products * blocks * kFusedTileI * kFusedTileJ * 128 / kMacsPerCycle / share_reached + kStoreCycles;
  const std::int64_t clusters =
      ceil_div(d.m, std::int64_t{kFusedTileI}) * ceil_div(d.n, std::int64_t{kFusedTileJ} * kFusedCluster);
  const std::int64_t at_once = std::max(1, model::h200::sms_or_own(num_sms) / kFusedCluster);
  return kStartSeconds + static_cast<double>(ceil_div(clusters, at_once)) * tile_cycles / kCyclesPerSecond;
}

template <class T>
Status launch_fused_slices(const FusedSliceDesc& d, const product::FusedSlicePointers<T>& pointers,
                           product::Queue queue) {
  if (d.m == 0 || d.n == 0) return {};
  const auto is_aligned = [](const void* p) {
    return p != nullptr && reinterpret_cast<std::uintptr_t>(p) % product::kPadBytes == 0;
  };
  if (!is_aligned(pointers.a)) return {StatusCode::kInvalidArgument, "a is null or not aligned to 64 bytes"};
  if (!is_aligned(pointers.b)) return {StatusCode::kInvalidArgument, "b is null or not aligned to 64 bytes"};
  if (pointers.c.data == nullptr) return {StatusCode::kInvalidArgument, "c is null"};
  CurrentDevice device;
  KIZAMI_RETURN_IF_ERROR(find_current_device(device));
  const FusedSliceKernel& kernel = kernel_of(d.num_slices);
  static std::array<SharedMemoryGrant, kNumKernels> grants;
  KIZAMI_RETURN_IF_ERROR(
      grants[static_cast<std::size_t>(d.num_slices - 2)].ask(kernel.kernel, kernel.shared_bytes, device.ordinal));

  FusedSliceParams params{};
  params.m = static_cast<std::int32_t>(d.m);
  params.n = static_cast<std::int32_t>(d.n);
  params.num_k_blocks = static_cast<std::int32_t>(ceil_div(d.k, std::int64_t{128}));
  params.slice_stride = static_cast<std::int32_t>(d.slice_stride);
  params.step = d.step;
  params.unit = pointers.unit;
  params.row_exponents = pointers.row_exponents;
  params.col_exponents = pointers.col_exponents;
  params.is_scaling_only = pointers.is_scaling_only;
  params.takes_signs = pointers.takes_signs;
  params.has_aligned_c = pointers.c.row_stride == 1 && pointers.c.col_stride % 2 == 0 &&
                         reinterpret_cast<std::uintptr_t>(pointers.c.data) % (2 * sizeof(T)) == 0;
  if constexpr (std::is_same_v<T, float>) {
    params.has_floats = 1;
    params.float_c = pointers.c;
    params.float_alpha = pointers.alpha;
    params.float_beta = pointers.beta;
  } else {
    params.c = pointers.c;
    params.alpha = pointers.alpha;
    params.beta = pointers.beta;
  }
  const MapLines a{"a", pointers.a, d.m, d.a_row_stride, d.a_row_stride, d.a_row_stride, 1};
  const MapLines b{"b", pointers.b, d.n, d.b_row_stride, d.b_row_stride, d.b_row_stride, 1};
  KIZAMI_RETURN_IF_ERROR(encode_in_order(a, kFusedTileI / kFusedCluster, params.a_map));
  KIZAMI_RETURN_IF_ERROR(encode_in_order(b, kFusedTileJ, params.b_map));
  set_order(params, kFusedTileI, kFusedTileJ * kFusedCluster, 0);

  const auto clusters =
      std::min(params.tiles_per_plane, static_cast<std::uint32_t>(std::max(1, device.num_sms / kFusedCluster)));
  return base::launch_overlapped_clusters("the launch of the fused product of slices", kernel.kernel,
                                          clusters * kFusedCluster, kNumThreads, kFusedCluster, kernel.shared_bytes,
                                          queue, &params);
}

template Status launch_fused_slices<float>(const FusedSliceDesc&, const product::FusedSlicePointers<float>&,
                                           product::Queue);
template Status launch_fused_slices<double>(const FusedSliceDesc&, const product::FusedSlicePointers<double>&,
                                            product::Queue);

}  // namespace kizami::engines::hopper
