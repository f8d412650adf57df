// SPDX-License-Identifier: MIT
// Scheme ec for operands in device memory: stages from the engine's kernels, and the workspace of a call. Both operands are split
// whole and the range decides for the whole call (num/ec_range.hpp); behind the stages stands FP64 arithmetic.
//
// A complex product is one real product of twice as many lines of A, of 2k terms each (schemes/ec/device_split.hpp).
#pragma once

#include <cstdint>

#include "base/carver.hpp"
#include "device/state.hpp"
#include "kizami/status.hpp"
#include "plan/plan.hpp"
#include "product/ec_planes.hpp"

namespace kizami::plan {

/// One operand of the kernels: a is the rows of op(A), or the columns of op(B) where C is stored by rows.
struct DeviceEcLineBuffers {
  std::int8_t* planes = nullptr;    ///< [lines that are made][row stride of the stage]; begins on 128 bytes
  std::int32_t* scales = nullptr;   ///< [lines that are made]
  num::LineStats* stats = nullptr;  ///< [lines]
};

struct DeviceEcBuffers {
  DeviceState* state = nullptr;  ///< at the beginning of the workspace; the rest is absent from an empty call
  product::EcReport* reports = nullptr;
  num::EcProfiles* profiles = nullptr;
  DeviceEcLineBuffers a;
  DeviceEcLineBuffers b;
};

/// Carves the buffers of a call. @param is_transposed the kernels' a is the columns of op(B)
[[nodiscard]] DeviceEcBuffers carve_device_ec(base::Carver& carver, const Plan& plan, bool is_transposed);

/// The format and promotion of a stage.
[[nodiscard]] product::EcFormat ec_format(const EcStage& stage);
[[nodiscard]] product::EcPromotion ec_promotion(const EcStage& stage);

/// The product of a stage as the engine is asked for it. @param is_transposed as above
[[nodiscard]] product::FloatProductDesc device_ec_product(const Plan& plan, const EcStage& stage, bool is_transposed);

/// Plans scheme ec of a validated policy.
/// @status kUnsupported: a wish or a named variant that no kernel carries; kAccuracyUnreachable; kWorkspaceTooSmall
Status plan_device_ec(Plan& plan, const Environment& environment);

}  // namespace kizami::plan
