// SPDX-License-Identifier: MIT
// The workspace of a device call of scheme ozaki2, booked by the planner and carved by exec with the same function.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/carver.hpp"
#include "certify/device_certificate_plan.hpp"
#include "certify/second_look_buffers.hpp"
#include "device/padding.hpp"
#include "device/state.hpp"
#include "plan/plan.hpp"
#include "schemes/ozaki2/device_split.hpp"
#include "schemes/ozaki2/stage.hpp"

namespace kizami::ozaki2 {

struct DeviceMainBuffers {
  std::int8_t* a_planes = nullptr;  ///< [most planes][round_up(mc, pad)][kc], or those of strassen_product()
  std::int8_t* b_planes = nullptr;  ///< [most planes][round_up(nc, pad)][kc], likewise
  std::int8_t* residues = nullptr;  ///< [most planes][nc][round_up(mc, pad)], likewise
  std::byte* engine = nullptr;
  std::size_t engine_bytes = 0;
};

/// What the bodies of phases of the engine's own read, see has_device_phases().
struct DevicePhaseBuffers {
  double* split_factors = nullptr;   ///< [2][max(m, n)]
  double* row_factors = nullptr;     ///< [mc]
  double* col_factors = nullptr;     ///< [nc]
  std::int32_t* a_moduli = nullptr;  ///< that the engine splits A into; 0: the common body does
  std::int32_t* b_moduli = nullptr;
  std::int32_t* result_moduli = nullptr;  ///< that the engine reconstructs from
};

struct DeviceBuffers {
  device::DeviceState* state = nullptr;  ///< at the beginning of the workspace; the rest is absent from an empty call
  device::DeviceLineBuffers a;
  device::DeviceLineBuffers b;
  PlaneCounts* counts = nullptr;         ///< [1], of calls with prepared operands
  device::Pair* repairs = nullptr;       ///< [m n >> num::kMostRepairShift]
  std::uint32_t* repair_bits = nullptr;  ///< [n][ceil(m / 32)]
  certify::SampledBuffers sampled;       ///< sampled, second look and main share memory: never alive together, but for
  certify::SecondLookBuffers second_look;  ///< the planes of a split in one pass
  DeviceMainBuffers main;
  DevicePhaseBuffers phases;
};

/// What is kept of a prepared operand: all that the lowest rung and its certificate read of it.
struct DevicePreparedBuffers {
  /// Of the preparation, a call of its own. Counts lines with NaN or Inf as rows, whatever the side.
  device::DeviceState* state = nullptr;
  device::DeviceLineBuffers lines;  ///< statistics, scales, and weights if a split in one pass made them
  certify::DeviceDigits digits;     ///< sampled; null without certificate
  DevicePlanes planes;              ///< of the lowest rung, whole lines, rows up to the next multiple of kDeviceLinePad
};

/// Carves what is kept of an operand of so many lines.
[[nodiscard]] DevicePreparedBuffers carve_device_prepared(base::Carver& carver, const plan::Plan& plan, Side side,
                                                          std::int64_t num_lines);
/// Whether one pass takes lines of k elements and makes planes of a rung of them: lines lie in a cluster or in a block, and
/// integers of three words in a cluster alone, where a block has shared memory for them.
[[nodiscard]] bool one_pass_takes(const base::DeviceLimits& device, Scalar scalar, std::int64_t k,
                                  const num::Rung& rung);
/// Whether one pass prepares an operand.
[[nodiscard]] bool prepares_in_one_pass(const plan::Plan& plan);

/// Whether the engine brings bodies of its own for split and reconstruction: statistics are then gathered apart from
/// the split.
[[nodiscard]] bool has_device_phases(const plan::Plan& plan);

[[nodiscard]] DeviceBuffers carve_device(base::Carver& carver, const plan::Plan& plan);

/// Whether one pass over both operands makes statistics, sampled digits and the planes of the lowest rung, before the
/// certificate decides: where both are one chunk, and lines fit on the chip, in a cluster or in one block.
[[nodiscard]] bool splits_in_one_pass(const plan::Plan& plan);

/// Of a plan with a certificate. @param state  of a call, or of a preparation
[[nodiscard]] ClippedCheck clipped_check_of(const plan::Plan& plan, device::DeviceState* state,
                                            bool has_samples = true);

/// Whether the product of sampled digits compares instead of storing: where the split makes the weights of lines, and
/// the engine has the epilogue.
[[nodiscard]] bool compares_in_product(const plan::Plan& plan);

/// Whether a scout (certify/device_scout.cuh) decides what the split makes: where a sampled product that is not wanted
/// costs nothing, products are so large that what it takes is little beside them, and there are clusters, of which it is
/// one.
[[nodiscard]] bool has_scout(const plan::Plan& plan);

/// Whether what the split makes is learned from calls before (learned_look.hpp): where it can make what any look wants,
/// and it shows.
[[nodiscard]] bool learns_look(const plan::Plan& plan);

/// Elements of C from which on repairs have a kernel of their own.
inline constexpr std::int64_t kOwnRepairElements = std::int64_t{1} << 22;
/// Whether pairs of the list are answered by a kernel of their own (fp64::answer_repairs()), not by that of the FP64
/// rung: from so many elements of C on they are worth a launch, which costs a microsecond or two where there is nothing
/// to do.
[[nodiscard]] bool repairs_have_own_kernel(const plan::Plan& plan);

/// The product of one main chunk with that many moduli.
[[nodiscard]] product::ProductDesc device_main_product(const plan::Plan& plan, const plan::Chunk& chunk,
                                                       int num_moduli);

/// Where its operands lie.
[[nodiscard]] inline DevicePlanes planes_of_a(const DeviceMainBuffers& main, const product::ProductDesc& desc) {
  return {main.a_planes, desc.a_row_stride, desc.a_plane_stride, desc.has_unsigned_bytes};
}
[[nodiscard]] inline DevicePlanes planes_of_b(const DeviceMainBuffers& main, const product::ProductDesc& desc) {
  return {main.b_planes, desc.b_row_stride, desc.b_plane_stride, desc.has_unsigned_bytes};
}

}  // namespace kizami::ozaki2
