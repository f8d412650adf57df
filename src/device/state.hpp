// SPDX-License-Identifier: MIT
// What a device call knows of itself while it runs, in device memory: kernels hand decisions to kernels, and no host
// waits for them. Plain data without CUDA.
//
// The order of a call: begin (state = {}, what to look at first) -> statistics -> sampled certificate -> block rungs ->
// second look -> split -> product -> CRT -> FP64 rung. A kernel that is not needed reads the state and ends. Scheme ec:
// split -> decision (writes the state; with the FP64 rung, unless the host may yet refuse the call) -> one product for all stages.
#pragma once

#include <cstdint>
#include <limits>

#include "num/line_stats.hpp"
#include "num/rung.hpp"

namespace kizami::device {

/// An element of C that the chosen rung does not certify.
struct Pair {
  std::int64_t row;
  std::int64_t col;
};

/// Scheme ozaki1, where slices depend on all lines: one scale a matrix, or as many slices as leave nothing.
struct SliceSurvey {
  std::int32_t exponents[2] = {num::kNoExponent, num::kNoExponent};  ///< the largest of op(A), of op(B)
  std::int32_t spread = 0;      ///< the most that the exponent of a line's digits lies above its own
  std::int32_t num_digits = 0;  ///< that hold every line exactly
};

/// What the split in one pass makes besides statistics, and so which certificate speaks first. The same rung comes out
/// whatever it is (docs/accuracy/certificate.md, theorem 2).
enum class Look : std::int32_t {
  kSample,       ///< sampled digits, and planes of the lowest rung; blocks only where the sample refuses pairs
  kBlocks,       ///< block digits, and planes of the rung that probably answers
  kBlocksFirst,  ///< block digits; the planes later, of another rung
};

/// Of complex numbers; real ones have one.
inline constexpr std::int32_t kMostSampledProducts = 2;

struct alignas(16) DeviceState {
  /// Rung 0 of the operands as given, until the second look says otherwise. rung -1: all in FP64 arithmetic.
  num::Selection selection;
  std::int32_t num_products = 0;           ///< residue planes of the chosen rung; 0 for rung -1
  std::int32_t num_strassen_products = 0;  ///< of quadrants; 0: the product is whole
  std::int32_t num_whole_products = 0;     ///< num_products or 0; where there may be quadrants
  std::int32_t is_scaling_only = 0;        ///< alpha = 0: C <- beta C, operands are not read
  std::int32_t is_sliced = 0;              ///< scheme ozaki1 answers, with slices of selection.rung
  std::int32_t takes_signs = 0;  ///< alpha = NaN or Inf: the signs of exact sums answer, nothing else writes C
  std::int32_t ec_stage = -1;    ///< scheme ec: the stage that answers; -1: none, all in FP64 arithmetic
  std::int32_t ec_product = -1;  ///< scheme ec: the stage whose planes are multiplied; -1: none
  /// Products that the sampled certificate refuses; complex pairs have two. Where lines are judged and nothing is sampled: lines
  /// that are left open. Blocks are looked at only if it is not zero.
  std::uint64_t sampled_failures = 0;
  /// Lines that the split in one pass leaves open (num::is_certified_by_clipped_sum()); below 2^31. Samples are multiplied only if
  /// it is not zero.
  std::uint64_t open_lines = 0;
  std::uint64_t num_repairs = 0;     ///< entries written to the list of repairs: selection.num_repaired at the end
  std::uint64_t nonfinite_rows = 0;  ///< lines of op(A) with NaN or Inf
  std::uint64_t nonfinite_cols = 0;  ///< lines of op(B)
  Look look = Look::kSample;
  std::int32_t first_rung = 0;                               ///< whose planes the split makes, if any
  std::int32_t num_sampled_products = kMostSampledProducts;  ///< or as many as there are; 0 where blocks speak first
  std::int32_t has_rungs = 0;       ///< of all pairs as given, in the buffers of the second look
  std::uint32_t has_open_sums = 0;  ///< some of them are of sums that are zero, to be looked at again
  /// of tiles of pairs that the lowest rung certified before all blocks were added
  std::uint64_t num_unread_steps = 0;
  SliceSurvey slices;
  num::Statistics statistics;  ///< of the second look
  /// Of the gain of equilibration beside the rungs: blocks that have gathered exponents, and lines that are measured.
  std::uint32_t num_gathered = 0;
  std::uint32_t num_measured = 0;
  /// Of exponents e_h - f_h, see certify::equilibration_shifts(); second look.
  std::int32_t least_difference = std::numeric_limits<std::int32_t>::max();
  std::int32_t most_difference = std::numeric_limits<std::int32_t>::min();
  std::uint32_t barrier_count = 0;  ///< of the second look's blocks
  std::uint32_t barrier_phase = 0;
  std::uint32_t num_claims = 0;  ///< of columns by warps of reconstruct_from_bytes(), which bring it back to zero
};

/// What is known of the lines of one operand, in device memory.
struct DeviceLineBuffers {
  num::LineStats* stats = nullptr;         ///< [lines], as given
  num::LineStats* equilibrated = nullptr;  ///< [lines], after the rescaling of the inner index; if the ladder may
  std::int32_t* inner_shift = nullptr;     ///< [k]; likewise
  std::int32_t* scales = nullptr;          ///< [lines]; num::kSkipLine for lines with NaN or Inf
  /// [lines] at the lowest rung; if the split in one pass makes them, or of slices
  num::RungWeight* weights = nullptr;
  num::LineWeight* line_weights = nullptr;  ///< [lines]; of slices, else the ladder makes them of the statistics

  /// Those of the lines from `first` on.
  [[nodiscard]] DeviceLineBuffers from(std::int64_t first) const {
    DeviceLineBuffers part = *this;
    part.stats += first;
    if (part.scales != nullptr) part.scales += first;
    if (part.weights != nullptr) part.weights += first;
    if (part.line_weights != nullptr) part.line_weights += first;
    if (part.equilibrated != nullptr) part.equilibrated += first;
    return part;
  }
};

}  // namespace kizami::device
