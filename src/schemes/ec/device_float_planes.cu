// SPDX-License-Identifier: MIT
// A block takes a tile of lines and terms: it reads it along whichever of both is contiguous in memory, and writes it
// along the terms.
//
// num::split_number() works in FP64. Where the scaled element is an FP32 number below 2^100, so are all its remainders
// and their products by 2^shift, and a part is one conversion of the hardware, or an addition to the bits.
#include "schemes/ec/device_float_planes.hpp"

#include <cuda_fp16.h>

#include <algorithm>
#include <array>
#include <complex>

#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "num/float_split.hpp"
#include "num/scaling.hpp"

namespace kizami::ec {
namespace {

constexpr int kPlaneThreads = 256;
constexpr int kTileLines = 32;
constexpr int kTileTerms = 64;

/// F::from(x, rounding).bits() of a finite x. @range rounding: RN or RZ; of formats other than FP16 any
template <class F>
[[nodiscard]] __device__ typename F::Bits narrow_bits(float x, RoundingMode rounding) {
  if constexpr (F::kExponentBits == 5) {
    return __half_as_ushort(rounding == RoundingMode::kTowardZero ? __float2half_rz(x) : __float2half_rn(x));
  } else {
    constexpr int kDrop = 23 - F::kMantissaBits;  // a carry goes into the exponent, and from the last one to Inf
    constexpr std::uint32_t kHalf = 1U << (kDrop - 1);
    std::uint32_t bits = __float_as_uint(x);
    if (rounding == RoundingMode::kNearestAway) bits += kHalf;
    if (rounding == RoundingMode::kNearestEven) bits += kHalf - 1 + (bits >> kDrop & 1);
    bits &= ~(2 * kHalf - 1);
    return static_cast<typename F::Bits>(bits >> (32 - 8 * sizeof(typename F::Bits)));
  }
}

/// num::split_number(), by FP32 arithmetic where that is exact.
template <class F>
[[nodiscard]] __device__ std::array<F, num::kMaxParts> split_element(double x, const num::FloatSplit& split) {
  auto rest = static_cast<float>(x);
  const bool is_exact = static_cast<double>(rest) == x && fabsf(rest) < 0x1p100F;
  const bool has_mode = F::kExponentBits != 5 || split.rounding != RoundingMode::kNearestAway;
  if (!is_exact || !has_mode) return num::split_number<F>(x, split);
  std::array<F, num::kMaxParts> parts{};
  const float factor = num::exp2i<float>(split.remainder_shift);
#pragma unroll
  for (int q = 0; q < num::kMaxParts; ++q) {
    if (q >= split.num_parts) break;
    parts[static_cast<std::size_t>(q)] = F::from_bits(narrow_bits<F>(rest, split.rounding));
    rest = (rest - parts[static_cast<std::size_t>(q)].to_float()) * factor;
  }
  return parts;
}

template <class T>
struct Task {
  DeviceFloatPlanes<T> operand;
  num::FloatSplit split;
  bool scales_lines;
  int top_exponent;
  const device::DeviceState* state;
};

template <class T, class F>
__global__ void __launch_bounds__(kPlaneThreads) split_into_planes(const __grid_constant__ Task<T> task) {
  __shared__ float tile[kTileLines][kTileTerms + 1];
  __shared__ std::int32_t scales[kTileLines];
  base::follow_previous_kernel();
  if (task.state->is_scaling_only != 0) return;
  const DeviceFloatPlanes<T>& o = task.operand;
  const problem::Lines<T>& lines = o.lines;
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t first_line = std::int64_t{blockIdx.x} * kTileLines;
  const bool lies_across = lines.inner_stride > lines.line_stride;
  if (thread < kTileLines && first_line + thread < lines.num_lines) {
    scales[thread] = ec_line_scale(task.scales_lines, task.top_exponent, o.stats[first_line + thread]);
    if (blockIdx.y == 0) o.scales[first_line + thread] = scales[thread];
  }
  // Rows are written to their ends.
  for (std::int64_t first = std::int64_t{blockIdx.y} * kTileTerms; first < o.row_stride;
       first += std::int64_t{gridDim.y} * kTileTerms) {
    __syncthreads();  // the scales are there, and the tile has been read
    for (int x = thread; x < kTileLines * kTileTerms; x += kPlaneThreads) {
      const int i = lies_across ? x % kTileLines : x / kTileTerms;
      const int t = lies_across ? x / kTileLines : x % kTileTerms;
      const bool is_there = first_line + i < lines.num_lines && first + t < lines.num_terms();
      tile[i][t] = is_there ? static_cast<float>(problem::term(lines, o.form, first_line + i, first + t)) : 0.0F;
    }
    __syncthreads();
    for (int x = thread; x < kTileLines * kTileTerms; x += kPlaneThreads) {
      const int i = x / kTileTerms;
      const int t = x % kTileTerms;
      if (first_line + i >= lines.num_lines || first + t >= o.row_stride) continue;
      const bool is_skipped = scales[i] == num::kSkipLine;
      const num::ScaleFactors factors = num::scale_factors(is_skipped ? 0 : scales[i]);
      const double y = is_skipped ? 0.0 : static_cast<double>(tile[i][t]) * factors.first * factors.second;
      const auto parts = split_element<F>(y, task.split);
      F* const out = reinterpret_cast<F*>(o.planes) + (first_line + i) * o.row_stride + first + t;
#pragma unroll
      for (int q = 0; q < num::kMaxParts; ++q) {
        if (q < task.split.num_parts) out[q * o.plane_stride] = parts[static_cast<std::size_t>(q)];
      }
    }
  }
}

}  // namespace

template <class T>
Status device_float_planes(const DeviceFloatPlanes<T>& operand, const EcRecipe& recipe,
                           const device::DeviceState* state, product::Queue queue) {
  const Task<T> task{operand, recipe.split, recipe.scales_lines, recipe.top_exponent, state};
  constexpr std::int64_t kMostBlocks = 65535;
  const dim3 grid(
      static_cast<unsigned>(base::ceil_div(operand.lines.num_lines, std::int64_t{kTileLines})),
      static_cast<unsigned>(std::min(base::ceil_div(operand.row_stride, std::int64_t{kTileTerms}), kMostBlocks)));
  const auto launch = [&](auto kernel) {
    return base::launch_overlapped("planes of FP32 lines", kernel, grid, dim3(kPlaneThreads), 0, queue, task);
  };
  switch (recipe.type) {
    case num::FloatType::kFp16:
      return launch(split_into_planes<T, Fp16>);
    case num::FloatType::kBf16:
      return launch(split_into_planes<T, Bf16>);
    case num::FloatType::kTf32:
      return launch(split_into_planes<T, Tf32>);
  }
  return {StatusCode::kInternal, "no such type of elements"};
}

template Status device_float_planes<float>(const DeviceFloatPlanes<float>&, const EcRecipe&, const device::DeviceState*,
                                           product::Queue);
template Status device_float_planes<std::complex<float>>(const DeviceFloatPlanes<std::complex<float>>&, const EcRecipe&,
                                                         const device::DeviceState*, product::Queue);

}  // namespace kizami::ec
