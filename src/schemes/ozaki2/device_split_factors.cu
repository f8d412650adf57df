// SPDX-License-Identifier: MIT
// Powers of two of lines, for bodies of the split that multiply by them.
#include <algorithm>

#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "num/scaling.hpp"
#include "schemes/ozaki2/device_split.hpp"
#include "schemes/ozaki2/residues.hpp"

namespace kizami::ozaki2 {
namespace {

__global__ void find_line_factors(device::DeviceLineBuffers buffers, std::int64_t num_lines,
                                  const __grid_constant__ num::Ladder ladder, int most,
                                  const device::DeviceState* state, double* factors, std::int32_t* num_moduli) {
  base::follow_previous_kernel();
  const num::Selection selection = state->selection;
  const bool is_left = (selection.rung < 0) | (state->is_scaling_only != 0) | selection.equilibrated;
  const int count = is_left ? 0 : ladder.rungs[selection.rung].num_moduli;
  const bool is_taken = count <= most;
  const std::int64_t first = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
  if (first == 0) *num_moduli = is_taken ? count : 0;
  if (count == 0 || !is_taken) return;
  for (std::int64_t i = first; i < num_lines; i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const num::LineStats stats = buffers.stats[i];
    const int scale = line_scale(ladder.rungs[selection.rung], stats);
    buffers.scales[i] = stats.is_finite ? scale : num::kSkipLine;
    const num::ScaleFactors of_line = stats.is_zero() ? num::ScaleFactors{0.0, 0.0} : num::scale_factors(scale);
    factors[i] = of_line.first;
    factors[num_lines + i] = of_line.second;
  }
}

}  // namespace

Status device_line_factors(const device::DeviceLineBuffers& line_buffers, std::int64_t num_lines,
                           const num::Ladder& ladder, int most, const device::DeviceState* state, double* factors,
                           std::int32_t* num_moduli, product::Queue queue) {
  constexpr std::int64_t kThreads = 256;
  constexpr std::int64_t kMostBlocks = 512;
  const auto blocks =
      static_cast<unsigned>(std::clamp<std::int64_t>(base::ceil_div(num_lines, kThreads), 1, kMostBlocks));
  return base::launch_overlapped("find_line_factors", find_line_factors, blocks, dim3(kThreads), 0, queue, line_buffers,
                                 num_lines, ladder, most, state, factors, num_moduli);
}

}  // namespace kizami::ozaki2
