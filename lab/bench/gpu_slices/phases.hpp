// SPDX-License-Identifier: MIT
// The phases of a call of scheme ozaki1, of which a kernel's name tells its own.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>

#include "phase_timer.hpp"

namespace bench {

/// Milliseconds on the device.
struct Phases {
  double split = 0;    ///< scales and slices of both operands
  double product = 0;  ///< of slices, in the engine
  double sums = 0;     ///< exact sums, rounded to C
  double rest = 0;     ///< what answers lines with NaN or Inf, with nothing to do
  int kernels = 0;
};

[[nodiscard]] std::unique_ptr<PhaseTimer> slice_phase_timer(const std::function<void(cudaStream_t)>& call);

/// Runs the call of such a timer once more.
[[nodiscard]] Phases time_slice_phases(const PhaseTimer& timer);

}  // namespace bench
