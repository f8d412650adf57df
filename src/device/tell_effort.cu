// SPDX-License-Identifier: MIT
#include "device/tell_effort.hpp"

#include "base/overlapped_launch.hpp"
#include "device/effort_word.cuh"

namespace kizami::device {
namespace {

__global__ void tell_effort_kernel(EffortReport report, std::int64_t m, std::int64_t n) {
  base::follow_previous_kernel();
  if (report.states->is_scaling_only == 0) tell_effort(report, m, n);
}

}  // namespace

Status tell_effort_of_all(const EffortReport& report, std::int64_t m, std::int64_t n, product::Queue queue) {
  return base::launch_overlapped("the effort of a batch", tell_effort_kernel, dim3(1), dim3(32), 0, queue, report, m,
                                 n);
}

}  // namespace kizami::device
