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

namespace kizami::exec {

class DeviceOwnPhases {
 public:
  /// @range plan::has_device_phases(plan)
  DeviceOwnPhases(const plan::Plan& plan, const plan::DevicePhaseBuffers& buffers, const plan::DeviceState* state,
                  product::Queue queue)
      : plan_(plan),
        buffers_(buffers),
        state_(state),
        queue_(queue),
        bodies_(*product::device_phases_of(ozaki2_of(plan).engine)) {}

  /// The planes of elements [first, first + length) of the lines of one side, as split::device_residue_planes() makes
  /// them. `operand.done` then tells whether it was so.
  Status split(Side side, std::int64_t first, std::int64_t length, split::DeviceOperand<double>& operand) const;
  /// A block of C, as reconstruct::reconstruct_device() makes it. `task.done` likewise. Elements that FP64 arithmetic
  /// answers may be written.
  Status reconstruct(reconstruct::DeviceReconstruction<double>& task) const;

 private:
  const plan::Plan& plan_;
  const plan::DevicePhaseBuffers& buffers_;
  const plan::DeviceState* state_;
  product::Queue queue_;
  const product::DevicePhaseBodies& bodies_;
};

}  // namespace kizami::exec
