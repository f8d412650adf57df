// SPDX-License-Identifier: MIT
// The kernel that makes residue planes at the rung of the call's state, see device_residue_panels.cuh. One launch takes one
// operand or both.
#include <algorithm>

#include "base/cuda_status.hpp"
#include "base/overlapped_launch.hpp"
#include "split/device.hpp"
#include "split/device_residue_panels.cuh"

namespace kizami::split {
namespace {

constexpr int kBlocksPerSm = 2;

template <class T>
__global__ void __launch_bounds__(device::kPanelThreads, kBlocksPerSm)
    split_residues(const __grid_constant__ device::ResiduePanels<T> panels, const __grid_constant__ num::Ladder ladder,
                   const plan::DeviceState* state) {
  extern __shared__ __align__(16) unsigned char panel[];
  base::follow_previous_kernel();
  const num::Selection selection = state->selection;
  if (selection.rung < 0 || state->is_scaling_only != 0) return;
  device::make_residue_planes(panels, ladder.rungs[selection.rung], selection.equilibrated, panel);
}

}  // namespace

template <class T>
Status device_residue_planes(std::span<const DeviceOperand<T>> operands, std::int64_t first, std::int64_t length,
                             const num::Ladder& ladder, const plan::DeviceState* state, int num_sms,
                             product::Queue queue) {
  const device::ResiduePanels<T> panels = device::residue_panels(operands, first, length);
  if (panels.num_panels() == 0) return {};
  constexpr int kBytes = device::kResiduePanelBytes<T>;
  KIZAMI_RETURN_IF_ERROR(
      base::cuda_status(cudaFuncSetAttribute(split_residues<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
                        "shared memory of the residues"));
  const unsigned grid = std::min(panels.num_panels(), static_cast<unsigned>(kBlocksPerSm * num_sms));
  return base::launch_overlapped("split_residues", split_residues<T>, grid, device::kPanelThreads, kBytes, queue,
                                 panels, ladder, state);
}

#define KIZAMI_INSTANTIATE(T)                                                                             \
  template Status device_residue_planes<T>(std::span<const DeviceOperand<T>>, std::int64_t, std::int64_t, \
                                           const num::Ladder&, const plan::DeviceState*, int, product::Queue)

KIZAMI_INSTANTIATE(float);
KIZAMI_INSTANTIATE(double);
KIZAMI_INSTANTIATE(std::complex<float>);
KIZAMI_INSTANTIATE(std::complex<double>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::split
