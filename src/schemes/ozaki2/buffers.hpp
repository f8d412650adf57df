// SPDX-License-Identifier: MIT
// The workspace of a call on the host, booked by the planner and carved by the call with the same function. Of a plan without
// scheme ozaki2 it is what is known of the lines.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/carver.hpp"
#include "certify/certificate_plan.hpp"
#include "num/line_stats.hpp"
#include "num/rung.hpp"
#include "plan/plan.hpp"
#include "product/phases.hpp"
#include "schemes/ozaki2/stage.hpp"

namespace kizami::ozaki2 {

/// An element answered in FP64 arithmetic, computed before C is overwritten and stored after.
struct Repair {
  std::int64_t row;
  std::int64_t col;
  double value[2];  ///< final, after the epilogue: real and imaginary part; FP32 values fit
};

/// What is known of the lines of one operand.
struct LineBuffers {
  num::LineStats* stats = nullptr;         ///< [lines]
  num::LineWeight* weights = nullptr;      ///< [lines]; certificate
  std::int32_t* scales = nullptr;          ///< [lines]; see reconstruct_crt
  num::LineError* errors = nullptr;        ///< [lines]; accuracy correct
  num::LineStats* equilibrated = nullptr;  ///< [lines]; only if the ladder may equilibrate
  std::int32_t* inner_shift = nullptr;     ///< [k]; likewise
};

struct MainBuffers {
  std::int8_t* a_planes = nullptr;  ///< [max planes][mc][kc]
  std::int8_t* b_planes = nullptr;  ///< [max planes][nc][kc]
  std::int8_t* residues = nullptr;  ///< [max planes][nc][round_up(mc, 64)]
  double* factors = nullptr;        ///< [2 (mc + nc)], only with has_own_phases()
  std::byte* engine = nullptr;
  std::size_t engine_bytes = 0;  ///< the most that the engine asks for
};

struct Buffers {
  LineBuffers a;
  LineBuffers b;
  Repair* repairs = nullptr;                ///< [m n >> num::kMostRepairShift]
  certify::CertificateBuffers certificate;  ///< the same memory as main: never alive together
  MainBuffers main;
  std::size_t shared_mark = 0;  ///< where that memory begins, for schemes before this one to carve as well
};

/// Books (counting carver) or carves the buffers of a plan whose chunks are set.
[[nodiscard]] Buffers carve(base::Carver& carver, const plan::Plan& plan);

/// Whether the engine's own bodies are asked about split and reconstruction (product/phases.hpp).
[[nodiscard]] inline bool has_own_phases(const plan::Plan& plan) {
  const Scalar scalar = plan.shape.scalar;
  return (scalar == Scalar::kF64 || scalar == Scalar::kF32) && product::phases_of(ozaki2_of(plan).engine) != nullptr;
}

/// The product of one main chunk at a rung, without data-dependent parts.
[[nodiscard]] product::ProductDesc main_product(const plan::Plan& plan, const plan::Chunk& chunk, int num_moduli);
}  // namespace kizami::ozaki2
