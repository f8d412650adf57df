// SPDX-License-Identifier: MIT
// The workspace of a call, booked by the planner and carved by exec with the same function.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/carver.hpp"
#include "num/line_stats.hpp"
#include "num/rung.hpp"
#include "plan/ozaki1.hpp"
#include "plan/plan.hpp"
#include "product/phases.hpp"

namespace kizami::plan {

/// Side of the tiles whose products the certificate looks at in one go.
inline constexpr std::int64_t kSampledTile = 512;
inline constexpr std::int64_t kBlockTile = 256;
/// Blocks of 64 elements whose products are made in one launch.
inline constexpr std::int64_t kBlocksPerLaunch = 8;

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
  std::int32_t* scales = nullptr;          ///< [lines]; see reconstruct::reconstruct_crt
  num::LineError* errors = nullptr;        ///< [lines]; accuracy correct
  num::LineStats* equilibrated = nullptr;  ///< [lines]; only if the ladder may equilibrate
  std::int32_t* inner_shift = nullptr;     ///< [k]; likewise
};

struct CertificateBuffers {
  std::int8_t* a_digits = nullptr;   ///< [mc][digit_row()]
  std::int8_t* b_digits = nullptr;   ///< [nc][digit_row()]
  std::int8_t* b_swapped = nullptr;  ///< [nc][digit_row()], parts exchanged; complex types only
  float* a_scales = nullptr;         ///< [ceil(k / 64)][mc], of the blocks of digits
  float* b_scales = nullptr;         ///< [ceil(k / 64)][nc]
  std::int32_t* acc = nullptr;       ///< one tile of products, kBlocksPerLaunch planes of kBlockTile^2
  std::uint64_t* sums = nullptr;     ///< [kSampledTile^2], of sampled digits
  float* block_sums =
      nullptr;  ///< [2][kBlockTile^2], of all segments so far and of the present one; in the memory of sums
  std::uint8_t* part_rungs = nullptr;  ///< [kSampledTile^2], of one part
  std::uint8_t* rungs = nullptr;       ///< [kSampledTile^2], the larger one of both parts
  std::byte* engine = nullptr;
  std::size_t engine_bytes = 0;  ///< the most that the engine asks for
};

struct MainBuffers {
  std::int8_t* a_planes = nullptr;  ///< [max planes][mc][kc]
  std::int8_t* b_planes = nullptr;  ///< [max planes][nc][kc]
  std::int8_t* residues = nullptr;  ///< [max planes][nc][round_up(mc, 64)]
  double* factors = nullptr;        ///< [2 (mc + nc)], only with has_own_phases()
  std::byte* engine = nullptr;
  std::size_t engine_bytes = 0;  ///< the most that the engine asks for
};

/// Scheme ec: planes and sums of one chunk of lines over all of k.
struct EcBuffers {
  std::byte* a_planes = nullptr;  ///< [parts][mc][row], row = ec_row_elems()
  std::byte* b_planes = nullptr;  ///< [parts][nc][row]
  float* sums = nullptr;          ///< [ec_products()][nc][mc]
  std::byte* engine = nullptr;
  std::size_t engine_bytes = 0;
};

struct Buffers {
  LineBuffers a;
  LineBuffers b;
  Repair* repairs = nullptr;       ///< [m n >> num::kMostRepairShift]
  CertificateBuffers certificate;  ///< the same memory as main: never alive together
  MainBuffers main;
  EcBuffers ec;         ///< likewise
  SliceBuffers slices;  ///< likewise
};

/// Books (counting carver) or carves the buffers of a plan whose chunks are set.
[[nodiscard]] Buffers carve(base::Carver& carver, const Plan& plan);

/// Fills Schedule::engine_bytes of a plan on the host. @range chunks and engines are final
void book_engine_bytes(Plan& plan);

/// Whether the engine's own bodies are asked about split and reconstruction (product/phases.hpp).
[[nodiscard]] inline bool has_own_phases(const Plan& plan) {
  const Scalar scalar = plan.shape.scalar;
  return (scalar == Scalar::kF64 || scalar == Scalar::kF32) && product::phases_of(plan.schedule.engine) != nullptr;
}

/// The product of one main chunk at a rung, without data-dependent parts.
[[nodiscard]] product::ProductDesc main_product(const Plan& plan, const Chunk& chunk, int num_moduli);
/// The product of one chunk of lines at stage `stage` of scheme ec.
[[nodiscard]] product::FloatProductDesc ec_product(const Plan& plan, int stage);
/// Elements of a row of planes: the terms of a line, padded. @units elements of the stage's format
[[nodiscard]] std::int64_t ec_row_elems(const Plan& plan, num::FloatType type);
/// Digits of a line: its real terms, up to whole blocks of 64 elements.
[[nodiscard]] std::int64_t digit_row(const Plan& plan);
/// Products of the certificate: one tile of sampled digits, or kBlocksPerLaunch blocks of block digits as planes.
[[nodiscard]] product::ProductDesc sampled_product(const Plan& plan, std::int64_t m, std::int64_t n,
                                                   std::int64_t length);
[[nodiscard]] product::ProductDesc block_product(const Plan& plan, std::int64_t m, std::int64_t n,
                                                 std::int64_t num_blocks);

}  // namespace kizami::plan
