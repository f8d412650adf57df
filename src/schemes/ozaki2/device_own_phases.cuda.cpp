// SPDX-License-Identifier: MIT
#include "schemes/ozaki2/device_own_phases.hpp"

#include "base/int_math.hpp"
#include "num/scaled.hpp"
#include "schemes/ozaki2/stage.hpp"

namespace kizami::ozaki2 {

Status DeviceOwnPhases::split(Side side, std::int64_t first, std::int64_t length,
                              DeviceOperand<double>& operand) const {
  operand.done = nullptr;
  const num::Ladder& ladder = ozaki2_of(plan_).ladder;
  const int most = bodies_.most_split_moduli(ladder);
  if (most == 0) return {};
  const problem::Lines<double>& lines = operand.lines;
  std::int32_t* const num_moduli = side == Side::kA ? buffers_.a_moduli : buffers_.b_moduli;
  product::DeviceSplitDesc desc;
  desc.data = lines.data + first * lines.inner_stride;
  desc.num_lines = lines.num_lines;
  desc.length = length;
  desc.line_stride = lines.line_stride;
  desc.inner_stride = lines.inner_stride;
  desc.factors = buffers_.split_factors;
  desc.num_moduli = num_moduli;
  desc.ladder = ladder;
  desc.planes = operand.planes.data;
  desc.num_rows = base::round_up(lines.num_lines, device::kReadRows);
  desc.row_stride = operand.planes.row_stride;
  desc.plane_stride = operand.planes.plane_stride;
  if (bodies_.why_refused(desc)) return {};
  KIZAMI_RETURN_IF_ERROR(device_line_factors(operand.line_buffers, lines.num_lines, ladder, most, state_,
                                             buffers_.split_factors, num_moduli, queue_));
  KIZAMI_RETURN_IF_ERROR(bodies_.split(desc, queue_));
  operand.done = num_moduli;
  return {};
}

Status DeviceOwnPhases::reconstruct(DeviceReconstruction<double>& task) const {
  task.done = nullptr;
  const num::Ladder& ladder = ozaki2_of(plan_).ladder;
  const int most = bodies_.most_reconstructed_moduli(ladder);
  // What is written where FP64 arithmetic answers would spoil the C that it reads.
  const bool is_product = task.alpha.device == nullptr && task.beta.device == nullptr && task.beta.value == 0.0;
  if (most == 0 || !is_product || !num::detail::is_moderate(task.alpha.value)) return {};
  product::DeviceReconstructionDesc desc;
  desc.residues = task.planes.data;
  desc.col_stride = task.planes.col_stride;
  desc.plane_stride = task.planes.plane_stride;
  desc.row_factors = buffers_.row_factors;
  desc.col_factors = buffers_.col_factors;
  desc.num_moduli = buffers_.result_moduli;
  desc.ladder = ladder;
  desc.alpha = task.alpha.value;
  desc.c = task.c.data;
  desc.m = task.c.rows;
  desc.n = task.c.cols;
  desc.c_row_stride = task.c.row_stride;
  desc.c_col_stride = task.c.col_stride;
  if (bodies_.why_refused(desc)) return {};
  KIZAMI_RETURN_IF_ERROR(device_crt_factors(task.row_scale, desc.m, task.col_scale, desc.n, ladder, most, state_,
                                            buffers_.row_factors, buffers_.col_factors, buffers_.result_moduli,
                                            queue_));
  KIZAMI_RETURN_IF_ERROR(bodies_.reconstruct(desc, queue_));
  task.done = buffers_.result_moduli;
  return {};
}

}  // namespace kizami::ozaki2
