// SPDX-License-Identifier: MIT
// Powers of two of lines, for bodies of the reconstruction that multiply by them.
#include "base/overlapped_launch.hpp"
#include "num/line_stats.hpp"
#include "num/scaling.hpp"
#include "schemes/ozaki2/device_crt.hpp"

namespace kizami::ozaki2 {
namespace {

constexpr int kThreads = 1024;

// Scales within which integers below 2^215 times both factors of an element are far from the ends of the range, in any
// order.
constexpr int kMostScale = 600;
constexpr int kLeastExponent = -340;
constexpr int kMostExponent = 230;

/// The least and the largest scale of some lines; of no line, that of scale 0.
struct ScaleRange {
  int least = INT32_MAX;
  int most = INT32_MIN;

  __device__ void add(int scale) {
    least = min(least, scale);
    most = max(most, scale);
  }
};

/// Writes factors, and the range to shared memory.
__device__ void visit_lines(const std::int32_t* scales, std::int64_t count, double* factors, int* least, int* most) {
  ScaleRange range;
  for (std::int64_t i = threadIdx.x; i < count; i += kThreads) {
    const int scale = scales[i];
    const bool is_skipped = scale == num::kSkipLine;
    const bool is_moderate = !is_skipped && abs(scale) <= kMostScale;
    factors[i] = is_moderate ? num::power_of_two(-scale) : 0.0;
    if (!is_skipped) range.add(scale);
  }
  if (range.least > range.most) return;
  atomicMin(least, range.least);
  atomicMax(most, range.most);
}

__global__ void __launch_bounds__(kThreads)
    find_crt_factors(const std::int32_t* row_scale, std::int64_t m, const std::int32_t* col_scale, std::int64_t n,
                     const __grid_constant__ num::Ladder ladder, int most_moduli, const device::DeviceState* state,
                     double* row_factors, double* col_factors, std::int32_t* num_moduli) {
  __shared__ int least[2];
  __shared__ int most[2];
  base::follow_previous_kernel();
  const int rung = state->selection.rung;
  const int count = rung < 0 || state->is_scaling_only != 0 ? 0 : ladder.rungs[rung].num_moduli;
  if (count == 0 || count > most_moduli) {
    if (threadIdx.x == 0) *num_moduli = 0;
    return;
  }
  if (threadIdx.x < 2) {
    least[threadIdx.x] = INT32_MAX;
    most[threadIdx.x] = INT32_MIN;
  }
  __syncthreads();
  visit_lines(row_scale, m, row_factors, &least[0], &most[0]);
  visit_lines(col_scale, n, col_factors, &least[1], &most[1]);
  __syncthreads();
  if (threadIdx.x != 0) return;
  bool is_moderate = true;
  for (int side = 0; side < 2; ++side) {
    if (least[side] > most[side]) least[side] = most[side] = 0;
    is_moderate = is_moderate && least[side] >= -kMostScale && most[side] <= kMostScale;
  }
  is_moderate = is_moderate && -(most[0] + most[1]) >= kLeastExponent && -(least[0] + least[1]) <= kMostExponent;
  *num_moduli = is_moderate ? count : 0;
}

}  // namespace

Status device_crt_factors(const std::int32_t* row_scale, std::int64_t m, const std::int32_t* col_scale, std::int64_t n,
                          const num::Ladder& ladder, int most, const device::DeviceState* state, double* row_factors,
                          double* col_factors, std::int32_t* num_moduli, product::Queue queue) {
  return base::launch_overlapped("find_crt_factors", find_crt_factors, dim3(1), dim3(kThreads), 0, queue, row_scale, m,
                                 col_scale, n, ladder, most, state, row_factors, col_factors, num_moduli);
}

}  // namespace kizami::ozaki2
