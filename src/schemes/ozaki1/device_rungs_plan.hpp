// SPDX-License-Identifier: MIT
// Gauge entry of scheme ozaki1 for operands in device memory: a certificate chooses the rung of slices, and scheme
// ozaki2 stands behind the last one. Certificate, slices at the rung and scheme ozaki2 come one after another, and
// share one workspace.
#pragma once

#include <cstddef>

#include "base/carver.hpp"
#include "certify/second_look_buffers.hpp"
#include "device/state.hpp"
#include "plan/plan.hpp"
#include "schemes/ozaki1/stage.hpp"
#include "schemes/ozaki2/device_buffers.hpp"
#include "schemes/ozaki2/plan.hpp"

namespace kizami::ozaki1 {

/// Whether the operands choose the rung.
[[nodiscard]] bool has_slice_rungs(const plan::Plan& plan);
/// The plan of one rung by itself, as if it were named.
[[nodiscard]] plan::Plan plan_at_slice_rung(const plan::Plan& plan, int rung);

struct DeviceSliceCertificateBuffers {
  device::DeviceState* state = nullptr;  ///< at the beginning of the workspace; the rest is absent from an empty call
  device::DeviceLineBuffers a;           ///< stats, weights and line_weights
  device::DeviceLineBuffers b;
  certify::SampledBuffers sampled;         ///< shares its memory
  certify::SecondLookBuffers second_look;  ///< with this
};
/// @range ozaki2_of(plan).has_certificate
[[nodiscard]] DeviceSliceCertificateBuffers carve_device_slice_certificate(base::Carver& carver,
                                                                           const plan::Plan& plan);

/// Chunks of the certificate and of scheme ozaki2 on the plan's engine.
[[nodiscard]] ozaki2::EngineAnswer plan_behind_slices(plan::Plan& plan);
/// What those need of the workspace. @units bytes
[[nodiscard]] std::size_t certified_slices_bytes(const plan::Plan& plan);

}  // namespace kizami::ozaki1
