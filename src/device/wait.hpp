// SPDX-License-Identifier: MIT
// Device calls whose policy lets the host wait (Policy::may_sync): what it reads, and what it refuses then.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "base/cuda_status.hpp"
#include "device/state.hpp"
#include "kizami/status.hpp"
#include "product/product.hpp"

namespace kizami::device {

/// The state of a call, after all that is enqueued. @status kInternal with CUDA's words
inline Status wait_for_state(const DeviceState* state, product::Queue queue, DeviceState& seen) {
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaMemcpyAsync(&seen, state, sizeof seen, cudaMemcpyDeviceToHost, queue),
                                           "reading the state of the call"));
  return base::cuda_status(cudaStreamSynchronize(queue), "waiting for the state of the call");
}

/// Policy::reject_nonfinite. @status kNonFinite
inline Status reject_nonfinite(const DeviceState& seen) {
  if (seen.nonfinite_rows + seen.nonfinite_cols == 0) return {};
  return {StatusCode::kNonFinite, "NaN or Inf in " + std::to_string(seen.nonfinite_rows) + " rows of op(A) and " +
                                      std::to_string(seen.nonfinite_cols) +
                                      " columns of op(B), must be finite (nonfinite = reject)"};
}

}  // namespace kizami::device
