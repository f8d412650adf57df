// SPDX-License-Identifier: MIT
// Scheme ec for operands in device memory: rungs from the engine's kernels, and the workspace of a call. Both operands
// are split whole and the range decides for the whole call (num/ec_range.hpp); behind the rungs stands FP64 arithmetic.
//
// A complex product is one real product of twice as many lines of A, of 2k terms each (schemes/ec/device_split.hpp).
#pragma once

#include <cstdint>

#include "base/carver.hpp"
#include "device/state.hpp"
#include "kizami/effort.hpp"
#include "kizami/status.hpp"
#include "plan/plan.hpp"
#include "product/ec_planes.hpp"
#include "schemes/ec/stage.hpp"

namespace kizami::ec {

/// One operand of the kernels: a is the rows of op(A), or the columns of op(B) where C is stored by rows. Of products
/// together those of each in turn.
struct DeviceEcLineBuffers {
  std::int8_t* planes = nullptr;    ///< [products][lines that are made][row stride of the rung]; begins on 128 bytes
  std::int32_t* scales = nullptr;   ///< [products][lines that are made]
  num::LineStats* stats = nullptr;  ///< [products][lines]
  std::int64_t planes_step = 0;     ///< from one product to the next: bytes, that hold the lines of any rung
  std::int64_t scales_step = 0;
  std::int64_t stats_step = 0;
};

struct DeviceEcBuffers {
  device::DeviceState* state = nullptr;  ///< at the beginning of the workspace; the rest is absent from an empty call
  product::EcReport* reports = nullptr;  ///< [products][reports_step]
  std::int64_t reports_step = 0;
  num::EcProfiles* profiles = nullptr;
  std::int32_t* made_product = nullptr;  ///< [1], of calls with prepared operands: EcDecision::made_product
  void** pointers = nullptr;  ///< [3][products]: of several, to their matrices, where these are not at equal distances
  DeviceEcLineBuffers a;
  DeviceEcLineBuffers b;
};

/// Carves the buffers of a call. @param is_transposed the kernels' a is the columns of op(B)
[[nodiscard]] DeviceEcBuffers carve_device_ec(base::Carver& carver, const plan::Plan& plan, bool is_transposed,
                                              std::int64_t num_products = 1);

/// What is kept of a prepared operand, of the first rung. A complex operand is split twice: as the kernels' a and as
/// their b, for the layout of C decides which it is.
struct DeviceEcPrepared {
  struct Split {
    std::int8_t* planes = nullptr;  ///< [lines that are made][row stride]; begins on 128 bytes
    std::int32_t* scales = nullptr;
    product::EcReport* reports = nullptr;
    bool is_swapped = false;  ///< the reports are of the other role
  };
  Split as[2];                      ///< a, b
  num::LineStats* stats = nullptr;  ///< [lines]
};
/// Carves what is kept of an operand of so many lines.
[[nodiscard]] DeviceEcPrepared carve_device_ec_prepared(base::Carver& carver, const plan::Plan& plan,
                                                        std::int64_t num_lines);

/// The format and promotion of a rung.
[[nodiscard]] product::EcFormat ec_format(const EcRung& rung);
[[nodiscard]] product::EcPromotion ec_promotion(const EcRung& rung);

/// The product of a rung as the engine is asked for it. @param is_transposed as above
[[nodiscard]] product::FloatProductDesc device_ec_product(const plan::Plan& plan, const EcRung& rung,
                                                          bool is_transposed, std::int64_t num_products = 1);

/// Plans scheme ec of a validated policy.
/// @status kUnsupported: a wish or a named variant that no kernel carries; kAccuracyUnreachable; kWorkspaceTooSmall
Status plan_device_ec(plan::Plan& plan, const plan::Environment& environment);

/// What calls take beyond their plan that did this: took another rung, answered in FP64 arithmetic. @units of all
/// products
[[nodiscard]] double device_ec_seconds_beyond(const plan::Plan& plan, const Effort& effort);

}  // namespace kizami::ec
