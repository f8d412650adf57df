// SPDX-License-Identifier: MIT
#include "engines/hopper/tensor_maps.hpp"

#include <cuda.h>
#include <cudaTypedefs.h>

#include <array>
#include <cstddef>
#include <string>

#include "base/cuda_driver.hpp"
#include "base/int_math.hpp"
#include "product/product.hpp"

namespace kizami::engines::hopper {
namespace {

static_assert(sizeof(TensorMapBits) == sizeof(CUtensorMap) && alignof(TensorMapBits) >= alignof(CUtensorMap));

using EncodeTiled = PFN_cuTensorMapEncodeTiled_v12000;

/// Null where there is no driver.
EncodeTiled encode_tiled() {
  static constinit base::DriverFunction<EncodeTiled> function("cuTensorMapEncodeTiled", 12000);
  return function.get();
}

template <std::size_t kRank>
Status encode(const MapLines& lines, const std::array<cuuint64_t, kRank>& sizes,
              const std::array<cuuint64_t, kRank - 1>& strides, const std::array<cuuint32_t, kRank>& box,
              TensorMapBits& map) {
  const EncodeTiled function = encode_tiled();
  if (function == nullptr) return {StatusCode::kUnsupported, "the CUDA driver has no cuTensorMapEncodeTiled"};
  std::array<cuuint32_t, kRank> steps{};
  steps.fill(1);
  auto* const data = const_cast<std::int8_t*>(lines.data);  // only read through the map
  const CUresult result =
      function(reinterpret_cast<CUtensorMap*>(&map), CU_TENSOR_MAP_DATA_TYPE_UINT8, kRank, data, sizes.data(),
               strides.data(), box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
               CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    return {StatusCode::kInternal, std::string("cuTensorMapEncodeTiled refuses the lines of ") + lines.name +
                                       " with CUresult " + std::to_string(static_cast<int>(result))};
  }
  return {};
}

}  // namespace

Status encode_in_order(const MapLines& lines, int box_lines, TensorMapBits& map) {
  const auto u64 = [](std::int64_t x) { return static_cast<cuuint64_t>(x); };
  return encode<3>(lines,
                   {u64(base::round_up(lines.k, product::kPadBytes)), u64(lines.num_lines), u64(lines.num_planes)},
                   {u64(lines.row_stride), u64(lines.num_planes > 1 ? lines.plane_stride : lines.row_stride)},
                   {128, static_cast<cuuint32_t>(box_lines), 1}, map);
}

Status encode_permuted(const MapLines& lines, int box_lines, TensorMapBits& map) {
  const auto u64 = [](std::int64_t x) { return static_cast<cuuint64_t>(x); };
  return encode<5>(
      lines, {u64(base::round_up(lines.k, product::kPadBytes)), 2, u64(lines.num_lines / 16), 8, u64(lines.num_planes)},
      {u64(lines.row_stride), u64(16 * lines.row_stride), u64(2 * lines.row_stride),
       u64(lines.num_planes > 1 ? lines.plane_stride : lines.row_stride)},
      {128, 2, 4, static_cast<cuuint32_t>(box_lines / 8), 1}, map);
}

Status encode_in_pairs(const MapLines& lines, int box_lines, TensorMapBits& map) {
  const auto u64 = [](std::int64_t x) { return static_cast<cuuint64_t>(x); };
  return encode<5>(
      lines, {u64(base::round_up(lines.k, product::kPadBytes)), 8, 2, u64(lines.num_lines / 16), u64(lines.num_planes)},
      {u64(2 * lines.row_stride), u64(lines.row_stride), u64(16 * lines.row_stride),
       u64(lines.num_planes > 1 ? lines.plane_stride : lines.row_stride)},
      {128, 8, 2, static_cast<cuuint32_t>(box_lines / 16), 1}, map);
}

}  // namespace kizami::engines::hopper
