// SPDX-License-Identifier: MIT
// Split and reconstruction of a device call by bodies of the engine's own, where it has them
// (product::DevicePhaseBodies): what they need is enqueued before them. What they leave, the common phases do, which
// follow.
#pragma once

#include <cstdint>

#include "kizami/status.hpp"
#include "plan/plan.hpp"
#include "product/device_phases.hpp"
#include "schemes/ozaki2/device_buffers.hpp"
#include "schemes/ozaki2/device_crt.hpp"
#include "schemes/ozaki2/device_split.hpp"

namespace kizami::ozaki2 {

class DeviceOwnPhases {
 public:
  /// @range has_device_phases(plan)
  DeviceOwnPhases(const plan::Plan& plan, const DevicePhaseBuffers& buffers, const device::DeviceState* state,
                  product::Queue queue)
      : plan_(plan),
        buffers_(buffers),
        state_(state),
        queue_(queue),
        bodies_(*product::device_phases_of(ozaki2_of(plan).engine)) {}

  /// The planes of elements [first, first + length) of the lines of one side, as device_residue_planes() makes
  /// them. `operand.done` then tells whether it was so.
  Status split(Side side, std::int64_t first, std::int64_t length, DeviceOperand<double>& operand) const;
  /// A block of C, as reconstruct_device() makes it. `task.done` likewise. Elements that FP64 arithmetic
  /// answers may be written.
  Status reconstruct(DeviceReconstruction<double>& task) const;

 private:
  const plan::Plan& plan_;
  const DevicePhaseBuffers& buffers_;
  const device::DeviceState* state_;
  product::Queue queue_;
  const product::DevicePhaseBodies& bodies_;
};

}  // namespace kizami::ozaki2
